"""Guardrails of tools and of agents, with their results, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

from toolkeel._records.record import record
from toolkeel.agent.guardrail import Guardrail
from toolkeel.call.arguments.canonical_arguments import as_json
from toolkeel.call.steps import guard
from toolkeel.call.steps.guard import Allow, Stop, Verdict
from toolkeel.context import RunContext
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define.tool import Prepared
from toolkeel.errors import SetupError
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper, ToolContext, record_verdict
from toolkeel_compat.openai_agents.exceptions import (
    GuardrailTripwire,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    ToolGuardrailTripwire,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
)
from toolkeel_compat.openai_agents.items import to_input

__all__ = [
    "AllowBehavior", "GuardrailFunctionOutput", "InputGuardrail", "InputGuardrailResult",
    "OutputGuardrail", "OutputGuardrailResult", "RaiseExceptionBehavior", "RejectContentBehavior",
    "ToolGuardrailFunctionOutput", "ToolInputGuardrail", "ToolInputGuardrailData",
    "ToolInputGuardrailResult", "ToolOutputGuardrail", "ToolOutputGuardrailData",
    "ToolOutputGuardrailResult", "input_guardrail", "output_guardrail", "tool_input_guardrail",
    "tool_output_guardrail",
]  # fmt: skip


def _get_field(record: Any, name: str) -> Any:
    """Return a field by its name, so that records can be indexed."""
    return getattr(record, name)


@record
class AllowBehavior:
    """Continue.

    Args:
        modified_content: The arguments to run with, as a dict or JSON text; for an output guardrail,
            the text for the model. None changes nothing.
    """

    __getitem__ = _get_field
    modified_content: Any = None
    type: str = "allow"


@record
class RejectContentBehavior:
    """Do not run the call, or withhold its result, and inform the model."""

    __getitem__ = _get_field
    reject_message: str = ""
    type: str = "reject_content"
    message: str = ""


@record
class RaiseExceptionBehavior:
    """End the run."""

    __getitem__ = _get_field
    error_message: str = ""
    type: str = "raise_exception"


Behavior: TypeAlias = AllowBehavior | RejectContentBehavior | RaiseExceptionBehavior


@record
class ToolGuardrailFunctionOutput:
    """A tool guardrail's output.

    Args:
        output_info: Information for people.
        behavior: The consequence.
    """

    output_info: Any = None
    behavior: Behavior | Mapping[str, Any] = AllowBehavior()

    @classmethod
    def allow(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Return an output that lets the call continue."""
        return cls(output_info)

    @classmethod
    def reject_content(cls, message: str, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Return an output that sends `message` to the model instead."""
        return cls(output_info, RejectContentBehavior(message))

    @classmethod
    def raise_exception(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Return an output that ends the run."""
        return cls(output_info, RaiseExceptionBehavior())


@record
class ToolInputGuardrailResult:
    """The result of a tool guardrail's `run`."""

    output: ToolGuardrailFunctionOutput
    guardrail: Any = None


@record
class ToolOutputGuardrailResult(ToolInputGuardrailResult):
    """The result of a tool output guardrail's `run`."""


def to_behavior(behavior: Behavior | Mapping[str, Any]) -> Behavior:
    """Convert a behavior given as a dict to its record.

    Raises:
        KeyError: Its type is unknown.
    """
    if not isinstance(behavior, Mapping):
        return behavior
    made: Behavior = _BEHAVIORS[behavior["type"]](**behavior)
    return made


_BEHAVIORS: Mapping[str, type[Any]] = {
    "allow": AllowBehavior,
    "reject_content": RejectContentBehavior,
    "raise_exception": RaiseExceptionBehavior,
}


@record
class ToolInputGuardrailData:
    """The argument of an input guardrail function."""

    context: ToolContext[Any]
    agent: Any


@record
class ToolOutputGuardrailData(ToolInputGuardrailData):
    """The argument of an output guardrail function."""

    output: Any


class _ToolGuardrail:
    exception_type: ClassVar[type[ToolGuardrailTripwire]] = ToolOutputGuardrailTripwireTriggered
    result_type: ClassVar[type[ToolInputGuardrailResult]] = ToolOutputGuardrailResult
    guardrail_function: Callable[[Any], Any] | None = None
    name: str | None = None

    def __init__(
        self, guardrail_function: Callable[[Any], Any] | None = None, name: str | None = None
    ) -> None:
        self.guardrail_function = guardrail_function
        self.name = name

    def get_name(self) -> str:
        """Return its name, or that of its function or class."""
        own = getattr(self.guardrail_function, "__name__", None)
        return self.name or str(own or type(self).__name__)

    async def run(self, tool_name: Any, content: Any = None, context: Any = None) -> Any:
        """Check the arguments or the output; override this in a subclass, sync or async.

        A guardrail made from a function gets its data as `tool_name`, and returns the function's output.
        """
        if self.guardrail_function is None:
            raise SetupError(f"{type(self).__name__}: write run(), or give it a guardrail_function")
        return await maybe_await(self.guardrail_function(tool_name))

    async def _check_call(
        self, prepared: Prepared, core: CoreContext[Any], outcome: guard.Outcome | None = None
    ) -> guard.Verdict:
        """Return the verdict on a call with its current arguments, or on its outcome."""
        context = ToolContext.from_tool_context(core)
        context.tool_arguments = dumps(as_json(prepared))
        if self.guardrail_function is None:
            content = json.loads(context.tool_arguments) if outcome is None else outcome.text
            returned = self.run(prepared.tool.name, content, context)
        elif outcome is None:
            returned = self.guardrail_function(ToolInputGuardrailData(context, context.agent))
        else:
            content = outcome.value if outcome.error is None else outcome.text
            returned = self.guardrail_function(
                ToolOutputGuardrailData(context, context.agent, content)
            )
        result = await maybe_await(returned)
        output = result.output if isinstance(result, ToolInputGuardrailResult) else result
        record_verdict(self.result_type(output, self))
        match to_behavior(output.behavior):
            case AllowBehavior(modified_content=changed):
                return guard.Allow(guard.UNCHANGED if changed is None else changed)
            case RejectContentBehavior(reject_message=text, message=message):
                return guard.Reject(text or message)
            case RaiseExceptionBehavior(error_message=text):
                return guard.Stop(self.exception_type(self, output, text))


class ToolInputGuardrail(_ToolGuardrail):
    """A check before a call runs: subclass it and write `run(tool_name, arguments, context)`."""

    exception_type = ToolInputGuardrailTripwireTriggered
    result_type = ToolInputGuardrailResult

    def step(self) -> guard.InputGuard:
        """Return the core's guard."""

        async def check(prepared: Prepared, core: CoreContext[Any]) -> guard.Verdict:
            verdict = await self._check_call(prepared, core)
            if isinstance(verdict, guard.Allow) and isinstance(verdict.modified, str):
                return guard.Allow(json.loads(verdict.modified))
            return verdict

        return guard.input_guard(check, self.get_name())


class ToolOutputGuardrail(_ToolGuardrail):
    """A check of a result: subclass it and write `run(tool_name, output, context)`."""

    def step(self) -> guard.OutputGuard:
        """Return the core's guard."""

        async def check(
            prepared: Prepared, outcome: guard.Outcome, core: CoreContext[Any]
        ) -> guard.Verdict:
            return await self._check_call(prepared, core, outcome)

        return guard.output_guard(check, self.get_name())


def tool_input_guardrail(function: Any = None, *, name: str | None = None) -> Any:
    """Make an input guardrail from ``(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput``."""
    if function is None:
        return lambda wrapped: ToolInputGuardrail(wrapped, name)
    return ToolInputGuardrail(function, name)


def tool_output_guardrail(function: Any = None, *, name: str | None = None) -> Any:
    """Make an output guardrail from a function of `ToolOutputGuardrailData`."""
    if function is None:
        return lambda wrapped: ToolOutputGuardrail(wrapped, name)
    return ToolOutputGuardrail(function, name)


GuardrailFunction: TypeAlias = Callable[[RunContextWrapper[Any], Any, Any], Any]
"""``(context, agent, input or output) -> GuardrailFunctionOutput``; may be async."""


@record
class GuardrailFunctionOutput:
    """An agent guardrail's output.

    Args:
        output_info: Information for people.
        tripwire_triggered: True to end the run.
    """

    output_info: Any
    tripwire_triggered: bool


@record
class InputGuardrailResult:
    """The result of an input guardrail."""

    guardrail: Any
    output: GuardrailFunctionOutput


@record
class OutputGuardrailResult:
    """The result of an output guardrail, with the checked output and its agent."""

    guardrail: Any
    agent_output: Any
    agent: Any
    output: GuardrailFunctionOutput


class _AgentGuardrail:
    """A guardrail function.

    Args:
        guardrail_function: The function.
        name: The display name; the function's own by default.
        run_in_parallel: Call the model while the function runs.
    """

    _exception_type: type[GuardrailTripwire] = OutputGuardrailTripwireTriggered

    def __init__(
        self,
        guardrail_function: GuardrailFunction,
        name: str | None = None,
        run_in_parallel: bool = True,
    ) -> None:
        self.guardrail_function = guardrail_function
        self.name = name
        self.run_in_parallel = run_in_parallel

    def get_name(self) -> str:
        """Return the display name."""
        return self.name or self.guardrail_function.__name__

    def to_core(self, agent: Any, lifecycle: Any = None) -> Guardrail:
        """Return the core's guardrail of an agent, for a run with settings of its own if given."""

        async def check(content: Any, run: RunContext[Any]) -> Verdict:
            wrapper = RunContextWrapper.from_run(run) if lifecycle is None else lifecycle.wrapper
            about = self._select_input(content, lifecycle)
            output = await maybe_await(self.guardrail_function(wrapper, agent, about))
            result = record_verdict(self._make_result(about, agent, output))
            return Stop(self._exception_type(result)) if output.tripwire_triggered else Allow()

        return Guardrail(check, self.get_name(), not self.run_in_parallel)

    def _select_input(self, content: Any, lifecycle: Any) -> Any:
        """Return the value to check."""
        return content

    def _make_result(self, about: Any, agent: Any, output: GuardrailFunctionOutput) -> Any:
        return OutputGuardrailResult(self, about, agent, output)


class OutputGuardrail(_AgentGuardrail):
    """A check of an agent's output."""


class InputGuardrail(_AgentGuardrail):
    """A check of an agent's input; within a run, of the run's complete input."""

    _exception_type = InputGuardrailTripwireTriggered

    def _select_input(self, content: Any, lifecycle: Any) -> Any:
        return to_input(content) if lifecycle is None else lifecycle.original_input

    def _make_result(self, about: Any, agent: Any, output: GuardrailFunctionOutput) -> Any:
        return InputGuardrailResult(self, output)


def input_guardrail(
    func: Any = None, *, name: str | None = None, run_in_parallel: bool = True
) -> Any:
    """Make an input guardrail from ``(context, agent, input) -> GuardrailFunctionOutput``."""
    if func is None:
        return lambda wrapped: InputGuardrail(wrapped, name, run_in_parallel)
    return InputGuardrail(func, name, run_in_parallel)


def output_guardrail(func: Any = None, *, name: str | None = None) -> Any:
    """Make an output guardrail from ``(context, agent, output) -> GuardrailFunctionOutput``."""
    if func is None:
        return lambda wrapped: OutputGuardrail(wrapped, name)
    return OutputGuardrail(func, name)
