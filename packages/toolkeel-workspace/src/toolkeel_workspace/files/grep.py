"""Search text files below a root for lines that match a pattern.

Where ripgrep is installed it chooses the files; which lines match is decided here in either case,
in linear time (see `toolkeel_workspace.files.linear_regex`), so the output is the same with and without it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import BinaryIO, NamedTuple

from toolkeel._common.path_patterns import secret_part
from toolkeel._records.record import record
from toolkeel._records.result_store import PREFIX, RESULTS
from toolkeel._records.taint_sources import Source, dump_sources, read_file_mark
from toolkeel.context import CancelToken
from toolkeel.errors import ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files import ripgrep
from toolkeel_workspace.files.encodings import as_shown, decode, is_utf_16
from toolkeel_workspace.files.find import matcher
from toolkeel_workspace.files.impossible_patterns import why_never
from toolkeel_workspace.files.line_window import MAX_BYTES, count, human, printable
from toolkeel_workspace.files.linear_regex import compiled, escaped
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.walk import Walk, order

MAX_LINE = 500
"""Longest line shown, in characters; of a longer one, as many around what was found."""
MAX_FILE = 16 * 1024 * 1024
"""Largest file searched of a folder, in bytes."""
MAX_NAMED = 256 * 1024 * 1024
"""Largest file searched that was named, in bytes."""
MAX_SECONDS = 10.0
"""How long one search may take."""
NOTHING = (
    "No matches. Binary files, those above 16 MB or not to be read, and what .gitignore names are "
    "not looked into; a folder that it names is, when given as path."
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


def open_kept(name: str) -> BinaryIO:
    """Open a result that was kept whole, by its name.

    Raises:
        ToolError: none of this name is kept.
    """
    found = RESULTS.find(name)
    try:
        if found is not None:
            return found.open("rb")
    except OSError:
        pass
    raise ToolError(f"No result is kept as {name[:100]!r} any more. Make it again.")


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
        self.labels: list[Source] = []
        self.shortened = 0
        self.cut: list[str] = []
        self.stopped = ""  # why it ended early: "limit", "bytes" or "time"
        self._bytes = 0
        self._end = perf_counter() + MAX_SECONDS

    def run(self, path: str) -> ToolOutput:
        """Search a file, whatever it is called, or a folder and what is below it.

        Raises:
            ToolError: if it cannot be searched.
        """
        if path.startswith(PREFIX):
            with open_kept(path) as kept:
                self._search_named(path, kept)
            return self._output()
        path = self.root.clean(path)
        if not self.root.is_folder(path):
            with os.fdopen(self.root.open_file(path), "rb") as file:
                self._search_named(path, file)
            return self._output()
        for name in self._files(path):
            if self._ended():
                self.stopped = self.stopped or "time"
            if self.stopped:
                break
            self._search(name, _lines(self._read(name) or ""))
        if not self.stopped and self._ended():  # while the files to look into were being found
            self.stopped = "time"
        return self._output()

    def _files(self, folder: str) -> Iterable[str]:
        """The files to look into, in order."""
        walk = Walk(self.root, folder)
        self.cut = walk.cut
        prefix = "" if folder == "." else f"{folder}/"
        found = ripgrep.candidates(
            self.root,
            folder,
            self.pattern,
            glob=self.query.glob,
            largest=MAX_FILE,
            ended=self._ended,
        )
        names = walk if found is None else filter(walk.includes, sorted(found, key=order))
        return (name for name in names if self._wanted(name.removeprefix(prefix)))

    def _ended(self) -> bool:
        return self.cancel.cancelled or perf_counter() > self._end

    def _search_named(self, path: str, file: BinaryIO) -> None:
        """Search one file line by line, so that a long one takes little memory."""
        size = os.fstat(file.fileno()).st_size
        head = file.read(8192)
        if (b"\0" in head and not is_utf_16(head)) or size > MAX_NAMED:
            raise ToolError(
                f"{path!r} is not searched: it is binary or larger than {human(MAX_NAMED)}."
            )
        file.seek(0)
        if size <= MAX_FILE:
            self._search(path, _lines(decode(file.read()).text))
        else:
            self._search(path, (line.decode("utf-8", "surrogateescape")[:-1] for line in file))

    def _search(self, path: str, lines: Iterable[str]) -> None:
        found = False
        for line in self._select(lines):
            found = found or line.hit
            self._show(path, line)
            if self.stopped:
                break
        self.files_hit += found
        if found and secret_part(path):
            self.labels.append(Source("secret", "grep", path))
        if found and (whose := read_file_mark(os.path.join(self.root.path, path))):
            self.labels.append(Source("stranger", "grep", f"{path} ({whose})"))

    def _read(self, path: str) -> str | None:
        """A file's text; None if it is binary, too large, or may not be read."""
        try:
            with os.fdopen(self.root.open_file(path), "rb") as file:
                if os.fstat(file.fileno()).st_size > MAX_FILE:
                    return None
                data = file.read(MAX_FILE)
        except (ToolError, OSError):
            return None
        if b"\0" in data[:8192] and not is_utf_16(data):
            return None
        return decode(data).text

    def _select(self, lines: Iterable[str]) -> Iterator[_Line]:
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
            text, self.shortened = self._around(line), self.shortened + 1
        text = as_shown(text)
        mark = ":" if line.hit else "-"
        row = f"{printable(path)}{mark}{line.number}{mark} {text}"
        self._bytes += len(row.encode()) + 1
        if self._bytes > MAX_BYTES:
            self.stopped = "bytes"
            return
        self.hits += line.hit
        self.shown.append(row)

    def _around(self, line: _Line) -> str:
        """What is shown of a long line: as much as fits around the first match."""
        place = _place(self.matches, line.text) if line.hit else 0
        start = max(place - MAX_LINE // 5, 0)
        part = line.text[start : start + MAX_LINE]
        last = start + len(part)
        return f"[columns {start + 1} to {last} of {len(line.text)}] {part}"

    def _output(self) -> ToolOutput:
        details = {
            "matches": self.hits,
            "files": self.files_hit,
            "lines_shortened": self.shortened,
            "stopped_by": self.stopped or None,
            **({"taint": dump_sources(self.labels)} if self.labels else {}),
        }
        notice = f"[{self._notice()}]"
        text = "\n".join([*self.shown, "", notice] if self.shown else [notice])
        return ToolOutput(text, details=details)

    def _notice(self) -> str:
        return self._summary() + "".join(
            f" Not all names in {printable(folder)} were looked at." for folder in self.cut[:5]
        )

    def _summary(self) -> str:
        found = f"{count(self.hits, 'match', 'matches')} in {count(self.files_hit, 'file')}"
        if self.shortened:
            found += f"; {count(self.shortened, 'long line is', 'long lines are')} shown in part"
        if self.stopped == "time":
            return f"Stopped before its end: {found}. Narrow the search with path or glob."
        if self.stopped:
            return f"First {found}; there may be more. Narrow the search with path or glob."
        return f"{found}." if self.hits else NOTHING


def _lines(text: str) -> list[str]:
    kept = text.removesuffix("\n")
    return kept.split("\n") if kept else []


def _matcher(query: Query) -> tuple[str, Callable[[str], bool]]:
    """The pattern as the engines take it, and whether a line matches."""
    if not query.pattern:
        raise ToolError("The pattern is empty.")
    if query.limit < 1 or query.context < 0:
        raise ToolError("limit counts from 1, and context from 0.")
    pattern = escaped(query.pattern) if query.literal else query.pattern
    if never := why_never(pattern):
        raise ToolError(f"{query.pattern[:200]!r} finds nothing: {never}.")
    pattern = f"(?i){pattern}" if query.ignore_case else pattern
    try:
        return pattern, compiled(pattern)
    except ValueError:
        raise ToolError(
            f"{query.pattern[:200]!r} is not a valid regular expression here: look-around and "
            "backreferences are not known, and ( ) [ ] need their partners. "
            "To search for it as plain text, pass literal=true."
        ) from None


def _place(matches: Callable[[str], bool], text: str) -> int:
    """About where the first match begins, in linear time: the engine says only whether there is one.

    Parts are asked for that overlap by half, and are longer each time round.
    """
    size = MAX_LINE // 2
    while size < len(text):
        for start in range(0, len(text), size // 2):
            if matches(text[start : start + size]):
                return start
        size *= 4
    return 0
