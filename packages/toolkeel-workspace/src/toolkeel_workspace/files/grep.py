"""Search text files below a root for lines that match a pattern.

If ripgrep is installed, it chooses candidate files. Which lines match is decided here in either case, in
linear time (see `toolkeel_workspace.files.patterns.linear_regex`), so the output is the same with and without it.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import BinaryIO, NamedTuple

from toolkeel._common.path_patterns import secret_pattern
from toolkeel._records.record import record
from toolkeel._records.result_store import PREFIX, RESULTS
from toolkeel._records.taint_sources import Source, dump_sources, read_file_mark
from toolkeel.context import CancelToken
from toolkeel.errors import ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files import ripgrep
from toolkeel_workspace.files.binary_kind import HEAD_BYTES, find_binary_kind
from toolkeel_workspace.files.encodings import count_invalid, decode_text, replace_invalid
from toolkeel_workspace.files.find import clean_glob, compile_glob
from toolkeel_workspace.files.line_window import (
    MAX_BYTES,
    escape_name,
    format_size,
    pluralize,
)
from toolkeel_workspace.files.not_searched import NotSearched
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.patterns.impossible_patterns import explain_no_match
from toolkeel_workspace.files.patterns.linear_regex import compile_regex, escape_regex
from toolkeel_workspace.files.walk import FileWalk, sort_key

MAX_LINE_CHARS = 500
"""Characters shown of a line, around the match."""
MAX_FILE_BYTES = 16 * 1024 * 1024
"""Largest file searched of a folder, in bytes."""
MAX_NAMED_FILE_BYTES = 256 * 1024 * 1024
"""Largest file searched that was named, in bytes."""
MAX_SECONDS = 10.0
"""How long one search may take."""
NO_MATCHES = "No matches."


@record
class GrepQuery:
    """A search.

    Args:
        pattern: Regular expression or text.
        glob: Pattern of file names or paths, as of ``find``; empty for all.
        ignore_case: Ignore letter case.
        literal: `pattern` is plain text.
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
    is_match: bool


def open_saved_result(name: str) -> BinaryIO:
    """Open a saved result by its name.

    Raises:
        ToolError: no result is saved under this name.
    """
    found = RESULTS.find(name)
    try:
        if found is not None:
            return found.open("rb")
    except OSError:
        pass
    raise ToolError(f"No result is kept as {name[:100]!r} any more. Make it again.")


