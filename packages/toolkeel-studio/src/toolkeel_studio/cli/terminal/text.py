"""Text for a terminal, measured in its cells."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from toolkeel.messages import ToolCall
from toolkeel.observe.wording import arguments_of, compact, visible_line

# — width, in terminal cells —


def cells(text: str) -> int:
    """Count the cells of a line: two for wide characters, none for combining ones.

    >>> cells("猫cat"), cells("é")
    (5, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, width: int) -> str:
    """`text` in at most `width` cells, with an ellipsis where it was cut.

    >>> fit("一二三四", 6), fit("abc", 3)
    ('一二…', 'abc')
    """
    if cells(text) <= width:
        return text
    return _fitting_prefix(text, width - 1) + "…" if width > 0 else ""


def _fitting_prefix(text: str, width: int) -> str:
    """Return the longest prefix of `text` that fits `width` cells."""
    used = 0
    for index, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:index]
    return text


def padded(text: str, width: int) -> str:
    """`text` with spaces after it, to `width` cells."""
    return text + " " * (width - cells(text))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows under their heads, in columns.

    >>> table(("name", "n"), [("猫猫猫", "1")])
    ['name    n', '猫猫猫  1']
    """
    every = [head, *rows]
    widths = [max(cells(row[n]) for row in every) for n in range(len(head))]
    return [
        "  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in every
    ]


def wrapped(text: str, width: int) -> list[str]:
    """`text` as lines of at most `width` cells, parted at spaces, after commas and wide characters.

    >>> wrapped("one two three", 8), wrapped("今天天气很好。", 6)
    (['one two', 'three'], ['今天天', '气很', '好。'])
    """
    lines, line = [], ""
    for piece in _pieces(text, width):
        if cells(line + piece.rstrip()) <= width or not line:
            line += piece
        else:
            lines.append(line.rstrip())
            line = piece.lstrip()
    return [*lines, line.rstrip()]


def chopped(line: str, width: int) -> list[str]:
    """`line` in pieces of at most `width` cells, nothing left out, not even a space.

    >>> chopped("a  猫猫", 4), chopped("", 4)
    (['a  ', '猫猫'], [''])
    """
    pieces, start, used = [], 0, 0
    for index, char in enumerate(line):
        cell = _cell(char)
        if used + cell > width and index > start:
            pieces.append(line[start:index])
            start, used = index, 0
        used += cell
    return [*pieces, line[start:]]


_WIDE = "\u2e80-\u2fff\u3041-\u9fff\uac00-\ud7af\uff10-\uff9f"
_CLOSING = "\"',.;:!?)\\]}\u3001\u3002\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff1a\uff1b\uff1f"
_PIECE = re.compile(rf"[{_WIDE}][{_CLOSING}]*\s*|[^\s,{_WIDE}]*,*\s*")


def _pieces(text: str, width: int) -> Iterator[str]:
    """Yield the parts that stay on one line: a word, or a wide character, with its closing signs."""
    for piece in _PIECE.findall(text):
        bare = piece.rstrip()
        *heads, last = chopped(bare, width)
        yield from heads
        yield last + piece[len(bare) :]


def signature(call: ToolCall, width: int = 60) -> str:
    """Format a call as a person would write it, on one line.

    Args:
        call: The call.
        width: Maximum number of cells.

    >>> signature(ToolCall("1", "weather", '{"city": "北京", "days": 3}'))
    'weather(city="北京", days=3)'
    """
    arguments = arguments_of(call)
    if isinstance(arguments, str):
        inside = arguments
    else:
        inside = ", ".join(f"{key}={compact(value)}" for key, value in arguments.items())
    name = visible_line(call.name)
    return f"{name}({fit(visible_line(inside), max(width - cells(name) - 2, 8))})"
