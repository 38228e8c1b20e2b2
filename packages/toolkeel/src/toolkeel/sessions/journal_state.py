"""The fold: what a journal's entries come to, one after the other.

Transcript, state, usage, what waits and what nobody knows are functions of the entries, and this is
the function. A run that is within another has a fold of its own inside; calls and questions that are
open, whosesoever they are, stand in one table, by keys that name their run.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from toolkeel._records import entries
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent.history import Cut, View
from toolkeel.messages import Message, ToolMessage, Usage

SAID = (entries.PersonSaid, entries.Steered, entries.ModelReplied, entries.CallEnded)
"""Entries that hold a message of the transcript."""
NO_FAILURE = ("limit_reached", "cancelled", "skipped")
"""Ends of calls that are no failure of the tool."""
NEVER_BEGAN = (
    *("unknown_tool", "malformed_arguments", "truncated_call", "invalid_arguments", "disabled"),
    *("limit_reached", "skipped"),
)
"""Ends of calls that limits do not count."""
DEPTH = 200
"""How many runs may lie within each other."""


class Fold:
    """Where a session stands, after the entries that it was shown; or a run within one of its runs.

    Args:
        top: The session's, if this is that of a run within.

    Attributes:
        view: The messages that the model is shown next.
        seqs: The entry of each of them; of what replaces others, the first's.
        state: What tools wrote.
        usage: Of all runs, those within others too.
        spent: Of the last run alone, those within it too; each request that was sent is counted.
        cost: Of the same, in US dollars, where prices were asked for.
        called: Calls of the same, by key: the tool's name.
        failed: How many of each tool have failed.
        taint: Labels with their sources.
        began: The last run.
        reason: How it ended; empty while it goes on, or if it was killed.
        turn: Requests it has made.
        asked: Whether a request of it has had no reply yet.
        agent: Who is in charge.
        path: Who was before in that run or those before it, and handed over.
        instructions: What the agent in charge was told.
        waiting: Tickets that nobody has decided, by id.
        outcomes: Tickets that ask whether a call has happened, by id.
        decided: Decisions whose calls have not run yet, by the ticket's id.
        intended: Calls that began and have no outcome, by key.
        made: What code has called within each of them, by the key of that one: by the key of each,
            its digest and its outcome's entry, 0 if it has none.
        queued: What people said that is not in the transcript yet, by id.
        inner: Runs within the session's whose calls have no outcome, at any depth, by id.
        senders: Whose messages have joined the last run from the inbox.
        suspended: Where those that wait with it stand.
        runs: How many runs there have been.
        cuts: What the model is shown in place of other messages.
    """

    def __init__(self, top: Fold | None = None) -> None:
        self.view = View()
        self.seqs: list[int] = []
        self.state: dict[str, object] = {}
        self.usage = self.spent = Usage()
        self.cost = 0.0
        self.called: dict[str, str] = {}
        self.failed: Counter[str] = Counter()
        self.taint: dict[str, tuple[str, ...]] = {}
        self.began = entries.RunBegan("")
        self.reason = ""
        self.turn = 0
        self.asked = False
        self.agent = self.instructions = ""
        self.path: tuple[str, ...] = ()
        self.waiting: dict[str, Ticket] = {}
        self.queued: dict[str, entries.Queued] = {}
        self._top = top
        self.outcomes: dict[str, Ticket] = {} if top is None else top.outcomes
        self.decided: dict[str, entries.Decided] = {} if top is None else top.decided
        self.intended: dict[str, entries.CallIntended] = {} if top is None else top.intended
        self.made: dict[str, dict[str, tuple[str, int]]] = {} if top is None else top.made
        self.inner: dict[str, Fold] = {} if top is None else top.inner
        self.senders: set[str] = set()
        self.suspended: object = None
        self.runs = 0
        self.cuts: list[Cut] = []
        self._positions: list[int] = []

    def see(self, seq: int, entry: entries.Entry) -> None:
        """Take one more entry into account.

        Args:
            seq: Its number.
            entry: What happened.
        """
        run: str = getattr(entry, "run", "")
        if isinstance(entry, entries.RunBegan) and entry.parent:
            self.inner[run] = Fold(self)
        inner = self if isinstance(entry, entries.Decided) else self.inner.get(run, self)
        for each in (inner, *self._around(inner)):
            each._spend(entry)
        if (take := _TAKE.get(type(entry))) is not None:
            take(inner, seq, entry)
        if isinstance(entry, entries.Tainted) and inner is not self:
            self._tainted(seq, entry)

    def _around(self, fold: Fold) -> Iterator[Fold]:
        """Those of the runs that one is within, up to the session's.

        Raises:
            ValueError: there is no end of them: a file may say that a run is within itself.
        """
        for _ in range(DEPTH):
            if fold is self:
                return
            fold = self.inner.get(fold.began.parent, self)
            yield fold
        raise ValueError(f"more than {DEPTH} runs are within each other")

    def within(self) -> list[Fold]:
        """Those of the runs that are calls of its last one, which have no outcome."""
        open = {key for key, call in self.intended.items() if call.run == self.began.run}
        return [each for each in self.inner.values() if each.began.call in open]

    def _spend(self, entry: entries.Entry) -> None:
        used = _usage(entry)
        self.usage = self.usage + used
        if isinstance(entry, entries.RunBegan) and not entry.parent:
            self.spent, self.cost, self.called, self.failed = Usage(), 0.0, {}, Counter()
        elif isinstance(entry, entries.Spent):
            self.cost += entry.cost
        elif isinstance(entry, entries.ModelAsked):
            self.spent = self.spent + Usage(1)
        elif isinstance(entry, entries.CallIntended):
            self.called[entries.key_of(entry)] = entry.tool
        elif isinstance(entry, entries.CallEnded):
            self._count(entries.key_of(entry), entry.message)
        elif isinstance(entry, entries.Waits) and not entry.outcome:
            for key in self._meant(entry):
                self.called.pop(key, None)
        elif used is not _NONE:
            self.spent = self.spent + replace(used, requests=0)

    def _count(self, key: str, result: ToolMessage) -> None:
        if result.kind in NEVER_BEGAN:
            self.called.pop(key, None)
        if result.failed and result.kind not in NO_FAILURE:
            self.failed[result.name] += 1

    def _meant(self, entry: entries.Waits) -> list[str]:
        """The keys of the calls that wait, of the run that says so; none, if one within it waits."""
        if any(entry.ticket.id in each.waiting for each in self.inner.values() if each is not self):
            return []
        what, calls = (entry.run, entry.ticket.call_id, ""), self.intended.items()
        return [key for key, call in calls if (call.run, call.call_id, call.within) == what]

    @property
    def counts(self) -> dict[str, int]:
        """What the limits of the last run have counted, as far as entries say it.

        A call without an outcome counts when it runs again.
        """
        spent = {"requests": self.spent.requests, "tokens": self.spent.total_tokens}
        called = [tool for key, tool in self.called.items() if key not in self.intended]
        made = {f"calls {tool}": count for tool, count in Counter(called).items()}
        return spent | made | {f"failures {tool}": count for tool, count in self.failed.items()}

    @property
    def unknown(self) -> tuple[entries.CallIntended, ...]:
        """Calls of which nobody knows whether they happened: the run was killed meanwhile."""
        return tuple(self.intended.values())

    def _say(self, seq: int, message: Message) -> None:
        self.view.add(message)
        self.seqs.append(seq)

    # — one for each kind —

    def _run_began(self, seq: int, entry: entries.RunBegan) -> None:
        self.began, self.reason, self.turn, self.asked = entry, "", 0, False
        self.senders.clear()
        self.path = self.path if entry.agent == self.agent else ()
        self.agent, self.instructions = entry.agent or self.agent, entry.instructions
        self.runs += 1

    def _person_said(self, seq: int, entry: entries.PersonSaid) -> None:
        self._say(seq, entry.message)

    def _steered(self, seq: int, entry: entries.Steered) -> None:
        self.queued.pop(entry.id, None)
        self.senders.add(entry.who)
        self._say(seq, entry.message)

    def _model_asked(self, seq: int, entry: entries.ModelAsked) -> None:
        self.reason, self.turn, self.asked = "", entry.turn, True

    def _model_replied(self, seq: int, entry: entries.ModelReplied) -> None:
        self.turn, self.asked = entry.turn, False
        self._positions.clear()
        self._say(seq, entry.message)

    def _call_intended(self, seq: int, entry: entries.CallIntended) -> None:
        self.reason, key = "", entries.key_of(entry)
        self.intended[key] = entry
        if entry.within:
            self.made.setdefault(entry.within, {})[key] = entry.digest, 0

    def _call_ended(self, seq: int, entry: entries.CallEnded) -> None:
        """Results come as their calls end, and stand in the order of the calls."""
        key = entries.key_of(entry)
        self._close(key)
        if entry.within:
            if key in (made := self.made.get(entry.within, {})):
                made[key] = made[key][0], seq
            return
        self._forget(lambda ticket: ticket.call_id == entry.message.tool_call_id)
        insort(self._positions, entry.position)
        behind = len(self._positions) - 1 - self._positions.index(entry.position)
        place = len(self.view.messages) - behind
        self._say(seq, entry.message)
        self.view.messages.insert(place, self.view.messages.pop())
        self.seqs.insert(place, self.seqs.pop())

    def _close(self, key: str) -> None:
        """Of a call it is known what became of it, or that it has not begun: so of all within it."""
        keys = [key]
        while keys:
            key = keys.pop()
            self.intended.pop(key, None)
            for ticket in [each for each in self.outcomes.values() if each.digest == key]:
                del self.outcomes[ticket.id]
            keys += self.made.pop(key, ())
            for run in [id for id, each in self.inner.items() if each.began.call == key]:
                self.inner.pop(run)._forget(lambda ticket: True)
                keys += [open for open, call in self.intended.items() if call.run == run]

    def _forget(self, done: Callable[[Ticket], bool]) -> None:
        """Tickets of a run wait no longer, neither in those around it."""
        for ticket in [each for each in self.waiting.values() if done(each)]:
            for each in (self, self._top or self, *self.inner.values()):
                each.waiting.pop(ticket.id, None)
            self.decided.pop(ticket.id, None)

    def _state_changed(self, seq: int, entry: entries.StateChanged) -> None:
        if entry.removed:
            self.state.pop(entry.key, None)
        else:
            self.state[entry.key] = entry.value

    def _tainted(self, seq: int, entry: entries.Tainted) -> None:
        sources = self.taint.get(entry.label, ())
        if entry.source not in sources:
            self.taint[entry.label] = (*sources, entry.source)

    def _waits(self, seq: int, entry: entries.Waits) -> None:
        ticket = entry.ticket
        if entry.outcome:
            self.outcomes[ticket.id] = ticket
            return
        if meant := self._meant(entry):
            self._forget(lambda other: other.call_id == ticket.call_id)
        self.waiting[ticket.id] = ticket
        for key in meant:  # it has not begun, or it begins again
            del self.intended[key]

    def _decided(self, seq: int, entry: entries.Decided) -> None:
        """The first decision counts. That a call has not happened makes it one that never began."""
        if self.refuses(entry.decision):
            return
        first = self.decided.setdefault(entry.decision.ticket, entry).decision
        ticket = self.outcomes.get(first.ticket)
        if ticket is not None and first.verdict == "approve" and first.seal == ticket.seal:
            del self.outcomes[ticket.id]
            self.intended.pop(ticket.digest, None)
            for each in (self, *self.inner.values()):
                each.called.pop(ticket.digest, None)

    def refuses(self, decision: Decision) -> bool:
        """Return whether a decision does not count, since nothing here could run what it approves."""
        waits = self.waiting.get(decision.ticket)
        return waits is not None and decision.verdict not in waits.verdicts

    def _queued(self, seq: int, entry: entries.Queued) -> None:
        self.queued[entry.id] = entry

    def _unqueued(self, seq: int, entry: entries.Unqueued) -> None:
        self.queued.pop(entry.id, None)

    def _handed_over(self, seq: int, entry: entries.HandedOver) -> None:
        self.path = (*(name for name in (*self.path, self.agent) if name != entry.agent),)
        self.agent, self.instructions = entry.agent, entry.instructions
        if not entry.whole:
            self.cut(Cut(0, self.view.total, entry.messages, "handoff"))

    def _compacted(self, seq: int, entry: entries.Compacted) -> None:
        self.cut(Cut(entry.start, entry.stop, entry.messages, entry.policy, name=entry.name))

    def cut(self, cut: Cut) -> None:
        """Show the model something else in place of a part."""
        if self._top is None:  # a run within goes on from its whole transcript
            start, stop = self.view.span(cut)
            self.view.cut(cut)
            self.seqs[start:stop] = [0] * len(cut.messages)
        self.cuts = [c for c in self.cuts if not (cut.start <= c.start and c.stop <= cut.stop)]
        self.cuts.append(cut)

    def _run_ended(self, seq: int, entry: entries.RunEnded) -> None:
        self.reason, self.asked = entry.reason, False
        self.suspended = entry.output if entry.reason == "waiting" else None
        if entry.reason != "waiting" and self._top is None:
            self.waiting.clear()
            self.outcomes.clear()
            self.decided.clear()
            self.intended.clear()
            self.made.clear()
            self.inner.clear()

    # — at rest —

    @property
    def unfinished(self) -> bool:
        """Whether the last run has not ended: it goes on, waits, or its process was killed."""
        return bool(self.began.run) and self.reason in ("", "waiting")

    @property
    def rests(self) -> bool:
        """Whether a checkpoint can stand for it: the last run has ended, and nobody is asked.

        What a run has spent is in none, so one that was killed and goes on must be read whole.
        """
        return not (self.unfinished or self.intended or self.inner or self.waiting or self.outcomes)


def _usage(entry: entries.Entry) -> Usage:
    if isinstance(entry, entries.ModelReplied):
        return entry.message.usage
    return entry.usage if isinstance(entry, entries.ModelFailed | entries.Compacted) else _NONE


_NONE = Usage()
_TAKE: dict[type, Callable[[Fold, int, Any], None]] = {
    entries.RunBegan: Fold._run_began,
    entries.PersonSaid: Fold._person_said,
    entries.Steered: Fold._steered,
    entries.ModelAsked: Fold._model_asked,
    entries.ModelReplied: Fold._model_replied,
    entries.CallIntended: Fold._call_intended,
    entries.CallEnded: Fold._call_ended,
    entries.StateChanged: Fold._state_changed,
    entries.Tainted: Fold._tainted,
    entries.Waits: Fold._waits,
    entries.Decided: Fold._decided,
    entries.Queued: Fold._queued,
    entries.Unqueued: Fold._unqueued,
    entries.HandedOver: Fold._handed_over,
    entries.Compacted: Fold._compacted,
    entries.RunEnded: Fold._run_ended,
}
"""What each kind changes; the others change nothing."""
