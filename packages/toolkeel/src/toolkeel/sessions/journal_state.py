"""The state of a session, computed from its journal.

`JournalState.apply` takes one entry after the other. Transcript (`TranscriptState`), tool state, usage, open tickets and
calls of unknown outcome depend on the entries alone, so a process that reads the same journal
computes the same state. The last run moves between these conditions::

              RunBegan                     Waits, RunEnded(waiting)
    AT REST ───────────> RUNNING ────────────────────────────────> WAITING
       ^                 │  ^  CallIntended: in open_calls            │
       │                 │  │  CallEnded: out of open_calls           │ Decided, then ModelAsked
       │                 │  └─────────────────────────────────────────┘    or CallIntended
       └─────────────────┘
         RunEnded(any other reason) clears tickets, decisions (but of deferred calls), open calls, nested runs

A killed process writes no `RunEnded`: its run stays RUNNING, and whatever is in `open_calls` has an
unknown outcome. A run that a bound or a cancel stopped inside an inner run keeps its open calls and
nested runs, too: its `RunEnded` has an `output`. `Waits(outcome=True)` asks a person about such a call; an
approval (it did not happen) closes it, so that it runs again, or makes it repeatable if it has runs within.

A run nested in a call has a `JournalState` of its own in `nested_runs`. All share the tables of open
calls, outcome tickets and decisions, under keys that name the run. When a call gets its result, every
call and nested run below it is closed as well. `checkpoint` stores a state at rest as an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

from toolkeel._records import entries
from toolkeel._records.run_counts import RunCounts
from toolkeel._records.taint_sources import REVOKED, SESSION, Permit
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent.history import Cut
from toolkeel.sessions.transcript_state import TranscriptState

MESSAGE_ENTRIES = (
    *(entries.PersonSaid, entries.Steered, entries.ModelReplied, entries.CallEnded),
    *(entries.Deferred, entries.Repeated),
)
"""Entries that hold a message of the transcript."""
MAX_DEPTH = 200
"""How many runs may lie within each other."""


class JournalState(RunCounts, TranscriptState):
    """The state of a session after some entries, or of a run nested in one of its runs.

    Args:
        top: The session's state, if this is that of a nested run.

    Attributes:
        state: The values that tools wrote, as stored; see `toolkeel._records.typed_values`.
        taint: Taint labels with their sources.
        permits: What a person has permitted for the last run, or for the session.
        last_run: The start of the last run.
        reason: Why it ended; empty while it runs or after its process was killed.
        turn: Number of requests it has made.
        awaits_reply: True if its last request has no reply yet.
        agent: Name of the agent that owns the run.
        path: Names of the agents that handed over before.
        instructions: The agent's instructions.
        open_tickets: Tickets that wait for a decision, by id.
        deferred: Calls that got a placeholder result and wait still, by the id of their ticket.
        made_by: Names of the agents that made the repeated calls of the last reply, by call id.
        has_begun: False if the last run has repeated deferred calls and has not begun yet.
        outcome_tickets: Tickets that ask if a call happened, by id.
        decisions: Decisions on calls that have not run yet, by ticket id.
        open_calls: Calls with an intent and no outcome, by key.
        code_calls: Calls made by the code of a call: digest and outcome's entry, by both keys.
        queued: Messages that have not joined the transcript, by id.
        nested_runs: States of nested runs whose calls have no outcome, at any depth, by run id.
        closed_runs: Ids of nested runs whose calls have ended.
        senders: Senders of inbox messages that have joined the last run.
        definitions: Digests of the tool definitions that the journal has, by name of the tool.
        suspended_state: Saved counters of a run that waits or stopped within an inner run.
        run_count: Number of runs so far.
    """

    def __init__(self, top: JournalState | None = None) -> None:
        RunCounts.__init__(self)
        TranscriptState.__init__(self, is_nested=top is not None)
        self.state: dict[str, object] = {}
        self.taint: dict[str, tuple[str, ...]] = {}
        self.permits: dict[Permit, None] = {}
        self.last_run = entries.RunBegan("")
        self.reason = ""
        self.turn = 0
        self.awaits_reply = False
        self.agent = self.instructions = ""
        self.path: tuple[str, ...] = ()
        self.open_tickets: dict[str, Ticket] = {}
        self.deferred: dict[str, entries.Deferred] = {}
        self.made_by: dict[str, str] = {}
        self.has_begun = True
        self.queued: dict[str, entries.Queued] = {}
        self._top = top
        self.outcome_tickets: dict[str, Ticket] = {} if top is None else top.outcome_tickets
        self.decisions: dict[str, entries.Decided] = {} if top is None else top.decisions
        self.open_calls: dict[str, entries.CallIntended] = {} if top is None else top.open_calls
        self.code_calls: dict[str, dict[str, tuple[str, int]]] = (
            {} if top is None else top.code_calls
        )
        self.nested_runs: dict[str, JournalState] = {} if top is None else top.nested_runs
        self.closed_runs: set[str] = set() if top is None else top.closed_runs
        self.definitions: dict[str, str] = {} if top is None else top.definitions
        self.senders: set[str] = set()
        self.suspended_state: object = None
        self.run_count = 0

    def apply(self, seq: int, entry: entries.Entry) -> None:
        """Apply one entry, here or to the nested run that it is of; `seq` is its number."""
        run: str = getattr(entry, "run", "")
        if isinstance(entry, entries.RunBegan) and entry.parent:
            self.nested_runs[run] = JournalState(self)
        if run in self.closed_runs:  # code that outlived the end of its call
            self.spend(entry)
            return
        inner = self if isinstance(entry, entries.Decided) else self.nested_runs.get(run, self)
        for each in (inner, *self._around(inner)):
            each.spend(entry)
        of_tree = inner is not self and isinstance(entry, entries.Tainted | entries.Permitted)
        if (take := _TAKE.get(type(entry))) is not None:
            for each in (inner, self) if of_tree else (inner,):
                take(each, seq, entry)

    def _around(self, fold: JournalState) -> Iterator[JournalState]:
        """Yield the states of the runs around a nested run, or raise ValueError if there are more than `MAX_DEPTH`."""
        for _ in range(MAX_DEPTH):
            if fold is self:
                return
            fold = self.nested_runs.get(fold.last_run.parent, self)
            yield fold
        raise ValueError(f"more than {MAX_DEPTH} runs are within each other")

    def open_nested_runs(self, joined: bool | None = False) -> list[JournalState]:
        """Return the runs in the last run's open calls: of bodies (`joined`), agent tools (False), or both (None)."""
        open = {key for key, call in self.open_calls.items() if call.run == self.last_run.run}
        began = [(each.last_run, each) for each in self.nested_runs.values()]
        return [each for run, each in began if run.call in open and joined in (None, run.joined)]

    def waiting_keys(self, entry: entries.Waits) -> list[str]:
        """Return the keys of a ticket's calls, or none if the ticket belongs to a nested run."""
        others = (each for each in self.nested_runs.values() if each is not self)
        if any(entry.ticket.id in each.open_tickets for each in others):
            return []
        what, calls = (entry.run, entry.ticket.call_id, ""), self.open_calls.items()
        return [key for key, call in calls if (call.run, call.call_id, call.within) == what]

    @property
    def unknown_calls(self) -> tuple[entries.CallIntended, ...]:
        """Calls of unknown outcome: the process was killed while they ran."""
        return tuple(self.open_calls.values())

    # — one for each kind of entry, called by `apply` to change the fields —

    def _run_began(self, seq: int, entry: entries.RunBegan) -> None:
        """Start a run: count it, set its agent, and clear what the last run's people wrote and permitted."""
        self.last_run, self.reason, self.turn, self.awaits_reply = entry, "", 0, False
        self.has_begun, self.run_count = True, self.run_count + 1
        self.senders.clear()
        self.permits = {each: None for each in self.permits if each.reach == SESSION}
        self.path = self.path if entry.agent == self.agent else ()
        self.agent, self.instructions = entry.agent or self.agent, entry.instructions

    def _person_said(self, seq: int, entry: entries.PersonSaid) -> None:
        """Append the message."""
        self.add_message(seq, entry.message)

    def _steered(self, seq: int, entry: entries.Steered) -> None:
        """Move a queued message into the transcript, and remember its sender."""
        self.queued.pop(entry.id, None)
        self.senders.add(entry.who)
        self.add_message(seq, entry.message)

    def _model_asked(self, seq: int, entry: entries.ModelAsked) -> None:
        """Set the turn, whose request has no reply yet, clear the end reason, and store the digests of tool definitions."""
        self.reason, self.turn, self.awaits_reply = "", entry.turn, True
        self.definitions.update((name, _digest(text)) for name, text in entry.definitions.items())

    def without_known_definitions(self, entry: entries.Entry) -> entries.Entry:
        """Return an entry without the tool definitions that the journal has already; most have none."""
        if not isinstance(entry, entries.ModelAsked) or not entry.definitions:
            return entry
        known, texts = self.definitions, entry.definitions.items()
        new = {name: text for name, text in texts if known.get(name) != _digest(text)}
        return entry if len(new) == len(texts) else replace(entry, definitions=new)

    def _model_replied(self, seq: int, entry: entries.ModelReplied) -> None:
        """Append the reply, which begins a turn of its own."""
        self.turn, self.awaits_reply, self.made_by = entry.turn, False, {}
        self.begin_turn()
        self.add_message(seq, entry.message)

    def _call_intended(self, seq: int, entry: entries.CallIntended) -> None:
        """Add the call to the open ones."""
        self.reason, key = "", entries.call_key_of(entry)
        self.open_calls[key] = entry
        if entry.within:
            self.code_calls.setdefault(entry.within, {})[key] = entry.digest, 0

    def _call_ended(self, seq: int, entry: entries.CallEnded) -> None:
        """Close the call, forget its tickets and insert its result; of a code's call, store its number alone."""
        key = entries.call_key_of(entry)
        self._close(key)
        if entry.within:
            if key in (made := self.code_calls.get(entry.within, {})):
                made[key] = made[key][0], seq
            return
        self._forget(lambda ticket: ticket.call_id == entry.message.tool_call_id)
        self.insert_result(seq, entry)

    def _deferred(self, seq: int, entry: entries.Deferred) -> None:
        """Insert the placeholder; the ticket stays."""
        self.open_tickets.pop(entry.ticket.id, None)
        self.deferred[entry.ticket.id] = entry
        self.insert_result(seq, entry)

    def _repeated(self, seq: int, entry: entries.Repeated) -> None:
        """Begin a turn of the repeated calls, as in a run that waits for their tickets, deferred no longer."""
        self.last_run, self.has_begun = entries.RunBegan(entry.run), False
        self.reason, self.turn, self.awaits_reply = "waiting", 0, False
        self.suspended_state = None
        found = [self.deferred.pop(id) for id in entry.tickets if id in self.deferred]
        self.open_tickets.update({each.ticket.id: each.ticket for each in found})
        self.made_by = {each.ticket.call_id: each.agent for each in found}
        self.begin_turn()
        self.add_message(seq, entry.message)

    def _close(self, key: str) -> None:
        """Remove a call from the open calls, with all calls, runs and tickets below it; these runs count as closed."""
        keys = [key]
        while keys:
            key = keys.pop()
            self.open_calls.pop(key, None)
            self._forget_outcome(key)
            keys += self.code_calls.pop(key, ())
            for run in [id for id, each in self.nested_runs.items() if each.last_run.call == key]:
                self.nested_runs.pop(run)._forget(lambda ticket: True)
                self.closed_runs.add(run)
                keys += [open for open, call in self.open_calls.items() if call.run == run]

    def _forget_outcome(self, key: str) -> None:
        """Remove the tickets that ask if a call happened."""
        for ticket in [each for each in self.outcome_tickets.values() if each.digest == key]:
            del self.outcome_tickets[ticket.id]

    def _forget(self, done: Callable[[Ticket], bool]) -> None:
        """Remove the tickets that `done` selects, with their decisions, here and in the runs around and inside."""
        for ticket in [each for each in self.open_tickets.values() if done(each)]:
            for each in (self, self._top or self, *self.nested_runs.values()):
                each.open_tickets.pop(ticket.id, None)
            self.decisions.pop(ticket.id, None)

    def _state_changed(self, seq: int, entry: entries.StateChanged) -> None:
        """Set or remove a value that tools wrote."""
        if entry.removed:
            self.state.pop(entry.key, None)
        else:
            self.state[entry.key] = entry.value

    def _tainted(self, seq: int, entry: entries.Tainted) -> None:
        """Add a source to a label, once; a permit for that source ends."""
        sources = self.taint.get(entry.label, ())
        self.permits.pop(Permit("source", entry.label, entry.source), None)  # that was another text
        if entry.source not in sources:
            self.taint[entry.label] = (*sources, entry.source)

    def _permitted(self, seq: int, entry: entries.Permitted) -> None:
        """Add the permit, or take back one for the session."""
        if entry.reach == REVOKED:
            self.permits.pop(Permit(SESSION, entry.name, entry.value), None)
        else:
            self.permits[Permit(entry.reach, entry.name, entry.value)] = None

    def _forked(self, seq: int, entry: entries.Forked) -> None:
        """Drop what was permitted for the session that this one is a copy of."""
        self.permits = {each: None for each in self.permits if each.reach != SESSION}

    def _waits(self, seq: int, entry: entries.Waits) -> None:
        """Open a ticket: its calls are no longer open and begin again, unless it asks if they happened."""
        ticket = entry.ticket
        if entry.outcome:
            self._forget_outcome(ticket.digest)  # one that has expired
            self.outcome_tickets[ticket.id] = ticket
            return
        if meant := self.waiting_keys(entry):
            self._forget(lambda other: other.call_id == ticket.call_id)
        self.open_tickets[ticket.id] = ticket
        for key in meant:  # it has not begun, or it begins again
            del self.open_calls[key]

    def _decided(self, seq: int, entry: entries.Decided) -> None:
        """Store the first decision; ignore one that its ticket rejects. A call that has not happened runs again."""
        if self.rejects(entry.decision):
            return
        first = self.decisions.setdefault(entry.decision.ticket, entry).decision
        ticket = self.outcome_tickets.get(first.ticket)
        if ticket is not None and first.verdict == "approve" and first.seal == ticket.seal:
            del self.outcome_tickets[ticket.id]
            call, runs = self.open_calls.pop(ticket.digest, None), self.nested_runs.values()
            if call is not None and any(each.last_run.call == ticket.digest for each in runs):
                self.open_calls[ticket.digest] = replace(call, repeatable=True)  # they continue
            for each in (self, *self.nested_runs.values()):
                each.run_calls.pop(ticket.digest, None)

    def find_ticket(self, id: str) -> Ticket | None:
        """Return the ticket of an id that waits for a decision, or None."""
        deferred = {} if id not in self.deferred else {id: self.deferred[id].ticket}
        return {**self.outcome_tickets, **self.open_tickets, **deferred}.get(id)

    def rejects(self, decision: Decision) -> bool:
        """Return True if a decision's ticket waits, and does not permit its verdict or was shown differently."""
        if (waits := self.find_ticket(decision.ticket)) is None:
            return False
        return decision.verdict not in waits.verdicts or decision.seal != waits.seal

    def _queued(self, seq: int, entry: entries.Queued) -> None:
        """Queue the message."""
        self.queued[entry.id] = entry

    def _unqueued(self, seq: int, entry: entries.Unqueued) -> None:
        """Remove the message from the queue."""
        self.queued.pop(entry.id, None)

    def _handed_over(self, seq: int, entry: entries.HandedOver) -> None:
        """Set the active agent and the path to it; replace the transcript in requests unless it receives all of it."""
        self.path = (*(name for name in (*self.path, self.agent) if name != entry.agent),)
        self.agent, self.instructions = entry.agent, entry.instructions
        if not entry.whole:
            self.cut(Cut(0, self.view.total, entry.messages, "handoff"))

    def _compacted(self, seq: int, entry: entries.Compacted) -> None:
        """Replace a part of the transcript in requests."""
        self.cut(Cut(entry.start, entry.stop, entry.messages, entry.policy, name=entry.name))

    def _run_ended(self, seq: int, entry: entries.RunEnded) -> None:
        """Set the reason, and clear all that is open unless the run waits or can be resumed."""
        self.reason, self.awaits_reply, self.suspended_state = entry.reason, False, entry.output
        if entry.reason != "waiting" and entry.output is None and self._top is None:
            self.open_tickets.clear()
            self.outcome_tickets.clear()
            for id in [id for id in self.decisions if id not in self.deferred]:
                del self.decisions[id]
            self.open_calls.clear()
            self.code_calls.clear()
            self.nested_runs.clear()

    # — at rest —

    @property
    def has_unfinished_run(self) -> bool:
        """True if the last run has not ended, or stopped where an inner run has not finished."""
        goes_on = self.reason in ("", "waiting") or self.suspended_state is not None
        return bool(self.last_run.run) and goes_on

    @property
    def is_at_rest(self) -> bool:
        """True if a checkpoint can represent the state: the last run has ended and nothing is open."""
        return not (
            self.has_unfinished_run
            or self.open_calls
            or self.nested_runs
            or self.open_tickets
            or self.outcome_tickets
            or self.deferred.keys() & self.decisions.keys()
        )


