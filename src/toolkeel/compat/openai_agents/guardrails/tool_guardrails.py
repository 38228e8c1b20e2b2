"""Tool guardrails under the names of the OpenAI Agents SDK: as classes, or as decorated functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from toolkeel._records.record import record
from toolkeel.call.arguments.validate import as_json
from toolkeel.call.steps import guard
from toolkeel.compat.given import value_of
from toolkeel.compat.openai_agents.context import ToolContext
from toolkeel.compat.openai_agents.guardrails.verdicts import (
    AllowBehavior,
    RaiseExceptionBehavior,
    RejectContentBehavior,
    ToolInputGuardrailResult,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailResult,
    ToolOutputGuardrailTripwireTriggered,
    as_behavior,
    told,
)
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define.tool import Prepared
from toolkeel.errors import SetupError
from toolkeel.providers.wire.plain_json import dumps


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
    ending: ClassVar[type[ToolInputGuardrailTripwireTriggered]]
    kind: ClassVar[type[ToolInputGuardrailResult]]
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
        return await value_of(self.guardrail_function(tool_name))

    async def _verdict(self, answer: Any) -> guard.Verdict:
        result = await value_of(answer)
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
            context = _context(prepared, core)
            if self.guardrail_function is not None:
                data = ToolInputGuardrailData(context, context.agent)
                verdict = await self._verdict(self.guardrail_function(data))
            else:
                arguments = json.loads(context.tool_arguments)
                verdict = await self._verdict(self.run(prepared.tool.name, arguments, context))
            if isinstance(verdict, guard.Allow) and isinstance(verdict.modified, str):
                return guard.Allow(json.loads(verdict.modified))
            return verdict

        return guard.input_guard(check, self.get_name())


class ToolOutputGuardrail(_Guardrail):
    """Looks at a result: subclass it and write `run(tool_name, output, context)`."""

    ending = ToolOutputGuardrailTripwireTriggered
    kind = ToolOutputGuardrailResult

    def step(self) -> guard.OutputGuard:
        """The guard it is in the core."""

        async def check(
            prepared: Prepared, outcome: guard.Outcome, core: CoreContext[Any]
        ) -> guard.Verdict:
            context = _context(prepared, core)
            if self.guardrail_function is None:
                return await self._verdict(self.run(prepared.tool.name, outcome.text, context))
            output = outcome.value if outcome.error is None else outcome.text
            data = ToolOutputGuardrailData(context, context.agent, output)
            return await self._verdict(self.guardrail_function(data))

        return guard.output_guard(check, self.get_name())


def _context(prepared: Prepared, core: CoreContext[Any]) -> ToolContext[Any]:
    """What a tool would see, with the arguments as they are by now."""
    context = ToolContext.from_tool_context(core)
    context.tool_arguments = dumps(as_json(prepared))
    return context


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
