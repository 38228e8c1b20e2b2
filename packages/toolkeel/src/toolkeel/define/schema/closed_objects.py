"""Facts about an entire schema: which objects are closed, if it is strict, if it holds a secret."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic_core import SchemaValidator

from toolkeel._records.record import record
from toolkeel.define.schema.canonical import Encode
from toolkeel.define.schema.json_schema import GeneratedSchema
from toolkeel.define.schema.serializer import argument_encoder, has_parsers
from toolkeel.define.schema.strict_core import strict_validator
from toolkeel.define.secret import has_secret
from toolkeel.define.subschemas import all_subschemas


@record
class SchemaFacts:
    """Facts about a tool's complete schema.

    Args:
        validator_options: Options of each call of pydantic's validator that make it strict; None if
            it is strict and closed without.
        has_open_objects: True if some objects accept keys that they do not name, where others do not.
        has_untyped_values: True if some value has no type, so that an overflowing number could pass.
        has_secrets: True if a value is to be masked.
        nested_properties: Properties that can contain more than scalars and lists of them.
        has_loose_keywords: True if pydantic accepts more than some keyword says.
        has_added_keywords: True if an author added a keyword that pydantic does not check at all.
        has_parsers: True if code of some type changes or judges a value before pydantic does.
        encode: Writes a parameter's value as it was sent; None if all values show that themselves.
    """

    validator_options: Mapping[str, Any] | None
    has_open_objects: bool
    has_untyped_values: bool
    has_secrets: bool
    nested_properties: tuple[str, ...]
    has_loose_keywords: bool = True
    has_added_keywords: bool = False
    has_parsers: bool = True
    encode: Encode | None = None


def compile_core(
    core: Mapping[str, Any], made: GeneratedSchema, closing: bool, is_own_root: bool = True
) -> tuple[SchemaValidator | None, SchemaFacts]:
    """Close the objects of a schema, in place; return the validator without gaps, and the facts.

    Args:
        core: pydantic's core schema of all arguments.
        made: The JSON Schema that was generated for it.
        closing: True if unknown keys are refused at all.
        is_own_root: True if the root's configuration is a tool's, and not a model's.

    Returns:
        The validator, None if pydantic's own has no gaps; and the facts.
    """
    facts = replace(
        close_objects(made.schema, closing, is_own_root and is_strict_throughout(core)),
        has_loose_keywords=made.has_loose_keywords,
        has_added_keywords=made.has_added_keywords,
        has_parsers=has_parsers(core),
        encode=argument_encoder(core),
    )
    strict = strict_validator(core, closing and facts.has_open_objects)
    return strict, facts if strict is None else with_strict_validator(facts)


STRICT: Mapping[str, Any] = {"strict": True}
# pydantic's nested models ignore unknown keys by default; a tool never does.
STRICT_AND_CLOSED: Mapping[str, Any] = {"strict": True, "extra": "forbid"}


def close_objects(schema: dict[str, Any], closing: bool, plain: bool = False) -> SchemaFacts:
    """Close every object that is not open on purpose, in place; return the schema's facts.

    Args:
        schema: The advertised schema, which is changed.
        closing: True if unknown keys are refused at all.
        plain: True if pydantic's validator is strict and closed by itself.
    """
    parts = list(object_schemas(schema)) if closing else []
    open = sum(map(is_open, parts))
    forbid_unknown_keys(parts)
    options = STRICT_AND_CLOSED if parts and not open else STRICT
    return SchemaFacts(
        None if plain else options,
        open > 0,
        has_untyped_values(schema),
        has_secret(schema),
        tuple(name for name, part in schema.get("properties", {}).items() if is_nested(part)),
    )


def with_strict_validator(facts: SchemaFacts) -> SchemaFacts:
    """Return the facts without the option ``strict``, for a validator that is strict in every part by itself."""
    options = {k: v for k, v in (facts.validator_options or {}).items() if k != "strict"}
    return replace(facts, validator_options=options or None)


def object_schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every object schema with named properties, the schema itself first."""
    for part in all_subschemas(schema):
        if "properties" in part and part.get("type") == "object":
            yield part


def is_open(schema: Mapping[str, Any]) -> bool:
    """Return True if an object schema admits keys that it does not name by its `additionalProperties`."""
    return schema.get("additionalProperties", False) is not False


def forbid_unknown_keys(parts: Iterable[dict[str, Any]]) -> None:
    """Set ``additionalProperties: false`` in place, except in objects that are open on purpose."""
    for part in parts:
        if not is_open(part):
            part["additionalProperties"] = False


def has_untyped_values(schema: Mapping[str, Any]) -> bool:
    """Return True if values without a type, or numbers in nested models, can occur."""
    if "$defs" in schema or is_open(schema):
        return True
    return any(map(is_untyped, schema.get("properties", {}).values()))


def is_untyped(part: object) -> bool:
    """Return True if a property can hold values without a type, as can every object and array.

    What is neither is typed if its own schema has ``type``, ``enum``, ``const``, or ``anyOf`` of typed schemas.
    """
    if not isinstance(part, dict):
        return True
    if "type" in part:
        kinds = part["type"] if isinstance(part["type"], list) else [part["type"]]
        return "object" in kinds or "array" in kinds
    if "enum" in part or "const" in part:
        return False
    return "anyOf" not in part or any(map(is_untyped, part["anyOf"]))


_PLAIN = frozenset([
    "typed-dict", "typed-dict-field", "str", "int", "float", "bool", "none", "any", "literal",
    "list", "dict", "nullable", "union",
])  # fmt: skip


def is_strict_throughout(core: Mapping[str, Any]) -> bool:
    """Return True if the root's configuration holds for every part of a core schema.

    A model or a dataclass has its own, a field can say `strict=False`, a typed dict can ignore keys.
    """
    if core["type"] not in _PLAIN or core.get("strict") is False:
        return False
    if core["type"] == "typed-dict" and core.get("extra_behavior", "ignore") == "ignore":
        return False
    keys = ("schema", "items_schema", "keys_schema", "values_schema", "extras_schema")
    parts = [core[key] for key in keys if key in core]
    parts += [*core.get("fields", {}).values(), *core.get("choices", ())]
    return all(isinstance(part, dict) and is_strict_throughout(part) for part in parts)


def is_nested(schema: Mapping[str, Any]) -> bool:
    """Return True if a property can hold more than scalars and lists of them."""
    kind = schema.get("type")
    if kind in ("string", "integer", "number", "boolean", "null"):
        return False
    if kind == "array":
        items = schema.get("items")
        return not isinstance(items, dict) or "prefixItems" in schema or is_nested(items)
    branches = schema.get("anyOf")
    return not branches or any(is_nested(branch) for branch in branches)
