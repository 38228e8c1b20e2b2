"""A part of a text file, by line and column, with the totals of the whole and where it goes on.

Lines end with a line feed. A line that is too long to be shown at once is shown in pieces, so that
whoever follows `Window.next` from the beginning has read every byte of the file once.
"""

from __future__ import annotations

import codecs
import io
import unicodedata
from typing import Literal, NamedTuple

from toolkeel.errors import ToolError

MAX_LINES = 2000
"""Most lines shown at once."""
MAX_BYTES = 51_200
"""Most bytes of text shown at once."""
MAX_SCAN = 64 * 1024 * 1024
"""How far beyond what is shown lines are counted, in bytes."""
MAX_SKIP = 4 << 30
"""How far into a file a line may begin, in bytes."""
_CHUNK = 1 << 20


class Window(NamedTuple):
    """A part of a file.

    Args:
        data: As it is in the file: whole lines, but that the first may begin, and the last end,
            within one that is too long.
        first: Number of the first line, from 1.
        column: Of its first character, from 1.
        shown: How many lines there are anything of.
        total: How many the file has, as far as they were counted.
        exact: Whether they were counted to the end.
        cut: What kept more out: the number of lines, or their size; empty if nothing did.
        next: Line and column where to read on; None at the end.
    """

    data: bytes
    first: int
    column: int
    shown: int
    total: int
    exact: bool
    cut: Literal["", "lines", "bytes"]
    next: tuple[int, int] | None


def read_window(file: io.BufferedIOBase, first: int, limit: int, column: int = 1) -> Window:
    """Read `limit` lines from a line and a column on; memory stays flat however large the file is.

    Args:
        file: To read from its beginning.
        first: Line to begin with, from 1.
        limit: Most lines.
        column: Character of that line to begin with, from 1. A byte that is no UTF-8 counts as one.

    Raises:
        ToolError: the line has no such column.
    """
    skipped = _skip_lines(file, first - 1)
    if skipped < first - 1:
        exact = not file.read(1)
        return Window(b"", first, column, 0, skipped, exact, "", None)
    if (passed := _skip_characters(file, column - 1)) < column - 1:
        raise ToolError(
            f"Line {first} has {count(passed, 'character')}; column {column} is past its end."
        )
    kept, used, number = list[bytes](), 0, first
    cut: Literal["", "lines", "bytes"] = ""
    going_on: tuple[int, int] | None = None
    while line := file.readline(MAX_BYTES - used + 1):
        if len(kept) == limit:
            cut, going_on = "lines", (number, 1)
        elif used + len(line) > MAX_BYTES:
            cut, going_on = "bytes", (number, 1)
            if not kept:
                kept.append(part := _without_cut_character(line[:MAX_BYTES]))
                file.seek(len(part) - len(line), io.SEEK_CUR)
                going_on = (number, column + len(part.decode("utf-8", "surrogateescape")))
                line = b""
        if cut:
            file.seek(-len(line), io.SEEK_CUR)
            break
        kept.append(line)
        used += len(line)
        number += line.endswith(b"\n")
    last = kept[-1][-1:] if kept else b"\n"
    rest, exact = _count_rest(file, last)
    newlines = sum(each.count(b"\n") for each in kept)
    total = first - 1 + newlines + rest
    return Window(b"".join(kept), first, column, len(kept), total, exact, cut, going_on)


def _skip_lines(file: io.BufferedIOBase, lines: int) -> int:
    """Go to the beginning of a line; how many lines were passed, fewer if there are no more."""
    passed, last = 0, b"\n"
    while passed < lines and file.tell() < MAX_SKIP and (chunk := file.read(_CHUNK)):
        found = chunk.count(b"\n")
        if passed + found >= lines:
            place = -1
            for _ in range(lines - passed):
                place = chunk.find(b"\n", place + 1)
            file.seek(place + 1 - len(chunk), io.SEEK_CUR)
            if place + 1 < len(chunk) or file.read(1):
                file.seek(-1 if place + 1 == len(chunk) else 0, io.SEEK_CUR)
            return lines
        passed, last = passed + found, chunk[-1:]
    return passed + (last != b"\n")


def _skip_characters(file: io.BufferedIOBase, characters: int) -> int:
    """Go on within a line, at most to its end; how many characters were passed."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    passed = 0
    while passed < characters and (piece := file.readline(_CHUNK)):
        held = len(decoder.getstate()[0])
        text = decoder.decode(piece)
        wanted = text[: characters - passed].removesuffix("\n")
        passed += len(wanted)
        if wanted != text:
            used = len(wanted.encode("utf-8", "surrogateescape"))
            file.seek(used - held - len(piece), io.SEEK_CUR)
            break
    return passed


def _without_cut_character(data: bytes) -> bytes:
    """Bytes less a character at their end that is not whole."""
    for back in range(1, min(4, len(data))):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return data[:-back] if length > back else data
    return data


def _count_rest(file: io.BufferedIOBase, last: bytes) -> tuple[int, bool]:
    """How many lines end from here on, and whether all were counted."""
    count, end = 0, file.tell() + MAX_SCAN
    while chunk := file.read(_CHUNK):
        count += chunk.count(b"\n")
        last = chunk[-1:]
        if file.tell() >= end:
            return count, not file.read(1)
    return count + (last != b"\n"), True


def human(size: int) -> str:
    """A size for people.

    >>> human(210), human(51200), human(3_500_000)
    ('210 B', '50.0 KB', '3.3 MB')
    """
    if size < 1024:
        return f"{size} B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f} KB"
    return f"{size / 1024 / 1024:.1f} MB"


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> count(1, "line"), count(2, "entry", "entries")
    ('1 line', '2 entries')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def printable(name: str) -> str:
    r"""A file name as text: bytes that are not UTF-8 and control characters become visible.

    >>> printable("a\nb")
    'a\\x0ab'
    """
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(char if _shows(char) else f"\\x{ord(char):02x}" for char in text)


def _shows(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"
