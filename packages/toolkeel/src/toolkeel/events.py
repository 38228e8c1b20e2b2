"""What happens in a run, as frozen records: a closed union.

Every event has the run's sequence number (`seq`, from 1, without gaps), the wall-clock time
(`at`, seconds since the epoch) and the run's id. Durations are monotonic seconds. Each call has
one `ToolStarted` and one `ToolFinished` or `ToolSuspended`, and nothing about a call follows its end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from toolkeel._records.record import record
from toolkeel._records.record_json import plain
from toolkeel._records.tickets import DecisionKind, Ticket
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, Usage
from toolkeel.model_interface import Delta

EndReason = Literal[
    "answered", "returned", "waiting", "refused", "cut_off", "limit", "cancelled", "failed"
]
"""How runs end; see `RunFinished`."""


@record
class OfRun:
    """What every event says.

    Args:
        seq: Its number in the run, from 1.
        at: When it happened, in seconds since the epoch.
        run_id: Of the run.
    """

    seq: int
    at: float
    run_id: str


@record
class OfCall(OfRun):
    """What every event of a call says beside it: the call's id."""

    call_id: str


@record
class RunStarted(OfRun):
    """A run began."""

    type: ClassVar[str] = "run_started"
    model: str = ""
    agent: str = ""


@record
class TurnStarted(OfRun):
    """The model is about to be asked.

    Args:
        turn: Which reply of the run it will be, from 1.
        model: Name of the model that is asked.
        provider: Whose it is, if it says so; see `toolkeel.model_interface.provider_of`.
    """

    type: ClassVar[str] = "turn_started"
    turn: int
    model: str = ""
    provider: str = ""


@record
class Streamed(OfRun):
    """A piece of the model's reply arrived."""

    type: ClassVar[str] = "streamed"
    delta: Delta


@record
class Retrying(OfRun):
    """The model's server failed before it said anything, and is asked again in `wait` seconds.

    Args:
        attempt: Which repetition follows, from 1.
        wait: Seconds until then.
        error: What happened.
        status: HTTP status, if there was an answer.
    """

    type: ClassVar[str] = "retrying"
    attempt: int
    wait: float
    error: str
    status: int | None = None


@record
class Replied(OfRun):
    """The model's reply is whole."""

    type: ClassVar[str] = "replied"
    message: AssistantMessage


@record
class ToolStarted(OfCall):
    """A call arrived; its arguments are raw and not yet checked."""

    type: ClassVar[str] = "tool_started"
    call: ToolCall


@record
class Coerced(OfCall):
    """Arguments were mended before validation accepted them.

    Args:
        changes: What was done, one phrase each.
    """

    type: ClassVar[str] = "coerced"
    changes: tuple[str, ...]


@record
class Progress(OfCall):
    """A running tool told how far it is; a later snapshot replaces an earlier one."""

    type: ClassVar[str] = "progress"
    message: str
    done: float | None = None
    total: float | None = None


@record
class Emitted(OfCall):
    """A running tool told something of its own (`ToolContext.emit`); none is dropped or merged.

    Args:
        call_id: Of the call; empty if that had ended.
        value: What it told.
    """

    type: ClassVar[str] = "emitted"
    value: object


@record
class ToolFinished(OfCall):
    """A call ended; nothing about it follows.

    Args:
        arguments: What it ran with, or would have, as JSON, where that may differ from the call's
            own text: defaults filled in, values mended or edited. Injected ones are left out, and
            secrets masked. None: they are those of the call, or never passed validation.
    """

    type: ClassVar[str] = "tool_finished"
    message: ToolMessage
    arguments: Mapping[str, object] | None = None


@record
class ApprovalRequested(OfCall):
    """A call waits for a person."""

    type: ClassVar[str] = "approval_requested"
    ticket: Ticket


@record
class ApprovalDecided(OfCall):
    """A person, or who answers for one, decided."""

    type: ClassVar[str] = "approval_decided"
    ticket_id: str
    verdict: DecisionKind
    reason: str = ""


@record
class Tainted(OfCall):
    """A call's result has left a label on the run: what goes out afterwards may ask.

    Args:
        label: ``private``, ``stranger`` or ``secret``.
        tool: Whose result it was.
        what: Which result, such as an address; may be empty.
    """

    type: ClassVar[str] = "tainted"
    label: str
    tool: str
    what: str = ""


@record
class ToolSuspended(OfCall):
    """A call's part in this run ended without a result: it waits for a decision."""

    type: ClassVar[str] = "tool_suspended"
    ticket: Ticket


@record
class HandedOver(OfRun):
    """Another agent goes on with the run.

    Args:
        left: Name of the agent that gave it away.
        agent: Name of the one that has it now.
        model: Name of its model.
    """

    type: ClassVar[str] = "handed_over"
    left: str
    agent: str
    model: str = ""


@record
class RunFinished(OfRun):
    """The run ended; nothing follows.

    Args:
        reason: ``answered`` (the model stopped calling), ``returned`` (a `ends_run` tool
            answered), ``waiting`` (for a person), ``refused`` (by the model or its provider),
            ``cut_off`` (its last reply was), ``limit``, ``cancelled`` or ``failed``.
        error: The exception's text if it ended with one; the bound if it ended at one.
        usage: What it spent.
        output: Its answer, if it has one.
    """

    type: ClassVar[str] = "run_finished"
    reason: EndReason
    error: str = ""
    usage: Usage = Usage()
    output: object = None


@record
class Nested(OfCall):
    """Something happened in the run of an agent that this run called as a tool.

    Args:
        run_id: Of the run that called it.
        call_id: Of the call it is.
        agent: Name of the agent.
        event: What happened there; it has that run's own id and numbers.
    """

    type: ClassVar[str] = "nested"
    agent: str
    event: Event


Event: TypeAlias = (
    RunStarted | TurnStarted | Streamed | Retrying | Replied | ToolStarted | Coerced | Progress
    | Emitted | ApprovalRequested | ApprovalDecided | Tainted | ToolFinished | ToolSuspended
    | HandedOver | RunFinished | Nested
)  # fmt: skip


def event_dict(event: Event) -> dict[str, object]:
    """The event as JSON-ready data, its `type` first; objects only programs know become text.

    >>> event_dict(Coerced(1, 0.0, "r", "c", ("trimmed",)))
    {'type': 'coerced', 'seq': 1, 'at': 0.0, 'run_id': 'r', 'call_id': 'c', 'changes': ['trimmed']}
    """
    fields = {f.name: plain(getattr(event, f.name), other=_told) for f in dataclasses.fields(event)}
    if isinstance(event, Nested):
        fields["event"] = event_dict(event.event)
    return {"type": event.type, **fields}


def _told(value: object) -> object:
    """What is told of a value that JSON cannot hold."""
    if isinstance(value, float):
        return value
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else f"<{type(value).__name__}>"
