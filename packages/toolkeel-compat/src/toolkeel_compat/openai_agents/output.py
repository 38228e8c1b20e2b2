"""Output types, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import core_schema
from typing_extensions import TypedDict

from toolkeel.define.output_type import OutputTool, compile_output_form
from toolkeel.model_interface import OutputFormat
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.openai_agents.exceptions import ModelBehaviorError, UserError
from toolkeel_compat.openai_agents.models.strict_schema import is_closed, to_strict_schema

__all__ = ["AgentOutputSchema", "AgentOutputSchemaBase"]


@dataclass(frozen=True)
class AgentOutputSchema:
    """An output type in the SDK's wrapper.

    Args:
        output_type: The type.
        strict_json_schema: Refuse a type whose schema cannot be strict. False to ask for a schema that
            the provider does not enforce, and whose objects may have further keys.

    Raises:
        UserError: The type's schema cannot be strict.
    """

    output_type: Any
    strict_json_schema: bool = True

    def __post_init__(self) -> None:
        if self.strict_json_schema:
            check_strict(self.output_type)

    def name(self) -> str:
        """Return the type's name."""
        return _format_type(self.output_type)

    def is_plain_text(self) -> bool:
        """Return True if the output is text."""
        return self.output_type in (None, str)

    def is_strict_json_schema(self) -> bool:
        """Return `strict_json_schema` as passed."""
        return self.strict_json_schema

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the output."""
        made = dict(compile_output_form(to_output_type(self)).tool.parameters)
        return to_strict_schema(made) if self.strict_json_schema else made

    def validate_json(self, json_str: str) -> Any:
        """Parse and validate an output's JSON text.

        Raises:
            ModelBehaviorError: The text is invalid.
        """
        try:
            return TypeAdapter(to_output_type(self)).validate_json(json_str)
        except ValidationError as error:
            raise ModelBehaviorError(str(error), json_str) from error


def check_strict(output_type: Any) -> None:
    """Raise `UserError` for a plain type with an object of undeclared keys, which strict mode lacks.

    As in the SDK, this is checked when a run begins, not when an agent is created.
    """
    if output_type is None or isinstance(output_type, AgentOutputSchema | AgentOutputSchemaBase):
        return
    schema = TypeAdapter(to_output_type(output_type)).json_schema()
    if not is_closed(schema):
        name = _format_type(output_type)
        raise UserError(
            f"output_type={name}: it has an object whose keys are not declared, as a dict, and a "
            "strict schema cannot have one; declare the keys in a model, or write "
            f"output_type=AgentOutputSchema({name}, strict_json_schema=False)"
        )


def _format_type(form: Any) -> str:
    origin, parts = get_origin(form), ", ".join(map(_format_type, get_args(form)))
    name = getattr(origin or form, "__name__", repr(form))
    return f"{name}[{parts}]" if parts else name


class AgentOutputSchemaBase(ABC):
    """An output type with its own schema and validation."""

    @abstractmethod
    def is_plain_text(self) -> bool:
        """Return True if the output is text, without a schema."""

    @abstractmethod
    def name(self) -> str:
        """Return the type's name."""

    @abstractmethod
    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the output."""

    @abstractmethod
    def is_strict_json_schema(self) -> bool:
        """Return True if the provider should enforce the schema."""

    @abstractmethod
    def validate_json(self, json_str: str) -> Any:
        """Parse and validate an output's JSON text. Raise `ModelBehaviorError` if it is invalid."""


def to_output_type(output_type: Any) -> Any:
    """Return the core's output type for the SDK's.

    As in the SDK, a type that is no model and no dict is wrapped under ``response``.

    >>> AgentOutputSchema(list[int]).validate_json('{"response": [1]}'), to_output_type(None)
    ([1], <class 'str'>)
    """
    if output_type in (None, str):
        return str
    strict = True
    if isinstance(output_type, AgentOutputSchema | AgentOutputSchemaBase):
        if output_type.is_plain_text():
            return str
        strict = output_type.is_strict_json_schema()
        made = (
            _unwrap(output_type.output_type)
            if isinstance(output_type, AgentOutputSchema)
            else _make_validated_type(output_type)
        )
    else:
        made = _unwrap(output_type)
    schema = TypeAdapter(made).json_schema()
    shown = to_strict_schema(schema) if strict else schema
    form = OutputFormat(_FORMAT, shown, strict="verbatim" if strict else False)
    return Annotated[made, OutputTool(strict=strict, format=form)]


_FORMAT = "final_output"
"""What the SDK calls the format of every answer."""


def _unwrap(output_type: Any) -> Any:
    """Return a type whose values are those of `output_type`, with the schema that the SDK shows."""
    kind = get_origin(output_type) or output_type or str
    if isinstance(kind, type) and (kind is str or issubclass(kind, BaseModel | dict)):
        return output_type or str
    make: Any = TypedDict
    response = make("OutputType", {"response": output_type})
    return Annotated[response, AfterValidator(itemgetter("response"))]


def _make_validated_type(form: AgentOutputSchemaBase) -> type:
    """Return a type whose values `form` validates. Its errors go to the model."""

    def read(value: object) -> object:
        try:
            return form.validate_json(dumps(value))
        except Exception as error:
            raise ValueError(str(error)) from error

    class Checked:
        """An answer of a form of the program's own."""

        @classmethod
        def __get_pydantic_core_schema__(
            cls, source: Any, handler: GetCoreSchemaHandler
        ) -> core_schema.CoreSchema:
            return core_schema.no_info_plain_validator_function(read)

        @classmethod
        def __get_pydantic_json_schema__(
            cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
        ) -> dict[str, Any]:
            return form.json_schema()

    Checked.__name__ = form.name()
    return Checked
