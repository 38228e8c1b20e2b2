"""Schema and validator of parameters whose types need no question to pydantic.

The first question to pydantic loads what it has for fields and plugins, which takes ten times as
long as to define a tool, and each question makes a class that the tool keeps. Most parameters are
scalars, constants that are texts, models, lists, dicts with texts for keys, and each of them or
None. Their core schemas are written here; tests compare them with pydantic's own.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

import typing_extensions
from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaValidator

from toolkeel.define.reading.parameter import ParameterField, Values
from toolkeel.define.reading.signature import MISSING
from toolkeel.define.schema.closed_objects import SchemaFacts, compile_core
from toolkeel.define.schema.json_schema import generate_schema

Core: TypeAlias = dict[str, Any]
"""A schema of pydantic-core, never changed once it is made."""

_SCALARS: Mapping[object, Core] = {
    Any: {"type": "any"},
    str: {"type": "str"},
    int: {"type": "int"},
    float: {"type": "float"},
    bool: {"type": "bool"},
}


def from_known_types(
    title: str, fields: Mapping[str, ParameterField], forbid_unknown: bool
) -> tuple[dict[str, Any], Callable[..., Values], SchemaFacts] | None:
    """Build schema, validator and facts of parameters, or None unless all types are known.

    Args:
        title: The tool's name.
        fields: The parameters by name.
        forbid_unknown: True if unknown keys are refused.
    """
    definitions: dict[str, Core] = {}
    known: dict[str, Core] = {}
    for name, field in fields.items():
        core = core_schema(field.annotation, definitions)
        if core is None:
            return None
        required = field.default is MISSING
        known[name] = {"type": "typed-dict-field", "schema": core, "required": required}
    full = _typed_dict(title, known, definitions)
    try:
        made = generate_schema(full)
    except (
        PydanticUserError
    ):  # reported by the caller that asks pydantic, with the parameter's name
        return None
    made.schema.pop("title", None)
    for name, field in fields.items():
        _describe(made.schema, name, field.description)
    strict, facts = compile_core(full, made, forbid_unknown)
    validator = SchemaValidator(full) if strict is None else strict
    return made.schema, validator.validate_json, facts


def _typed_dict(title: str, fields: dict[str, Core], definitions: dict[str, Core]) -> Any:
    """Return the core schema of arguments with these fields: strict, no other keys."""
    config = {
        "extra_fields_behavior": "forbid", "strict": True, "allow_inf_nan": False, "title": title,
    }  # fmt: skip
    core = {
        "type": "typed-dict", "fields": fields, "extra_behavior": "forbid", "config": config,
    }  # fmt: skip
    if not definitions:
        return core
    return {"type": "definitions", "schema": core, "definitions": list(definitions.values())}


def _describe(schema: dict[str, Any], name: str, description: str | None) -> None:
    """Add a description, if there is one, to a property in place, unless the definition it refers to has it."""
    part = schema["properties"][name]
    target = schema.get("$defs", {}).get(part.get("$ref", "").rpartition("/")[2], {})
    if description and target.get("description") != description:
        described = sorted({**part, "description": description}.items())  # in pydantic's order
        schema["properties"][name] = dict(described)


def core_schema(annotation: Any, definitions: dict[str, Core]) -> Core | None:
    """Return pydantic-core's schema of a known type, or None for any other.

    Args:
        annotation: A type, its names resolved.
        definitions: Schemas by reference; recursive models add theirs.

    >>> core_schema(list[int], {})
    {'type': 'list', 'items_schema': {'type': 'int'}}
    >>> core_schema(complex, {}) is None
    True
    """
    if annotation is Any or type(annotation) is type:
        return _SCALARS.get(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _model(annotation, definitions)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal or origin is typing_extensions.Literal:
        texts = all(type(each) is str for each in args)
        return {"type": "literal", "expected": list(args)} if texts else None
    if origin is list:
        return _around(args[0], definitions, "list", "items_schema")
    if origin is dict and args[0] is str:
        keys = {"keys_schema": _SCALARS[str]}
        return _around(args[1], definitions, "dict", "values_schema", keys)
    is_optional = origin in (Union, types.UnionType) and len(args) == 2 and args[1] is type(None)
    if is_optional and args[0] is not Any:
        return _around(args[0], definitions, "nullable", "schema")
    return None


def _around(
    inner: Any, definitions: dict[str, Core], kind: str, key: str, more: Core | None = None
) -> Core | None:
    """Return the core schema of a container of a known type, or None."""
    core = core_schema(inner, definitions)
    return None if core is None else {"type": kind, **(more or {}), key: core}


def _model(model: type[BaseModel], definitions: dict[str, Core]) -> Core | None:
    """Return the schema a model built for itself; None while a name in it is undefined.

    Its inner definitions are added to `definitions`.
    """
    if not model.__pydantic_complete__:
        return None
    core: Any = model.__pydantic_core_schema__
    if core["type"] != "definitions":
        return core  # type: ignore[no-any-return]
    definitions.update((each["ref"], each) for each in core["definitions"])
    return core["schema"]  # type: ignore[no-any-return]
