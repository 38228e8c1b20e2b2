"""Tools whose parameters are passed as JSON Schema."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

from pydantic_core import from_json

from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.define.explain.value_phrases import short_json
from toolkeel.define.reading.parameter import Values
from toolkeel.define.schema.argument_schema import ArgumentSchema, UnknownKeys
from toolkeel.define.schema.json_schema_validator import (
    JsonSchemaValidator,
    LazyValidator,
    compile_when_used,
)
from toolkeel.define.secret import mask_of
from toolkeel.define.subschemas import (
    Schema,
    accepts,
    properties_of,
    required_of,
    widest_union,
)
from toolkeel.errors import DefinitionError


def arguments_from_schema(
    name: str, schema: Mapping[str, object], unknown_keys: UnknownKeys
) -> ArgumentSchema:
    """Compile a tool's arguments from a JSON Schema.

    Args:
        name: The tool's name, for messages.
        schema: JSON Schema of an object.
        unknown_keys: "forbid" closes the schema's root, so that what is refused is also advertised.

    Raises:
        DefinitionError: the schema does not compile, or is none of an object.
    """
    check_tool_schema(schema, name)
    try:
        compiled = compile_when_used(close_root(schema) if unknown_keys == "forbid" else schema)
    except DefinitionError as error:
        raise DefinitionError(f"Tool {name!r}: {error}") from error
    return arguments_from_validator(name, compiled)


def arguments_from_validator(
    name: str, compiled: JsonSchemaValidator | LazyValidator
) -> ArgumentSchema:
    """Return the arguments of a tool whose schema is compiled already.

    Args:
        name: The tool's name, for messages.
        compiled: Validator of an object.
    """

    def validate(text: str | bytes) -> Values:
        """Return the values of JSON text, or raise `ValueError` if the schema refuses them."""
        try:
            value = from_json(text, allow_inf_nan=False)
        except TypeError:  # half a surrogate pair: what pydantic-core calls text can be encoded
            raise ValueError(name) from None
        if type(value) is not dict or not compiled.is_valid(value):
            raise ValueError(name)
        return value

    def check(value: Values) -> Values:
        """Return valid values as they are, or raise `InvalidArguments`."""
        if not compiled.is_valid(value):
            raise invalid_arguments(name, compiled.errors(value))
        return value

    def fill(values: Values) -> None:
        """Add the schema's defaults to `values`, in place."""
        filled = compiled.with_defaults(values)
        if filled is not values:
            values.update(filled)

    advertised = compiled.schema if isinstance(compiled.schema, Mapping) else {}
    fills = fill if compiled.has_defaults else None
    # Some value of a schema nearly always has no type, and asking costs more than looking.
    made = ArgumentSchema(advertised, validate, check, True, fills, mask=mask_of(advertised))
    return replace(
        made,
        wrong_places=lambda value: compiled.mismatches.wrong_places(value),
        widest_union=functools.cache(functools.partial(widest_union, advertised)),
    )


def check_tool_schema(schema: object, tool: str = "") -> None:
    """Raise `DefinitionError` unless a schema describes objects, as a tool's parameters must.

    Raises:
        DefinitionError: naming the tool and the fix.
    """
    name = f"Tool {tool!r}: the parameter" if tool else "The parameter"
    if not isinstance(schema, Mapping):
        raise DefinitionError(
            f"{name} schema must be a JSON Schema of an object, such as "
            f'{{"type": "object", "properties": {{...}}}}, not {short_json(schema)}.'
        )
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise DefinitionError(f'{name} schema\'s "properties" must be an object of schemas.')
    if not accepts({}, schema, schema):
        raise DefinitionError(
            f"{name} schema must describe an object, because arguments are always one; "
            f'its "type" is {short_json(schema.get("type"))}. Wrap it: '
            f'{{"type": "object", "properties": {{"value": ...}}, "required": ["value"]}}.'
        )


def close_root(schema: Schema) -> dict[str, object]:
    """Return the schema with unknown keys refused at its root.

    A schema that mentions them, names no properties, or requires one that it does not describe is
    returned as it is.

    >>> close_root({"type": "object", "properties": {}})["additionalProperties"]
    False
    """
    says = schema.keys() & {
        "additionalProperties", "unevaluatedProperties", "patternProperties",
        "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas",
    }  # fmt: skip
    undescribed = {*required_of(schema)} - {*properties_of(schema)}
    if says or undescribed or "properties" not in schema:
        return dict(schema)
    return {**schema, "additionalProperties": False}
