"""The entries of a run's journal: what happened, in the order it happened, as small frozen records.

A run is a fold over its journal: transcript, state, usage, what waits and what is not known are
functions of its entries. So what cannot be computed again is recorded: instructions as they were
evaluated, verdicts, keys, what a history policy left out. Entries never change. Their JSON carries a
version; a kind that this version does not know is kept as it is, and fields it does not know are
left where they are. `run` is the id of the run that an entry belongs to, maybe within another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.messages import AssistantMessage, Message, ToolMessage, Usage


def call_key(run: str, turn: int, position: int) -> str:
    """What names a call for ever, for a tool that must not do the same thing twice.

    Not the provider's id of the call: those repeat, are empty, and change when asked again.

    >>> call_key("4f1c", 2, 0)
    '4f1c-2-0'
    """
    return f"{run}-{turn}-{position}"


@record
class OfRun:
    """What nearly every entry says: the id of its run."""

    run: str


# — a run begins, and what is said —


@record
class RunBegan(OfRun):
    """A run began.

    Args:
        agent: Its name.
        model: Name of the model asked.
        instructions: As evaluated for this run; used again when it is resumed.
        parent: The run it is within; empty if it is nobody's.
        call: Key of the call that it is, if it is one.
    """

    kind: ClassVar = "run_began"
    agent: str = ""
    model: str = ""
    instructions: str = ""
    parent: str = ""
    call: str = ""


@record
class PersonSaid(OfRun):
    """A message joined the transcript that neither a model nor a tool made: a prompt, most often.

    Args:
        message: What was said; any message, where a program gave a transcript.
    """

    kind: ClassVar = "person_said"
    message: Message
    who: str = ""


# — the model —


@record
class ModelAsked(OfRun):
    """A request is about to be sent.

    Args:
        turn: Which request of the run, from 1.
        model: Name of the model.
        settings: What differs from the request before.
        tools: Names of the tools sent, if they differ from those of the request before.
    """

    kind: ClassVar = "model_asked"
    turn: int
    model: str = ""
    settings: Mapping[str, object] = NOTHING
    tools: tuple[str, ...] = ()


@record
class ModelReplied(OfRun):
    """The reply came, whole. Its usage and the model that answered are in the message."""

    kind: ClassVar = "model_replied"
    turn: int
    message: AssistantMessage


@record
class ModelFailed(OfRun):
    """An attempt to ask the model failed.

    Args:
        attempt: Which attempt at it, from 1.
        usage: What was billed, as far as is known.
    """

    kind: ClassVar = "model_failed"
    turn: int
    attempt: int = 1
    error: str = ""
    usage: Usage = Usage()
    model: str = ""


@record
class Spent(OfRun):
    """Requests cost money: in US dollars, where a bound of the run asks for prices."""

    kind: ClassVar = "spent"
    cost: float


# — calls —


@record
class CallIntended(OfRun):
    """A call is about to run: written before its body starts.

    Args:
        turn: Of the reply that made it.
        position: Its place in that reply, from 0.
        call_id: The provider's id of it.
        digest: Of tool, definition and effective arguments.
        repeatable: Whether it may run again if nobody knows what became of it.
        within: Key of the call whose code makes this one; empty if the model made it.
        arguments: Of such a call, which stand in no reply, as JSON; those that may be asked about.
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
class CallEnded(OfRun):
    """A call has its result; also one that never began, and one that was answered from outside."""

    kind: ClassVar = "call_ended"
    turn: int
    position: int
    message: ToolMessage
    within: str = ""


@record
class Judged(OfRun):
    """The verdict of a guardrail on what was said, or on an answer."""

    kind: ClassVar = "judged"
    by: str
    verdict: str
    reason: str = ""


@record
class StateChanged(OfRun):
    """A key of the run's state has a new value, never a function to apply; or it was removed."""

    kind: ClassVar = "state_changed"
    key: str
    value: object = None
    removed: bool = False


@record
class Tainted(OfRun):
    """The run has touched what some ways out must not see."""

    kind: ClassVar = "tainted"
    label: str
    source: str = ""


