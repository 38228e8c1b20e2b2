"""Objects passed to a running tool, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, Generic, TypeAlias, TypedDict, TypeVar, Unpack

from toolkeel._records.record import record
from toolkeel.context import RunContext
from toolkeel.context import ToolContext as CoreContext
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.messages import Usage as CoreUsage
from toolkeel.providers.openai_responses.profile import WIRE
from toolkeel.providers.wire.plain_json import arguments_text, as_dict

__all__ = ["RunContextWrapper", "RunItem", "TResponseInputItem", "ToolContext", "Usage"]

C = TypeVar("C")


TResponseInputItem: TypeAlias = dict[str, Any]


class RawItem(dict[str, Any]):
    """An item of the Responses API: a dict whose keys are also attributes.

    >>> RawItem(type="function_call", name="add").name
    'add'
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def to_dict(item: Any) -> TResponseInputItem:
    """Convert an item, such as one of OpenAI's own types, to a dict."""
    dump = getattr(item, "model_dump", None)
    return dict(dump(exclude_none=True)) if dump is not None else dict(item)


@record
class RunItem:
    """An item of a run.

    Args:
        agent: The agent whose run it is; None without an agent.
        raw_item: The item of the Responses API.
    """

    agent: Any
    raw_item: Any

    def to_input_item(self) -> TResponseInputItem:
        """Return the item as a plain dict, for the input of another run."""
        return to_dict(self.raw_item)


def read_responses_fields(message: AssistantMessage | ToolCall) -> Mapping[str, Any]:
    """Return the fields that only the Responses API has for a reply or a call."""
    return as_dict(message.provider_options.get(WIRE))


def to_raw_call(call: ToolCall) -> RawItem:
    """Convert a call to its item of the Responses API."""
    text, id = arguments_text(call.arguments), read_responses_fields(call).get("id") or call.id
    made = RawItem(arguments=text, call_id=call.id, name=call.name, type="function_call", id=id)
    return made if id == call.id else RawItem(made, status="completed")  # only Responses has one


@record
class RequestUsage:
    """Token counts of one request."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


@record
class TokensDetails:
    """Cached input tokens, or reasoning output tokens."""

    cached_tokens: int = 0
    reasoning_tokens: int = 0


_NO_DETAILS = TokensDetails()


@dataclasses.dataclass
class Usage:
    """Requests and tokens used.

    Args:
        requests: Number of model requests.
        input_tokens: All input tokens.
        output_tokens: All output tokens.
        total_tokens: Input and output tokens.
        input_tokens_details: How many input tokens were cached.
        output_tokens_details: How many output tokens were reasoning.
        request_usage_entries: Token counts by request.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    input_tokens_details: TokensDetails = _NO_DETAILS
    output_tokens_details: TokensDetails = _NO_DETAILS
    request_usage_entries: Sequence[RequestUsage] = ()
    _run: RunContext[Any] | None = dataclasses.field(
        default=None, init=False, repr=False, compare=False
    )

    def add(self, other: Usage) -> None:
        """Add another usage. The run that this usage belongs to is charged, too."""
        more, entries = to_core_usage(other, other.requests), self.request_usage_entries
        both = Usage.from_core(to_core_usage(self, self.requests) + more)
        both.request_usage_entries, both._run = (*entries, *other.request_usage_entries), self._run
        vars(self).update(vars(both))
        if self._run is not None:
            self._run.usage = self._run.usage + more

    @classmethod
    def from_core(cls, usage: CoreUsage, replies: Iterable[CoreUsage] = ()) -> Usage:
        """Convert the core's usage, with that of each reply."""
        tokens = attrgetter("input_tokens", "output_tokens", "total_tokens")
        each = tuple(RequestUsage(*tokens(one)) for one in replies if one.requests)
        read = TokensDetails(cached_tokens=usage.cached_tokens)
        written = TokensDetails(reasoning_tokens=usage.reasoning_tokens)
        return cls(usage.requests, *tokens(usage), read, written, each)


def to_core_usage(usage: Any, requests: int = 1) -> CoreUsage:
    """Convert the SDK's usage, or OpenAI's own, to the core's."""
    read, written = usage.input_tokens_details, usage.output_tokens_details
    cached = getattr(read, "cached_tokens", None) or 0
    thought = getattr(written, "reasoning_tokens", None) or 0
    return CoreUsage(requests, usage.input_tokens, usage.output_tokens, cached, thought)


