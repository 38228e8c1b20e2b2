"""Decompression in limited steps and with a limit in total, safe against decompression bombs."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from toolkeel.errors import ToolError

MAX_STEP = 64 * 1024
"""Most bytes that one step gives."""
MAX_RATIO = 200
"""Most bytes out for each byte in. A page shrinks about tenfold, a bomb a thousandfold."""
FREE_BYTES = 1024 * 1024
"""Bytes out before the ratio counts."""

_WBITS = {"gzip": 31, "deflate": 15}


class BodyTooLarge(ToolError):
    """The body exceeds its limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The page has more than {limit:,} bytes, which is the limit.")


class Decompressor:
    """Decompresses a response body piece by piece.

    Args:
        encoding: ``identity``, ``gzip`` or ``deflate`` (RFC 9110, 8.4.1); ``deflate`` also
            without its zlib header, as some servers send it.
        limit: Most bytes in total.

    Raises:
        ToolError: for another encoding.

    >>> import gzip
    >>> b"".join(Decompressor("gzip", 100).feed(gzip.compress(b"page")))
    b'page'
    """

    def __init__(self, encoding: str, limit: int) -> None:
        kind = encoding.strip().lower().removeprefix("x-") or "identity"
        if kind not in ("identity", *_WBITS):
            raise ToolError(
                f"The server compressed the page as {encoding[:40]!r}, which was not asked for."
            )
        self._limit = limit
        self._bytes_in = 0
        self._bytes_out = 0
        self._wbits = _WBITS.get(kind, 0)
        self._engine = zlib.decompressobj(self._wbits) if self._wbits else None
        self._is_finished = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decompress a piece of the body, in pieces of at most `MAX_STEP` bytes.

        Raises:
            ToolError: if there is too much data, or it is broken.
        """
        self._bytes_in += len(data)
        if self._engine is None:
            yield self._count(data)
            return
        piece = b""
        while data or len(piece) == MAX_STEP:  # a full piece may have left something inside
            if self._is_finished and not self._start_next_member(data):
                return
            data, piece = self._step(data)
            yield self._count(piece)

    def _start_next_member(self, data: bytes) -> bool:
        """Start the next gzip member (RFC 1952, 2.2). Return false if there is none."""
        if self._wbits != _WBITS["gzip"] or not data.startswith(b"\x1f"):
            return False
        self._is_finished = False
        self._engine = zlib.decompressobj(self._wbits)
        return True

    def _step(self, data: bytes) -> tuple[bytes, bytes]:
        """Decompress one piece. Return the unused input and the piece."""
        assert self._engine is not None
        try:
            piece = self._engine.decompress(data, MAX_STEP)
        except zlib.error as error:
            if self._wbits != _WBITS["deflate"] or self._bytes_out:
                raise ToolError(f"The server's compressed data is broken ({error}).") from None
            self._wbits = -15
            self._engine = zlib.decompressobj(self._wbits)
            return data, b""
        self._is_finished = self._engine.eof
        return (
            self._engine.unused_data if self._is_finished else self._engine.unconsumed_tail,
            piece,
        )

    def _count(self, piece: bytes) -> bytes:
        self._bytes_out += len(piece)
        if self._bytes_out > FREE_BYTES and self._bytes_out > self._bytes_in * MAX_RATIO:
            raise ToolError(
                f"The page was refused: its data swells more than {MAX_RATIO}-fold, as no page does."
            )
        if self._bytes_out > self._limit:
            raise BodyTooLarge(self._limit)
        return piece
