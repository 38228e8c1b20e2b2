"""Deciding if text that pydantic-core validated directly needs a strict parse after all.

Validating straight from the text is several times faster than parsing first, but pydantic-core accepts
repeated keys (the last wins), NaN and Infinity, and numbers that overflow. Text and result together
show if any of that can have happened; nearly always it cannot, at a tenth of the cost of a parse.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date, datetime, time
from enum import Enum
from typing import Any
from uuid import UUID

# Two searches: each begins with one class of characters, which is found ten times as fast as
# the first of two alternatives.
_EXPONENT = re.compile(r"[eE]\+?\d{3}")
_DIGITS = re.compile(r"\d{200}")
_DIGIT = re.compile(r"\d")
_SPACED = re.compile(r'"[ \t\r\n]+:')


def needs_strict_check(
    text: str,
    validated: Mapping[str, object],
    names_sent: Collection[str] | None = None,
    nested: Collection[str] | None = None,
    loose: bool = True,
) -> bool:
    """Return True if pydantic-core may have accepted a text that a strict parser refuses.

    It takes the last of repeated keys. Each key of the text costs one colon and each object
    one brace, so as many colons as distinct keys means that none was repeated. Colons within
    strings, and whatever a validator turned into something else, only ever make the answer
    True. NaN, Infinity and numbers that overflow are floats that are not finite, wherever the
    values are of kinds that are known to the bottom; else the text is searched.

    Args:
        text: The argument text.
        validated: The validated values. Of models, the fields that were set count.
        names_sent: Names of `validated` that came from the text, if it also holds defaults; by
            default all.
        nested: Names of `validated` that can hold objects, by default all; the numbers of the
            others are finite.
        loose: True if those may contain a number that is not finite.

    >>> needs_strict_check('{"a": 1, "b": 2}', {"a": 1, "b": 2})
    False
    >>> needs_strict_check('{"a": 1, "a": 2}', {"a": 2})
    True
    """
    if not loose and ("NaN" in text or "Infinity" in text):
        return True
    names = validated if names_sent is None else names_sent
    found: list[object] = []
    for name in names if nested is None else nested:
        if name in names:
            found.append(validated[name])  # noqa: PERF401, a comprehension costs a frame
    keys, objects, unsure = _walk(found)
    keys += len(names)
    if text.count(":") != keys and not _has_so_many_keys(text, keys):
        return True
    if objects and text.count("{") != 1 + objects:
        return True
    if not (unsure and loose):
        return False
    return "NaN" in text or "Infinity" in text or overflows(text)


def _has_so_many_keys(text: str, keys: int) -> bool:
    """Return True if the text certainly has so many keys, though strings contain colons.

    So it is if as many colons stand right after a quotation mark, and no key has a space behind
    it: within a string such a colon only adds to them.
    """
    return text.count('":') == keys and _SPACED.search(text) is None


def overflows(text: str) -> bool:
    """Return True if a number in the text might become an infinite float; words in strings may count.

    >>> overflows('{"x": 1e400}'), overflows('{"x": 1.5e10}')
    (True, False)
    """
    if _EXPONENT.search(text) is not None:
        return True
    # So many digits in a row cannot pass between two samples.
    return _DIGIT.search(text[199::200]) is not None and _DIGITS.search(text) is not None


def _walk(values: list[Any]) -> tuple[int, int, bool]:
    """Count keys and objects of values, as far as they certainly came from the text.

    Returns:
        How many keys and objects they hold, too few to err on the safe side: records of other
        kinds count nothing, since they do not separate defaults from values. And
        if some number may not be finite: a float that is not, or a value of another kind.
    """
    keys = objects = 0
    unsure = False
    for value in values:  # which grows while it is walked
        kind = type(value)
        if kind in _LEAVES:
            continue
        if kind is float:
            unsure = unsure or value - value != 0.0
        elif kind is dict:
            objects += 1
            keys += len(value)
            values += value.values()
        elif kind is list or kind is tuple:
            values += value
        elif (is_root := getattr(kind, "__pydantic_root_model__", None)) is not None:  # a model
            fields, known = value.__pydantic_fields_set__, value.__dict__
            if not is_root:
                objects += 1
                keys += len(fields)
            if len(fields) == len(known) and not value.__pydantic_extra__:
                values += known.values()
            else:
                values += _given(fields, known, value.__pydantic_extra__)
        elif not isinstance(value, Enum):
            unsure = True
    return keys, objects, unsure


def _given(fields: set[str], known: dict[str, Any], extra: dict[str, Any] | None) -> list[Any]:
    """Return the values of a model that were set, not defaulted."""
    if extra:
        known = {**known, **extra}
    return [known[name] for name in fields if name in known]


_LEAVES = frozenset({str, int, bool, type(None), bytes, date, datetime, time, UUID})
