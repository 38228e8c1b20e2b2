"""Search text files below a root for lines that match a pattern.

Where ripgrep is installed it chooses the files; which lines match is decided here in either case,
in linear time (see `toolwright.builtin.linear`), so the output is the same with and without it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import NamedTuple

from toolwright.builtin import ripgrep
from toolwright.builtin.beneath import Root
from toolwright.builtin.find import matcher
from toolwright.builtin.linear import compiled, escaped
from toolwright.builtin.walk import Walk, order
from toolwright.builtin.window import MAX_BYTES, count, human, printable
from toolwright.context import CancelToken
from toolwright.errors import ToolError
from toolwright.messages import ToolOutput
from toolwright.record import record

MAX_LINE = 500
"""Longest line shown, in characters."""
MAX_FILE = 16 * 1024 * 1024
"""Largest file searched, in bytes."""
MAX_SECONDS = 10.0
"""How long one search may take."""
NOTHING = (
    "No matches. Binary files, those above 16 MB and what .gitignore names are not looked into; "
    "a folder that it names is, when given as path."
)


@record
class Query:
    """What to look for.

    Args:
        pattern: Regular expression or text.
        glob: Pattern of file names or paths, as of ``find``; empty for all.
        ignore_case: Whether letter case is ignored.
        literal: Whether `pattern` is plain text.
        context: Lines shown around each match.
        limit: Most matches.
    """

    pattern: str
    glob: str = ""
    ignore_case: bool = False
    literal: bool = False
    context: int = 0
    limit: int = 100


class _Line(NamedTuple):
    number: int
    text: str
    hit: bool


class Search:
    """One search: `run` it once, then read what was found.

    Args:
        root: Where nothing leads out of.
        query: What to look for.
        cancel: Ends the search early.

    Raises:
        ToolError: if the pattern is not valid.
    """

    def __init__(self, root: Root, query: Query, cancel: CancelToken | None = None) -> None:
        self.root = root
        self.query = query
        self.cancel = cancel or CancelToken()
        self.pattern, self.matches = _matcher(query)
        self._wanted = matcher(query.glob) if query.glob else lambda path: True
        self.shown: list[str] = []
        self.hits = 0
        self.files_hit = 0
        self.shortened = 0
        self.stopped = ""  # why it ended early: "limit", "bytes" or "time"
        self._bytes = 0
        self._end = perf_counter() + MAX_SECONDS

    def run(self, path: str) -> ToolOutput:
        """Search a file, whatever it is called, or a folder and what is below it.

        Raises:
            ToolError: if it cannot be searched.
        """
        if not self.root.is_folder(path):
            text = self._read(path)
            if text is None:
                raise ToolError(
                    f"{path!r} is not searched: it is binary or larger than {human(MAX_FILE)}."
                )
            self._search(path, text)
            return self._output()
        for name in self._files(path):
            if self._ended():
                self.stopped = self.stopped or "time"
            if self.stopped:
                break
            self._search(name, self._read(name) or "")
        if not self.stopped and self._ended():  # while the files to look into were being found
            self.stopped = "time"
        return self._output()

    def _files(self, folder: str) -> Iterable[str]:
        """The files to look into, in order."""
        walk = Walk(self.root, folder)
        prefix = "" if folder == "." else f"{folder}/"
        found = ripgrep.candidates(
            self.root,
            folder,
            self.pattern,
            glob=self.query.glob,
            largest=MAX_FILE,
            ended=self._ended,
        )
        names = walk if found is None else filter(walk.holds, sorted(found, key=order))
        return (name for name in names if self._wanted(name.removeprefix(prefix)))

    def _ended(self) -> bool:
        return self.cancel.cancelled or perf_counter() > self._end

    def _search(self, path: str, text: str) -> None:
        found = False
        for line in self._select(text.split("\n") if text else []):
            found = found or line.hit
            self._show(path, line)
            if self.stopped:
                break
        self.files_hit += found

    def _read(self, path: str) -> str | None:
        """A file's text; None if it is binary, too large, or may not be read."""
        try:
            with os.fdopen(self.root.open_file(path), "rb") as file:
                if os.fstat(file.fileno()).st_size > MAX_FILE:
                    return None
                data = file.read(MAX_FILE)
        except (ToolError, OSError):
            return None
        if b"\0" in data[:8192]:
            return None
        return data.decode("utf-8", "replace").removesuffix("\n")

    def _select(self, lines: list[str]) -> Iterator[_Line]:
        """The matching lines and those around them, in order, each once."""
        before: deque[_Line] = deque(maxlen=self.query.context)
        after = 0
        for number, raw in enumerate(lines, 1):
            text = raw.removesuffix("\r")
            if self.matches(text):
                if self.hits == self.query.limit:
                    self.stopped = "limit"
                    return
                yield from before
                before.clear()
                yield _Line(number, text, True)
                after = self.query.context
            elif after:
                after -= 1
                yield _Line(number, text, False)
            else:
                before.append(_Line(number, text, False))
            if not number % 4096 and self._ended():
                self.stopped = "time"
                return

    def _show(self, path: str, line: _Line) -> None:
        text = line.text
        if len(text) > MAX_LINE:
            text, self.shortened = f"{text[:MAX_LINE]}...", self.shortened + 1
        mark = ":" if line.hit else "-"
        row = f"{printable(path)}{mark}{line.number}{mark} {text}"
        self._bytes += len(row.encode()) + 1
        if self._bytes > MAX_BYTES:
            self.stopped = "bytes"
            return
        self.hits += line.hit
        self.shown.append(row)

    def _output(self) -> ToolOutput:
        details = {
            "matches": self.hits,
            "files": self.files_hit,
            "lines_shortened": self.shortened,
            "stopped_by": self.stopped or None,
        }
        notice = f"[{self._notice()}]"
        text = "\n".join([*self.shown, "", notice] if self.shown else [notice])
        return ToolOutput(text, details=details)

    def _notice(self) -> str:
        found = f"{count(self.hits, 'match', 'matches')} in {count(self.files_hit, 'file')}"
        if self.stopped == "time":
            return f"Stopped before its end: {found}. Narrow the search with path or glob."
        if self.stopped:
            return f"First {found}; there may be more. Narrow the search with path or glob."
        return f"{found}." if self.hits else NOTHING


def _matcher(query: Query) -> tuple[str, Callable[[str], bool]]:
    """The pattern as the engines take it, and whether a line matches."""
    if not query.pattern:
        raise ToolError("The pattern is empty.")
    if query.limit < 1 or query.context < 0:
        raise ToolError("limit counts from 1, and context from 0.")
    pattern = escaped(query.pattern) if query.literal else query.pattern
    pattern = f"(?i){pattern}" if query.ignore_case else pattern
    try:
        return pattern, compiled(pattern)
    except ValueError:
        raise ToolError(
            f"{query.pattern[:200]!r} is not a valid regular expression here: look-around and "
            "backreferences are not known, and ( ) [ ] need their partners. "
            "To search for it as plain text, pass literal=true."
        ) from None
