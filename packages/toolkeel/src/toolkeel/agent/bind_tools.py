"""`model.bind_tools(...)`: a model with tools, for a single request without a loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.toolset import Toolish, Toolset, as_toolset
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, UserMessage
from toolkeel.model_interface import Delta, Model, ModelRequest, Settings, ToolChoice


class Bound:
    """A model with its tools and settings, as `bind_tools` returns it.

    Args:
        model: Who answers.
        tools: What it may call.
        settings: How to sample.
    """

    def __init__(self, model: Model, tools: Toolset, settings: Settings) -> None:
        self.model = model
        self.tools = tools
        self.settings = settings
        self._offered = tuple(tools)

    def stream(self, messages: str | Sequence[Message]) -> AsyncIterator[Delta | AssistantMessage]:
        """Yield the reply as it arrives."""
        given = [UserMessage(messages)] if isinstance(messages, str) else messages
        return self.model.stream(ModelRequest(given, self._offered, self.settings))

    async def ainvoke(self, messages: str | Sequence[Message]) -> AssistantMessage:
        """Request one reply. Its calls are not run.

        Args:
            messages: The transcript, or what the person says.
        """
        assembly = ReplyBuilder()
        async for delta in self.stream(messages):
            assembly.add(delta)
        return assembly.build()

    def invoke(self, messages: str | Sequence[Message]) -> AssistantMessage:
        """`ainvoke` for sync code."""
        return run_sync(lambda: self.ainvoke(messages))


def bind_tools(
    model: Model,
    tools: Toolset | Iterable[Toolish],
    *,
    tool_choice: ToolChoice | None = None,
    strict: bool | None = None,
    parallel_tool_calls: bool | None = None,
) -> Bound:
    """Combine a model with tools and settings.

    Args:
        model: Any.
        tools: What it may call.
        tool_choice: ``auto``, ``none``, ``required`` (or ``any``), or the name of the one to call.
        strict: Whether the provider shall hold arguments to the schema.
        parallel_tool_calls: Whether it may call several at once.

    Raises:
        SetupError: if `tool_choice` names no tool of the set.
    """
    toolset = as_toolset(tools)
    choice = "required" if tool_choice == "any" else tool_choice
    if choice not in (None, "auto", "none", "required") and choice not in toolset:
        raise SetupError(f"tool_choice {choice!r} is none of {', '.join(toolset.names)}")
    settings = Settings(choice, parallel_tool_calls, strict)
    return Bound(model, toolset, settings)


class Binds:
    """Gives a model class the method `bind_tools`."""

    bind_tools = bind_tools
