"""A part of a text file by line and column, with the file's totals and where to continue.

Lines end with a line feed. A line too long to show at once is shown in pieces: following `Window.next`
from the start reads every byte of the file once.
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
MAX_SCAN_BYTES = 64 * 1024 * 1024
"""Bytes after the shown part in which lines are counted."""
MAX_SKIP_BYTES = 4 << 30
"""Bytes into a file at which a line may start."""
_CHUNK = 1 << 20


class Window(NamedTuple):
    """A part of a file.

    Args:
        data: As it is in the file: complete lines, except that a too long line may be cut at the start
            or at the end.
        first_line: Number of the first line, from 1.
        column: Of its first character, from 1.
        shown_lines: Number of lines, partial ones included.
        total_lines: Number of lines in the file, as far as they were counted.
        is_exact: True if all lines were counted.
        cut_by: What limited it: the number of lines, or their size; empty if nothing did.
        next: Line and column where to continue; None at the end.
    """

    data: bytes
    first_line: int
    column: int
    shown_lines: int
    total_lines: int
    is_exact: bool
    cut_by: Literal["", "lines", "bytes"]
    next: tuple[int, int] | None


def read_window(file: io.BufferedIOBase, first: int, limit: int, column: int = 1) -> Window:
    """Read `limit` lines from a line and column on; memory use does not grow with the file.

    Args:
        file: Positioned at its start.
        first: First line, from 1.
        limit: Most lines.
        column: First character of that line, from 1. An invalid byte counts as one.

    Raises:
        ToolError: the line has no such column.
    """
    skipped = _skip_lines(file, first - 1)
    if skipped < first - 1:
        exact = not file.read(1)
        return Window(b"", first, column, 0, skipped, exact, "", None)
    if (passed := _skip_characters(file, column - 1)) < column - 1:
        raise ToolError(
            f"Line {first} has {pluralize(passed, 'character')}; column {column} is past its end."
        )
    lines, used, number = list[bytes](), 0, first
    cut: Literal["", "lines", "bytes"] = ""
    next_position: tuple[int, int] | None = None
    while line := file.readline(MAX_BYTES - used + 1):
        if len(lines) == limit:
            cut, next_position = "lines", (number, 1)
        elif used + len(line) > MAX_BYTES:
            cut, next_position = "bytes", (number, 1)
            if not lines:
                lines.append(part := _drop_partial_character(line[:MAX_BYTES]))
                file.seek(len(part) - len(line), io.SEEK_CUR)
                next_position = (number, column + len(part.decode("utf-8", "surrogateescape")))
                line = b""
        if cut:
            file.seek(-len(line), io.SEEK_CUR)
            break
        lines.append(line)
        used += len(line)
        number += line.endswith(b"\n")
    last = lines[-1][-1:] if lines else b"\n"
    rest, exact = _count_rest(file, last)
    newlines = sum(each.count(b"\n") for each in lines)
    total = first - 1 + newlines + rest
    return Window(b"".join(lines), first, column, len(lines), total, exact, cut, next_position)


def _skip_lines(file: io.BufferedIOBase, lines: int) -> int:
    """Seek to the start of a line. Return how many lines were skipped, fewer at the end."""
    passed, last = 0, b"\n"
    while passed < lines and file.tell() < MAX_SKIP_BYTES and (chunk := file.read(_CHUNK)):
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
    """Skip characters within a line, at most to its end. Return how many."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    passed = 0
    while passed < characters and (piece := file.readline(_CHUNK)):
        pending = len(decoder.getstate()[0])
        text = decoder.decode(piece)
        wanted = text[: characters - passed].removesuffix("\n")
        passed += len(wanted)
        if wanted != text:
            used = len(wanted.encode("utf-8", "surrogateescape"))
            file.seek(used - pending - len(piece), io.SEEK_CUR)
            return passed
    rest = decoder.decode(b"", True)  # a character that the file's end cuts: each byte is one
    skipped = min(len(rest), characters - passed)
    file.seek(skipped - len(rest), io.SEEK_CUR)
    return passed + skipped


def _drop_partial_character(data: bytes) -> bytes:
    """Drop an incomplete character at the end of bytes."""
    for back in range(1, min(4, len(data))):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return data[:-back] if length > back else data
    return data


def _count_rest(file: io.BufferedIOBase, last: bytes) -> tuple[int, bool]:
    """Count the line ends from here on. Return true with it if all were counted."""
    count, end = 0, file.tell() + MAX_SCAN_BYTES
    while chunk := file.read(_CHUNK):
        count += chunk.count(b"\n")
        last = chunk[-1:]
        if file.tell() >= end:
            return count, not file.read(1)
    return count + (last != b"\n"), True


def format_size(size: int) -> str:
    """Format a size for people.

    >>> format_size(210), format_size(51200), format_size(3_500_000)
    ('210 B', '50.0 KB', '3.3 MB')
    """
    if size < 1024:
        return f"{size} B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f} KB"
    return f"{size / 1024 / 1024:.1f} MB"


def pluralize(number: int, one: str, many: str = "") -> str:
    """Format a number with its noun.

    >>> pluralize(1, "line"), pluralize(2, "entry", "entries")
    ('1 line', '2 entries')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def escape_name(name: str) -> str:
    r"""Return a file name as text, with invalid bytes and control characters as visible escapes.

    >>> escape_name("a\nb")
    'a\\x0ab'
    """
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(char if _is_visible(char) else f"\\x{ord(char):02x}" for char in text)


def _is_visible(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"
