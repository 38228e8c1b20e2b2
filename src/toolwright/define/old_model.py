"""Arguments described by a model of pydantic's first version, which `pydantic.v1` still holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard

from toolwright.define.foreign import arguments_of_schema
from toolwright.define.schema import Arguments, Extra, Values


class OldModel(Protocol):
    """What is used of such a model class."""

    __name__: str
    __fields__: Mapping[str, Any]

    @classmethod
    def schema(cls) -> dict[str, Any]: ...
    @classmethod
    def parse_obj(cls, obj: object) -> Any: ...


def is_old_model(schema: object) -> TypeGuard[type[OldModel]]:
    """Whether it is a model class of pydantic's first version."""
    return isinstance(schema, type) and all(
        hasattr(schema, name) for name in ("__fields__", "parse_obj", "__config__")
    )


def arguments_of_old_model(title: str, model: type[OldModel], extra: Extra) -> Arguments:
    """Arguments checked strictly by the model's JSON Schema, and then made by the model.

    Args:
        title: The tool's name.
        model: Its fields are the parameters.
        extra: What happens to unknown keys.
    """
    schema = {k: v for k, v in model.schema().items() if k not in ("title", "description")}
    arguments = arguments_of_schema(title, schema, extra)

    def made(values: Values) -> Values:
        instance = model.parse_obj(values)
        return {name: getattr(instance, name) for name in model.__fields__ if name in values}

    def fill(values: Values) -> None:
        for name, field in model.__fields__.items():
            if name not in values:
                values[name] = field.get_default()

    return dataclasses.replace(
        arguments,
        validate=lambda text: made(arguments.validate(text)),
        check=lambda value: made(arguments.check(value)),
        fill=fill,
    )
