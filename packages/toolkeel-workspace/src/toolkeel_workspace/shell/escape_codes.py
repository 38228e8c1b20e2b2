"""Output as a terminal would show it: without escape sequences, progress lines once.

Colors, titles and cursor moves are removed. Of a line overwritten with carriage returns, the last state
stays. Bytes arrive in pieces, split anywhere. `TerminalOutput.describe_removed` says what was removed.
"""

from __future__ import annotations

import re
from collections import Counter

_ESCAPE = re.compile(  # one that is begun and not finished ends with the next one
    rb"\x1b(?:\[[0-?]*[ -/]*(?:[@-~]|(?=\x1b))"
    rb"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|(?=\x1b[^\\]))"
    rb"|[ -/]*(?:[0-NQ-WYZ`-~]|(?=\x1b)))"
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z")
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r\b"))
_BACKSPACES = re.compile(rb"\x08+|[^\x08]+")
MAX_PENDING = 1 << 16
"""Longest line buffered until it ends, in bytes; a longer one is returned in pieces."""


class TerminalOutput:
    r"""Output as it comes, without what only a terminal understands.

    >>> plain = TerminalOutput()
    >>> plain.feed(b"\x1b[1mone\x1b[0m\n10%\r90%\rdo") + plain.feed(b"ne\n") + plain.flush()
    b'one\ndone\n'
    >>> plain.describe_removed()
    'Not shown: 2 escape sequences; text overwritten by \\r or backspace in 1 line. cat -v shows all'
    """

    def __init__(self) -> None:
        self._pending = b""
        self._raw = b""
        self._removed = Counter[str]()
        self._is_cut = False

    @property
    def line(self) -> bytes:
        """The line that has not ended yet."""
        return _apply_overwrites(self._pending)

    def feed(self, piece: bytes) -> bytes:
        """Add a piece of output. Return the lines that are complete."""
        data = self._raw + piece
        self._raw = b""
        if b"\x1b" in data:
            data, count = _ESCAPE.subn(b"", data)
            self._removed["escape sequence"] += count
            if (unfinished := _UNFINISHED.search(data)) and len(unfinished[0]) <= MAX_PENDING:
                data, self._raw = data[: unfinished.start()], unfinished[0]
        data = self._pending + self._remove_controls(data)
        lines, end, self._pending = data.rpartition(b"\n")
        plain = lines + end
        if b"\r" in plain or b"\b" in plain or (self._is_cut and lines):
            plain = b"\n".join(map(self._finish_line, plain.split(b"\n")))
        if len(self._pending) > MAX_PENDING and b"\r" in self._pending.rstrip(b"\r"):
            self._is_cut = True
            self._pending = self._pending[self._pending.rstrip(b"\r").rfind(b"\r") + 1 :]
        if len(self._pending) > MAX_PENDING and b"\r" not in self._pending:
            plain, self._pending = plain + self._pending, b""
        return plain

    def flush(self) -> bytes:
        """Return what is left at the end."""
        self._removed["escape sequence"] += bool(self._raw)
        rest, self._pending, self._raw = self._pending, b"", b""
        return self._finish_line(rest)

    def _remove_controls(self, data: bytes) -> bytes:
        """Remove and count bytes that a terminal does not show."""
        kept = data.translate(None, _CONTROLS)
        if count := len(data) - len(kept):
            nuls, escapes = data.count(b"\0"), data.count(b"\x1b")
            self._removed["NUL byte"] += nuls
            self._removed["escape sequence"] += escapes
            self._removed["control character"] += count - nuls - escapes
        return kept

    def _finish_line(self, line: bytes) -> bytes:
        """Return a line's final state, and count what it lost."""
        self._removed["\\r\\n"] += line.endswith(b"\r")
        is_overwritten = self._is_cut or b"\r" in line.rstrip(b"\r") or b"\b" in line
        self._removed["overwritten"] += is_overwritten
        self._is_cut = False
        return _apply_overwrites(line)

    def describe_removed(self) -> str:
        """Return what is not shown, as a sentence without a period; empty if all is shown."""
        found = {kind: count for kind, count in self._removed.items() if count}
        if not found:
            return ""
        ends, overwritten = found.pop("\\r\\n", 0), found.pop("overwritten", 0)
        parts = [_count(kind, found[kind]) for kind in sorted(found)]
        if ends:
            parts.append(f"\\r at the end of {_count('line', ends)}")
        if overwritten:
            parts.append(f"text overwritten by \\r or backspace in {_count('line', overwritten)}")
        return f"Not shown: {'; '.join(parts)}. cat -v shows all"


def _count(noun: str, number: int) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _apply_overwrites(line: bytes) -> bytes:
    """Return a line's final state after carriage returns and backspaces."""
    if b"\r" in line:
        line = line.rstrip(b"\r").rpartition(b"\r")[2]
    if b"\b" not in line:
        return line
    kept = bytearray()
    for run in _BACKSPACES.findall(line):
        if run[:1] == b"\b":
            del kept[max(len(kept) - len(run), 0) :]
        else:
            kept += run
    return bytes(kept)
