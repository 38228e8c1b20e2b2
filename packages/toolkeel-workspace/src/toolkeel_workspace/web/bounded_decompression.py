"""Decompression that cannot explode: every step gives a bounded piece, and the whole has a limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from toolkeel.errors import ToolError

STEP = 64 * 1024
"""Most bytes that one step gives."""
RATIO = 200
"""Most bytes out for each byte in. A page shrinks about tenfold, a bomb a thousandfold."""
FREE = 1024 * 1024
"""Bytes out that no ratio is asked of: short bodies may shrink as they like."""

_WBITS = {"gzip": 31, "deflate": 15}


class TooLarge(ToolError):
    """The body has more bytes than it may have."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The page has more than {limit:,} bytes, which is the limit.")


class Inflater:
    """Turns a compressed body back, piece by piece.

    Args:
        encoding: ``identity``, ``gzip`` or ``deflate`` (RFC 9110, 8.4.1); ``deflate`` also
            without its zlib header, as some servers send it.
        limit: Most bytes in all.

    Raises:
        ToolError: if it is another encoding.

    >>> import gzip
    >>> b"".join(Inflater("gzip", 100).feed(gzip.compress(b"page")))
    b'page'
    """

    def __init__(self, encoding: str, limit: int) -> None:
        kind = encoding.strip().lower().removeprefix("x-") or "identity"
        if kind not in ("identity", *_WBITS):
            raise ToolError(
                f"The server compressed the page as {encoding[:40]!r}, which was not asked for."
            )
        self._limit = limit
        self._read = 0
        self._given = 0
        self._wbits = _WBITS.get(kind, 0)
        self._engine = zlib.decompressobj(self._wbits) if self._wbits else None
        self._ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What a piece of the body becomes, in pieces of at most `STEP` bytes.

        Raises:
            ToolError: if it becomes too much, or is broken.
        """
        self._read += len(data)
        if self._engine is None:
            yield self._counted(data)
            return
        piece = b""
        while data or len(piece) == STEP:  # a full piece may have left something inside
            if self._ended and not self._goes_on(data):
                return
            data, piece = self._step(data)
            yield self._counted(piece)

    def _goes_on(self, data: bytes) -> bool:
        """Whether behind the end there is a further member (RFC 1952, 2.2), which is begun."""
        if self._wbits != _WBITS["gzip"] or not data.startswith(b"\x1f"):
            return False
        self._ended = False
        self._engine = zlib.decompressobj(self._wbits)
        return True

    def _step(self, data: bytes) -> tuple[bytes, bytes]:
        """What of `data` was not needed for one piece, and the piece."""
        assert self._engine is not None
        try:
            piece = self._engine.decompress(data, STEP)
        except zlib.error as error:
            if self._wbits != _WBITS["deflate"] or self._given:
                raise ToolError(f"The server's compressed data is broken ({error}).") from None
            self._wbits = -15
            self._engine = zlib.decompressobj(self._wbits)
            return data, b""
        self._ended = self._engine.eof
        return self._engine.unused_data if self._ended else self._engine.unconsumed_tail, piece

    def _counted(self, piece: bytes) -> bytes:
        self._given += len(piece)
        if self._given > FREE and self._given > self._read * RATIO:
            raise ToolError(
                f"The page was refused: its data swells more than {RATIO}-fold, as no page does."
            )
        if self._given > self._limit:
            raise TooLarge(self._limit)
        return piece
