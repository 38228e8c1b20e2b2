"""What a running tool is handed by a marker or by the type of a parameter, under LangChain's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel._records.record import record
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.inject import Injected
from toolkeel_compat.langchain.messages import convert_to_messages

C = TypeVar("C", default=Any)
S = TypeVar("S", default=Any)
InjectedToolArg = Injected


class InjectedToolCallId(Injected):
    """Marks a parameter that receives the id of the call."""

    crosses = True

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.call.id


class InjectedState(Injected):
    """Marks a parameter that receives the run's state, or one field of it.

    Args:
        field: Key of the state, or ``messages`` for the transcript; None for all of the state.
    """

    def __init__(self, field: str | None = None) -> None:
        self.field = field

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        state = state_of(context)
        if self.field == "messages" and self.field not in state:
            return context.messages
        return state if self.field is None else state[self.field]


def state_of(context: ToolContext[Any]) -> Any:
    """A run's state as a tool sees it: with its messages, which an agent keeps elsewhere."""
    if "messages" in context.state or not context.messages:
        return context.state
    return {**context.state, "messages": convert_to_messages(context.messages)}


class InjectedStore(Injected):
    """Marks a parameter that receives the run's store."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        if context.store is None:
            raise KeyError(name)
        return context.store


class RunnableConfig(dict[str, Any]):
    """The config a run was given; ask for it by the type of a parameter."""

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> RunnableConfig:
        """That of the running call."""
        return config_of(context.run)


def config_of(run: RunContext[Any]) -> RunnableConfig:
    """The config a run was given, and what every config has."""
    config: Any = run.inject.get("config") or {}
    return RunnableConfig({"tags": [], "metadata": {}, "configurable": {}, **config})


class CallbackManagerForToolRun:
    """LangChain's callbacks; here the run's events do their work, and text becomes progress."""

    def __init__(self, context: ToolContext[Any]) -> None:
        self.run_id = context.run.id
        self._context = context

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> CallbackManagerForToolRun:
        """That of the running call."""
        return cls(context)

    def on_text(self, text: str, **_: object) -> Any:
        """Tell whoever watches the run."""
        self._context.progress(text)

    def get_child(self, tag: str | None = None) -> CallbackManagerForToolRun:
        """What a call inside this one would get; nothing is told, so a tag makes no difference."""
        return self


class AsyncCallbackManagerForToolRun(CallbackManagerForToolRun):
    """The same, to be awaited."""

    def get_sync(self) -> CallbackManagerForToolRun:
        """The same for sync code: for an `_arun` that calls `_run`."""
        return CallbackManagerForToolRun(self._context)

    async def on_text(self, text: str, **_: object) -> None:
        """Tell whoever watches the run."""
        self._context.progress(text)


@record
class ToolRuntime(Generic[C, S]):
    """What a tool may see of its run; ask for it by the type of a parameter, at any position.

    Args:
        state: The run's state; an agent keeps its messages there.
        context: The user's own object.
        store: Memory that outlives the run.
        config: The run's config.
        tool_call_id: Id of the call.
        stream_writer: Tells whoever watches the run.
    """

    state: S
    context: C
    store: Any
    config: RunnableConfig
    tool_call_id: str
    stream_writer: Callable[[object], None]

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> ToolRuntime[Any, Any]:
        """That of the running call."""
        run, config = context.run, RunnableConfig.from_tool_context(context)
        state = state_of(context)
        return cls(state, run.deps, run.store, config, context.call.id, context.emit)
