"""When text that pydantic-core validated directly must be parsed strictly after all.

Validating straight from the text is several times faster than parsing first, but pydantic-core
takes the last of repeated keys, NaN and Infinity, and numbers that overflow. Text and result
together tell whether any of that can have happened; nearly always it cannot, and the answer
costs a tenth of a parse.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

# Two searches: each begins with one class of characters, which is found ten times as fast as
# the first of two alternatives.
_EXPONENT = re.compile(r"[eE]\+?\d{3}")
_DIGITS = re.compile(r"\d{200}")
_DIGIT = re.compile(r"\d")


def needs_strict_check(
    text: str,
    validated: Mapping[str, object],
    given: Collection[str] | None = None,
    nested: Collection[str] | None = None,
) -> bool:
    """Whether pydantic-core, given this text, may have hidden a repeated key, NaN or Infinity.

    It takes the last of repeated keys. Each key of the text costs one colon and each object
    one brace, so as many colons as distinct keys means that none was repeated. Colons within
    strings, and whatever a validator turned into something else, only ever make the answer
    True.

    Args:
        text: The argument text.
        validated: What validation made of it. Models count by `model_fields_set`.
        given: Names of `validated` that came from the text, if it also holds defaults.
        nested: Names of `validated` that can hold objects, if that is known.

    >>> needs_strict_check('{"a": 1, "b": 2}', {"a": 1, "b": 2})
    False
    >>> needs_strict_check('{"a": 1, "a": 2}', {"a": 2})
    True
    """
    if "NaN" in text or "Infinity" in text:
        return True
    names = validated if given is None else given
    colons, known = text.count(":"), len(names)
    if colons == known:
        return False
    if nested is not None:
        names = [name for name in nested if name in names]
    keys, objects = _count_keys([validated[name] for name in names])
    return colons != known + keys or text.count("{") != 1 + objects


def overflows(text: str) -> bool:
    """Whether a number in the text might be too large for a float; for untyped values only.

    >>> overflows('{"x": 1e400}'), overflows('{"x": 1.5e10}')
    (True, False)
    """
    if _EXPONENT.search(text) is not None:
        return True
    # So many digits in a row cannot pass between two looks.
    return _DIGIT.search(text[199::200]) is not None and _DIGITS.search(text) is not None


def _count_keys(values: list[Any]) -> tuple[int, int]:
    """Keys and objects within values that surely came from the text; too few errs on the safe side.

    Records of other kinds count nothing: they do not tell their defaults from what was given.
    """
    keys = objects = 0
    for value in values:  # which grows while it is walked
        kind = type(value)
        if kind in _LEAVES:
            continue
        if isinstance(value, dict):
            objects += 1
            keys += len(value)
            values += value.values()
        elif isinstance(value, (list, tuple)):
            values += value
        elif (is_root := getattr(kind, "__pydantic_root_model__", None)) is not None:  # a model
            given = value.__pydantic_fields_set__
            if not is_root:
                objects += 1
                keys += len(given)
            known = value.__dict__
            if extra := value.__pydantic_extra__:
                known = {**known, **extra}
            if given == known.keys():
                values += known.values()
            else:
                values += [known[name] for name in given if name in known]
    return keys, objects


_LEAVES = frozenset({str, int, float, bool, type(None)})
