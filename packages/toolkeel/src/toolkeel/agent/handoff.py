"""Handoffs: one agent passes the run to another, with a part of the history (triage, swarm).

To the model a handoff is a tool, with guards, approvals, rules and limits like any tool. After its call
the other agent continues the same run: same id, state, usage, limits, approver and events. Its
instructions replace the previous ones.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Protocol, TypeAlias, Unpack, get_args

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.agent.history import message_to_text
from toolkeel.agent.transcript import repair
from toolkeel.call.body.callback import CallbackTimeout, run_callback
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.compile import ParametersSchema
from toolkeel.define.tool import AnyTool, Tool, ToolOptions
from toolkeel.effects import LABELS, Effects
from toolkeel.errors import SetupError, TimedOut, ToolError
from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage

HANDOFF_EFFECTS = Effects(read_only=True, idempotent=True, safe_after=LABELS)
"""What giving the run away does to the world; the calls of who takes it are judged themselves."""


class AgentLike(Protocol):
    """What a handoff needs of the agent that takes over the run: its name, its handoffs and its plan."""

    name: str

    @property
    def handoffs(self) -> Sequence[Handoff]:
        """The handoffs by which it may pass the run on."""
        ...

    def plan_for(self, asked: Mapping[str, Any]) -> Any:
        """Return the agent's `toolkeel.agent.plan.Plan`, with the options that the run's caller requested."""
        ...


@record
class HandoffHistory:
    """The history that an `input_filter` receives.

    Args:
        messages: The messages that the previous agent was shown, without instructions; the handoff's
            call and its result are the last.
        initial_count: How many of them the run started with.
        run: The run.
        handoff: The handoff that was called.
    """

    messages: tuple[Message, ...]
    initial_count: int
    run: RunContext
    handoff: Handoff


FilteredHistory: TypeAlias = Sequence[Message]
InputFilter: TypeAlias = Callable[[HandoffHistory], "FilteredHistory | Awaitable[FilteredHistory]"]
OnHandoff: TypeAlias = Callable[[RunContext, dict[str, Any]], object]


@checked
class Handoff:
    """A transfer of the run to another agent: ``Agent(..., handoffs=[Handoff(billing)])``.

    Args:
        agent: The agent that takes over.
        name: The tool's name; ``transfer_to_`` and the agent's name by default.
        description: Tells the model when to hand over.
        input_type: Arguments of the tool, as a pydantic model or JSON Schema; none by default.
        on_handoff: Called before the handoff, with the run and the arguments; may be async. A
            `ToolError` that it raises prevents the handoff and becomes the call's result. It is called
            again if its process was killed before the handoff; other `effects` have a person asked first.
        input_filter: Returns the messages that the other agent is shown; all by default. See
            `remove_tool_calls` and `flatten_history`.
        sticky: True if the other agent also answers the next runs of a session.
        options: Options of the tool, such as ``approval`` and ``enabled``; see `ToolOptions`.

    Attributes:
        tool: The tool that the model calls.

    Raises:
        DefinitionError: the name or the input type is invalid.
    """

    def __init__(
        self,
        agent: AgentLike,
        name: str | None = None,
        description: str | None = None,
        *,
        input_type: ParametersSchema | None = None,
        on_handoff: OnHandoff | None = None,
        input_filter: InputFilter | None = None,
        sticky: bool = True,
        **options: Unpack[ToolOptions],
    ) -> None:
        self.agent = agent
        self.input_filter = input_filter
        self.sticky = sticky
        self._on_handoff = on_handoff
        options.setdefault("effects", HANDOFF_EFFECTS)
        options.setdefault("sequential", True)  # what was called before it is done first
        told = description or f"Hand the conversation over to the agent {agent.name!r}."
        name = name or f"transfer_to_{to_tool_name(agent.name)}"
        body = self._body if input_type is None else self._body_with
        self.tool: AnyTool = Tool.from_function(None, body, name, told, input_type, **options)

    @property
    def result_text(self) -> str:
        """The text of the result of a successful handoff call."""
        return f"Handed over to the agent {self.agent.name!r}."

    async def _body(self, context: ToolContext) -> str:
        """Request the handoff without arguments, or raise as `_request_handoff`."""
        return await self._request_handoff({}, context)

    async def _body_with(self, context: ToolContext, /, **arguments: Any) -> str:
        """Request the handoff with the arguments that `on_handoff` gets, or raise as `_request_handoff`."""
        return await self._request_handoff(arguments, context)

    async def _request_handoff(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Call `on_handoff`, and set the handoff as the run's pending one. Return the call's result.

        Raises:
            ToolError: Code made the call, or another handoff of this turn is pending already.
            TimedOut: `on_handoff` took longer than the run's `callback_timeout`.
        """
        run = context.run
        if not _is_made_by_model(run, context):
            raise ToolError(
                "Only the model itself can hand the conversation over; nothing was done."
            )
        if run.loop_state.pending_handoff is not None:
            raise ToolError(
                "The conversation is handed over already in this turn; this was not done."
            )
        if self._on_handoff is not None:
            name, seconds = f"on_handoff of {self.tool.name!r}", run.scope.callback_timeout
            try:
                await run_callback(self._on_handoff, run, arguments, seconds=seconds, name=name)
            except CallbackTimeout as error:
                raise TimedOut(
                    f"The conversation was not handed over: {name} did not return within "
                    f"{seconds:g} seconds."
                ) from error
        run.loop_state.pending_handoff = self
        return self.result_text

    async def filter_history(self, history: HandoffHistory) -> list[Message] | None:
        """Return the messages that the other agent is shown, or None for all of the history.

        The filter's messages are repaired, so that each call has its result.

        Raises:
            SetupError: the filter returned something else than messages, or none.
            CallbackTimeout: the filter took longer than the run's `callback_timeout`.
            Exception: what the filter raised.
        """
        if self.input_filter is None:
            return None
        seconds = history.run.scope.callback_timeout
        name = f"the input_filter of the handoff {self.tool.name!r}"
        given = await run_callback(self.input_filter, history, seconds=seconds, name=name)
        messages = list(given) if isinstance(given, Iterable) else []
        if not messages or not all(isinstance(each, get_args(Message)) for each in messages):
            raise SetupError(
                f"the input_filter of the handoff {self.tool.name!r} gave {given!r:.80}; let it "
                "return messages, one at least"
            )
        return repair(messages)


