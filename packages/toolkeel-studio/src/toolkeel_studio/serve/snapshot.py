"""A session as it is now, for whoever loads a page: messages with ids, what waits, state, usage."""

from __future__ import annotations

from collections.abc import Mapping

from toolkeel._records import entries
from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import Ticket
from toolkeel._records.typed_values import load_state as load_values
from toolkeel.messages import Message, Usage
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.session import Session
from toolkeel_studio.serve.client_tools import CLIENT_TOOLS, load_client_tools
from toolkeel_studio.serve.feed import Feed
from toolkeel_studio.serve.items import Item, Position, approval_id_of
from toolkeel_studio.serve.numbering import Numbering


@record
class SnapshotMessage:
    """A message of the transcript.

    Args:
        id: Stable in the session; of a message that a client sent, the client's own id. Of a result,
            the id of the reply that made the call.
        message: The message.
        run_id: The run that it belongs to.
        at: When it was written, in seconds since the epoch.
    """

    id: str
    message: Message
    run_id: str
    at: float


@record
class PendingApproval:
    """A call that waits for a decision, or for its result from outside.

    Args:
        approval_id: For `Channel.decide`.
        ticket: What is asked.
        call_id: The call that a client knows it by.
        message_id: The reply that made the call.
        who: Who has decided already, if it only waits for other decisions; empty if it is undecided.
        is_decided: True if it was decided and only waits for other decisions.
    """

    approval_id: str
    ticket: Ticket
    call_id: str
    message_id: str
    who: str = ""
    is_decided: bool = False


@record
class Snapshot:
    """A session as it is now.

    Args:
        number: The last item; read on after it.
        messages: The transcript.
        unread: Messages that wait for the run, in order.
        pending: What waits.
        state: The values that tools wrote. They are the program's: send no client more than it may see.
        usage: Of all runs.
        reason: How the last run ended; ``waiting`` if it waits, empty if it runs or was killed.
        run_id: The last run; empty if there was none.
        client_tools: Names of the tools that the session's client has declared.
        inner_runs: How the inner runs began whose calls have no result.
    """

    number: str
    messages: tuple[SnapshotMessage, ...] = ()
    unread: tuple[SnapshotMessage, ...] = ()
    pending: tuple[PendingApproval, ...] = ()
    state: Mapping[str, object] = NOTHING
    usage: Usage = Usage()
    reason: str = ""
    run_id: str = ""
    client_tools: frozenset[str] = frozenset()
    inner_runs: tuple[entries.RunBegan, ...] = ()

    @property
    def position(self) -> Position:
        """The number, for comparisons."""
        return Position.parse(self.number)

    @property
    def undecided(self) -> dict[str, PendingApproval]:
        """Calls that wait for a decision, by approval id."""
        waiting = (p for p in self.pending if not (p.is_decided or p.ticket.external))
        return {each.approval_id: each for each in waiting}

    @property
    def external_calls(self) -> dict[str, Ticket]:
        """Calls that wait for a result from outside, by call id."""
        waiting = (p for p in self.pending if p.ticket.external and not p.is_decided)
        return {each.call_id: each.ticket for each in waiting}


class _Transcript:
    """The messages of a session, collected from its items."""

    def __init__(self) -> None:
        self.messages: list[SnapshotMessage] = []
        self.queued: dict[str, SnapshotMessage] = {}
        self.places: dict[str, tuple[str, str]] = {}
        """By ticket: the call that a client knows it by, and the reply that made it."""
        self._positions: list[int] = []

    def take(self, item: Item) -> None:
        """Take the next item of the session's own run."""
        match item.body:
            case entries.PersonSaid(message=message) | entries.ModelReplied(message=message):
                self._positions.clear()
                self.messages.append(_message(item, message))
            case entries.Steered(message=message):
                self.queued.pop(item.message_id, None)
                self.messages.append(_message(item, message))
            case entries.CallEnded(position=position, message=message):
                later = sum(1 for other in self._positions if other > position)
                self._positions.append(position)
                self.messages.insert(len(self.messages) - later, _message(item, message))
            case entries.Queued(message=message):
                self.queued[item.message_id] = _message(item, message)
            case entries.Unqueued():
                self.queued.pop(item.message_id, None)
            case entries.Waits(ticket=ticket):
                self.places[ticket.id] = item.call_id, item.message_id
            case _:
                pass


def take_snapshot(session: Session) -> Snapshot:
    """Read a session that exists."""
    info, numbering, transcript = session.info, Numbering(), _Transcript()
    for stored in session.entries(0, info.head):
        item = numbering.number_entry(stored)
        if not item.within:
            transcript.take(item)
    decisions, fold = session.decisions, session.load_state()
    state = load_values(fold.state)
    pending = (
        PendingApproval(
            approval_id_of(ticket),
            ticket,
            *transcript.places.get(ticket.id, (ticket.call_id, "")),
            decisions[ticket.id].who if ticket.id in decisions else "",
            ticket.id in decisions,
        )
        for ticket in session.pending
    )
    inbox = (SnapshotMessage(each.id, each.message, "", each.at) for each in session.inbox)
    return Snapshot(
        str(Position(info.head)),
        tuple(transcript.messages),
        (*transcript.queued.values(), *inbox),
        tuple(pending),
        _visible(state),
        session.usage,
        numbering.reason,
        numbering.run_id,
        _client_tools(state),
        _inner_runs(fold),
    )


def summarize(feed: Feed) -> Snapshot:
    """Return a session in which nothing waits, without its messages."""
    state = load_values(feed.state.state)
    return Snapshot(
        str(feed.position),
        state=_visible(state),
        usage=feed.state.usage,
        reason=feed.reason,
        run_id=feed.run_id,
        client_tools=_client_tools(state),
        inner_runs=_inner_runs(feed.state),
    )


def _inner_runs(state: JournalState) -> tuple[entries.RunBegan, ...]:
    return tuple(each.last_run for each in state.nested_runs.values())


def _client_tools(state: Mapping[str, object]) -> frozenset[str]:
    return frozenset(each.name for each in load_client_tools(state))


def _visible(state: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a session's state that tools wrote."""
    return {key: value for key, value in state.items() if key != CLIENT_TOOLS}


def _message(item: Item, message: Message) -> SnapshotMessage:
    return SnapshotMessage(item.message_id, message, item.run_id, item.at)
