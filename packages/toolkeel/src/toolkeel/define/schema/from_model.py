"""Arguments described by a pydantic model (``parameters=``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from toolkeel.define.reading.parameter import Values
from toolkeel.define.schema.annotation_schema import no_json_form_error
from toolkeel.define.schema.argument_schema import (
    ArgumentSchema,
    UnknownKeys,
    compile_arguments,
)
from toolkeel.define.schema.canonical import aliases_of
from toolkeel.define.schema.closed_objects import compile_core
from toolkeel.define.schema.json_schema import generate_schema
from toolkeel.define.schema.model_fields import without_fields
from toolkeel.errors import DefinitionError


def from_model(
    title: str, model: type[BaseModel], hidden: Sequence[str], unknown_keys: UnknownKeys
) -> ArgumentSchema:
    """Compile a tool's arguments from a pydantic model, or raise `DefinitionError`.

    Args:
        title: The tool's name.
        model: Its fields are the parameters.
        hidden: Fields the program fills.
        unknown_keys: What happens to unknown keys, unless the model's own config says.

    Raises:
        DefinitionError: the model has no JSON form, or describes something else than an object.
    """
    model = without_fields(model, hidden) if hidden else model
    adapter = TypeAdapter(model)
    try:
        generated = generate_schema(adapter.core_schema)
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        fields = {name: Annotated[i.annotation, i] for name, i in model.model_fields.items()}
        raise no_json_form_error(title, fields, error) from error
    schema = _describe_object(title, model, generated.schema)
    own = model.model_config.get("extra")
    if own != "allow":
        schema["additionalProperties"] = False
    closing = unknown_keys == "forbid" and own != "allow"
    generated = replace(generated, schema=schema)
    strict, facts = compile_core(adapter.core_schema, generated, closing, is_own_root=False)
    validate = (adapter.validator if strict is None else strict).validate_json

    def given(text: str | bytes, **options: Any) -> Values:
        """Return the values of JSON text that the model accepts, without defaults."""
        instance = validate(text, **options)
        named = instance.model_fields_set  # a set: the model's own order is the better one
        values = {name: getattr(instance, name) for name in model.model_fields if name in named}
        return {**values, **(instance.__pydantic_extra__ or {})}

    def fill(values: Values) -> None:
        """Add the model's defaults for absent values, in place."""
        for name, info in model.model_fields.items():
            if name not in values:
                values[name] = info.get_default(call_default_factory=True, validated_data=values)

    made = compile_arguments(title, schema, given, fill, facts)
    keys = aliases_of({name: [info] for name, info in model.model_fields.items()})
    # A model has a configuration of its own, by which its numbers need not be finite.
    return replace(
        made, aliases=keys or made.aliases, nested_properties=None, has_untyped_values=True
    )


def _describe_object(title: str, model: type[BaseModel], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a model's schema, with its keys at the root and without the model's name and docstring.

    Raises:
        DefinitionError: it describes something else than an object.
    """
    schema = _inline_root(schema)
    if (kind := schema.get("type", "object")) != "object":
        raise DefinitionError(
            f"{title}: parameters is {model.__name__}, which describes a JSON {kind}, but arguments "
            "are always an object; give a model with a field for the value"
        )
    return {key: each for key, each in schema.items() if key not in ("title", "description")}


def _inline_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with what a root ``$ref`` refers to in its place, as recursive models need it.

    Beside a ``$ref``, ``additionalProperties: false`` would refuse every key, as it does not see the
    properties. A schema without it is returned unchanged.
    """
    found = schema.get("$defs", {}).get(str(schema.get("$ref", "")).removeprefix("#/$defs/"))
    if not isinstance(found, dict):
        return schema
    return {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