class RunContextWrapper(Generic[C]):
    """The user's own object and the run's usage; request it by a parameter's type.

    Args:
        context: The user's own object.
        usage: Tokens used so far.

    Attributes:
        turn_input: The input of the run, as items.
        standing_decisions: A person's standing decisions by tool; see `RunState.approve`.
        pending_usage: Usage of a reply that is not in the transcript yet.
    """

    def __init__(self, context: C = None, usage: Usage | None = None) -> None:  # type: ignore[assignment]
        self.context = context
        self.turn_input: list[Any] = []
        self.standing_decisions: dict[str, str] = {}
        self._usage = usage or Usage()
        self._run: RunContext[Any] | None = None
        self.pending_usage = CoreUsage()

    @property
    def usage(self) -> Usage:
        """Tokens used by the run so far."""
        run = self._run
        if run is None:
            return self._usage
        replies = [one.usage for one in run.transcript if isinstance(one, AssistantMessage)]
        made = Usage.from_core(run.usage, (*replies, self.pending_usage))
        made._run = run
        return made

    def bind_run(self, run: RunContext[Any]) -> RunContextWrapper[C]:
        """Use a run's usage from now on, and return this wrapper."""
        self._run = run
        return self

    @classmethod
    def from_run(cls, run: RunContext[Any]) -> RunContextWrapper[Any]:
        """Create a wrapper for a core run."""
        return RunContextWrapper(run.deps).bind_run(run)

    @classmethod
    def from_tool_context(cls, context: CoreContext[Any]) -> RunContextWrapper[Any]:
        """Create a wrapper for the running call."""
        return cls.from_run(context.run)


WrapperFactory: TypeAlias = Callable[[RunContext[Any]], RunContextWrapper[Any]]
"""What a program's functions see of a core's run."""
current_run: ContextVar[Any] = ContextVar("of_run", default=None)
"""What `Runner` has made of the run that goes on: its settings, hooks, and what guardrails say."""


def record_verdict(result: Any) -> Any:
    """Record a guardrail's result for the run's result, and return it."""
    if (run := current_run.get()) is not None:
        run.verdicts.append(result)
    return result


class ToolContextOptions(TypedDict, total=False):
    """Further options of a `ToolContext`.

    Attributes:
        agent: The agent whose run it is.
        run_config: The run's configuration, if known.
    """

    agent: Any
    run_config: Any


class ToolContext(RunContextWrapper[C]):
    """A tool's view of its call; request it by a parameter's type, at any position.

    Args:
        context: The user's own object.
        usage: Tokens used so far.
        tool_name: Name of the tool.
        tool_call_id: The model's id for the call.
        tool_arguments: The arguments as JSON text.
        tool_call: The call as an item of the Responses API.
        about: See `ToolContextOptions`.
    """

    def __init__(
        self,
        context: C = None,  # type: ignore[assignment]
        usage: Usage | None = None,
        tool_name: str = "",
        tool_call_id: str = "",
        tool_arguments: str = "",
        tool_call: Any = None,
        **about: Unpack[ToolContextOptions],
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
        """The run's part of the context: this object itself."""
        return self

    @property
    def run_item(self) -> RunItem:
        """The call as an item."""
        call = ToolCall(self.tool_call_id, self.tool_name, self.tool_arguments)
        return RunItem(self.agent, to_raw_call(call))

    @classmethod
    def from_tool_context(cls, context: CoreContext[Any]) -> ToolContext[Any]:
        """Create the context of the running call."""
        call = context.call
        about = (context.tool_name, call.id, arguments_text(call.arguments), to_raw_call(call))
        config = getattr(current_run.get(), "config", None)
        made: ToolContext[Any] = ToolContext(
            context.deps, None, *about, agent=context.agent, run_config=config
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
        """Create the context of a call in an agent's run from the run's wrapper."""
        about = (context.usage, tool_call.name, tool_call_id, tool_call.arguments, tool_call)
        made: ToolContext[Any] = cls(context.context, *about, agent=agent, run_config=run_config)
        made.turn_input, made.standing_decisions = context.turn_input, context.standing_decisions
        return made

    def core_run(self) -> RunContext[Any]:
        """Return the core run; a new one if the context was created by hand."""
        return self._run or RunContext(self.context, agent=self.agent)
