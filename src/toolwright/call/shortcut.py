"""When text that pydantic-core validated directly must be parsed strictly after all.

Validating straight from the text is several times faster than parsing first, but pydantic-core
takes the last of repeated keys, NaN and Infinity, and numbers that overflow. Text and result
together tell whether any of that can have happened; nearly always it cannot, and the answer
costs a tenth of a parse.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from pydantic import BaseModel

_OVERFLOW = re.compile(r"[eE]\+?\d{3}|\d{200}")


def needs_strict_check(
    text: str, validated: Mapping[str, object], given: Collection[str] | None = None
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

    >>> needs_strict_check('{"a": 1, "b": 2}', {"a": 1, "b": 2})
    False
    >>> needs_strict_check('{"a": 1, "a": 2}', {"a": 2})
    True
    """
    if "NaN" in text or "Infinity" in text:
        return True
    colons = text.count(":")
    if colons == len(validated if given is None else given):
        return False
    return (colons, text.count("{")) != _count_keys(validated, given)


def overflows(text: str) -> bool:
    """Whether a number in the text might be too large for a float; for untyped values only.

    >>> overflows('{"x": 1e400}'), overflows('{"x": 1.5e10}')
    (True, False)
    """
    return _OVERFLOW.search(text) is not None


def _count_keys(validated: Mapping[str, object], given: Collection[str] | None) -> tuple[int, int]:
    """Keys and objects of the tree that surely came from the text; too few errs on the safe side.

    Records of other kinds count nothing: they do not tell their defaults from what was given.
    """
    keys, objects = len(validated if given is None else given), 1
    values = [validated[name] for name in (validated if given is None else given)]
    for value in values:  # which grows while it is walked
        if type(value) in _LEAVES:
            continue
        if isinstance(value, dict):
            objects += 1
            keys += len(value)
            values += value.values()
        elif isinstance(value, (list, tuple)):
            values += value
        elif isinstance(value, BaseModel):
            given_here = value.__pydantic_fields_set__
            if not value.__pydantic_root_model__:
                objects += 1
                keys += len(given_here)
            known = value.__dict__
            if extra := value.__pydantic_extra__:
                known = {**known, **extra}
            values += [known[name] for name in given_here if name in known]
    return keys, objects


_LEAVES = frozenset({str, int, float, bool, type(None)})
