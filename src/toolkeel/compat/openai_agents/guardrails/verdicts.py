"""What tool guardrails say, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

from toolkeel._records.record import record
from toolkeel.errors import OutputError, SetupError


class AgentsException(Exception):
    """What ends a run.

    Attributes:
        run_data: What was done until then, as a result without an answer.
    """

    run_data: Any = None

    @property
    def message(self) -> str:
        """What happened."""
        return str(self)


UserError = SetupError
"""The program is wired up wrongly."""


class ModelBehaviorError(AgentsException, OutputError):
    """The model gave no answer of the form that was asked for."""


verdicts: ContextVar[list[Any]] = ContextVar("verdicts")
"""What the guardrails of the run have said."""


class ToolInputGuardrailTripwireTriggered(AgentsException):
    """An input guardrail ended the run.

    Args:
        guardrail: Which one.
        output: What it said.
        message: Why.
    """

    def __init__(self, guardrail: object, output: object, message: str = "") -> None:
        super().__init__(message or f"{type(self).__name__}: {guardrail}")
        self.guardrail = guardrail
        self.output = output


class ToolOutputGuardrailTripwireTriggered(ToolInputGuardrailTripwireTriggered):
    """An output guardrail ended the run."""


def _field(record: Any, name: str) -> Any:
    """A field by its name as a key."""
    return getattr(record, name)


@record
class AllowBehavior:
    """Go on.

    Args:
        modified_content: The arguments to run with, as a dict or its JSON text; from an output
            guardrail, what the model reads instead. None changes nothing.
    """

    __getitem__ = _field
    modified_content: Any = None
    type: str = "allow"


@record
class RejectContentBehavior:
    """Do not run it, or withhold its result, and tell the model why."""

    __getitem__ = _field
    reject_message: str = ""
    type: str = "reject_content"
    message: str = ""


@record
class RaiseExceptionBehavior:
    """End the run."""

    __getitem__ = _field
    error_message: str = ""
    type: str = "raise_exception"


Behavior: TypeAlias = AllowBehavior | RejectContentBehavior | RaiseExceptionBehavior


@record
class ToolGuardrailFunctionOutput:
    """What a guardrail says.

    Args:
        output_info: For people.
        behavior: What follows.
    """

    output_info: Any = None
    behavior: Behavior | Mapping[str, Any] = AllowBehavior()

    @classmethod
    def allow(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Go on."""
        return cls(output_info)

    @classmethod
    def reject_content(cls, message: str, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Tell the model `message` instead."""
        return cls(output_info, RejectContentBehavior(message))

    @classmethod
    def raise_exception(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """End the run."""
        return cls(output_info, RaiseExceptionBehavior())


@record
class ToolInputGuardrailResult:
    """What a guardrail's `run` gives back."""

    output: ToolGuardrailFunctionOutput
    guardrail: Any = None


@record
class ToolOutputGuardrailResult(ToolInputGuardrailResult):
    """The same, of an output guardrail."""


def told(result: Any) -> Any:
    """What a guardrail has said, kept for the run's result."""
    verdicts.get([]).append(result)
    return result


def as_behavior(behavior: Behavior | Mapping[str, Any]) -> Behavior:
    """A behaviour given as a dict, as the SDK writes it now, as its record.

    Raises:
        KeyError: if it is of no known type.
    """
    if not isinstance(behavior, Mapping):
        return behavior
    made: Behavior = _KINDS[behavior["type"]](**behavior)
    return made


_KINDS: Mapping[str, type[Any]] = {
    "allow": AllowBehavior,
    "reject_content": RejectContentBehavior,
    "raise_exception": RaiseExceptionBehavior,
}
