"""Guardrails of agents, under the names of the OpenAI Agents SDK: the core's, with its verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from toolkeel._records.record import record
from toolkeel.agent.guardrail import Guardrail
from toolkeel.call.steps.guard import Allow, Stop, Verdict
from toolkeel.compat.foreign_options import value_of
from toolkeel.compat.openai_agents.context import RunContextWrapper, told
from toolkeel.compat.openai_agents.exceptions import (
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
)
from toolkeel.compat.openai_agents.items import as_input
from toolkeel.context import RunContext

__all__ = [
    "GuardrailFunctionOutput", "InputGuardrail", "InputGuardrailResult", "OutputGuardrail",
    "OutputGuardrailResult", "input_guardrail", "output_guardrail",
]  # fmt: skip

Function: TypeAlias = Callable[[RunContextWrapper[Any], Any, Any], Any]
"""``(context, agent, input or output) -> GuardrailFunctionOutput``; may be async."""


@record
class GuardrailFunctionOutput:
    """What a guardrail says.

    Args:
        output_info: For people.
        tripwire_triggered: Whether it ends the run.
    """

    output_info: Any
    tripwire_triggered: bool


@record
class InputGuardrailResult:
    """What an input guardrail has said."""

    guardrail: Any
    output: GuardrailFunctionOutput


@record
class OutputGuardrailResult:
    """What an output guardrail has said, and of which answer of which agent."""

    guardrail: Any
    agent_output: Any
    agent: Any
    output: GuardrailFunctionOutput


class _AgentGuardrail:
    """A function that looks.

    Args:
        guardrail_function: The function.
        name: For people; the function's own by default.
        run_in_parallel: Whether the model is asked while it looks.
    """

    _ending: type[InputGuardrailTripwireTriggered] = OutputGuardrailTripwireTriggered

    def __init__(
        self, guardrail_function: Function, name: str | None = None, run_in_parallel: bool = True
    ) -> None:
        self.guardrail_function = guardrail_function
        self.name = name
        self.run_in_parallel = run_in_parallel

    def get_name(self) -> str:
        """Its name."""
        return self.name or self.guardrail_function.__name__

    def core(self, agent: Any, begun: Any = None) -> Guardrail:
        """The core's guardrail of an agent, which may be in a run of its own settings."""

        async def check(said: Any, run: RunContext[Any]) -> Verdict:
            wrapper = RunContextWrapper.of(run) if begun is None else begun.wrapper
            about = self._about(said, begun)
            output = await value_of(self.guardrail_function(wrapper, agent, about))
            result = told(self._result(about, agent, output))
            return Stop(self._ending(result)) if output.tripwire_triggered else Allow()

        return Guardrail(check, self.get_name(), not self.run_in_parallel)

    def _about(self, said: Any, begun: Any) -> Any:
        """What it looks at."""
        return said

    def _result(self, about: Any, agent: Any, output: GuardrailFunctionOutput) -> Any:
        return OutputGuardrailResult(self, about, agent, output)


class OutputGuardrail(_AgentGuardrail):
    """Looks at what an agent answers."""


class InputGuardrail(_AgentGuardrail):
    """Looks at what a person says to an agent; in a run at all that was given to it."""

    _ending = InputGuardrailTripwireTriggered

    def _about(self, said: Any, begun: Any) -> Any:
        return as_input(said) if begun is None else begun.asked_for

    def _result(self, about: Any, agent: Any, output: GuardrailFunctionOutput) -> Any:
        return InputGuardrailResult(self, output)


def input_guardrail(
    func: Any = None, *, name: str | None = None, run_in_parallel: bool = True
) -> Any:
    """Make an input guardrail of ``(context, agent, input) -> GuardrailFunctionOutput``."""
    if func is None:
        return lambda wrapped: InputGuardrail(wrapped, name, run_in_parallel)
    return InputGuardrail(func, name, run_in_parallel)


def output_guardrail(func: Any = None, *, name: str | None = None) -> Any:
    """Make an output guardrail of ``(context, agent, output) -> GuardrailFunctionOutput``."""
    if func is None:
        return lambda wrapped: OutputGuardrail(wrapped, name)
    return OutputGuardrail(func, name)
