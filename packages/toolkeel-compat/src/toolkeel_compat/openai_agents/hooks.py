"""Lifecycle hooks, under the names of the OpenAI Agents SDK: methods that are awaited as a run goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel.agent.turn.steps import Ask, ModelStep
from toolkeel.context import RunContext
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define.tool import Place, Prepared, Proceed, Step
from toolkeel.messages import AssistantMessage, ToolOutput
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.openai_agents.context import RunContextWrapper, Seen, ToolContext
from toolkeel_compat.openai_agents.items import parted
from toolkeel_compat.openai_agents.models.custom_models import response_of

__all__ = ["AgentHookContext", "AgentHooks", "RunHooks"]

C = TypeVar("C", default=Any)
AgentHookContext = RunContextWrapper


class RunHooks(Generic[C]):
    """Override what you want to be told of; each is awaited before the run goes on."""

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """A run of the agent begins."""

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """It has its answer."""

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Another agent goes on with the run."""

    async def handed_over(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Says `on_handoff`."""
        await self.on_handoff(context, from_agent, to_agent)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        """A call is about to run."""

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        """A call has its result."""

    async def on_llm_start(
        self, context: Any, agent: Any, system_prompt: str | None, input_items: list[Any]
    ) -> None:
        """The model is about to be asked."""

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """The model has replied."""


class AgentHooks(RunHooks[C]):
    """The same for one agent: ``on_start``, ``on_end`` and the others."""

    async def on_start(self, context: Any, agent: Any) -> None:
        """A run of this agent begins."""

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        """It has its answer."""

    async def on_handoff(  # pyright: ignore[reportIncompatibleMethodOverride] # the names of theirs
        self, context: Any, agent: Any, source: Any
    ) -> None:
        """This agent has given the run to another: `agent` has it now, and `source` is this one."""

    async def handed_over(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Says `on_handoff`, with who has it now first."""
        await self.on_handoff(context, to_agent, from_agent)

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Says `on_start`."""
        await self.on_start(context, agent)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """Says `on_end`."""
        await self.on_end(context, agent, output)


async def tell(hooks: Iterable[RunHooks[Any] | None], method: str, *about: Any) -> None:
    """Tell hooks of something, one after the other."""
    for hook in hooks:
        if hook is not None:
            await getattr(hook, method)(*about)


class _Begins:
    """A step within approval that tells hooks of a call that is about to run."""

    place: Place = "limit"

    def __init__(self, hooks: Sequence[RunHooks[Any]], agent: Any) -> None:
        self.about = (hooks, agent)
        self.begun: dict[str, ToolContext[Any]] = {}

    async def __call__(
        self, prepared: Prepared, context: CoreContext[Any], proceed: Proceed
    ) -> object:
        hooks, agent = self.about
        if prepared.tool.name in {one.tool.name for one in agent.handoffs}:
            return await proceed(prepared)  # `on_handoff` tells of it
        seen = self.begun[context.call.id] = ToolContext.from_tool_context(context)
        await tell(hooks, "on_tool_start", seen, agent, prepared.tool)
        return await proceed(prepared)


def around_calls(hooks: Sequence[RunHooks[Any]], agent: Any) -> list[Step]:
    """The steps that tell hooks of an agent's calls that run, and of their results."""
    begins = _Begins(hooks, agent)

    async def ends(prepared: Prepared, context: CoreContext[Any], proceed: Proceed) -> object:
        value = await proceed(prepared)
        seen = begins.begun.pop(context.call.id, None)
        if seen is not None:
            raw = value.artifact if isinstance(value, ToolOutput) else value
            await tell(hooks, "on_tool_end", seen, agent, prepared.tool, raw)
        return value

    return [ends, begins] if hooks else []


def around_requests(
    hooks: Sequence[RunHooks[Any]], agent: Any, seen: Seen, before: Any = None
) -> ModelStep:
    """The step that tells hooks of an agent's requests.

    Args:
        hooks: Who is told, in order.
        agent: Whose requests they are.
        seen: What hooks see of a run.
        before: Who has given the run to the agent, if somebody has.
    """
    given_by = [before]  # until the first request, with which the agent begins

    async def step(request: ModelRequest, run: RunContext[Any], proceed: Ask) -> AssistantMessage:
        wrapper, (system, items) = seen(run), parted(request.messages, agent)
        while given_by:
            if (source := given_by.pop()) is not None:
                told = [one for one in hooks if one is not agent.hooks]  # as there: its own are not
                await tell((*told, source.hooks), "handed_over", wrapper, source, agent)
            await tell(hooks, "on_agent_start", wrapper, agent)
        await tell(hooks, "on_llm_start", wrapper, agent, system, items)
        reply = await proceed(request)
        wrapper.just_now = reply.usage
        # The agent's own first, as there.
        await tell(reversed(hooks), "on_llm_end", wrapper, agent, response_of(reply, agent))
        wrapper.just_now = type(reply.usage)()
        return reply

    return step