def to_tool_name(agent: str) -> str:
    """Derive a tool's name from an agent's: lower case, ``_`` for other signs; ``agent`` if nothing is left.

    >>> to_tool_name("Billing agent (EU)")
    'billing_agent_eu'
    """
    return re.sub(r"\W+", "_", agent.lower()).strip("_") or "agent"


HandoffTargets: TypeAlias = Iterable[AgentLike | Handoff]
HandoffsOption: TypeAlias = HandoffTargets | Callable[[], HandoffTargets]


def as_handoffs(given: HandoffTargets) -> tuple[Handoff, ...]:
    """Convert a mix of `Handoff` objects and plain agents to handoffs.

    Raises:
        SetupError: an item is neither.
    """
    for each in (given := tuple(given)):
        if not (isinstance(each, Handoff) or hasattr(each, "plan_for")):
            raise SetupError(f"{each!r:.80} is no handoff; give an agent or Handoff(agent)")
    return tuple(each if isinstance(each, Handoff) else Handoff(each) for each in given)


def _is_made_by_model(run: RunContext, context: ToolContext) -> bool:
    """Return True if a call is in the model's last reply, not made by code."""
    last = next((m for m in reversed(run.transcript) if isinstance(m, AssistantMessage)), None)
    return last is not None and any(call.id == context.call.id for call in last.tool_calls)


def find_pending_handoff(
    messages: Sequence[Message], handoffs: Mapping[str, Handoff], owner: str
) -> Handoff | None:
    """Return the handoff whose call succeeded in the last turn of a saved transcript, or None.

    A run that was saved or has failed between the call and the handoff makes it when it is resumed, also
    if a message came after the turn. One that is not sticky ends with such a message, except where a call
    of the turn has not run: it waited, and the message took its place.

    Args:
        messages: A saved transcript.
        handoffs: Handoffs of the agent that owns the run, by tool name.
        owner: Name of the agent that owned the saved run; empty if that is not known.
    """
    since = takewhile(lambda each: not isinstance(each, AssistantMessage), reversed(messages))
    results = [each for each in since if isinstance(each, ToolMessage)]
    has_message = bool(messages) and not isinstance(messages[-1], ToolMessage)
    has_waited = any(each.kind in ("skipped", "cancelled") for each in results)
    for result in results:
        handoff = handoffs.get(result.name)
        if handoff is None or result.failed or result.text != handoff.result_text:
            continue
        if not has_message or has_waited or (handoff.sticky and owner):
            return None if handoff.agent.name == owner else handoff
    return None


def find_agent(first: AgentLike, name: str) -> tuple[AgentLike, Handoff | None] | None:
    """Search an agent by name among those reachable by handoffs, nearest first.

    Args:
        first: Agent at which the search starts.
        name: Name of the agent.

    Returns:
        The agent and the handoff that leads to it (None for `first`), or None if there is no such agent.
    """
    return next((found for found in list_agents(first) if found[0].name == name), None)


def list_agents(first: AgentLike) -> Iterator[tuple[AgentLike, Handoff | None]]:
    """Yield an agent and those reachable by handoffs, nearest first, each with the handoff to it."""
    seen = {first.name}
    waiting: list[tuple[AgentLike, Handoff | None]] = [(first, None)]
    for agent, by in waiting:
        yield agent, by
        for handoff in agent.handoffs:
            if handoff.agent.name not in seen:
                seen.add(handoff.agent.name)
                waiting.append((handoff.agent, handoff))


# — filters —


def remove_tool_calls(history: HandoffHistory) -> list[Message]:
    """Return the messages of a history without calls and results, for use as an `input_filter`.

    Replies that have no text are left out.

    >>> from toolkeel.messages import ToolCall
    >>> seen = [UserMessage("hi"), AssistantMessage("", (ToolCall("1", "f"),)), ToolMessage("x", "1")]
    >>> [message.text for message in remove_tool_calls(HandoffHistory(tuple(seen), 1, None, None))]
    ['hi']
    """
    said = [
        replace(message, tool_calls=()) if isinstance(message, AssistantMessage) else message
        for message in history.messages
        if not isinstance(message, ToolMessage)
    ]
    return [m for m in said if not isinstance(m, AssistantMessage) or m.text]


def flatten_history(history: HandoffHistory) -> list[Message]:
    """Return a history as one user message of text, for use as an `input_filter`.

    A model then does not imitate another agent's calls. The person's last message stays a message of its own.
    """
    last = max(
        (n for n, m in enumerate(history.messages) if isinstance(m, UserMessage)), default=None
    )
    lines = [message_to_text(m) for n, m in enumerate(history.messages) if n != last]
    told = UserMessage("What happened before you were asked:\n" + "\n".join(lines), "handoff")
    if last is None:
        return [told]
    return [told, history.messages[last]] if lines else [history.messages[last]]
