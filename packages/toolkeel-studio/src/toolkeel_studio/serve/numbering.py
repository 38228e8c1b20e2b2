"""Numbers entries and events, and relates them: to messages, tickets, inner runs.

What an item's ids are depends on earlier entries alone, so two processes that read one journal find the
same ids. A reply's id is made of the number of its request, which is in the journal before the first
piece of the reply arrives.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import time

from toolkeel import events
from toolkeel._records import entries
from toolkeel._records.tickets import Ticket
from toolkeel.model_interface import CallDelta, ReasoningDelta, TextDelta
from toolkeel.sessions.journal import StoredEntry
from toolkeel.sessions.session import Session
from toolkeel_studio.serve.items import (
    Item,
    LiveEvent,
    Position,
    Problem,
    Question,
    QuestionClosed,
    approval_id_of,
)


def message_id_of(seq: int) -> str:
    """Return the id of the message that the entry with this number starts; no client makes such ids by itself."""
    return f"entry-{seq}"


class Numbering:
    """Makes items of what happens in one session, in order.

    Attributes:
        position: The number of the last item.
        run_id: The session's last run.
        is_open: True while the last run has neither ended nor waits.
        reason: Why it ended; empty while it is open.
        ended_count: How often a run of the session has ended or begun to wait.
        has_reply_pending: True between a request of the session's run and its reply.
    """

    def __init__(self) -> None:
        self.position = Position(0)
        self.run_id = ""
        self.is_open = False
        self.reason = ""
        self.ended_count = 0
        self.has_reply_pending = False
        self._message_id = ""
        self._outer_calls: dict[str, str] = {}
        """By inner run: the call of the session's own run around it."""
        self._calls: dict[str, tuple[str, str]] = {}
        """By key: the call's id, and the call around it."""
        self._tickets: dict[str, Ticket] = {}
        self._inner_tickets: dict[str, str] = {}
        """By ticket of an inner run: the call of the session's own run around it."""

    # — entries —

    def number_entry(self, stored: StoredEntry) -> Item:
        """Return the item of the next entry."""
        entry, seq = stored.entry, stored.seq
        self.position = Position(seq)
        within = self._within(entry)
        if not within:
            self._follow(entry, seq)
        message_id, approval_id, call_id = self._message_id, "", ""
        match entry:
            case entries.PersonSaid():
                message_id = message_id_of(seq)
            case entries.Queued() | entries.Steered() | entries.Unqueued():
                message_id = entry.id
            case entries.CallIntended():
                call_id = entry.call_id
                self._calls[entries.call_key_of(entry)] = call_id, within
            case entries.CallEnded():
                call_id = entry.message.tool_call_id
            case entries.Waits(ticket=ticket):
                approval_id, call_id = approval_id_of(ticket), self._wait(ticket, within)
            case entries.Decided(decision=decision):
                approval_id = f"{decision.ticket}.{decision.seal}"
                known = self._tickets.get(decision.ticket)
                call_id = self._inner_tickets.get(decision.ticket) or (
                    known.call_id if known is not None else ""
                )
            case _:
                pass
        run_id: str = self.run_id if within else getattr(entry, "run", self.run_id)
        place = str(self.position), entry.kind, entry, stored.at, run_id, message_id
        return Item(*place, approval_id, call_id, within)

    def _follow(self, entry: entries.Entry, seq: int) -> None:
        """Follow the session's own run."""
        match entry:
            case entries.RunBegan():
                self._outer_calls.clear()
                self._calls.clear()
                self.run_id, self.is_open, self.reason = entry.run, True, ""
                self._message_id, self.has_reply_pending = message_id_of(seq), False
            case entries.ModelAsked():
                self._message_id = message_id_of(seq)
                self.is_open, self.reason, self.has_reply_pending = True, "", True
            case entries.CallIntended():
                self.is_open, self.reason = True, ""
            case entries.ModelReplied() | entries.ModelFailed():
                self.has_reply_pending = False
            case entries.RunEnded():
                self.ended_count += 1
                self.is_open, self.reason, self.has_reply_pending = False, entry.reason, False
                if entry.reason != "waiting":
                    self._tickets.clear()
                    self._inner_tickets.clear()
            case entries.Checkpoint():  # whoever starts to read here finds the same ids
                self._message_id = ""
            case _:
                pass

    def _within(self, entry: entries.Entry) -> str:
        """Return the call of the session's own run in which an entry was made; empty for none."""
        if isinstance(entry, entries.RunBegan) and entry.parent:
            call_id, around = self._calls.get(entry.call, ("", ""))
            self._outer_calls[entry.run] = self._outer_calls.get(entry.parent) or around or call_id
        run: str = getattr(entry, "run", "")
        if run in self._outer_calls and not isinstance(entry, entries.Decided):
            return self._outer_calls[run]
        code: str = getattr(entry, "within", "")
        call_id, around = self._calls.get(code, ("", "")) if code else ("", "")
        return around or call_id

    def _wait(self, ticket: Ticket, within: str) -> str:
        """Note a ticket; return the call that a client knows it by."""
        self._tickets[ticket.id] = ticket
        if within:
            self._inner_tickets[ticket.id] = within
        return self._inner_tickets.get(ticket.id, ticket.call_id)

    # — live —

    def number_event(self, event: LiveEvent, at: float) -> Item:
        """Return the next live item, which follows the last entry."""
        self.position = Position(self.position.entry, self.position.delta + 1)
        approval_id = call_id = within = ""
        match event:
            case Question(ticket=ticket):
                kind, approval_id, call_id = "question", approval_id_of(ticket), ticket.call_id
            case QuestionClosed():
                kind = "question_closed"
            case Problem():
                kind = "problem"
            case events.Nested():
                kind, call_id, within = event.type, event.call_id, event.call_id
            case events.Streamed() | events.Retrying():
                kind = event.type
            case _:
                kind, call_id = event.type, event.call_id
        place = str(self.position), kind, event, at, self.run_id, self._message_id
        return Item(*place, approval_id, call_id, within)


def is_live_only(event: events.Event) -> bool:
    """Return True for events that no journal entry replaces: those that become live items."""
    match event:
        case events.Streamed(delta=TextDelta() | ReasoningDelta() | CallDelta()):
            return True
        case events.ToolFinished():
            return event.arguments is not None
        case events.Nested():
            return is_live_only(event.event)
        case events.Retrying() | events.Coerced() | events.Progress():
            return True
        case _:
            return False


def number_journal(session: Session) -> Iterator[Item]:
    """Yield the items of all entries that are in a session's journal now, in order.

    Decisions that wait for others follow, under the number of the last entry. A session that does not
    exist has none.
    """
    numbering = Numbering()
    if not session.exists:
        return
    yield from map(numbering.number_entry, session.entries())
    last = numbering.position.entry
    for decided in session.decisions.values():
        yield numbering.number_entry(StoredEntry(last, time(), decided))
