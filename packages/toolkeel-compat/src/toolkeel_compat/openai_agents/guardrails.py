"""Guardrails of tools and of agents, under the names of the OpenAI Agents SDK, and what they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

from toolkeel._records.record import record
from toolkeel.agent.guardrail import Guardrail
from toolkeel.call.arguments.validate import as_json
from toolkeel.call.steps import guard
from toolkeel.call.steps.guard import Allow, Stop, Verdict
from toolkeel.context import RunContext
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define.tool import Prepared
from toolkeel.errors import SetupError
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper, ToolContext, told
from toolkeel_compat.openai_agents.exceptions import (
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
)
from toolkeel_compat.openai_agents.items import as_input

__all__ = [
    "AllowBehavior", "GuardrailFunctionOutput", "InputGuardrail", "InputGuardrailResult",
    "OutputGuardrail", "OutputGuardrailResult", "RaiseExceptionBehavior", "RejectContentBehavior",
    "ToolGuardrailFunctionOutput", "ToolInputGuardrail", "ToolInputGuardrailData",
    "ToolInputGuardrailResult", "ToolOutputGuardrail", "ToolOutputGuardrailData",
    "ToolOutputGuardrailResult", "input_guardrail", "output_guardrail", "tool_input_guardrail",
    "tool_output_guardrail",
]  # fmt: skip


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


@record
class ToolInputGuardrailData:
    """What a guardrail function is given."""

    context: ToolContext[Any]
    agent: Any


@record
class ToolOutputGuardrailData(ToolInputGuardrailData):
    """What an output guardrail function is given."""

    output: Any


class _Guardrail:
    ending: ClassVar[type[ToolInputGuardrailTripwireTriggered]] = (
        ToolOutputGuardrailTripwireTriggered
    )
    kind: ClassVar[type[ToolInputGuardrailResult]] = ToolOutputGuardrailResult
    guardrail_function: Callable[[Any], Any] | None = None
    name: str | None = None

    def __init__(
        self, guardrail_function: Callable[[Any], Any] | None = None, name: str | None = None
    ) -> None:
        self.guardrail_function = guardrail_function
        self.name = name

    def get_name(self) -> str:
        """Its name, or that of its function or class."""
        own = getattr(self.guardrail_function, "__name__", None)
        return self.name or str(own or type(self).__name__)

    async def run(self, tool_name: Any, content: Any = None, context: Any = None) -> Any:
        """Write this in a subclass, sync or async: look at the arguments, or at the output.

        One that was made of a function is given its data, and says what that says.
        """
        if self.guardrail_function is None:
            raise SetupError(f"{type(self).__name__}: write run(), or give it a guardrail_function")
        return await maybe_await(self.guardrail_function(tool_name))

    async def _judged(
        self, prepared: Prepared, core: CoreContext[Any], outcome: guard.Outcome | None = None
    ) -> guard.Verdict:
        """What it says of a call with its arguments as they are by now, or of what came of it."""
        context = ToolContext.from_tool_context(core)
        context.tool_arguments = dumps(as_json(prepared))
        if self.guardrail_function is None:
            seen = json.loads(context.tool_arguments) if outcome is None else outcome.text
            said = self.run(prepared.tool.name, seen, context)
        elif outcome is None:
            said = self.guardrail_function(ToolInputGuardrailData(context, context.agent))
        else:
            seen = outcome.value if outcome.error is None else outcome.text
            said = self.guardrail_function(ToolOutputGuardrailData(context, context.agent, seen))
        result = await maybe_await(said)
        output = result.output if isinstance(result, ToolInputGuardrailResult) else result
        told(self.kind(output, self))
        match as_behavior(output.behavior):
            case AllowBehavior(modified_content=changed):
                return guard.Allow(guard.SAME if changed is None else changed)
            case RejectContentBehavior(reject_message=text, message=message):
                return guard.Reject(text or message)
            case RaiseExceptionBehavior(error_message=text):
                return guard.Stop(self.ending(self, output, text))


class ToolInputGuardrail(_Guardrail):
    """Looks at a call before it runs: subclass it and write `run(tool_name, arguments, context)`."""

    ending = ToolInputGuardrailTripwireTriggered
    kind = ToolInputGuardrailResult

    def step(self) -> guard.InputGuard:
        """The guard it is in the core."""

        async def check(prepared: Prepared, core: CoreContext[Any]) -> guard.Verdict:
            verdict = await self._judged(prepared, core)
            if isinstance(verdict, guard.Allow) and isinstance(verdict.modified, str):
                return guard.Allow(json.loads(verdict.modified))
            return verdict

        return guard.input_guard(check, self.get_name())


class ToolOutputGuardrail(_Guardrail):
    """Looks at a result: subclass it and write `run(tool_name, output, context)`."""

    def step(self) -> guard.OutputGuard:
        """The guard it is in the core."""

        async def check(
            prepared: Prepared, outcome: guard.Outcome, core: CoreContext[Any]
        ) -> guard.Verdict:
            return await self._judged(prepared, core, outcome)

        return guard.output_guard(check, self.get_name())


def tool_input_guardrail(function: Any = None, *, name: str | None = None) -> Any:
    """Make an input guardrail of ``(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput``."""
    if function is None:
        return lambda wrapped: ToolInputGuardrail(wrapped, name)
    return ToolInputGuardrail(function, name)


def tool_output_guardrail(function: Any = None, *, name: str | None = None) -> Any:
    """Make an output guardrail of a function of `ToolOutputGuardrailData`."""
    if function is None:
        return lambda wrapped: ToolOutputGuardrail(wrapped, name)
    return ToolOutputGuardrail(function, name)


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
            output = await maybe_await(self.guardrail_function(wrapper, agent, about))
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
