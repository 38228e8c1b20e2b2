"""Lifecycle hooks, under the names of the OpenAI Agents SDK: methods awaited during a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel._common.loop_state import CALLBACK_TIMEOUT
from toolkeel.agent.turn.steps import ModelStep, SendRequest
from toolkeel.call.body.callback import run_callback
from toolkeel.context import RunContext
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define.tool import Prepared, Proceed, Step, StepPlace
from toolkeel.messages import AssistantMessage, ToolOutput
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.openai_agents.context import RunContextWrapper, ToolContext, WrapperFactory
from toolkeel_compat.openai_agents.items import split_instructions
from toolkeel_compat.openai_agents.models.custom_models import to_model_response

__all__ = ["AgentHookContext", "AgentHooks", "RunHooks"]

C = TypeVar("C", default=Any)
AgentHookContext = RunContextWrapper


class RunHooks(Generic[C]):
    """Hooks of a run: override the methods you need. Each is awaited before the run continues."""

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Run when a run of the agent starts."""

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """Run when the agent has its output."""

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Run when another agent takes over the run."""

    async def notify_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Call `on_handoff`."""
        await self.on_handoff(context, from_agent, to_agent)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        """Run before a call runs."""

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        """Run when a call has its result."""

    async def on_llm_start(
        self, context: Any, agent: Any, system_prompt: str | None, input_items: list[Any]
    ) -> None:
        """Run before a model request."""

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Run after the model's reply."""


class AgentHooks(RunHooks[C]):
    """Hooks of one agent: ``on_start``, ``on_end`` and the others."""

    async def on_start(self, context: Any, agent: Any) -> None:
        """Run when a run of this agent starts."""

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        """Run when the agent has its output."""

    async def on_handoff(  # pyright: ignore[reportIncompatibleMethodOverride] # the names of theirs
        self, context: Any, agent: Any, source: Any
    ) -> None:
        """Run when `source`, this agent, has transferred the run to `agent`."""

    async def notify_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Call `on_handoff` with the new agent first."""
        await self.on_handoff(context, to_agent, from_agent)

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Call `on_start`."""
        await self.on_start(context, agent)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """Call `on_end`."""
        await self.on_end(context, agent, output)


async def call_hooks(hooks: Iterable[RunHooks[Any] | None], method: str, *about: Any) -> None:
    """Await a method of each hook, one after the other, each for `CALLBACK_TIMEOUT` seconds at most."""
    for hook in hooks:
        if hook is not None:
            name = f"the hook {type(hook).__name__}.{method}"
            call = getattr(hook, method)
            await run_callback(call, *about, seconds=CALLBACK_TIMEOUT, name=name)


class _ToolEndStep:
    """A step that calls `on_tool_end` after the call."""

    inside = False

    def __init__(self, begins: _ToolStartStep) -> None:
        self._begins = begins

    async def __call__(
        self, prepared: Prepared, context: CoreContext[Any], proceed: Proceed
    ) -> object:
        value = await proceed(prepared)
        tool_context = self._begins.begun.pop(context.call.id, None)
        if tool_context is not None:
            hooks, agent = self._begins.about
            raw = value.artifact if isinstance(value, ToolOutput) else value
            await call_hooks(hooks, "on_tool_end", tool_context, agent, prepared.tool, raw)
        return value


class _ToolStartStep:
    """A step after approval that calls `on_tool_start` before the call runs."""

    place: StepPlace = "limit"
    inside = False  # the agent that takes over has steps of its own

    def __init__(self, hooks: Sequence[RunHooks[Any]], agent: Any) -> None:
        self.about = (hooks, agent)
        self.begun: dict[str, ToolContext[Any]] = {}

    async def __call__(
        self, prepared: Prepared, context: CoreContext[Any], proceed: Proceed
    ) -> object:
        hooks, agent = self.about
        if prepared.tool.name in {one.tool.name for one in agent.handoffs}:
            return await proceed(prepared)  # `on_handoff` tells of it
        tool_context = self.begun[context.call.id] = ToolContext.from_tool_context(context)
        await call_hooks(hooks, "on_tool_start", tool_context, agent, prepared.tool)
        return await proceed(prepared)


def make_call_steps(hooks: Sequence[RunHooks[Any]], agent: Any) -> list[Step]:
    """Return the steps that call hooks before and after an agent's tool calls."""
    begins = _ToolStartStep(hooks, agent)
    return [_ToolEndStep(begins), begins] if hooks else []


class AgentStart:
    """The start of an agent in a run, which calls hooks once.

    Args:
        hooks: The hooks, in order.
        agent: The agent.
        source: The agent that handed the run over, if any.
        has_begun: True if this agent has begun already.
    """

    def __init__(
        self, hooks: Sequence[RunHooks[Any]], agent: Any, source: Any, *, has_begun: bool
    ) -> None:
        self.hooks, self.agent, self.source = hooks, agent, source
        self.has_begun = has_begun

    async def begin(self, wrapper: RunContextWrapper[Any]) -> None:
        """Call ``on_handoff`` and ``on_agent_start``, unless that is done."""
        if self.has_begun:
            return
        self.has_begun = True
        source, agent = self.source, self.agent
        if source is not None:
            others = [one for one in self.hooks if one is not agent.hooks]  # as there: not its own
            await call_hooks((*others, source.hooks), "notify_handoff", wrapper, source, agent)
        await call_hooks(self.hooks, "on_agent_start", wrapper, agent)


def make_request_step(start: AgentStart, make_wrapper: WrapperFactory) -> ModelStep:
    """Return the step that calls hooks around an agent's model requests.

    Args:
        start: The agent's start, with its hooks.
        make_wrapper: Creates the wrapper of a run for hooks.
    """
    hooks, agent = start.hooks, start.agent

    async def step(
        request: ModelRequest, run: RunContext[Any], proceed: SendRequest
    ) -> AssistantMessage:
        wrapper, (system, items) = make_wrapper(run), split_instructions(request.messages, agent)
        await start.begin(wrapper)
        await call_hooks(hooks, "on_llm_start", wrapper, agent, system, items)
        reply = await proceed(request)
        wrapper.pending_usage = reply.usage
        # The agent's own first, as there.
        await call_hooks(
            reversed(hooks), "on_llm_end", wrapper, agent, to_model_response(reply, agent)
        )
        wrapper.pending_usage = type(reply.usage)()
        return reply

    return step