def _digest(text: object) -> str:
    """Return a short digest that tells one definition of a tool from another."""
    return sha256(str(text).encode("utf-8", "replace")).hexdigest()[:16]


_TAKE: dict[type, Callable[[JournalState, int, Any], None]] = {
    entries.RunBegan: JournalState._run_began,
    entries.PersonSaid: JournalState._person_said,
    entries.Steered: JournalState._steered,
    entries.ModelAsked: JournalState._model_asked,
    entries.ModelReplied: JournalState._model_replied,
    entries.CallIntended: JournalState._call_intended,
    entries.CallEnded: JournalState._call_ended,
    entries.StateChanged: JournalState._state_changed,
    entries.Tainted: JournalState._tainted,
    entries.Permitted: JournalState._permitted,
    entries.Forked: JournalState._forked,
    entries.Waits: JournalState._waits,
    entries.Deferred: JournalState._deferred,
    entries.Repeated: JournalState._repeated,
    entries.Decided: JournalState._decided,
    entries.Queued: JournalState._queued,
    entries.Unqueued: JournalState._unqueued,
    entries.HandedOver: JournalState._handed_over,
    entries.Compacted: JournalState._compacted,
    entries.RunEnded: JournalState._run_ended,
}
"""What each kind changes; the others change nothing."""
