"""Search text files below a root for lines that match a pattern.

A pattern comes from a model, so its engine must take linear time: Python's `re` can be made
to hang, and holds the interpreter lock while it does. The engine used is that of the JSON
Schema validator the core brings along (Rust's `regex`): a schema of one ``pattern`` accepts
exactly the lines that match. It decides 200 000 lines in 20 ms.
"""

from __future__ import annotations

import fnmatch
import os
from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import NamedTuple

import jsonschema_rs

from toolwright.builtin.beneath import Root
from toolwright.builtin.window import MAX_BYTES, count, printable
from toolwright.errors import ToolError
from toolwright.messages import ToolOutput
from toolwright.record import record

SKIPPED = frozenset(
    (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache")
)
"""Folders a search does not enter unless it starts there."""
MAX_LINE = 500
"""Longest line shown, in characters."""
MAX_FILE = 16 * 1024 * 1024
"""Largest file searched, in bytes."""
MAX_SECONDS = 10.0
"""How long one search may take."""


@record
class Query:
    """What to look for.

    Args:
        pattern: Regular expression or text.
        glob: Pattern of file names; empty for all.
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

    Raises:
        ToolError: if the pattern is not valid.
    """

    def __init__(self, root: Root, query: Query) -> None:
        self.root = root
        self.query = query
        self.matches = _matcher(query)
        self.shown: list[str] = []
        self.hits = 0
        self.files_hit = 0
        self.files_searched = 0
        self.skipped = 0
        self.shortened = 0
        self.stopped = ""  # why it ended early: "limit", "bytes" or "time"
        self._bytes = 0
        self._end = perf_counter() + MAX_SECONDS

    def run(self, path: str) -> ToolOutput:
        """Search a file, or a folder and what is below it."""
        paths = self._walk(path) if self.root.is_folder(path) else iter((path,))
        for name in paths:
            if perf_counter() > self._end:
                self.stopped = self.stopped or "time"
            if self.stopped:
                break
            self._search(name)
        return self._output()

    def _walk(self, folder: str) -> Iterator[str]:
        """Paths of the regular files below a folder, each folder's in order of name."""
        pending = [folder]
        while pending:
            here = pending.pop()
            prefix = "" if here == "." else f"{here}/"
            try:
                entries = sorted(self.root.entries(here))
            except ToolError:
                self.skipped += 1
                continue
            yield from (prefix + e.name for e in entries if e.kind == "file" and self._wanted(e))
            below = [e.name for e in entries if e.kind == "folder" and e.name not in SKIPPED]
            pending.extend(prefix + name for name in reversed(below))

    def _wanted(self, entry: tuple[str, str]) -> bool:
        glob = self.query.glob.rsplit("/", 1)[-1]
        return not glob or fnmatch.fnmatchcase(entry[0], glob)

    def _search(self, path: str) -> None:
        text = self._read(path)
        if text is None:
            self.skipped += 1
            return
        self.files_searched += 1
        found = False
        for line in self._select(text.split("\n")):
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
            if not number % 4096 and perf_counter() > self._end:
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
            "files_searched": self.files_searched,
            "files_skipped": self.skipped,
            "lines_shortened": self.shortened,
            "stopped_by": self.stopped or None,
        }
        notice = f"[{self._notice()}]"
        text = "\n".join([*self.shown, "", notice] if self.shown else [notice])
        return ToolOutput(text, details=details)

    def _notice(self) -> str:
        searched = f"searched {count(self.files_searched, 'file')}"
        if self.skipped:
            searched += f", skipped {self.skipped} that are binary, too large or not readable"
        if self.stopped == "time":
            searched += f", stopped after {MAX_SECONDS:.0f} s"
        if not self.hits:
            return f"No matches; {searched}."
        found = f"{count(self.hits, 'match', 'matches')} in {count(self.files_hit, 'file')}"
        if self.stopped:
            return f"First {found}; there may be more. Narrow the search with path or glob."
        return f"{found}; {searched}."


def _matcher(query: Query) -> Callable[[str], bool]:
    pattern = query.pattern
    if not pattern:
        raise ToolError("The pattern is empty.")
    if query.limit < 1 or query.context < 0:
        raise ToolError("limit counts from 1, and context from 0.")
    if query.literal:
        if not query.ignore_case:
            return lambda line: pattern in line
        wanted = pattern.casefold()
        return lambda line: wanted in line.casefold()
    schema = {"pattern": f"(?i){pattern}" if query.ignore_case else pattern}
    options = jsonschema_rs.RegexOptions(size_limit=1_000_000)
    try:
        return jsonschema_rs.validator_for(schema, pattern_options=options).is_valid
    except (jsonschema_rs.ValidationError, ValueError):
        raise ToolError(
            f"{pattern[:200]!r} is not a valid regular expression here: look-around and "
            "backreferences are not known, and ( ) [ ] need their partners. "
            "To search for it as plain text, pass literal=true."
        ) from None
