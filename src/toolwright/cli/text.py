"""How the command line words things: safe for a terminal, short, and of known width."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from toolwright.messages import ToolCall

# C0 without tab and newline, DEL and C1: what a terminal obeys. The bidirectional controls reorder
# what is read (CVE-2021-42574); lone surrogates cannot be encoded.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    r"""`text` with everything a terminal would obey made visible; tabs and newlines stay.

    >>> escaped("\x1b]52;c;cm0gLXJm\x07 ok\r\n")
    '\\x1b]52;c;cm0gLXJm\\x07 ok\n'
    """
    return _CONTROLS.sub(_visible, text.replace("\r\n", "\n"))


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str) -> str:
    r"""`text` on one line, whatever it holds.

    >>> one_line("a\n\tb  c")
    'a b c'
    """
    return escaped(" ".join(text.split()))


# What looks like nothing or like another space although it is of no invisible category: fillers,
# the blank Braille pattern, and the selectors and joiners that only change their neighbours.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_SPACES = " \u3000"
"""The spaces that are seen as what they are: ours, and the wide one of Chinese and Japanese."""


def visible_json(value: object) -> str:
    r"""A JSON value on several lines, every character that cannot be seen as its JSON escape.

    It is JSON still, of the same value: what is read is what there is.

    >>> print(visible_json({"path": "a\u202eb", "text": "猫\x1b[2J"}))
    {
      "path": "a\u202eb",
      "text": "猫\u001b[2J"
    }
    """
    text = pretty(value)
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(char if char == "\n" or _is_seen(char) else _json_escape(char) for char in text)


def visible_line(text: str) -> str:
    r"""`text` on one line, every character that cannot be seen as an escape.

    >>> visible_line("rm\u200b \n -rf")
    'rm\\u200b -rf'
    """
    text = " ".join(text.split())
    return "".join(char if _is_seen(char) else _json_escape(char) for char in text)


def _is_seen(char: str) -> bool:
    if char in _SPACES:
        return True
    category = unicodedata.category(char)
    return category not in _UNSEEN and category != "Zs" and char not in _BLANK


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


# — width, in terminal cells —


def cells(text: str) -> int:
    """How many cells a line takes: two for wide characters, none for combining ones.

    >>> cells("猫cat"), cells("e\u0301")
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
    return _beginning(text, width - 1) + "…" if width > 0 else ""


def _beginning(text: str, width: int) -> str:
    """As much of `text` as `width` cells hold."""
    used = 0
    for index, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:index]
    return text


def padded(text: str, width: int) -> str:
    """`text` with spaces after it, to `width` cells."""
    return text + " " * (width - cells(text))


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
    """What stays on one line: a word, or a wide character, with what closes it."""
    for piece in _PIECE.findall(text):
        while cells(piece.rstrip()) > width:
            head = _beginning(piece, width) or piece[0]
            yield head
            piece = piece[len(head) :]
        yield piece


# — records, worded —


def arguments_of(call: ToolCall) -> Mapping[str, Any] | str:
    """A call's arguments as an object, or as the raw text if it is none."""
    if not isinstance(call.arguments, str):
        return call.arguments
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        return call.arguments
    return value if isinstance(value, dict) else call.arguments


def signature(call: ToolCall, width: int = 60) -> str:
    """A call as a person would write it, on one line.

    Args:
        call: The call.
        width: Most cells.

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


def compact(value: object) -> str:
    """A JSON value on one line, its text unescaped."""
    return json.dumps(value, ensure_ascii=False, default=str)


def pretty(value: object) -> str:
    """A JSON value on several lines, its text unescaped."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def duration(seconds: float) -> str:
    """A duration for people.

    >>> duration(0.000042), duration(0.0123), duration(3.14), duration(75)
    ('42 µs', '12 ms', '3.1 s', '1 min 15 s')
    """
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    return f"{int(seconds + 0.5) // 60} min {int(seconds + 0.5) % 60} s"


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "call"), count(2000, "call")
    ('1 call', '2,000 calls')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
