"""Events of a run, as frozen records: a closed union.

Every event has the run's sequence number (`seq`, from 1, without gaps), the wall-clock time
(`at`, seconds since the epoch) and the run's id. Durations are monotonic seconds. Each call has
one `ToolStarted` and one `ToolFinished` or `ToolSuspended`, and no event of a call follows its end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from toolkeel._records.record import record
from toolkeel._records.record_json import describe_value, to_json_data
from toolkeel._records.tickets import DecisionKind, Ticket
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, Usage
from toolkeel.model_interface import Delta

EndReason = Literal[
    "answered", "returned", "waiting", "refused", "cut_off", "limit", "cancelled", "failed"
]
"""Reasons for the end of a run; see `RunFinished`."""


@record
class RunEvent:
    """Fields of every event.

    Args:
        seq: Its number in the run, from 1.
        at: When it happened, in seconds since the epoch.
        run_id: Id of the run.
    """

    seq: int
    at: float
    run_id: str


@record
class CallEvent(RunEvent):
    """Fields of every event of a call."""

    call_id: str


@record
class RunStarted(RunEvent):
    """The start of a run."""

    type: ClassVar[str] = "run_started"
    model: str = ""
    agent: str = ""


@record
class TurnStarted(RunEvent):
    """The model is about to be called.

    Args:
        turn: Number of the reply in the run, from 1.
        model: Name of the model.
        provider: The model's provider, if known; see `toolkeel.model_interface.get_provider`.
    """

    type: ClassVar[str] = "turn_started"
    turn: int
    model: str = ""
    provider: str = ""


@record
class Streamed(RunEvent):
    """A piece of the model's reply."""

    type: ClassVar[str] = "streamed"
    delta: Delta


@record
class Retrying(RunEvent):
    """The model is asked again: its server failed before the reply started, or the reply was none.

    A reply is none if it is empty, if it lacks the call that the settings force, or if its provider
    did not accept it. Reasoning of this turn that was streamed before the event is withdrawn.

    Args:
        attempt: Number of the next repetition, from 1.
        wait: Seconds until it is sent.
        error: The failure.
        status: HTTP status, if there was a response.
    """

    type: ClassVar[str] = "retrying"
    attempt: int
    wait: float
    error: str
    status: int | None = None


@record
class Replied(RunEvent):
    """The complete reply of the model."""

    type: ClassVar[str] = "replied"
    message: AssistantMessage


@record
class ToolStarted(CallEvent):
    """A call arrived. Its arguments are raw and not yet validated."""

    type: ClassVar[str] = "tool_started"
    call: ToolCall


@record
class Coerced(CallEvent):
    """Arguments were corrected before validation accepted them.

    Args:
        changes: Each change, as a phrase.
    """

    type: ClassVar[str] = "coerced"
    changes: tuple[str, ...]


@record
class Progress(CallEvent):
    """Progress of a running tool; a later snapshot replaces an earlier one."""

    type: ClassVar[str] = "progress"
    message: str
    done: float | None = None
    total: float | None = None


@record
class Emitted(CallEvent):
    """A custom value of a running tool (`ToolContext.emit`); none is dropped or merged.

    Args:
        call_id: Id of the call; empty if it had ended.
        value: The value.
    """

    type: ClassVar[str] = "emitted"
    value: object


@record
class StateOverwritten(CallEvent):
    """A call assigned a value of the run's state that another call had written meanwhile.

    The call had not read the other's value, which is lost. `ToolContext.update` loses nothing.

    Args:
        key: Key of the value.
        lost_call_id: Id of the call whose write is lost.
    """

    type: ClassVar[str] = "state_overwritten"
    key: str
    lost_call_id: str


@record
class ToolFinished(CallEvent):
    """The end of a call; no event of the call follows.

    Args:
        message: Its result.
        arguments: What it ran with, or would have, as JSON, where that may differ from the call's
            own text: defaults filled in, values corrected or edited. Injected values are left out, and
            secrets masked. None: they are those of the call, or never passed validation.
    """

    type: ClassVar[str] = "tool_finished"
    message: ToolMessage
    arguments: Mapping[str, object] | None = None


@record
class ApprovalRequested(CallEvent):
    """A call waits for a person."""

    type: ClassVar[str] = "approval_requested"
    ticket: Ticket


@record
class ApprovalDecided(CallEvent):
    """A person, or an approver, decided."""

    type: ClassVar[str] = "approval_decided"
    ticket_id: str
    verdict: DecisionKind
    reason: str = ""


@record
class Tainted(CallEvent):
    """A call's result added a taint label to the run: later calls that send data out may ask.

    Args:
        label: ``private``, ``stranger`` or ``secret``.
        tool: Name of the tool.
        what: The source, such as an address; may be empty.
    """

    type: ClassVar[str] = "tainted"
    label: str
    tool: str
    what: str = ""


@record
class ToolSuspended(CallEvent):
    """A call ended its part in this run without a result: it waits for a decision."""

    type: ClassVar[str] = "tool_suspended"
    ticket: Ticket


@record
class HandedOver(RunEvent):
    """Another agent owns the run from here on.

    Args:
        previous_agent: Name of the agent before.
        agent: Name of the agent that owns the run now.
        model: Name of its model.
    """

    type: ClassVar[str] = "handed_over"
    previous_agent: str
    agent: str
    model: str = ""


@record
class RunFinished(RunEvent):
    """The end of a run; no event follows.

    Args:
        reason: ``answered`` (the model stopped calling), ``returned`` (a `ends_run` tool
            answered), ``waiting`` (for a person), ``refused`` (by the model or its provider),
            ``cut_off`` (its last reply was), ``limit``, ``cancelled`` or ``failed``.
        error: Text of the exception if it ended with one; the limit if it ended at one.
        usage: Tokens and requests spent.
        output: The answer, if there is one.
    """

    type: ClassVar[str] = "run_finished"
    reason: EndReason
    error: str = ""
    usage: Usage = Usage()
    output: object = None


@record
class Nested(CallEvent):
    """An event of a run inside this one: an agent's, called as a tool or run by other code.

    Args:
        run_id: Id of the enclosing run.
        call_id: Id of the call that the inner run is inside of; empty for a guardrail, a hook or
            other code outside of calls.
        agent: Name of the inner agent.
        event: The event, with the inner run's own id and numbers.
    """

    type: ClassVar[str] = "nested"
    agent: str
    event: Event


Event: TypeAlias = (
    RunStarted | TurnStarted | Streamed | Retrying | Replied | ToolStarted | Coerced | Progress
    | Emitted | StateOverwritten | ApprovalRequested | ApprovalDecided | Tainted | ToolFinished | ToolSuspended
    | HandedOver | RunFinished | Nested
)  # fmt: skip


def event_dict(event: Event) -> dict[str, object]:
    """Return the event as JSON-ready data, its `type` first. Other objects become text.

    >>> event_dict(Coerced(1, 0.0, "r", "c", ("trimmed",)))
    {'type': 'coerced', 'seq': 1, 'at': 0.0, 'run_id': 'r', 'call_id': 'c', 'changes': ['trimmed']}
    """
    fields = {
        f.name: to_json_data(getattr(event, f.name), other=describe_value)
        for f in dataclasses.fields(event)
    }
    if isinstance(event, Nested):
        fields["event"] = event_dict(event.event)
    return {"type": event.type, **fields}
