r"""Patterns that can never match, since text is searched line by line: ``a\nb``, ``$x``, ``x^``."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Python's own parser of patterns: it is asked for the form alone, and matches nothing here.
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_LINE_END = 10


def why_never(pattern: str) -> str:
    r"""Why a pattern can match no line; empty if it may, or is none that Python reads.

    >>> why_never("a\\nb")
    'a line end can never match: lines are searched one by one'
    >>> why_never("x$"), why_never("[^\\n]")
    ('', '')
    """
    try:
        parts: Sequence[Any] = list(parser.parse(pattern))
    except (re.error, RecursionError, OverflowError):
        return ""
    if _needs_line_end(parts):
        return "a line end can never match: lines are searched one by one"
    return _misplaced(parts)


def _needs_line_end(parts: Sequence[Any]) -> bool:
    return any(_one_needs(kind, value) for kind, value in parts)


def _one_needs(kind: object, value: Any) -> bool:
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


def _misplaced(parts: Sequence[Any]) -> str:
    """Whether something must come before the beginning of a line, or after its end."""
    widths: list[int] = [_width(kind, value) for kind, value in parts]
    for number, (kind, value) in enumerate(parts):
        if kind is not kinds.AT:
            continue
        if value in (kinds.AT_BEGINNING, kinds.AT_BEGINNING_STRING) and any(widths[:number]):
            return "nothing can stand before ^, the beginning of a line"
        if value in (kinds.AT_END, kinds.AT_END_STRING) and any(widths[number + 1 :]):
            return "nothing can stand after $, the end of a line"
    return ""


def _width(kind: object, value: Any) -> int:
    """How many characters a part needs at least, as far as that is plain."""
    if kind in (kinds.LITERAL, kinds.NOT_LITERAL, kinds.ANY, kinds.IN):
        return 1
    if kind is kinds.SUBPATTERN:
        return sum(_width(*part) for part in value[-1])
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
        return int(value[0]) * sum(_width(*part) for part in value[2])
    return 0
