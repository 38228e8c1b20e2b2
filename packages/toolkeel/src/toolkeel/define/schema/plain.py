"""Schemas so plain that they surely compile, which need not be compiled before the first value comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic_core import to_json

from toolkeel.define.subschemas import TYPES

MAX_BYTES = 50_000
MAX_LEVELS = 10
MAX_SCHEMAS = 100
"""Schemas on one level of a plain schema."""
_MAX_ENUM = 300


def is_plain(schema: object) -> bool:
    """Return True if a schema surely compiles: at most `MAX_LEVELS` deep and `MAX_SCHEMAS` wide, with plain keywords.

    >>> is_plain({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}})
    True
    >>> is_plain({"properties": {"n": {"type": "int"}}}), is_plain({"pattern": "("})
    (False, False)
    """
    level: list[Any] = [_without_dialect(schema)] if _is_small_object(schema) else [None]
    for _ in range(MAX_LEVELS):
        if len(level) > MAX_SCHEMAS or not all(map(_is_plain_alone, level)):
            return False
        level = [inner for each in level if isinstance(each, dict) for inner in _inner(each)]
        if not level:
            return True
    return False


def _is_small_object(schema: object) -> bool:
    """Return True if a schema is a dict of limited size as JSON."""
    try:
        return isinstance(schema, dict) and len(to_json(schema)) <= MAX_BYTES
    except ValueError:  # no JSON, half a surrogate pair
        return False


def _without_dialect(schema: Any) -> Any:
    """Return a schema without the name of a dialect in which simple keywords mean the same."""
    if _DIALECT.fullmatch(str(schema.get("$schema", ""))):
        return {key: value for key, value in schema.items() if key != "$schema"}
    return schema


_DIALECT = re.compile(r"https?://json-schema\.org/(?:draft-0[67]|draft/20(?:19-09|20-12))/schema#?")


def _is_plain_alone(schema: object) -> bool:
    """Return True if each of a schema's own keywords passes its check in `_CHECKS`; schemas inside it are not checked."""
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    return all(key in _CHECKS and _CHECKS[key](value) for key, value in schema.items())


def _inner(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the schemas inside a schema."""
    yield from schema.get("properties", {}).values()
    yield from schema.get("anyOf", ())
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield schema[key]


def _is_type(value: object) -> bool:
    """Return True if a value is valid for ``type``."""
    if isinstance(value, str):
        return value in TYPES
    names = value if isinstance(value, list) else []
    return (
        bool(names)
        and all(isinstance(each, str) and each in TYPES for each in names)
        and (len(set(names)) == len(names))
    )


def _is_number(value: object) -> bool:
    """Return True if a value is a number of less than 1e15, and no boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15


def _is_count(value: object) -> bool:
    """Return True if a value is an integer from 0 to below 10**9, and no boolean."""
    return type(value) is int and 0 <= value < 10**9


def _is_names(value: object) -> bool:
    """Return True if a value is a list of distinct texts."""
    return (
        isinstance(value, list)
        and all(isinstance(each, str) for each in value)
        and (len(set(value)) == len(value))
    )


def _is_short_enum(value: object) -> bool:
    """Return True if a value is a list of 1 to `_MAX_ENUM` distinct texts and integers."""
    return isinstance(value, list) and 0 < len(value) <= _MAX_ENUM and all(
        isinstance(each, str | int) for each in value
    ) and len(set(map(repr, value))) == len(value)  # fmt: skip


def _is_object(value: object) -> bool:
    """Return True if a value is a dict with text keys."""
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _is_text(value: object) -> bool:
    """Return True for a text."""
    return isinstance(value, str)


def _is_scalar(value: object) -> bool:
    """Return True if a value is null, a text, a boolean or an integer."""
    return value is None or isinstance(value, str | bool | int)


_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "type": _is_type,
    "properties": _is_object,
    "required": _is_names,
    "items": lambda value: isinstance(value, dict),
    "additionalProperties": lambda value: isinstance(value, dict | bool),
    "anyOf": lambda value: isinstance(value, list) and bool(value),
    "enum": _is_short_enum,
    "const": _is_scalar,
    "default": _is_scalar,
    **dict.fromkeys(("title", "description", "format"), _is_text),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
}
