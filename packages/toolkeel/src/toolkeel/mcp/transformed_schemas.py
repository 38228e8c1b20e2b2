"""Input schemas with other properties: renamed, left out, narrowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from toolkeel.define.subschemas import resolve

_COMBINED = ("allOf", "anyOf", "oneOf")
_CONDITIONS = ("not", "if", "then", "else")
_DEPENDENT = ("dependentRequired", "dependentSchemas", "dependencies")
_MAXIMA = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_MINIMA = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_ANNOTATIONS = frozenset(["title", "description", "default", "examples", "deprecated"])
_INDEPENDENT = _ANNOTATIONS | {
    *_MAXIMA, *_MINIMA, "type", "enum", "const", "pattern", "format", "multipleOf", "uniqueItems",
}  # fmt: skip
"""Keywords that mean the same whatever else a schema says."""


def inline_root(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with its root reference replaced by the definition."""
    target = resolve(schema["$ref"], schema) if "$ref" in schema else None
    if not isinstance(target, Mapping):
        return dict(schema)
    return {**target, **{key: each for key, each in schema.items() if key != "$ref"}}


def narrow(schema: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that admits what both admit.

    >>> narrow({"type": "integer", "maximum": 100}, {"maximum": 10})
    {'type': 'integer', 'maximum': 10}
    >>> narrow({"type": "integer", "maximum": 10}, {"maximum": 100})
    {'type': 'integer', 'maximum': 100, 'allOf': [{'maximum': 10}]}
    """
    plain = given.keys() <= (
        _ANNOTATIONS if isinstance(schema, Mapping) and "$ref" in schema else _INDEPENDENT
    )
    if not isinstance(schema, Mapping) or not plain:
        return {**given, "allOf": [*given.get("allOf", ()), schema]}
    overruled = {
        key: schema[key]
        for key in given
        if key in schema and not _is_narrower(key, schema[key], given[key])
    }
    merged = {**schema, **given}
    return merged | {"allOf": [*schema.get("allOf", ()), overruled]} if overruled else merged


def _is_narrower(keyword: str, before: Any, after: Any) -> bool:
    """Return True if a keyword's new value alone implies the old one."""
    if keyword in _ANNOTATIONS or before == after:
        return True
    if keyword in (*_MAXIMA, *_MINIMA):
        if isinstance(before, bool) or not isinstance(before, int | float):
            return False
        return bool(after <= before if keyword in _MAXIMA else after >= before)
    if keyword == "enum" and isinstance(before, list) and isinstance(after, list):
        return all(each in before for each in after)
    if keyword == "type":
        return _types(after) <= _types(before)
    return False


def are_disjoint(schema: object, other: Mapping[str, Any]) -> bool:
    """Return True if no value is of the types that both schemas state."""
    if not isinstance(schema, Mapping) or "type" not in schema or "type" not in other:
        return False
    return _types(schema["type"]).isdisjoint(_types(other["type"]))


def _types(stated: str | Iterable[str]) -> set[str]:
    """Return the types that a ``type`` keyword allows."""
    allowed = {stated} if isinstance(stated, str) else set(stated)
    return allowed | ({"integer"} if "number" in allowed else set())


def drop_properties(
    schema: Mapping[str, Any], names: Set[str], optional: Set[str]
) -> dict[str, Any]:
    """Return an object's schema without some properties.

    Conditions that mention them are removed completely; the server checks those.

    Args:
        schema: The object's schema.
        names: The properties to leave out.
        optional: Other properties, which become optional.
    """
    kept = {
        key: each
        for key, each in schema.items()
        if key not in (*_COMBINED, *_CONDITIONS, *_DEPENDENT)
        or names.isdisjoint(named_properties({key: each}))
    }
    if any(key in schema and key not in kept for key in ("if", "then", "else")):
        kept = {key: each for key, each in kept.items() if key not in ("if", "then", "else")}
    properties = kept.get("properties", {})
    kept["properties"] = {name: each for name, each in properties.items() if name not in names}
    if isinstance(required := kept.get("required"), list):
        kept["required"] = [name for name in required if name not in names | optional]
    return kept


def named_properties(schema: object) -> set[str]:
    """Return the properties of an object that its schema names anywhere."""
    if isinstance(schema, list):
        return {name for each in schema for name in named_properties(each)}
    if not isinstance(schema, Mapping):
        return set()
    found = {str(name) for name in schema.get("required", ())} | set(schema.get("properties", ()))
    for key in _DEPENDENT:
        for name, each in schema.get(key, {}).items():
            found |= {name, *(each if isinstance(each, list) else named_properties(each))}
    for key in (*_COMBINED, *_CONDITIONS):
        found |= named_properties(schema.get(key))
    return found


def rename_properties(schema: Any, names: Mapping[str, str]) -> Any:
    """Return an object's schema with its properties renamed, in its conditions too; those of inner objects stay."""
    if isinstance(schema, list):
        return [rename_properties(each, names) for each in schema]
    if not isinstance(schema, Mapping) or not names:
        return schema
    renamed = dict(schema)
    if isinstance(found := schema.get("properties"), Mapping):
        renamed["properties"] = {names.get(name, name): each for name, each in found.items()}
    if "required" in schema:
        renamed["required"] = _renamed_list(schema["required"], names)
    for key in schema.keys() & set(_DEPENDENT):
        renamed[key] = _dependent(schema[key], names)
    for key in (*_COMBINED, *_CONDITIONS):
        if key in schema:
            renamed[key] = rename_properties(schema[key], names)
    return renamed


def _renamed_list(found: Any, names: Mapping[str, str]) -> Any:
    """Return a list with its names replaced; anything else unchanged."""
    return [names.get(name, name) for name in found] if isinstance(found, list) else found


def _dependent(found: Any, names: Mapping[str, str]) -> Any:
    """Return a ``dependent...`` keyword's value with its names replaced."""
    if not isinstance(found, Mapping):
        return found
    return {
        names.get(name, name): _renamed_list(each, names)
        if isinstance(each, list)
        else rename_properties(each, names)
        for name, each in found.items()
    }
