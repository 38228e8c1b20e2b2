"""Exceptions that end a run, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

from toolkeel.errors import OutputError, SetupError

__all__ = [
    "AgentsException", "InputGuardrailTripwireTriggered", "MaxTurnsExceeded", "ModelBehaviorError", "ModelRefusalError",
    "OutputGuardrailTripwireTriggered", "ToolInputGuardrailTripwireTriggered",
    "ToolOutputGuardrailTripwireTriggered", "ToolTimeoutError", "UserError",
]  # fmt: skip


class AgentsException(Exception):
    """An exception that ends a run.

    Attributes:
        run_data: The work done until then, as a result without an output.
    """

    run_data: Any = None

    @property
    def message(self) -> str:
        """The message."""
        return str(self)


UserError = SetupError
"""The program is wired up wrongly."""


class ModelBehaviorError(AgentsException, OutputError):
    """The model's output does not match the output type."""


class ModelRefusalError(AgentsException):
    """The model refused to answer; `refusal` is its text."""

    def __init__(self, refusal: str) -> None:
        super().__init__(f"Model refused to produce output: {refusal}")
        self.refusal = refusal


class MaxTurnsExceeded(AgentsException):
    """The model reached `max_turns` without an output."""


class ToolTimeoutError(AgentsException):
    """A call exceeded its timeout.

    Args:
        tool_name: Name of the tool.
        timeout_seconds: The timeout.
    """

    def __init__(self, tool_name: str, timeout_seconds: float | None) -> None:
        super().__init__(f"Tool '{tool_name}' timed out after {timeout_seconds:g} seconds.")
        self.tool_name = tool_name
        self.timeout_seconds = timeout_seconds


class GuardrailTripwire(AgentsException):
    """An agent's guardrail ended the run; `guardrail_result` is its result."""

    def __init__(self, guardrail_result: Any) -> None:
        name = type(guardrail_result.guardrail).__name__
        super().__init__(f"Guardrail {name} triggered tripwire")
        self.guardrail_result = guardrail_result


class InputGuardrailTripwireTriggered(GuardrailTripwire):
    """An agent's input guardrail ended the run; `guardrail_result` is its result."""


class OutputGuardrailTripwireTriggered(GuardrailTripwire):
    """An agent's output guardrail ended the run; `guardrail_result` is its result."""


class ToolGuardrailTripwire(AgentsException):
    """A tool's guardrail ended the run.

    Args:
        guardrail: The guardrail.
        output: Its output.
        message: The exception's message; a default names the guardrail.
    """

    _kind = "Tool guardrail"

    def __init__(self, guardrail: object, output: object, message: str = "") -> None:
        super().__init__(message or f"{self._kind} {type(guardrail).__name__} triggered tripwire")
        self.guardrail = guardrail
        self.output = output


class ToolInputGuardrailTripwireTriggered(ToolGuardrailTripwire):
    """A tool's input guardrail ended the run."""

    _kind = "Tool input guardrail"


class ToolOutputGuardrailTripwireTriggered(ToolGuardrailTripwire):
    """A tool's output guardrail ended the run."""

    _kind = "Tool output guardrail"
