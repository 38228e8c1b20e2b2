"""Lifecycle hooks, under the names of the OpenAI Agents SDK: methods that are awaited as a run goes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel.agent.reply_assembly import Assembly
from toolkeel.compat.openai_agents.context import RunContextWrapper, ToolContext
from toolkeel.compat.openai_agents.items import parted
from toolkeel.compat.openai_agents.models.own import WrappedModel, response_of
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.messages import AssistantMessage, ToolOutput
from toolkeel.model import Delta, Finish, Model, ModelRequest

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
        """This agent was given the run by another."""

    async def handed_over(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Says `on_handoff`, with who has it now first."""
        await self.on_handoff(context, to_agent, from_agent)

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Says `on_start`."""
        await self.on_start(context, agent)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """Says `on_end`."""
        await self.on_end(context, agent, output)


class ToolHooks:
    """A `Step` that tells hooks of a call.

    Args:
        hooks: Who is told, in order.
        agent: Whose calls they are.
    """

    def __init__(self, hooks: Sequence[RunHooks[Any]], agent: Any) -> None:
        self._hooks = hooks
        self._agent = agent

    async def __call__(
        self, prepared: Prepared, context: CoreContext[Any], proceed: Proceed
    ) -> object:
        if prepared.tool.name in {one.tool.name for one in self._agent.handoffs}:
            return await proceed(prepared)  # `on_handoff` tells of it
        wrapper = ToolContext.from_tool_context(context)
        for hook in self._hooks:
            await hook.on_tool_start(wrapper, self._agent, prepared.tool)
        value = await proceed(prepared)
        raw = value.artifact if isinstance(value, ToolOutput) else value
        for hook in self._hooks:
            await hook.on_tool_end(wrapper, self._agent, prepared.tool, raw)
        return value


class HookedModel(WrappedModel):
    """A `Model` whose requests hooks are told of.

    Args:
        model: Who answers.
        hooks: Who is told, in order.
        agent: Whose requests they are.
        wrapper: What hooks see of the run.
        before: Who has given the run to the agent, if somebody has: then it begins with the first
            request.
    """

    def __init__(
        self,
        model: Model,
        hooks: Sequence[RunHooks[Any]],
        agent: Any,
        wrapper: RunContextWrapper[Any],
        before: Any = None,
    ) -> None:
        super().__init__(model)
        self._hooks = hooks
        self._agent = agent
        self._wrapper = wrapper
        self._before = before

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """The model's own reply; it ends when the hooks have been told of it."""
        told, items = parted(request.messages, self._agent)
        before, self._before = self._before, None
        if before is not None:
            for hook in self._hooks:
                await hook.handed_over(self._wrapper, before, self._agent)
            for hook in self._hooks:
                await hook.on_agent_start(self._wrapper, self._agent)
        for hook in self._hooks:
            await hook.on_llm_start(self._wrapper, self._agent, told, items)
        assembly = Assembly()
        async for delta in self._model.stream(request):
            assembly.add(delta)
            if isinstance(delta, AssistantMessage | Finish):
                await self._ended(assembly.reply())
            yield delta

    async def _ended(self, reply: AssistantMessage) -> None:
        response = response_of(reply, self._agent)
        self._wrapper.just_now = reply.usage
        for hook in self._hooks:
            await hook.on_llm_end(self._wrapper, self._agent, response)
        self._wrapper.just_now = type(reply.usage)()
