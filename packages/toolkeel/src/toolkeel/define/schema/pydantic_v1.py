"""Arguments described by a model of pydantic's first version, which `pydantic.v1` still holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard

from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.define.reading.parameter import Values
from toolkeel.define.schema.argument_schema import ArgumentSchema, UnknownKeys
from toolkeel.define.schema.from_json_schema import arguments_from_schema
from toolkeel.errors import FieldError


class V1Model(Protocol):
    """Protocol of a pydantic v1 model class, as far as it is used here."""

    __name__: str
    __fields__: Mapping[str, Any]

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the JSON Schema."""
        ...

    @classmethod
    def parse_obj(cls, obj: object) -> Any:
        """Return an instance, or raise ValueError."""
        ...


def is_v1_model(schema: object) -> TypeGuard[type[V1Model]]:
    """Return True if a class is a model of pydantic's first version."""
    return isinstance(schema, type) and all(
        hasattr(schema, name) for name in ("__config__", "parse_obj", "__fields__")
    )


def _errors(error: ValueError) -> list[FieldError]:
    """Return one field error for each fault that the model's validators report."""
    message: Any = getattr(error, "errors", None)
    if message is None:
        return [FieldError((), str(error))]
    return [FieldError(tuple(each["loc"]), f"a valid value: {each['msg']}") for each in message()]


def arguments_from_v1_model(
    title: str, model: type[V1Model], unknown_keys: UnknownKeys
) -> ArgumentSchema:
    """Compile arguments that the schema checks and the model then builds, or raise `DefinitionError`.

    Args:
        title: The tool's name.
        model: Its fields are the parameters.
        unknown_keys: What happens to unknown keys.
    """
    schema = {k: v for k, v in model.schema().items() if k not in ("title", "description")}
    arguments = arguments_from_schema(title, schema, unknown_keys)

    def made(values: Values) -> Values:
        """Return the values as the model built them.

        Raises:
            InvalidArguments: if a validator of the model refuses them.
        """
        try:
            instance = model.parse_obj(values)
        except ValueError as error:
            raise invalid_arguments(title, _errors(error)) from None
        passed = instance.__fields_set__
        return {name: getattr(instance, name) for name in model.__fields__ if name in passed}

    def fill(values: Values) -> None:
        """Add the model's defaults for absent values, in place."""
        for name, field in model.__fields__.items():
            if name not in values:
                values[name] = field.get_default()

    return dataclasses.replace(
        arguments,
        validate=lambda text: made(arguments.validate(text)),
        validate_value=lambda value: made(arguments.validate_value(value)),
        validate_long=None,
        fill_defaults=fill,
        aliases={name: field.alias for name, field in model.__fields__.items()},
    )
