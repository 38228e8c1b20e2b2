"""A command's long output: its end is shown, and all of it kept in a file that can be read."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from toolkeel._records.result_store import RESULTS, ResultStore
from toolkeel_workspace.files.line_window import MAX_BYTES, MAX_LINES, human
from toolkeel_workspace.shell.escape_codes import TerminalOutput


class Tail:
    """Output as it comes: the end of it in memory, all of it in a file once it is long.

    What only a terminal understands is taken out first, see `TerminalOutput`.

    Args:
        tell: Given the last lines, each time there are more.
        kept: Where long output is kept.
    """

    def __init__(self, tell: Callable[[str], object], kept: ResultStore = RESULTS) -> None:
        self._tell = tell
        self._results = kept
        self._plain = TerminalOutput()
        self._pieces: deque[bytes] = deque()
        self._kept = 0
        self._file: BinaryIO | None = None
        self._lost = False
        self.name = ""
        self.bytes = 0
        self.newlines = 0
        self.last = b""

    def add(self, piece: bytes) -> None:
        """Take the next piece of output."""
        self._take(self._plain.feed(piece))
        self._tell(self._recent())

    def _take(self, piece: bytes) -> None:
        if not piece:
            return
        self.bytes += len(piece)
        self.newlines += piece.count(b"\n")
        self.last = piece[-1:]
        self._pieces.append(piece)
        self._kept += len(piece)
        if self._file is not None:
            self._spill([piece])
        elif not self._lost and (self.bytes > MAX_BYTES or self.newlines > MAX_LINES):
            self._begin()
        while self._kept - len(self._pieces[0]) > 2 * MAX_BYTES:
            self._kept -= len(self._pieces.popleft())

    def _begin(self, spare: bool = False) -> None:
        """Begin to keep all of it."""
        try:
            self.name, self._file = self._results.create(spare=spare)
        except OSError:
            self._lost = True
        else:
            self._spill(list(self._pieces))

    def _spill(self, pieces: list[bytes]) -> None:
        """Write on; if the disk is full, elsewhere, and if that is full, too, no more."""
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
                self._lost = True
                self._results.remove(name)
                self._results.remove(self.name)
                self.name, self._file = "", None
            else:
                self._results.remove(name)
            with suppress(OSError):
                full.close()

    def _recent(self) -> str:
        end = (b"".join(list(self._pieces)[-4:]) + self._plain.line)[-2000:]
        return "\n".join(end.decode("utf-8", "replace").splitlines()[-5:])

    @property
    def lines(self) -> int:
        """How many lines there were."""
        return self.newlines + (self.last not in (b"", b"\n"))

    @property
    def path(self) -> str:
        """The file that holds all of it, if it is kept."""
        found = self._results.find(self.name) if self.name else None
        return str(found) if found else ""

    def close(self) -> None:
        """Close the file, if there is one, and drop it if all of it is shown anyway."""
        self._take(self._plain.end())
        if self._file is not None:
            self._file.close()
            self._file = None
            self._results.evict_oldest()
        if self.name and self.bytes <= MAX_BYTES and self.lines <= MAX_LINES:
            self._results.remove(self.name)
            self.name = ""

    def text(self) -> tuple[str, str]:
        """The last lines that may be shown, and a notice of what was left out, or nothing."""
        data = b"".join(self._pieces)
        lines = data.split(b"\n")
        ends = lines[-1] == b""
        body = lines[:-1] if ends else lines
        kept: deque[bytes] = deque()
        used = 0
        for line in reversed(body[-MAX_LINES:]):
            used += len(line) + 1
            if used > MAX_BYTES:
                break
            kept.appendleft(line)
        if body and not kept:
            return self._end_of_line(body[-1])
        text = b"\n".join(kept).decode("utf-8", "replace")
        if len(kept) == self.lines:
            return text, ""
        first = self.lines - len(kept) + 1
        return text, f"Lines {first} to {self.lines} of {self.lines} are shown{self._where()}"

    def _end_of_line(self, line: bytes) -> tuple[str, str]:
        end = line[-MAX_BYTES:]
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        start = next((i for i in range(min(4, len(end))) if end[i] & 0xC0 != 0x80), 0)
        text = decoder.decode(end[start:], True)
        return text, f"The last {human(len(end))} of line {self.lines} are shown{self._where()}"

    def _where(self) -> str:
        """How much there is in all, and where."""
        size = f" ({human(self.bytes)} in all)"
        if self._lost:
            return f"{size}. The rest is lost: there was no room to keep it."
        if not self.name:
            return "."
        return f'{size}. All of it is kept: path="{self.name}"'
