"""The fold: what a journal's entries come to, one after the other.

Transcript, state, usage, what waits and what nobody knows are functions of the entries, and this is
the function. A run that is within another has a fold of its own inside. A checkpoint is the fold
without the transcript; from there on only the entries behind it are read, and those that hold the
messages which the model is still shown.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from toolkeel._records import entries
from toolkeel._records.entries_json import dump_entry, load_entry, load_usage
from toolkeel._records.messages_json import Json, changed, plain
from toolkeel._records.record import Kinds, read_fields
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent.history import Cut, View
from toolkeel.messages import Message, ToolMessage, Usage

T = TypeVar("T")
SAID = (entries.PersonSaid, entries.Steered, entries.ModelReplied, entries.CallEnded)
"""Entries that hold a message of the transcript."""
NO_FAILURE = ("limit_reached", "cancelled", "skipped")
"""Ends of calls that are no failure of the tool."""
NEVER_BEGAN = (
    *("unknown_tool", "malformed_arguments", "truncated_call", "invalid_arguments", "disabled"),
    *("limit_reached", "skipped"),
)
"""Ends of calls that limits do not count."""


class Fold:
    """Where a session stands, after the entries that it was shown.

    Attributes:
        view: The messages that the model is shown next.
        seqs: The entry of each of them; of what replaces others, the first's.
        state: What tools wrote.
        usage: Of all runs, those within others too.
        spent: Of the last run alone, those within it too; each request that was sent is counted.
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
        inner: Runs within it that have not ended, by id.
        suspended: Where those that wait with it stand.
        runs: How many runs there have been.
        cuts: What the model is shown in place of other messages.
    """

    def __init__(self) -> None:
        self.view = View()
        self.seqs: list[int] = []
        self.state: dict[str, object] = {}
        self.usage = self.spent = Usage()
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
        self.outcomes: dict[str, Ticket] = {}
        self.decided: dict[str, Decision] = {}
        self.intended: dict[str, entries.CallIntended] = {}
        self.made: dict[str, dict[str, tuple[str, int]]] = {}
        self.queued: dict[str, entries.Queued] = {}
        self.inner: dict[str, Fold] = {}
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
        self._spend(entry)
        run: str = getattr(entry, "run", "")
        if isinstance(entry, entries.RunBegan) and entry.parent:
            self.inner[run] = Fold()
        inner = self.inner.get(run, self)
        if (take := _TAKE.get(type(entry))) is not None:
            take(inner, seq, entry)
        if isinstance(entry, entries.Tainted) and inner is not self:
            self._tainted(seq, entry)
        if inner is not self and inner.reason not in ("", "waiting"):
            del self.inner[run]

    def _spend(self, entry: entries.Entry) -> None:
        used = _usage(entry)
        self.usage = self.usage + used
        if isinstance(entry, entries.RunBegan) and not entry.parent:
            self.spent, self.called, self.failed = Usage(), {}, Counter()
        elif isinstance(entry, entries.ModelAsked):
            self.spent = self.spent + Usage(1)
        elif isinstance(entry, entries.CallIntended):
            self.called[entries.key_of(entry)] = entry.tool
        elif isinstance(entry, entries.CallEnded):
            self._count(entries.key_of(entry), entry.message)
        elif isinstance(entry, entries.Waits) and not entry.outcome:
            for key in self.inner.get(entry.run, self)._meant(entry):
                self.called.pop(key, None)
        elif used is not _NONE:
            self.spent = self.spent + replace(used, requests=0)

    def _count(self, key: str, result: ToolMessage) -> None:
        if result.kind in NEVER_BEGAN:
            self.called.pop(key, None)
        if result.failed and result.kind not in NO_FAILURE:
            self.failed[result.name] += 1

    def _meant(self, entry: entries.Waits) -> list[str]:
        """The keys of the calls that wait."""
        id, calls = entry.ticket.call_id, self.intended.items()
        return [key for key, call in calls if call.call_id == id and not call.within]

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
        self.path = self.path if entry.agent == self.agent else ()
        self.agent, self.instructions = entry.agent or self.agent, entry.instructions
        self.runs += 1

    def _person_said(self, seq: int, entry: entries.PersonSaid) -> None:
        self._say(seq, entry.message)

    def _steered(self, seq: int, entry: entries.Steered) -> None:
        self.queued.pop(entry.id, None)
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
        self.intended.pop(key, None)
        self.outcomes = {t.id: t for t in self.outcomes.values() if t.digest != key}
        self._forget_made(key)
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

    def _forget_made(self, key: str) -> None:
        """What code has called within a call is a part of its outcome, which is known."""
        for made in self.made.pop(key, ()):
            self.intended.pop(made, None)
            self.outcomes = {t.id: t for t in self.outcomes.values() if t.digest != made}
            self._forget_made(made)

    def _forget(self, done: Callable[[Ticket], bool]) -> None:
        for ticket in [each for each in self.waiting.values() if done(each)]:
            del self.waiting[ticket.id]
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
        self._forget(lambda other: other.call_id == ticket.call_id)
        self.waiting[ticket.id] = ticket
        for key in self._meant(entry):  # it has not begun
            del self.intended[key]
            self._forget_made(key)

    def _decided(self, seq: int, entry: entries.Decided) -> None:
        """The first decision counts. That a call has not happened makes it one that never began."""
        waits = self.waiting.get(entry.decision.ticket)
        if waits is not None and entry.decision.verdict not in waits.verdicts:
            return  # nothing here could run it
        first = self.decided.setdefault(entry.decision.ticket, entry.decision)
        ticket = self.outcomes.get(first.ticket)
        if ticket is not None and first.verdict == "approve" and first.seal == ticket.seal:
            del self.outcomes[ticket.id]
            self.intended.pop(ticket.digest, None)
            self.called.pop(ticket.digest, None)

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
        start = bisect_left(self.view.places, cut.start)
        stop = bisect_left(self.view.places, cut.stop)
        self.view.cut(cut)
        self.seqs[start:stop] = [0] * len(cut.messages)
        self.cuts = [c for c in self.cuts if not (cut.start <= c.start and c.stop <= cut.stop)]
        self.cuts.append(cut)

    def _run_ended(self, seq: int, entry: entries.RunEnded) -> None:
        self.reason, self.asked = entry.reason, False
        self.suspended = entry.output if entry.reason == "waiting" else None
        if entry.reason != "waiting":
            self.waiting.clear()
            self.outcomes.clear()
            self.decided.clear()
            self.intended.clear()
            self.made.clear()
            self.inner.clear()

    # — at rest —

    @property
    def rests(self) -> bool:
        """Whether a checkpoint can stand for it: nothing is in flight, and nobody is asked."""
        return not (self.intended or self.inner or self.waiting or self.outcomes or self.asked)

    def checkpoint(self) -> entries.Checkpoint:
        """The fold as an entry; only while it `rests`."""
        kept = next((place for place, seq in enumerate(self.seqs) if seq), None)
        fold: Json = {
            "window": self.seqs[kept] if kept is not None else 0,
            "first": self.view.places[kept] if kept is not None else self.view.total,
            "cuts": [
                dump_entry(
                    entries.Compacted("", c.start, c.stop, c.messages, c.policy, name=c.name)
                )
                for c in self.cuts
            ],
            "state": plain(self.state),
            "usage": changed(self.usage),
            "taint": {label: list(sources) for label, sources in self.taint.items()},
            "began": dump_entry(self.began),
            "reason": self.reason,
            "turn": self.turn,
            "agent": self.agent,
            "path": list(self.path),
            "runs": self.runs,
            "queued": [dump_entry(each) for each in self.queued.values()],
        }
        return entries.Checkpoint(fold)

    @classmethod
    def resumed(
        cls, checkpoint: entries.Checkpoint, written: Iterable[tuple[int, entries.Entry]]
    ) -> Fold:
        """The fold that a checkpoint was made of.

        Args:
            checkpoint: What `checkpoint` gave.
            written: Those from `window_of` on, up to the checkpoint.

        Raises:
            ValueError: it is no checkpoint.
        """
        saved = read_fields(checkpoint.fold, _SAVED, {"path": (list,)})
        fold = cls()
        fold.view = View((), saved["first"])
        for seq, entry in written:
            if isinstance(entry, (*SAID, entries.RunBegan)):
                fold.see(seq, entry)
        for cut in map(load_entry, saved["cuts"]):
            fold._compacted(0, _a(entries.Compacted, cut))
        fold.inner.clear()
        fold.state = dict(saved["state"])
        fold.usage = load_usage(saved["usage"])
        fold.taint = {label: tuple(sources) for label, sources in saved["taint"].items()}
        fold.began = _a(entries.RunBegan, load_entry(saved["began"]))
        fold.reason, fold.turn = saved["reason"], saved["turn"]
        fold.agent, fold.runs = saved["agent"], saved["runs"]
        fold.path = tuple(map(str, saved.get("path", ())))
        queued = [_a(entries.Queued, load_entry(each)) for each in saved["queued"]]
        fold.queued = {each.id: each for each in queued}
        return fold


def window_of(checkpoint: entries.Checkpoint) -> int:
    """The first entry to read besides a checkpoint; 0 if there is none."""
    window = checkpoint.fold.get("window")
    return window if isinstance(window, int) else 0


def _usage(entry: entries.Entry) -> Usage:
    if isinstance(entry, entries.ModelReplied):
        return entry.message.usage
    return entry.usage if isinstance(entry, entries.ModelFailed | entries.Compacted) else _NONE


def _a(kind: type[T], entry: object) -> T:
    if not isinstance(entry, kind):
        raise ValueError(f"a {type(entry).__name__} where a {kind.__name__} belongs")
    return entry


_NONE = Usage()
_SAVED: dict[str, Kinds] = {
    **dict.fromkeys(("window", "first", "turn", "runs"), (int,)),
    **dict.fromkeys(("reason", "agent"), (str,)),
    **dict.fromkeys(("state", "usage", "taint", "began"), (Mapping,)),
    **dict.fromkeys(("cuts", "queued"), (list,)),
}
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
