"""Values injected into a running tool by a marker or a parameter's type, under LangChain's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel._records.record import record
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.inject import Injected
from toolkeel_compat.langchain.threads.message_ids import read_transcript

C = TypeVar("C", default=Any)
S = TypeVar("S", default=Any)
InjectedToolArg = Injected


class InjectedToolCallId(Injected):
    """A marker for a parameter that receives the call's id."""

    crosses_processes = True
    is_secret = False

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.call.id


class InjectedState(Injected):
    """A marker for a parameter that receives the run's state, or one key of it.

    Args:
        field: Key of the state, or ``messages`` for the transcript; None for the complete state.
    """

    is_secret = False

    def __init__(self, field: str | None = None) -> None:
        self.field = field

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        state = build_state(context)
        if self.field == "messages" and self.field not in state:
            return context.messages
        return state if self.field is None else state[self.field]


def build_state(context: ToolContext[Any]) -> Any:
    """Return the run's state with its ``messages``, which an agent stores separately."""
    if "messages" in context.state or not context.messages:
        return context.state
    return {**context.state, "messages": read_transcript(context.messages, context.state)}


class MessageList(dict[str, Any]):
    """The state of a `ToolNode` that got a bare list: its messages under their key.

    A tool's `ToolRuntime` has the list itself as its state.
    """


class InjectedStore(Injected):
    """A marker for a parameter that receives the run's store."""

    is_secret = False

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        if context.store is None:
            raise KeyError(name)
        return context.store


class RunnableConfig(dict[str, Any]):
    """The config passed to the run; request it by a parameter's type."""

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> RunnableConfig:
        """Return the config of the running call."""
        return build_config(context.run)


def build_config(run: RunContext[Any]) -> RunnableConfig:
    """Return the config passed to the run, with the keys every config has."""
    config: Any = run.inject.get("config") or {}
    return RunnableConfig({"tags": [], "metadata": {}, "configurable": {}, **config})


class CallbackManagerForToolRun:
    """LangChain's callback manager. The run's events replace callbacks, and text becomes progress."""

    def __init__(self, context: ToolContext[Any]) -> None:
        self.run_id = context.run.id
        self._context = context

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> CallbackManagerForToolRun:
        """Return the callback manager of the running call."""
        return cls(context)

    def on_text(self, text: str, **_: object) -> Any:
        """Report text as progress of the call."""
        self._context.progress(text)

    def get_child(self, tag: str | None = None) -> CallbackManagerForToolRun:
        """Return this manager; nested calls report no callbacks, so `tag` is ignored."""
        return self


class AsyncCallbackManagerForToolRun(CallbackManagerForToolRun):
    """The async version of `CallbackManagerForToolRun`."""

    def get_sync(self) -> CallbackManagerForToolRun:
        """Return a sync manager, for an `_arun` that calls `_run`."""
        return CallbackManagerForToolRun(self._context)

    async def on_text(self, text: str, **_: object) -> None:
        """Report text as progress of the call."""
        self._context.progress(text)


@record
class ToolRuntime(Generic[C, S]):
    """A tool's view of its run; request it by a parameter's type, at any position.

    Args:
        state: The run's state, with its messages.
        context: The user's own object.
        store: Memory that outlives the run.
        config: The run's config.
        tool_call_id: Id of the call.
        stream_writer: Emits a value to the run's listeners.
    """

    state: S
    context: C
    store: Any
    config: RunnableConfig
    tool_call_id: str
    stream_writer: Callable[[object], None]

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> ToolRuntime[Any, Any]:
        """Return the runtime of the running call."""
        run, config = context.run, RunnableConfig.from_tool_context(context)
        state = build_state(context)
        if isinstance(state, MessageList):
            [state] = state.values()
        return cls(state, run.deps, run.store, config, context.call.id, context.emit)
