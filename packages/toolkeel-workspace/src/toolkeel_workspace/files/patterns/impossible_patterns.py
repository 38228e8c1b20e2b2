r"""Patterns that can never match, because text is searched line by line: ``a\nb``, ``$x``, ``x^``.

`re._parser` is private, but Python has no public parser of patterns. It is used for the structure alone,
matching nothing; checked with Python 3.11 to 3.14, and `tests/builtin/files/test_impossible_patterns.py`
fails if a name that is used here changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Python's own parser of patterns: it is asked for the form alone, and matches nothing here.
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_LINE_END = 10


def explain_no_match(pattern: str) -> str:
    r"""Return why a pattern can match no line, or empty if it may, or if Python cannot parse it.

    >>> explain_no_match("a\\nb")
    'a line end can never match: lines are searched one by one'
    >>> explain_no_match("x$"), explain_no_match("[^\\n]")
    ('', '')
    """
    try:
        parts: Sequence[Any] = list(parser.parse(pattern))
    except (re.error, RecursionError, OverflowError):
        return ""
    if _needs_line_end(parts):
        return "a line end can never match: lines are searched one by one"
    return _find_misplaced_anchor(parts)


def _needs_line_end(parts: Sequence[Any]) -> bool:
    return any(_part_needs_line_end(kind, value) for kind, value in parts)


def _part_needs_line_end(kind: object, value: Any) -> bool:
    if kind is kinds.LITERAL:
        return bool(value == _LINE_END)
    if kind is kinds.SUBPATTERN:
        return _needs_line_end(list(value[-1]))
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
        return value[0] > 0 and _needs_line_end(list(value[2]))
    if kind is kinds.BRANCH:
        return all(_needs_line_end(list(branch)) for branch in value[1])
    if kind is kinds.IN:
        return bool(value == [(kinds.LITERAL, _LINE_END)])
    return False


def _find_misplaced_anchor(parts: Sequence[Any]) -> str:
    """Return why something would have to precede a line's start or follow its end; empty if not."""
    widths: list[int] = [_measure_min_width(kind, value) for kind, value in parts]
    for number, (kind, value) in enumerate(parts):
        if kind is not kinds.AT:
            continue
        if value in (kinds.AT_BEGINNING, kinds.AT_BEGINNING_STRING) and any(widths[:number]):
            return "nothing can stand before ^, the beginning of a line"
        if value in (kinds.AT_END, kinds.AT_END_STRING) and any(widths[number + 1 :]):
            return "nothing can stand after $, the end of a line"
    return ""


def _measure_min_width(kind: object, value: Any) -> int:
    """Return the least number of characters a part needs, as far as that is evident."""
    if kind in (kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY, kinds.IN):
        return 1
    if kind is kinds.SUBPATTERN:
        return sum(_measure_min_width(*part) for part in value[-1])
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
        return int(value[0]) * sum(_measure_min_width(*part) for part in value[2])
    return 0
