"""A tool's schema and validator, joined of what its annotations become.

The same as pydantic makes of a class with these parameters as its fields, without the class: its
schema is one object around the fragments' schemas, and so is its validator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic_core import SchemaValidator

from toolkeel.define.reading.parameter import ParameterField, Values
from toolkeel.define.reading.signature import MISSING
from toolkeel.define.schema.closed_objects import STRICT, STRICT_AND_CLOSED, Facts
from toolkeel.define.schema.fragments import Fragment, fragment_of, key_of


def join(
    title: str, given: Mapping[str, ParameterField], closing: bool
) -> tuple[dict[str, Any], Callable[..., Values], Facts] | None:
    """Schema, validator and facts of parameters; None if one is not of a kind that is shared.

    Args:
        title: The tool's name.
        given: The parameters by name.
        closing: Whether unknown keys are refused.
    """
    parts = _parts(given, closing)
    if parts is None:
        return None
    defs = _merged(part.defs for part in parts.values() if part.defs)
    if defs is None:
        return None
    schema: dict[str, Any] = {}
    if defs:
        schema["$defs"] = {name: _copied(defs[name]) for name in sorted(defs)}
    schema["additionalProperties"] = False
    schema["properties"] = {
        name: _property(part, given[name].description) for name, part in parts.items()
    }
    if required := [name for name, field in given.items() if field.default is MISSING]:
        schema["required"] = required
    schema["type"] = "object"
    return schema, _validator(title, given, parts).validate_json, _facts(parts, closing)


def _parts(given: Mapping[str, ParameterField], closing: bool) -> dict[str, Fragment] | None:
    keys = [key_of(field.annotation) for field in given.values()]
    if None in keys:
        return None
    parts: dict[str, Fragment] = {}
    for (name, field), key in zip(given.items(), keys, strict=True):
        part = fragment_of(field.annotation, key, closing)
        if part is None:
            return None
        parts[name] = part
    return parts


def _merged(several: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Definitions in one; None if two go by the same name and are not the same."""
    merged: dict[str, Any] = {}
    for each in several:
        for name, schema in each.items():
            if merged.setdefault(name, schema) != schema:
                return None
    return merged


def _property(part: Fragment, description: str | None) -> dict[str, Any]:
    """A parameter's JSON Schema; as with pydantic, not described if what it refers to is so."""
    before, after = _copied(part.before), _copied(part.after)
    if not description:
        return {**before, **after}
    if "$ref" in before:
        target = part.defs[before["$ref"].rpartition("/")[2]]
        if target.get("description") == description:
            return {**before, **after}
    return {**before, "description": description, **after}


def _copied(value: Any) -> Any:
    """Every tool has a schema of its own, so that who changes one changes no other."""
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _validator(
    title: str, given: Mapping[str, ParameterField], parts: Mapping[str, Fragment]
) -> SchemaValidator:
    core: Any = {
        "type": "typed-dict",
        "fields": {
            name: part.required if given[name].default is MISSING else part.optional
            for name, part in parts.items()
        },
        "extra_behavior": "forbid",
        "config": {
            "extra_fields_behavior": "forbid",
            "strict": True,
            "allow_inf_nan": False,
            "title": title,
        },
    }
    definitions: dict[str, Any] = {}
    for part in parts.values():
        definitions.update(part.definitions)
    if definitions:
        core = {"type": "definitions", "schema": core, "definitions": list(definitions.values())}
    return SchemaValidator(core)


def _facts(parts: Mapping[str, Fragment], closing: bool) -> Facts:
    mixed = closing and any(part.open for part in parts.values())
    options = STRICT_AND_CLOSED if closing and not mixed else STRICT
    return Facts(
        None if all(part.plain for part in parts.values()) else options,
        mixed,
        any(part.loose for part in parts.values()),
        any(part.secret for part in parts.values()),
        tuple(name for name, part in parts.items() if part.nests),
    )
