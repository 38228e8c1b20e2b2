"""A command's long output: its end in memory, all of it in a file that can be read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from toolkeel._records.result_store import RESULTS, ResultStore
from toolkeel_workspace.files.line_window import MAX_BYTES, MAX_LINES, format_size
from toolkeel_workspace.shell.escape_codes import TerminalOutput

_ODD_BYTES = "Not all of the output is UTF-8: other bytes are shown as \ufffd. read shows a file in its encoding"


class OutputTail:
    """Output as it arrives: its end in memory, all of it in a file once it is long.

    Escape sequences are removed first, see `TerminalOutput`.

    Args:
        report: Called with the last lines whenever there are more.
        results: Where long output is saved.
    """

    def __init__(self, report: Callable[[str], object], results: ResultStore = RESULTS) -> None:
        self._report = report
        self._results = results
        self._plain = TerminalOutput()
        self._pieces: deque[bytes] = deque()
        self._buffered_bytes = 0
        self._file: BinaryIO | None = None
        self._is_lost = False
        self.name = ""
        self.bytes = 0
        self.newlines = 0
        self.last = b""
        self._is_utf_8 = True

    def add(self, piece: bytes) -> None:
        """Add the next piece of output."""
        self._append(self._plain.feed(piece))
        self._report(self._recent_lines())

    def _append(self, piece: bytes) -> None:
        if not piece:
            return
        self.bytes += len(piece)
        self.newlines += piece.count(b"\n")
        self.last = piece[-1:]
        self._pieces.append(piece)
        self._buffered_bytes += len(piece)
        if self._file is not None:
            self._write([piece])
        elif not self._is_lost and (self.bytes > MAX_BYTES or self.newlines > MAX_LINES):
            self._start_file()
        while self._buffered_bytes - len(self._pieces[0]) > 2 * MAX_BYTES:
            self._buffered_bytes -= len(self._pieces.popleft())

    def _start_file(self, spare: bool = False) -> None:
        """Start saving all output in a file."""
        try:
            self.name, self._file = self._results.create(spare=spare)
        except OSError:
            self._is_lost = True
        else:
            self._write(list(self._pieces))

    def _write(self, pieces: list[bytes]) -> None:
        """Write to the file; if the disk is full, to another place, and else save no more."""
        assert self._file is not None
        place = self._file.tell()
        try:
            self._file.writelines(pieces)
            self._file.flush()
        except OSError:
            full, name = self._file, self.name
            try:
                self.name, self._file = self._results.create(spare=True)
                full.seek(0)
                self._file.write(full.read(place))
                self._file.writelines(pieces)
                self._file.flush()
            except OSError:
                self._is_lost = True
                self._results.remove(name)
                self._results.remove(self.name)
                self.name, self._file = "", None
            else:
                self._results.remove(name)
            with suppress(OSError):
                full.close()

    def _recent_lines(self) -> str:
        end = (b"".join(list(self._pieces)[-4:]) + self._plain.line)[-2000:]
        return "\n".join(end.decode("utf-8", "replace").splitlines()[-5:])

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.newlines + (self.last not in (b"", b"\n"))

    @property
    def path(self) -> str:
        """The file with all output, if it is saved."""
        found = self._results.find(self.name) if self.name else None
        return str(found) if found else ""

    def close(self) -> None:
        """Close the file, and drop it if all of the output is shown anyway."""
        self._append(self._plain.flush())
        if self._file is not None:
            self._file.close()
            self._file = None
            self._results.evict_oldest()
        if self.name and self.bytes <= MAX_BYTES and self.lines <= MAX_LINES:
            self._results.remove(self.name)
            self.name = ""

    def render(self) -> tuple[str, str]:
        """Return the last lines that fit, and a notice of what is left out, or an empty one."""
        data = b"".join(self._pieces)
        lines = data.split(b"\n")
        ends = lines[-1] == b""
        body = lines[:-1] if ends else lines
        shown: deque[bytes] = deque()
        used = 0
        for line in reversed(body[-MAX_LINES:]):
            used += len(line) + 1
            if used > MAX_BYTES:
                break
            shown.appendleft(line)
        if body and not shown:
            return self._end_of_line(body[-1])
        text = self._decode(b"\n".join(shown))
        if len(shown) == self.lines:
            return text, ""
        first = self.lines - len(shown) + 1
        return (
            text,
            f"Lines {first} to {self.lines} of {self.lines} are shown{self._describe_size()}",
        )

    def describe_changes(self) -> list[str]:
        """Return how `render` shows other bytes than were printed, as sentences without a period."""
        said = ["" if self._is_utf_8 else _ODD_BYTES, self._plain.describe_removed()]
        return [each for each in said if each]

    def _end_of_line(self, line: bytes) -> tuple[str, str]:
        end = line[-MAX_BYTES:]
        start = next((i for i in range(min(4, len(end))) if end[i] & 0xC0 != 0x80), 0)
        text = self._decode(end[start:])
        return (
            text,
            f"The last {format_size(len(end))} of line {self.lines} are shown{self._describe_size()}",
        )

    def _decode(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            self._is_utf_8 = False
            return data.decode("utf-8", "replace")

    def _describe_size(self) -> str:
        """Describe how much output there is, and where."""
        size = f" ({format_size(self.bytes)} in all)"
        if self._is_lost:
            return f"{size}. The rest is lost: there was no room to keep it."
        if not self.name:
            return "."
        return f'{size}. All of it is kept: path="{self.name}"'
