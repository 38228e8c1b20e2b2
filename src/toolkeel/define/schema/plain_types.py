"""What pydantic makes of plain types, written down: most tools need nothing else of it.

To ask pydantic for the first time loads what it has for fields and plugins, which takes as long
as loading pydantic. So the types of most parameters are known here, and only these: scalars,
constants that are texts, lists, dicts with texts for keys, and each of them or None. Tests hold
what is written against what pydantic says.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

import typing_extensions

Written: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
"""pydantic-core's schema, and the JSON Schema."""

_TEXT: Written = ({"type": "str"}, {"type": "string"})
_ANY: Written = ({"type": "any"}, {})
_SCALARS: Mapping[object, Written] = {
    str: _TEXT,
    int: ({"type": "int"}, {"type": "integer"}),
    float: ({"type": "float"}, {"type": "number"}),
    bool: ({"type": "bool"}, {"type": "boolean"}),
}


def written(annotation: Any) -> Written | None:
    """Both schemas of a plain type, not to be changed; None for any other.

    >>> written(list[int])[1]
    {'items': {'type': 'integer'}, 'type': 'array'}
    >>> written(complex) is None
    True
    """
    if annotation is Any:
        return _ANY
    if type(annotation) is type:
        return _SCALARS.get(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal or origin is typing_extensions.Literal:
        return _constants(list(args)) if all(type(each) is str for each in args) else None
    if origin is list:
        return _list(*args)
    if origin is dict and args[0] is str:
        return _dict(args[1])
    if origin in (Union, types.UnionType) and len(args) == 2 and args[1] is type(None):
        return _or_none(args[0])
    return None


def _constants(values: list[str]) -> Written:
    said = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return {"type": "literal", "expected": values}, {**said, "type": "string"}


def _list(of: Any) -> Written | None:
    inner = written(of)
    if inner is None:
        return None
    return {"type": "list", "items_schema": inner[0]}, {"items": inner[1], "type": "array"}


def _dict(of: Any) -> Written | None:
    inner = written(of)
    if inner is None:
        return None
    core = {"type": "dict", "keys_schema": _TEXT[0], "values_schema": inner[0]}
    return core, {"additionalProperties": inner[1] or True, "type": "object"}


def _or_none(other: Any) -> Written | None:
    inner = written(other)
    if inner is None or other is Any:
        return None
    return {"type": "nullable", "schema": inner[0]}, {"anyOf": [inner[1], {"type": "null"}]}
