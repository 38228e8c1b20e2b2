"""What ends a run, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

from toolkeel.errors import OutputError, SetupError

__all__ = [
    "AgentsException", "InputGuardrailTripwireTriggered", "MaxTurnsExceeded", "ModelBehaviorError", "ModelRefusalError",
    "OutputGuardrailTripwireTriggered", "ToolInputGuardrailTripwireTriggered",
    "ToolOutputGuardrailTripwireTriggered", "ToolTimeoutError", "UserError",
]  # fmt: skip


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


class ModelRefusalError(AgentsException):
    """The model would not answer; `refusal` is what it said."""

    def __init__(self, refusal: str) -> None:
        super().__init__(f"Model refused to produce output: {refusal}")
        self.refusal = refusal


class MaxTurnsExceeded(AgentsException):
    """The model was asked as often as it may be, and has not answered."""


class ToolTimeoutError(AgentsException):
    """A call took longer than it may.

    Args:
        tool_name: Of which tool.
        timeout_seconds: How long it might take.
    """

    def __init__(self, tool_name: str, timeout_seconds: float | None) -> None:
        super().__init__(f"Tool '{tool_name}' timed out after {timeout_seconds:g} seconds.")
        self.tool_name = tool_name
        self.timeout_seconds = timeout_seconds


class InputGuardrailTripwireTriggered(AgentsException):
    """An input guardrail of an agent ended the run; `guardrail_result` has its word."""

    def __init__(self, guardrail_result: Any) -> None:
        name = type(guardrail_result.guardrail).__name__
        super().__init__(f"Guardrail {name} triggered tripwire")
        self.guardrail_result = guardrail_result


class OutputGuardrailTripwireTriggered(InputGuardrailTripwireTriggered):
    """An output guardrail of an agent ended the run; `guardrail_result` has its word."""


class ToolInputGuardrailTripwireTriggered(AgentsException):
    """An input guardrail of a tool ended the run.

    Args:
        guardrail: Which one.
        output: What it said.
        message: Why.
    """

    _kind = "Tool input guardrail"

    def __init__(self, guardrail: object, output: object, message: str = "") -> None:
        super().__init__(message or f"{self._kind} {type(guardrail).__name__} triggered tripwire")
        self.guardrail = guardrail
        self.output = output


class ToolOutputGuardrailTripwireTriggered(ToolInputGuardrailTripwireTriggered):
    """An output guardrail of a tool ended the run."""

    _kind = "Tool output guardrail"
