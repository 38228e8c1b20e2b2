"""Output as a terminal would show it: without escape sequences, progress lines once.

Colors, titles and cursor moves are removed. Of a line overwritten with carriage returns, the last state
stays. Bytes arrive in pieces, split anywhere.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(  # one that is begun and not finished ends with the next one
    rb"\x1b(?:\[[0-?]*[ -/]*(?:[@-~]|(?=\x1b))"
    rb"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|(?=\x1b[^\\]))"
    rb"|[ -/]*(?:[0-NQ-WYZ`-~]|(?=\x1b)))"
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z")
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r\b"))
_BACK = re.compile(rb"[^\x08]\x08")
MAX_PENDING = 1 << 16
"""Longest line buffered until it ends, in bytes; a longer one is returned in pieces."""


class TerminalOutput:
    r"""Output as it comes, without what only a terminal understands.

    >>> plain = TerminalOutput()
    >>> plain.feed(b"\x1b[1mone\x1b[0m\n10%\r90%\rdo") + plain.feed(b"ne\n") + plain.flush()
    b'one\ndone\n'
    """

    def __init__(self) -> None:
        self._pending = b""
        self._raw = b""

    @property
    def line(self) -> bytes:
        """The line that has not ended yet."""
        return _apply_overwrites(self._pending)

    def feed(self, piece: bytes) -> bytes:
        """Add a piece of output. Return the lines that are complete."""
        data = self._raw + piece
        self._raw = b""
        if b"\x1b" in data:
            data = _ESCAPE.sub(b"", data)
            if (unfinished := _UNFINISHED.search(data)) and len(unfinished[0]) <= MAX_PENDING:
                data, self._raw = data[: unfinished.start()], unfinished[0]
        data = self._pending + data.translate(None, _CONTROLS)
        lines, end, self._pending = data.rpartition(b"\n")
        plain = lines + end
        if b"\r" in plain or b"\b" in plain:
            plain = b"\n".join(map(_apply_overwrites, plain.split(b"\n")))
        if len(self._pending) > MAX_PENDING:
            self._pending = self._pending[self._pending.rstrip(b"\r").rfind(b"\r") + 1 :]
        if len(self._pending) > MAX_PENDING and b"\r" not in self._pending:
            plain, self._pending = plain + self._pending, b""
        return plain

    def flush(self) -> bytes:
        """Return what is left at the end."""
        rest, self._pending, self._raw = self._pending, b"", b""
        return _apply_overwrites(rest)


def _apply_overwrites(line: bytes) -> bytes:
    """Return a line's final state after carriage returns and backspaces."""
    if b"\r" in line:
        line = line.rstrip(b"\r").rpartition(b"\r")[2]
    while b"\b" in line:
        shorter = _BACK.sub(b"", line)
        line = shorter if shorter != line else line.replace(b"\b", b"")
    return line
