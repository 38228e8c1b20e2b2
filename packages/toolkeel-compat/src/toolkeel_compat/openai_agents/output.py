"""Types of answers, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from abc import ABC, abstractmethod
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

from toolkeel._records.record import record
from toolkeel.define.output_type import output_form
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.openai_agents.exceptions import ModelBehaviorError

__all__ = ["AgentOutputSchema", "AgentOutputSchemaBase"]


@record
class AgentOutputSchema:
    """A type of answer, as the SDK wraps it.

    Args:
        output_type: The type.
        strict_json_schema: Taken for what it says there; here a schema is strict where it can be.
    """

    output_type: Any
    strict_json_schema: bool = True

    def name(self) -> str:
        """What the type is called."""
        return _name_of(self.output_type)

    def is_plain_text(self) -> bool:
        """Whether answers are texts."""
        return self.output_type in (None, str)

    def is_strict_json_schema(self) -> bool:
        """What it was told."""
        return self.strict_json_schema

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema of an answer."""
        return dict(output_form(output_type_of(self)).tool.parameters)

    def validate_json(self, json_str: str) -> Any:
        """The answer of its JSON text.

        Raises:
            ModelBehaviorError: it is none.
        """
        try:
            return TypeAdapter(output_type_of(self)).validate_json(json_str)
        except ValidationError as error:
            raise ModelBehaviorError(str(error), json_str) from error


def _name_of(form: Any) -> str:
    origin, parts = get_origin(form), ", ".join(map(_name_of, get_args(form)))
    name = getattr(origin or form, "__name__", repr(form))
    return f"{name}[{parts}]" if parts else name


class AgentOutputSchemaBase(ABC):
    """A form of answers with a schema and a check of your own."""

    @abstractmethod
    def is_plain_text(self) -> bool:
        """Whether answers are texts, without a schema."""

    @abstractmethod
    def name(self) -> str:
        """What it is called."""

    @abstractmethod
    def json_schema(self) -> dict[str, Any]:
        """JSON Schema of an answer."""

    @abstractmethod
    def is_strict_json_schema(self) -> bool:
        """Whether the provider shall hold answers to it."""

    @abstractmethod
    def validate_json(self, json_str: str) -> Any:
        """The answer of its JSON text; raises `ModelBehaviorError` if it is none."""


def output_type_of(given: Any) -> Any:
    """The type of answers that the core is asked for.

    As there, what is no model and no dict stands under ``response``.

    >>> AgentOutputSchema(list[int]).validate_json('{"response": [1]}'), output_type_of(None)
    ([1], <class 'str'>)
    """
    if isinstance(given, AgentOutputSchemaBase):
        return str if given.is_plain_text() else _checked_by(given)
    form = given.output_type if isinstance(given, AgentOutputSchema) else given
    kind = get_origin(form) or form or str
    if isinstance(kind, type) and issubclass(kind, BaseModel | dict | str):
        return form or str
    make: Any = TypedDict
    return Annotated[make("Response", {"response": form}), AfterValidator(itemgetter("response"))]


def _checked_by(form: AgentOutputSchemaBase) -> type:
    """A type whose values are what `form` makes of them; it tells the model what is wrong."""

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
