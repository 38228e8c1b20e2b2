"""What a running tool is handed, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from toolwright.context import Run
from toolwright.context import ToolContext as CoreContext
from toolwright.messages import Usage
from toolwright.providers.wire import arguments_text
from toolwright.record import record

C = TypeVar("C")


@record
class RawToolCall:
    """A call as it came; `RunItem.raw_item`.

    Args:
        id: The model's id for it.
        name: Name of the tool.
        arguments: JSON text.
    """

    id: str
    name: str = ""
    arguments: str = ""
    type: str = "function_call"

    @property
    def call_id(self) -> str:
        """The same id, under the name it has on the Responses wire."""
        return self.id


@record
class RunItem:
    """One thing that happened in a run: here, a call.

    Args:
        agent: Whose run it is; None without an agent.
        raw_item: The call.
    """

    agent: Any
    raw_item: RawToolCall


class RunContextWrapper(Generic[C]):
    """The user's own object and what the run has spent; ask for it by the type of a parameter.

    Args:
        context: The user's own object.
        usage: Tokens spent so far.
    """

    def __init__(self, context: C = None, usage: Usage | None = None) -> None:  # type: ignore[assignment]
        self.context = context
        self._usage = usage or Usage()
        self._run: Run[Any] | None = None

    @property
    def usage(self) -> Usage:
        """Tokens the run has spent so far."""
        return self._usage if self._run is None else self._run.usage

    @classmethod
    def from_tool_context(cls, context: CoreContext[Any]) -> RunContextWrapper[Any]:
        """That of the running call."""
        made = RunContextWrapper(context.context)
        made._run = context.run
        return made


class ToolContext(RunContextWrapper[C]):
    """All a tool may see of its call; ask for it by the type of a parameter, at any position.

    Args:
        context: The user's own object.
        usage: Tokens spent so far.
        tool_name: Name of the tool.
        tool_call_id: The model's id for the call.
        tool_arguments: JSON text.
        agent: Whose run it is.
    """

    def __init__(
        self,
        context: C = None,  # type: ignore[assignment]
        usage: Usage | None = None,
        tool_name: str = "",
        tool_call_id: str = "",
        tool_arguments: str = "",
        agent: Any = None,
    ) -> None:
        super().__init__(context, usage)
        self.tool_name = tool_name
        self.tool_call_id = tool_call_id
        self.tool_arguments = tool_arguments
        self.agent = agent

    @property
    def ctx_wrapper(self) -> RunContextWrapper[C]:
        """The run's part of it: this object itself."""
        return self

    @property
    def run_item(self) -> RunItem:
        """The call."""
        raw = RawToolCall(self.tool_call_id, self.tool_name, self.tool_arguments)
        return RunItem(self.agent, raw)

    @classmethod
    def from_tool_context(cls, context: CoreContext[Any]) -> ToolContext[Any]:
        """That of the running call."""
        call = context.call
        made: ToolContext[Any] = ToolContext(
            context.context,
            None,
            context.tool_name,
            call.id,
            arguments_text(call.arguments),
            context.agent,
        )
        made._run = context.run
        return made

    def run(self) -> Run[Any]:
        """The core's run it belongs to; a new one if it was made by hand."""
        return self._run or Run(self.context, agent=self.agent)