class GrepSearch:
    """One search; call `run` once.

    Args:
        root: The folder that bounds it.
        query: What to search.
        cancel: Ends the search early.

    Raises:
        ToolError: if the pattern is invalid.
    """

    def __init__(self, root: Root, query: GrepQuery, cancel: CancelToken | None = None) -> None:
        self.root = root
        self.query = query
        self.cancel = cancel or CancelToken()
        self.pattern, self.matches = _compile_query(query)
        glob = clean_glob(query.glob, root)
        self._is_wanted = compile_glob(glob) if glob else lambda path: True
        self.rows: list[str] = []
        self.match_count = 0
        self.file_count = 0
        self.labels: list[Source] = []
        self.guesses: list[str] = []
        self.shortened_count = 0
        self.truncated_folders: list[str] = []
        self.stop_reason = ""  # why it ended early: "limit", "bytes" or "time"
        self.not_searched = NotSearched(root)
        self._is_glob_unused = False
        self._place = ""  # what a glob is relative to, as a sentence
        self._is_sure = True
        self._encoding = ""  # of the file being searched, if it is a guess
        self._bytes = 0
        self._deadline = perf_counter() + MAX_SECONDS

    def run(self, path: str) -> ToolOutput:
        """Search one named file, or the files below a folder.

        Raises:
            ToolError: if it cannot be searched.
        """
        if path.startswith(PREFIX):
            with open_saved_result(path) as saved:
                self._search_named(path, saved)
            return self._make_output()
        path = self.root.match_spelling(path)
        if not self.root.is_folder(path):
            with os.fdopen(self.root.open_file(path), "rb") as file:
                self._search_named(path, file)
            return self._make_output()
        for name in self._candidate_files(path):
            if self._is_over():
                self.stop_reason = self.stop_reason or "time"
            if self.stop_reason:
                break
            self._search_lines(name, self._read_lines(name))
        prefix = "" if path == "." else f"{path}/"
        if self.query.glob and not (self.match_count or self.stop_reason):
            names = FileWalk(self.root, path)
            self._place = f" A glob is below {escape_name(prefix)}." if prefix else ""
            self._is_glob_unused = not any(
                self._is_wanted(name.removeprefix(prefix)) for name in names
            )
        if not self.stop_reason and self._is_over():  # while candidate files were being found
            self.stop_reason = "time"
        if not self.stop_reason:
            self.not_searched.survey(
                path, MAX_FILE_BYTES, lambda name: self._is_wanted(name.removeprefix(prefix))
            )
        return self._make_output()

    def _candidate_files(self, folder: str) -> Iterable[str]:
        """Return the files to search, in order."""
        walk = FileWalk(self.root, folder)
        self.truncated_folders = walk.truncated_folders
        prefix = "" if folder == "." else f"{folder}/"
        found = ripgrep.find_candidates(
            self.root,
            folder,
            self.pattern,
            glob=self.query.glob,
            max_bytes=MAX_FILE_BYTES,
            is_over=self._is_over,
        )
        names = walk if found is None else filter(walk.is_included, sorted(found, key=sort_key))
        return (name for name in names if self._is_wanted(name.removeprefix(prefix)))

    def _is_over(self) -> bool:
        return self.cancel.cancelled or perf_counter() > self._deadline

    def _search_named(self, path: str, file: BinaryIO) -> None:
        """Search one file line by line, so that a long one takes little memory."""
        size = os.fstat(file.fileno()).st_size
        if kind := find_binary_kind(file.read(HEAD_BYTES)):
            raise ToolError(f"{path!r} is not searched: it is {kind}.")
        if size > MAX_NAMED_FILE_BYTES:
            raise ToolError(
                f"{path!r} is not searched: it is larger than {format_size(MAX_NAMED_FILE_BYTES)}."
            )
        file.seek(0)
        if size <= MAX_FILE_BYTES:
            self._search_lines(path, self._decode_lines(path, file.read()))
        else:
            self._search_lines(
                path, (line.removesuffix(b"\n").decode("utf-8", "replace") for line in file)
            )

    def _search_lines(self, path: str, lines: Iterable[str]) -> None:
        found = False
        for line in self._select_lines(lines):
            found = found or line.is_match
            self._add_row(path, line)
            if self.stop_reason:
                break
        self.file_count += found
        if self._encoding and (found or not self._is_sure):
            self.guesses.append(f"{escape_name(path)} is {self._encoding}")
        if found and secret_pattern(path):
            self.labels.append(Source("secret", "grep", path))
        if found and (whose := read_file_mark(os.path.join(self.root.path, path))):
            self.labels.append(Source("stranger", "grep", f"{path} ({whose})"))

    def _decode_lines(self, path: str, data: bytes) -> list[str]:
        """Return a file's lines as ``read`` shows them, and note a guess of its encoding."""
        decoded = decode_text(data)
        self._encoding = decoded.description if decoded.confidence is not None else ""
        self._is_sure = decoded.is_sure
        if count_invalid(decoded.text):
            self.not_searched.add(f"only its bytes that are no {decoded.name}", path)
        return _split_lines(replace_invalid(decoded.text))

    def _read_lines(self, path: str) -> list[str]:
        """Return a file's lines, or none if it is binary, too large or unreadable."""
        try:
            with os.fdopen(self.root.open_file(path), "rb") as file:
                if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                    return []
                head = file.read(HEAD_BYTES)
                kind = find_binary_kind(head)
                data = b"" if kind else head + file.read(MAX_FILE_BYTES)
        except (ToolError, OSError):
            self.not_searched.add("not to be read", path)
            return []
        if kind:
            self.not_searched.add(
                "binary" if kind.startswith("binary") else kind.partition(",")[0], path
            )
        return self._decode_lines(path, data)

    def _select_lines(self, lines: Iterable[str]) -> Iterator[_Line]:
        """Yield the matching lines and their context, in order, each once."""
        before: deque[_Line] = deque(maxlen=self.query.context)
        after = 0
        for number, raw in enumerate(lines, 1):
            text = raw.removesuffix("\r")
            if self.matches(text):
                if self.match_count == self.query.limit:
                    self.stop_reason = "limit"
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
            if not number % 4096 and self._is_over():
                self.stop_reason = "time"
                return

    def _add_row(self, path: str, line: _Line) -> None:
        text = line.text
        if len(text) > MAX_LINE_CHARS:
            text, self.shortened_count = self._cut_line(line), self.shortened_count + 1
        mark = ":" if line.is_match else "-"
        row = f"{escape_name(path)}{mark}{line.number}{mark} {text}"
        self._bytes += len(row.encode()) + 1
        if self._bytes > MAX_BYTES:
            self.stop_reason = "bytes"
            return
        self.match_count += line.is_match
        self.rows.append(row)

    def _cut_line(self, line: _Line) -> str:
        """Return as much of a long line as fits, around the first match."""
        place = _locate_match(self.matches, line.text) if line.is_match else 0
        start = max(place - MAX_LINE_CHARS // 5, 0)
        part = line.text[start : start + MAX_LINE_CHARS]
        last = start + len(part)
        return f"[columns {start + 1} to {last} of {len(line.text)}] {part}"

    def _make_output(self) -> ToolOutput:
        details = {
            "matches": self.match_count,
            "files": self.file_count,
            "lines_shortened": self.shortened_count,
            "stopped_by": self.stop_reason or None,
            **({"taint": dump_sources(self.labels)} if self.labels else {}),
        }
        notice = f"[{self._make_notice()}]"
        text = "\n".join([*self.rows, "", notice] if self.rows else [notice])
        return ToolOutput(text, details=details)

    def _make_notice(self) -> str:
        parts = [self._summarize()]
        parts += [
            f"Not all names in {escape_name(folder)} were looked at."
            for folder in self.truncated_folders[:5]
        ]
        parts += [f"{guess}." for guess in self.guesses[:5]]
        if not self.stop_reason:
            parts.append(self.not_searched.describe())
        return " ".join(filter(None, parts))

    def _summarize(self) -> str:
        found = f"{pluralize(self.match_count, 'match', 'matches')} in {pluralize(self.file_count, 'file')}"
        if self.shortened_count:
            found += f"; {pluralize(self.shortened_count, 'long line is', 'long lines are')} shown in part"
        if self.stop_reason == "time":
            return f"Stopped before its end: {found}. Narrow the search with path or glob."
        if self.stop_reason:
            return f"First {found}; there may be more. Narrow the search with path or glob."
        if self._is_glob_unused:
            several = " Write several patterns as {a,b}." if "," in self.query.glob else ""
            return (
                f"{NO_MATCHES} No file that is looked into matches glob {self.query.glob[:200]!r}."
                f"{several}{self._place}"
            )
        return f"{found}." if self.match_count else f"{NO_MATCHES}{self._explain_nothing()}"

    def _explain_nothing(self) -> str:
        """Explain why a pattern may have matched nothing, as far as that shows, as sentences."""
        if self.query.literal:
            return ""
        said = ""
        if "\\|" in self.query.pattern:
            said += " \\| is a plain |: alternatives are written a|b."
        if "\\r" in self.query.pattern:
            said += " A carriage return at the end of a line is not part of it: read tells which files have them."
        signs = re.sub(r"\\.|[(][?]", "", self.query.pattern)
        if plain := [sign for sign in "([{" if sign in signs]:
            said += f" To search for {' '.join(plain)} as such, pass literal=true."
        return said


def _split_lines(text: str) -> list[str]:
    text = text.removesuffix("\n")
    return text.split("\n") if text else []


def _compile_query(query: GrepQuery) -> tuple[str, Callable[[str], bool]]:
    """Return the pattern for the engines, and the function that matches a line."""
    if not query.pattern:
        raise ToolError("The pattern is empty.")
    if query.limit < 1 or query.context < 0:
        raise ToolError("limit counts from 1, and context from 0.")
    pattern = escape_regex(query.pattern) if query.literal else query.pattern
    if never := explain_no_match(pattern):
        raise ToolError(f"{query.pattern[:200]!r} finds nothing: {never}.")
    pattern = f"(?i){pattern}" if query.ignore_case else pattern
    try:
        return pattern, compile_regex(pattern)
    except ValueError:
        raise ToolError(
            f"{query.pattern[:200]!r} is not a valid regular expression here: look-around and "
            "backreferences are not known, ( ) [ ] { } need their partners, and * + ? something before "
            "them. "
            "To search for it as plain text, pass literal=true."
        ) from None


def _locate_match(matches: Callable[[str], bool], text: str) -> int:
    """Return about where the first match starts. The engine only reports if there is one.

    In linear time: parts that overlap by half are tried, longer ones in each round.
    """
    size = MAX_LINE_CHARS // 2
    while size < len(text):
        for start in range(0, len(text), size // 2):
            if matches(text[start : start + size]):
                return start
        size *= 4
    return 0
