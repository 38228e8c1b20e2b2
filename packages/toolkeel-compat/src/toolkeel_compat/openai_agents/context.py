"""What a running tool is handed, under the names of the OpenAI Agents SDK."""

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


class Raw(dict[str, Any]):
    """An item of the wire: a dict whose keys are attributes, too.

    >>> Raw(type="function_call", name="add").name
    'add'
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def plain(item: Any) -> TResponseInputItem:
    """An item as a dict, whatever it is: OpenAI's own types among them."""
    dump = getattr(item, "model_dump", None)
    return dict(dump(exclude_none=True)) if dump is not None else dict(item)


@record
class RunItem:
    """One thing that happened in a run.

    Args:
        agent: Whose run it is; None without an agent.
        raw_item: It as the wire carries it.
    """

    agent: Any
    raw_item: Any

    def to_input_item(self) -> TResponseInputItem:
        """It as a plain dict, to go on from."""
        return plain(self.raw_item)


def responses_part(message: AssistantMessage | ToolCall) -> Mapping[str, Any]:
    """What only the Responses wire knows of a reply or a call."""
    return as_dict(message.provider_options.get(WIRE))


def raw_call(call: ToolCall) -> Raw:
    """A call as the wire carries it."""
    text, id = arguments_text(call.arguments), responses_part(call).get("id") or call.id
    made = Raw(arguments=text, call_id=call.id, name=call.name, type="function_call", id=id)
    return made if id == call.id else Raw(made, status="completed")  # only Responses has one


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


_NO_DETAILS = TokensDetails()


@dataclasses.dataclass
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
    input_tokens_details: TokensDetails = _NO_DETAILS
    output_tokens_details: TokensDetails = _NO_DETAILS
    request_usage_entries: Sequence[RequestUsage] = ()
    _run: RunContext[Any] | None = dataclasses.field(
        default=None, init=False, repr=False, compare=False
    )

    def add(self, other: Usage) -> None:
        """Count that of another, too; the run whose usage this is spends it."""
        more, entries = spent(other, other.requests), self.request_usage_entries
        both = Usage.of(spent(self, self.requests) + more)
        both.request_usage_entries, both._run = (*entries, *other.request_usage_entries), self._run
        vars(self).update(vars(both))
        if self._run is not None:
            self._run.usage = self._run.usage + more

    @classmethod
    def of(cls, usage: CoreUsage, replies: Iterable[CoreUsage] = ()) -> Usage:
        """The core's, with that of each reply."""
        tokens = attrgetter("input_tokens", "output_tokens", "total_tokens")
        each = tuple(RequestUsage(*tokens(one)) for one in replies if one.requests)
        read = TokensDetails(cached_tokens=usage.cached_tokens)
        written = TokensDetails(reasoning_tokens=usage.reasoning_tokens)
        return cls(usage.requests, *tokens(usage), read, written, each)


def spent(usage: Any, requests: int = 1) -> CoreUsage:
    """What the SDK's usage, or OpenAI's own, says of some requests."""
    read, written = usage.input_tokens_details, usage.output_tokens_details
    cached = getattr(read, "cached_tokens", None) or 0
    thought = getattr(written, "reasoning_tokens", None) or 0
    return CoreUsage(requests, usage.input_tokens, usage.output_tokens, cached, thought)


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
        made = Usage.of(run.usage, (*replies, self.just_now))
        made._run = run
        return made

    def joined(self, run: RunContext[Any]) -> RunContextWrapper[C]:
        """The same, and what is spent is that run's."""
        self._run = run
        return self

    @classmethod
    def of(cls, run: RunContext[Any]) -> RunContextWrapper[Any]:
        """That of a core's run."""
        return RunContextWrapper(run.deps).joined(run)

    @classmethod
    def from_tool_context(cls, context: CoreContext[Any]) -> RunContextWrapper[Any]:
        """That of the running call."""
        return cls.of(context.run)


Seen: TypeAlias = Callable[[RunContext[Any]], RunContextWrapper[Any]]
"""What a program's functions see of a core's run."""
of_run: ContextVar[Any] = ContextVar("of_run", default=None)
"""What `Runner` has made of the run that goes on: its settings, hooks, and what guardrails say."""


def told(result: Any) -> Any:
    """What a guardrail has said, kept for the run's result."""
    if (run := of_run.get()) is not None:
        run.verdicts.append(result)
    return result


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
        call = ToolCall(self.tool_call_id, self.tool_name, self.tool_arguments)
        return RunItem(self.agent, raw_call(call))

    @classmethod
    def from_tool_context(cls, context: CoreContext[Any]) -> ToolContext[Any]:
        """That of the running call."""
        call = context.call
        about = (context.tool_name, call.id, arguments_text(call.arguments), raw_call(call))
        config = getattr(of_run.get(), "config", None)
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
        """That of a call in an agent's run, by what the run has."""
        about = (context.usage, tool_call.name, tool_call_id, tool_call.arguments, tool_call)
        made: ToolContext[Any] = cls(context.context, *about, agent=agent, run_config=run_config)
        made.turn_input, made.always = context.turn_input, context.always
        return made

    def run(self) -> RunContext[Any]:
        """The core's run it belongs to; a new one if it was made by hand."""
        return self._run or RunContext(self.context, agent=self.agent)
