"""What happens in a run, as frozen records: a closed union.

Every event has the run's sequence number (`seq`, from 1, without gaps), the wall-clock time
(`at`, seconds since the epoch) and the run's id. Durations are monotonic seconds. Each call has
one `ToolStarted` and one `ToolFinished` or `ToolSuspended`, and nothing about a call follows its end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from toolwright.approval import Ticket
from toolwright.messages import AssistantMessage, ToolCall, ToolMessage
from toolwright.model import Delta
from toolwright.record import record

EndReason = Literal["answered", "returned", "max_turns", "suspended", "cancelled", "error"]


@record
class RunStarted:
    """A run began."""

    type: ClassVar[str] = "run_started"
    seq: int
    at: float
    run_id: str
    model: str = ""


@record
class TurnStarted:
    """The model is about to be asked; `turn` counts from 1."""

    type: ClassVar[str] = "turn_started"
    seq: int
    at: float
    run_id: str
    turn: int


@record
class Streamed:
    """A piece of the model's reply arrived."""

    type: ClassVar[str] = "delta"
    seq: int
    at: float
    run_id: str
    delta: Delta


@record
class Retrying:
    """The model's server failed before it said anything, and is asked again in `wait` seconds.

    Args:
        attempt: Which repetition follows, from 1.
        wait: Seconds until then.
        error: What happened.
        status: HTTP status, if there was an answer.
    """

    type: ClassVar[str] = "retry"
    seq: int
    at: float
    run_id: str
    attempt: int
    wait: float
    error: str
    status: int | None = None


@record
class Replied:
    """The model's reply is whole."""

    type: ClassVar[str] = "reply"
    seq: int
    at: float
    run_id: str
    message: AssistantMessage


@record
class ToolStarted:
    """A call arrived; its arguments are raw and not yet checked."""

    type: ClassVar[str] = "tool_call"
    seq: int
    at: float
    run_id: str
    call_id: str
    call: ToolCall


@record
class Coerced:
    """Arguments were mended before validation accepted them.

    Args:
        changes: What was done, one phrase each.
    """

    type: ClassVar[str] = "coerced"
    seq: int
    at: float
    run_id: str
    call_id: str
    changes: tuple[str, ...]


@record
class Progress:
    """A running tool told how far it is; a later snapshot replaces an earlier one."""

    type: ClassVar[str] = "progress"
    seq: int
    at: float
    run_id: str
    call_id: str
    message: str
    done: float | None = None
    total: float | None = None


@record
class ToolFinished:
    """A call ended; nothing about it follows."""

    type: ClassVar[str] = "tool_result"
    seq: int
    at: float
    run_id: str
    call_id: str
    message: ToolMessage


@record
class ApprovalRequested:
    """A call waits for a person."""

    type: ClassVar[str] = "approval_requested"
    seq: int
    at: float
    run_id: str
    call_id: str
    ticket: Ticket


@record
class ApprovalDecided:
    """A person, or who answers for one, decided."""

    type: ClassVar[str] = "approval_decided"
    seq: int
    at: float
    run_id: str
    call_id: str
    ticket_id: str
    verdict: Literal["approve", "deny", "edit"]
    reason: str = ""


@record
class ExfiltrationBlocked:
    """A call that reaches out was held back, because its run has read private data.

    Args:
        tool: Name of the tool that was called.
        source: Name of the one that had read private data.
        hosts: Where it would have reached, as far as its arguments say.
    """

    type: ClassVar[str] = "exfiltration_blocked"
    seq: int
    at: float
    run_id: str
    call_id: str
    tool: str
    source: str
    hosts: tuple[str, ...] = ()


@record
class ToolSuspended:
    """A call's part in this run ended without a result: it waits for a decision."""

    type: ClassVar[str] = "tool_suspended"
    seq: int
    at: float
    run_id: str
    call_id: str
    ticket: Ticket


@record
class RunFinished:
    """The run ended; nothing follows.

    Args:
        reason: ``answered`` (the model stopped calling), ``returned`` (a `return_direct` tool
            answered), ``max_turns``, ``suspended``, ``cancelled`` or ``error``.
        error: The exception's text if it ended with one.
    """

    type: ClassVar[str] = "run_finished"
    seq: int
    at: float
    run_id: str
    reason: EndReason
    error: str = ""


@record
class Nested:
    """Something happened in the run of an agent that this run called as a tool.

    Args:
        run_id: Of the run that called it.
        call_id: Of the call it is.
        agent: Name of the agent.
        event: What happened there; it has that run's own id and numbers.
    """

    type: ClassVar[str] = "nested"
    seq: int
    at: float
    run_id: str
    call_id: str
    agent: str
    event: Event


Event: TypeAlias = (
    RunStarted
    | TurnStarted
    | Streamed
    | Retrying
    | Replied
    | ToolStarted
    | Coerced
    | Progress
    | ApprovalRequested
    | ApprovalDecided
    | ExfiltrationBlocked
    | ToolFinished
    | ToolSuspended
    | RunFinished
    | Nested
)


def event_dict(event: Event) -> dict[str, object]:
    """The event as JSON-ready data, its `type` first; objects only programs know become text.

    >>> event_dict(TurnStarted(1, 0.0, "r", 1))
    {'type': 'turn_started', 'seq': 1, 'at': 0.0, 'run_id': 'r', 'turn': 1}
    """
    fields = {f.name: _plain(getattr(event, f.name)) for f in dataclasses.fields(event)}
    if isinstance(event, Nested):
        fields["event"] = event_dict(event.event)
    return {"type": event.type, **fields}


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return f"<{type(value).__name__}>"
