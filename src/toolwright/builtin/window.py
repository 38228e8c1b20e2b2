"""A part of a text file, by lines, with the totals of the whole."""

from __future__ import annotations

import io
import unicodedata
from typing import Literal, NamedTuple

MAX_LINES = 2000
"""Most lines shown at once."""
MAX_BYTES = 51_200
"""Most bytes of text shown at once."""
MAX_SCAN = 64 * 1024 * 1024
"""How far into a file lines are counted, in bytes."""


class Window(NamedTuple):
    """Whole lines of a file.

    Args:
        data: The lines as they are in the file.
        first: Number of the first one, from 1.
        shown: How many there are.
        total: How many the file has, as far as it was counted.
        cut: What kept further lines out: their number, their size, or that the first one
            alone is too long; empty if nothing did.
    """

    data: bytes
    first: int
    shown: int
    total: int
    cut: Literal["", "lines", "bytes", "line"]


def read_window(file: io.BufferedReader, first: int, limit: int) -> Window:
    """Read `limit` lines from line `first` on; memory stays flat however large the file is."""
    number, used, kept = 0, 0, list[bytes]()
    cut: Literal["", "lines", "bytes", "line"] = ""
    while not cut and file.tell() < MAX_SCAN:
        line = _line(file)
        if not line:
            break
        number += 1
        if number < first:
            continue
        if len(kept) == limit:
            cut = "lines"
        elif used + len(line) > MAX_BYTES:
            cut = "bytes" if kept else "line"
        else:
            kept.append(line)
            used += len(line)
    total = number + (_count_rest(file) if cut else 0)
    return Window(b"".join(kept), first, len(kept), total, cut)


def _line(file: io.BufferedReader) -> bytes:
    """The next line; of one that is too long to be shown, only the beginning is returned."""
    line = piece = file.readline(MAX_BYTES + 1)
    while len(piece) > MAX_BYTES and not piece.endswith(b"\n") and file.tell() < MAX_SCAN:
        piece = file.readline(MAX_BYTES + 1)
    return line


def _count_rest(file: io.BufferedReader) -> int:
    count, last = 0, b"\n"
    while file.tell() < MAX_SCAN and (chunk := file.read(1 << 20)):
        count += chunk.count(b"\n")
        last = chunk[-1:]
    return count + (last != b"\n")


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