@record
class Emitted(OfRun):
    """A program's own event."""

    kind: ClassVar = "emitted"
    value: object = None


# — people —


@record
class Waits(OfRun):
    """A call waits for a person, or it is asked whether it happened (`outcome`)."""

    kind: ClassVar = "waits"
    ticket: Ticket
    outcome: bool = False


@record
class Decided(OfRun):
    """A ticket was decided: the first decision counts."""

    kind: ClassVar = "decided"
    decision: Decision
    who: str = ""


@record
class Queued(OfRun):
    """A person said something while the run went on; it is not in the transcript yet.

    Args:
        id: Of the message, until it is delivered or cleared.
        when: ``steer`` (before the next request) or ``follow_up`` (when the run would end).
    """

    kind: ClassVar = "queued"
    id: str
    message: Message
    who: str = ""
    when: str = "steer"


@record
class Steered(OfRun):
    """What was queued is in the transcript from here on."""

    kind: ClassVar = "steered"
    message: Message
    id: str = ""
    who: str = ""


@record
class Unqueued(OfRun):
    """What was queued was taken back and will not be delivered."""

    kind: ClassVar = "unqueued"
    id: str


@record
class HandedOver(OfRun):
    """Another agent goes on with the run.

    Args:
        agent: Who is in charge from here on.
        messages: What it may see of the history, if not the `whole` of it.
        instructions: As evaluated for it.
    """

    kind: ClassVar = "handed_over"
    agent: str
    messages: tuple[Message, ...] = ()
    whole: bool = True
    instructions: str = ""


# — other agents, and what a model sees of the history —


@record
class Compacted(OfRun):
    """The model is shown something else in place of a part of the transcript, which stays as it is.

    Args:
        start: The first message replaced, counted from 0 over the whole session.
        stop: One behind the last.
        messages: What stands in their place; nothing if they were cut.
        policy: Who decided.
        usage: What it cost.
        name: By which the model can read what was replaced; empty if it cannot.
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
    """A session begins as another one was: what came before is read there.

    Args:
        session: The other one.
        seq: The last of its entries that counts here.
        edited: Whether it was forked to say something else in place of what came next.
    """

    kind: ClassVar = "forked"
    session: str
    seq: int
    edited: bool = False


@record
class Checkpoint:
    """The fold of all entries before, without the transcript: who goes on reads no further back.

    Args:
        fold: As JSON; see `toolkeel.sessions.journal_state`.
    """

    kind: ClassVar = "checkpoint"
    fold: Mapping[str, object] = NOTHING


@record
class RunEnded(OfRun):
    """The run ended, or waits.

    Args:
        reason: How.
        error: What went wrong, if something did.
        output: The answer, as far as JSON holds it.
    """

    kind: ClassVar = "run_ended"
    reason: str
    error: str = ""
    output: object = None


@record
class UnknownEntry:
    """An entry of a kind this version does not know: kept as it is, and skipped by the fold."""

    kind: ClassVar = "unknown"
    body: Mapping[str, object]


def key_of(entry: CallIntended | CallEnded) -> str:
    """See `call_key`."""
    return call_key(entry.within or entry.run, entry.turn, entry.position)


# fmt: off
Entry: TypeAlias = (
    RunBegan | PersonSaid | ModelAsked | ModelReplied | ModelFailed | Spent | CallIntended | CallEnded
    | Judged | StateChanged | Tainted | Emitted | Waits | Decided | Queued | Steered
    | Unqueued | HandedOver | Compacted | Forked | Checkpoint | RunEnded | UnknownEntry
)
# fmt: on


class Journal(Protocol):
    """Where a run's entries go. A run without one keeps the same facts and nothing else."""

    def append(self, entry: Entry) -> None:
        """Add an entry, as it is now; it is durable after the next commit. Never waits."""
        ...

    async def commit(self) -> None:
        """Return when all that was appended is durable.

        Raises:
            SetupError: it cannot be written; nothing may be done that relies on it.
        """
        ...

    def flush(self) -> None:
        """Begin to make durable what was appended; nobody waits for it."""
        ...
