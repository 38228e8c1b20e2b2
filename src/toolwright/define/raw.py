"""Arguments described by a JSON Schema, or by a model of pydantic's first version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeGuard

from pydantic_core import from_json

from toolwright.define.explain import invalid_arguments
from toolwright.define.foreign import check_tool_schema, closed, compile_json_schema
from toolwright.define.schema import Arguments, Extra, Values

Convert: TypeAlias = Callable[[Values], Values]


def from_json_schema(
    title: str, schema: Mapping[str, object], extra: Extra, convert: Convert | None = None
) -> Arguments:
    """Arguments of a JSON Schema.

    Args:
        title: The tool's name.
        schema: Of an object; 2020-12 unless its `$schema` says draft-07.
        extra: What happens to unknown keys where the schema does not say.
        convert: Makes Python values of valid arguments; they stay JSON without it.

    Raises:
        DefinitionError: if it does not compile, reaches outside itself, or describes no object.
    """
    check_tool_schema(schema, title)
    shown = closed(schema) if extra == "forbid" else dict(schema)
    validator = compile_json_schema(shown)

    def accept(value: Values) -> Values:
        return convert(validator.with_defaults(value)) if convert else value

    def validate(text: str | bytes) -> Values:
        value = from_json(text, allow_inf_nan=False)
        if type(value) is not dict or not validator.is_valid(value):
            raise ValueError("not valid")
        return accept(value)

    def check(value: Values) -> Values:
        if errors := validator.errors(value):
            raise invalid_arguments(title, errors)
        return accept(value)

    def fill(values: Values) -> None:
        values.update(validator.with_defaults(values))

    return Arguments(shown, validate, check, loose=True, fill=None if convert else fill)


class OldModel(Protocol):
    """What is used of a `pydantic.v1` model class."""

    __name__: str
    __fields__: Mapping[str, Any]

    @classmethod
    def schema(cls) -> dict[str, Any]: ...
    @classmethod
    def parse_obj(cls, obj: object) -> Any: ...


def is_old_model(schema: object) -> TypeGuard[type[OldModel]]:
    """Whether it is a model class of pydantic's first version, which `pydantic.v1` still holds."""
    return isinstance(schema, type) and all(
        hasattr(schema, name) for name in ("__fields__", "parse_obj", "__config__")
    )


def from_old_model(title: str, model: type[OldModel], extra: Extra) -> Arguments:
    """Arguments of a `pydantic.v1` model: checked by its JSON Schema, then made by the model."""
    schema = {k: v for k, v in model.schema().items() if k not in ("title", "description")}

    def convert(values: Values) -> Values:
        instance = model.parse_obj(values)
        return {name: getattr(instance, name) for name in model.__fields__}

    return from_json_schema(title, schema, extra, convert)
