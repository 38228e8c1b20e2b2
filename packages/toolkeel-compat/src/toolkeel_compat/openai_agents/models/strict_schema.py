"""JSON Schemas in the strict form that the OpenAI Agents SDK shows and sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolkeel.define.subschemas import all_subschemas, resolve

_MAPS = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "allOf")


def to_strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in the SDK's strict form: objects are closed, and all their properties required.

    An object that says whether it allows further keys keeps what it says.

    >>> to_strict_schema({"type": "object", "properties": {"a": {"type": "integer", "default": None}}})
    {'type': 'object', 'properties': {'a': {'type': 'integer'}}, 'additionalProperties': False, 'required': ['a']}
    """
    made: dict[str, Any] = _convert(schema or {"type": "object", "properties": {}}, schema, ())
    return made


def is_closed(schema: Mapping[str, Any]) -> bool:
    """Return True if no object of a schema may have undeclared keys, as strict mode demands."""
    parts = all_subschemas(schema)
    return all(part.get("additionalProperties", False) is False for part in parts)


def _convert(
    part: Mapping[str, Any] | bool, root: Mapping[str, Any], above: tuple[str, ...]
) -> Any:
    """Convert a part of a schema; ``True`` and ``False`` are schemas, too, and stay.

    Args:
        part: The part.
        root: The schema, for references.
        above: References that the part is in place of.
    """
    if isinstance(part, bool):
        return part
    made = {key: value for key, value in part.items() if key != "default" or value is not None}
    ref = made.get("$ref")
    alone: list[Any] = made.get("allOf") or []
    if isinstance(ref, str) and len(made) > 1 and part is not root and ref not in above:
        target = resolve(ref, root)
        if isinstance(target, Mapping):
            del made["$ref"]
            return _convert({**target, **made}, root, (*above, ref))
    if len(alone) == 1 and not isinstance(alone[0], bool):
        del made["allOf"]
        return _convert({**alone[0], **made}, root, above)
    return _close(_convert_parts(made, root, above))


def _convert_parts(
    made: dict[str, Any], root: Mapping[str, Any], above: tuple[str, ...]
) -> dict[str, Any]:
    """Convert the parts of a schema, in place, and return it; see `_convert`."""
    for key in _MAPS:
        if isinstance(made.get(key), Mapping):
            made[key] = {name: _convert(one, root, above) for name, one in made[key].items()}
    if "oneOf" in made:
        made["anyOf"] = [*made.get("anyOf", ()), *made.pop("oneOf")]
    for key in _LISTS:
        if isinstance(made.get(key), list):
            made[key] = [_convert(one, root, above) for one in made[key]]
    if isinstance(made.get("items"), Mapping):
        made["items"] = _convert(made["items"], root, above)
    return made


def _close(made: dict[str, Any]) -> dict[str, Any]:
    """Close an object and require its properties, in place; return the schema."""
    if "properties" in made:
        made.setdefault("type", "object")
    if "object" in made.get("type", ""):
        made.setdefault("additionalProperties", False)
        if "properties" in made:
            made["required"] = [*made["properties"]]
    return made
