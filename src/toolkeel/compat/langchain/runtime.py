"""What a running tool is handed by the type of a parameter, under LangChain's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from toolkeel._records.record import record
from toolkeel.compat.langchain.inject import state_of
from toolkeel.context import ToolContext

C = TypeVar("C", default=Any)
S = TypeVar("S", default=Any)


class RunnableConfig(dict[str, Any]):
    """The config a run was given; ask for it by the type of a parameter."""

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> RunnableConfig:
        """That of the running call."""
        return cls(cast("Mapping[str, Any]", context.run.inject.get("config", {})))


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
