"""The entries of a run's journal: what happened, in order, as small frozen records.

The state of a session is computed from its entries alone: transcript, state, usage, open tickets and
calls of unknown outcome. So whatever cannot be computed again is recorded: instructions as they were
evaluated, verdicts, keys, what a history policy left out. Entries never change. Their JSON carries a
version. A reader preserves entries of unknown kinds and ignores unknown fields. `run` is the id of
the run that an entry belongs to, which may be nested in another run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.messages import AssistantMessage, Message, ToolMessage, Usage


def call_key(run: str, turn: int, position: int) -> str:
    """Return the permanent key of a call by its place in the run, for tools that must act only once.

    The provider's id is not used: such ids repeat, may be empty, and change with each new request.

    >>> call_key("4f1c", 2, 0)
    '4f1c-2-0'
    """
    return f"{run}-{turn}-{position}"


@record
class RunEntry:
    """A base of entries that belong to one run, with the run's id."""

    run: str


# — a run begins, and what is said —


@record
class RunBegan(RunEntry):
    """The start of a run.

    Args:
        agent: Name of the agent.
        model: Name of the model.
        instructions: As evaluated for this run; used again when it is resumed.
        parent: Id of the run around it; empty for none.
        call: Key of the call that this run is, or is started in; empty for none.
        joined: True if code in that call, or in the run around, started it and alone can continue it.
    """

    kind: ClassVar = "run_began"
    agent: str = ""
    model: str = ""
    instructions: str = ""
    parent: str = ""
    call: str = ""
    joined: bool = False


@record
class PersonSaid(RunEntry):
    """A prompt, or a message of any role from a transcript that a program passed, which joined the run's own."""

    kind: ClassVar = "person_said"
    message: Message
    who: str = ""


@record
class ModelAsked(RunEntry):
    """A request that is about to be sent.

    Args:
        turn: Number of the request in its run, from 1.
        model: Name of the model.
        settings: The settings that differ from those of the request before.
        tools: Names of the tools sent, if they differ from those of the request before.
        definitions: Those of the tools that the journal did not have, as JSON text by name; 200 at most.
    """

    kind: ClassVar = "model_asked"
    turn: int
    model: str = ""
    settings: Mapping[str, object] = NOTHING
    tools: tuple[str, ...] = ()
    definitions: Mapping[str, object] = NOTHING


@record
class ModelReplied(RunEntry):
    """A complete reply. Its usage and the model that answered are in the message."""

    kind: ClassVar = "model_replied"
    turn: int
    message: AssistantMessage


@record
class ModelFailed(RunEntry):
    """A failed attempt at a request.

    Args:
        turn: The turn whose request it was.
        attempt: Number of the attempt, from 1.
        error: What happened, in words.
        usage: What was billed; all zero if nothing is known.
        model: Name of the model; "" if unknown.
    """

    kind: ClassVar = "model_failed"
    turn: int
    attempt: int = 1
    error: str = ""
    usage: Usage = Usage()
    model: str = ""


@record
class Spent(RunEntry):
    """The cost of requests in US dollars, where a limit of the run needs prices."""

    kind: ClassVar = "spent"
    cost: float


@record
class CallIntended(RunEntry):
    """The intent of a call, written before its body starts.

    Args:
        turn: The turn whose reply made the call.
        position: Index of the call in that reply.
        call_id: The provider's id of the call.
        digest: SHA-256 of tool, definition and effective arguments.
        repeatable: True if the call may run again when its outcome is unknown.
        within: Key of the call whose code makes this one; empty if the model made it.
        arguments: JSON arguments of a call by code that a person may be asked about; else in the reply.
    """

    kind: ClassVar = "call_intended"
    turn: int
    position: int
    call_id: str = ""
    tool: str = ""
    digest: str = ""
    repeatable: bool = False
    within: str = ""
    arguments: str = ""


@record
class CallEnded(RunEntry):
    """The result of a call, also of one that never started or was answered by a person."""

    kind: ClassVar = "call_ended"
    turn: int
    position: int
    message: ToolMessage
    within: str = ""


@record
class Judged(RunEntry):
    """The verdict of a guardrail on a prompt or an answer."""

    kind: ClassVar = "judged"
    by: str
    verdict: str
    reason: str = ""


@record
class StateChanged(RunEntry):
    """A new value of a key of the run's state, or the removal of the key."""

    kind: ClassVar = "state_changed"
    key: str
    value: object = None
    removed: bool = False


@record
class Tainted(RunEntry):
    """A taint label that the run has acquired, with its source."""

    kind: ClassVar = "tainted"
    label: str
    source: str = ""


@record
class Permitted(RunEntry):
    """A `toolkeel._records.taint_sources.Permit` for the run."""

    kind: ClassVar = "permitted"
    reach: str
    name: str = ""
    value: str = ""


