"""What a running tool is handed, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from toolkeel._records.record import record
from toolkeel.context import RunContext
from toolkeel.context import ToolContext as CoreContext
from toolkeel.messages import AssistantMessage
from toolkeel.messages import Usage as CoreUsage
from toolkeel.providers.wire.plain_json import arguments_text

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


@record
class RequestUsage:
    """What one request spent, in tokens."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


@record
class TokensDetails:
    """Parts of the tokens that were read, or written."""

    cached_tokens: int = 0
    reasoning_tokens: int = 0


@record
class Usage:
    """What was spent.

    Args:
        requests: How often a model was asked.
        input_tokens: All that was read.
        output_tokens: All that was written.
        total_tokens: Both.
        input_tokens_details: How much was read from a cache.
        output_tokens_details: How much was reasoning.
        request_usage_entries: The same request by request.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    input_tokens_details: TokensDetails = TokensDetails()
    output_tokens_details: TokensDetails = TokensDetails()
    request_usage_entries: Sequence[RequestUsage] = ()

    @classmethod
    def of(cls, usage: CoreUsage, replies: Iterable[CoreUsage] = ()) -> Usage:
        """The core's, with that of each reply."""
        tokens = attrgetter("input_tokens", "output_tokens", "total_tokens")
        each = tuple(RequestUsage(*tokens(one)) for one in replies if one.requests)
        read = TokensDetails(cached_tokens=usage.cached_tokens)
        written = TokensDetails(reasoning_tokens=usage.reasoning_tokens)
        return cls(usage.requests, *tokens(usage), read, written, each)


class RunContextWrapper(Generic[C]):
    """The user's own object and what the run has spent; ask for it by the type of a parameter.

    Args:
        context: The user's own object.
        usage: Tokens spent so far.

    Attributes:
        turn_input: What the run was given, as items.
        always: By tool, what a person has decided for good; see `RunState.approve`.
        just_now: What a reply cost that is not in the transcript yet.
    """

    def __init__(self, context: C = None, usage: Usage | None = None) -> None:  # type: ignore[assignment]
        self.context = context
        self.turn_input: list[Any] = []
        self.always: dict[str, str] = {}
        self._usage = usage or Usage()
        self._run: RunContext[Any] | None = None
        self.just_now = CoreUsage()

    @property
    def usage(self) -> Usage:
        """Tokens the run has spent so far."""
        run = self._run
        if run is None:
            return self._usage
        replies = [one.usage for one in run.transcript if isinstance(one, AssistantMessage)]
        return Usage.of(run.usage + self.just_now, (*replies, self.just_now))

    def joined(self, run: RunContext[Any]) -> RunContextWrapper[C]:
        """The same, and what is spent is that run's."""
        self._run = run
        return self

    @classmethod
    def from_tool_context(cls, context: CoreContext[Any]) -> RunContextWrapper[Any]:
        """That of the running call."""
        return RunContextWrapper(context.deps).joined(context.run)


class Surroundings(TypedDict, total=False):
    """What a call belongs to.

    Attributes:
        agent: Whose run it is.
        run_config: What holds for the run, if it is known.
    """

    agent: Any
    run_config: Any


class ToolContext(RunContextWrapper[C]):
    """All a tool may see of its call; ask for it by the type of a parameter, at any position.

    Args:
        context: The user's own object.
        usage: Tokens spent so far.
        tool_name: Name of the tool.
        tool_call_id: The model's id for the call.
        tool_arguments: JSON text.
        tool_call: The call as the wire carries it.
        about: See `Surroundings`.
    """

    def __init__(
        self,
        context: C = None,  # type: ignore[assignment]
        usage: Usage | None = None,
        tool_name: str = "",
        tool_call_id: str = "",
        tool_arguments: str = "",
        tool_call: Any = None,
        **about: Unpack[Surroundings],
    ) -> None:
        super().__init__(context, usage)
        self.run_config = about.get("run_config")
        self.tool_call = tool_call
        self.tool_name = tool_name
        self.tool_call_id = tool_call_id
        self.tool_arguments = tool_arguments
        self.agent = about.get("agent")

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
            context.deps,
            None,
            context.tool_name,
            call.id,
            arguments_text(call.arguments),
            agent=context.agent,
        )
        made._run = context.run
        return made

    @classmethod
    def from_agent_context(
        cls,
        context: RunContextWrapper[Any],
        tool_call_id: str,
        tool_call: Any,
        agent: Any = None,
        *,
        run_config: Any = None,
    ) -> ToolContext[Any]:
        """That of a call in an agent's run, by what the run has."""
        about = (context.usage, tool_call.name, tool_call_id, tool_call.arguments, tool_call)
        made: ToolContext[Any] = cls(context.context, *about, agent=agent, run_config=run_config)
        made.turn_input, made.always = context.turn_input, context.always
        return made

    def run(self) -> RunContext[Any]:
        """The core's run it belongs to; a new one if it was made by hand."""
        return self._run or RunContext(self.context, agent=self.agent)