@record
class Emitted(RunEntry):
    """A program's own event."""

    kind: ClassVar = "emitted"
    value: object = None


@record
class Waits(RunEntry):
    """A ticket for a call that waits for a person. With `outcome` it asks if a call has happened."""

    kind: ClassVar = "waits"
    ticket: Ticket
    outcome: bool = False


@record
class Deferred(RunEntry):
    """A placeholder result (`message`) of a call that waits while the conversation continues.

    Args:
        reply: A reply with this call alone, to repeat it when its `ticket` is decided.
        agent: Name of the agent that made the call; empty in older journals.
    """

    kind: ClassVar = "deferred"
    turn: int
    position: int
    reply: AssistantMessage
    message: ToolMessage
    ticket: Ticket
    agent: str = ""


@record
class Repeated(RunEntry):
    """A reply that repeats deferred calls, whose `tickets` are decided, to give them their results."""

    kind: ClassVar = "repeated"
    message: AssistantMessage
    tickets: tuple[str, ...]


@record
class Decided(RunEntry):
    """A decision on a ticket. The first one counts."""

    kind: ClassVar = "decided"
    decision: Decision
    who: str = ""


@record
class Queued(RunEntry):
    """A message that is queued for a run and not in the transcript yet.

    Args:
        id: Id of the message, until it is delivered or withdrawn.
        when: ``steer`` (before the next request) or ``follow_up`` (when the run would end).
    """

    kind: ClassVar = "queued"
    id: str
    message: Message
    who: str = ""
    when: str = "steer"


@record
class Steered(RunEntry):
    """A queued message that has joined the transcript."""

    kind: ClassVar = "steered"
    message: Message
    id: str = ""
    who: str = ""


@record
class Unqueued(RunEntry):
    """The withdrawal of a queued message, which is not delivered."""

    kind: ClassVar = "unqueued"
    id: str


@record
class HandedOver(RunEntry):
    """The handoff of a run to another agent.

    Args:
        agent: The agent that owns the run from here on.
        messages: The history it may see, unless it sees the complete one.
        instructions: As evaluated for it.
    """

    kind: ClassVar = "handed_over"
    agent: str
    messages: tuple[Message, ...] = ()
    whole: bool = True
    instructions: str = ""


# — other agents, and what a model sees of the history —


@record
class Compacted(RunEntry):
    """A replacement, in requests only, for a part of the transcript.

    Args:
        start: Index of the first message replaced, counted over the session.
        stop: Index after the last.
        messages: The replacement; empty if the part was cut.
        policy: Name of the history policy.
        usage: What the replacement cost.
        name: Name by which the model can read the original; empty if it cannot.
    """

    kind: ClassVar = "compacted"
    start: int
    stop: int
    messages: tuple[Message, ...] = ()
    policy: str = ""
    usage: Usage = Usage()
    name: str = ""


@record
class Forked:
    """The start of a session as a fork: earlier entries are read in the other session.

    Args:
        session: Name of the other session.
        seq: Number of its last entry that counts here.
        edited: True if the fork was made to replace the next prompt.
    """

    kind: ClassVar = "forked"
    session: str
    seq: int
    edited: bool = False


@record
class Checkpoint:
    """The state of a session after all earlier entries, without the transcript.

    A reader resumes from it, and of the earlier entries reads those of messages that requests contain.

    Args:
        fold: As JSON; see `toolkeel.sessions.journal_state`.
    """

    kind: ClassVar = "checkpoint"
    fold: Mapping[str, object] = NOTHING


@record
class RunEnded(RunEntry):
    """The end of a run, or the point from which it waits.

    Args:
        reason: Why it ended, as `RunResult.reason`; ``waiting`` if it waits.
        error: What went wrong, if anything.
        output: What resuming needs besides entries, as JSON text: see `dump_inner_runs`; else None.
    """

    kind: ClassVar = "run_ended"
    reason: str
    error: str = ""
    output: object = None


@record
class UnknownEntry:
    """An entry of a kind that this version does not know. Readers preserve and skip it."""

    kind: ClassVar = "unknown"
    body: Mapping[str, object]


def call_key_of(entry: CallIntended | CallEnded) -> str:
    """Return the permanent key of the call of an entry. See `call_key`."""
    return call_key(entry.within or entry.run, entry.turn, entry.position)


# fmt: off
Entry: TypeAlias = (
    RunBegan | PersonSaid | ModelAsked | ModelReplied | ModelFailed | Spent | CallIntended | CallEnded
    | Judged | StateChanged | Tainted | Permitted | Emitted | Waits | Deferred | Repeated | Decided
    | Queued | Steered | Unqueued | HandedOver | Compacted | Forked | Checkpoint | RunEnded | UnknownEntry
)
# fmt: on
