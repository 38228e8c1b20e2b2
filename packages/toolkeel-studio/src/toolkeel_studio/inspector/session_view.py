"""A session's journal as the page shows it: a timeline of turns, replies, calls and what waits (a fold).

The page is built from this alone, so it shows what the journal has: also of a run in another process, of
one that was killed, and of one that ended last week.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from toolkeel._records import entries
from toolkeel._records.tickets import Ticket
from toolkeel.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, Usage
from toolkeel.observe.wording import arguments_of
from toolkeel.sessions.journal import StoredEntry

QUIET_ENDS = ("answered", "returned", "waiting")
"""Ends of a run of which the transcript says enough."""
DEEPEST = 20
"""Runs within runs that are told of."""


@dataclass
class Said:
    """Something a person, or a program for one, said.

    Args:
        seq: Number of its entry.
        at: When, in seconds since the epoch.
        text: What.
        who: Who, if that is known.
        how: ``queued`` while it is not in the transcript; ``system`` for instructions.
    """

    kind: ClassVar[str] = "said"
    seq: int
    at: float
    text: str
    who: str = ""
    how: str = ""


@dataclass
class Note:
    """Something else that happened, in words: a key of the page's texts, and what it is about."""

    kind: ClassVar[str] = "note"
    seq: int
    at: float
    word: str
    text: str = ""


@dataclass
class Called:
    """One call, from the model's wish to its result.

    Args:
        call: As the model made it.
        seq: Number of the reply's entry, or of the latest entry about it.
        asked: When the model wished it.
        began: When it was let run; None if it was not yet.
        ended: When its result came.
        result: The result.
        ticket: What a person is asked about it.
        waited: When they were.
        verdict: What they said first.
        inside: What happened in the run of an agent that this call is.
    """

    call: ToolCall
    seq: int
    asked: float
    began: float | None = None
    ended: float | None = None
    result: ToolMessage | None = None
    ticket: Ticket | None = None
    waited: float | None = None
    verdict: DecisionView | None = None
    inside: Story | None = None

    @property
    def status(self) -> str:
        """``done``, ``failed``, ``waits``, ``decided``, ``runs`` or ``planned``."""
        if self.result is not None:
            return "failed" if self.result.failed else "done"
        if self.ticket is not None:
            return "waits" if self.verdict is None else "decided"
        return "planned" if self.began is None else "runs"

    @property
    def arguments(self) -> Mapping[str, Any] | str:
        """As an object, or as the text that is none."""
        return arguments_of(self.call)


@dataclass
class DecisionView:
    """What was decided about a call: by whom, when, how and why."""

    at: float
    verdict: str
    who: str
    reason: str


@dataclass
class Replied:
    """One request to the model and its reply.

    Args:
        seq: Number of the entry that asked, later of the reply.
        asked: When; None if the journal's window begins later.
        at: When the reply was whole; None while it is not.
        message: The reply.
        model: Who answered.
        turn: Which request of its run, from 1.
        calls: The calls it made.
        failures: Attempts that failed.
    """

    kind: ClassVar[str] = "replied"
    seq: int
    turn: int
    model: str = ""
    asked: float | None = None
    at: float | None = None
    message: AssistantMessage | None = None
    calls: list[Called] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


PageItem: TypeAlias = Said | Note | Replied


class Story:
    """What has happened so far.

    Attributes:
        items: In order.
        run: Id of the last run.
        began: When it began.
        reason: How it ended; empty while it goes on, or if it was killed.
        turns: Number of the first entry of each turn that a person began, in order.
        usage: What the replies in it have spent.
        depth: How many calls it is within.
    """

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.items: list[PageItem] = []
        self.run = ""
        self.began = 0.0
        self.reason = ""
        self.turns: list[int] = []
        self.usage = Usage()
        self._inner: dict[str, Story] = {}
        self._queued: dict[str, Said] = {}
        self._reply: Replied | None = None  # the last request, and its calls by their ids
        self._calls: dict[str, list[Called]] = {}
        self._waiting: dict[str, Called] = {}  # by the ticket, those within calls too

    def see(self, seq: int, at: float, entry: entries.Entry) -> None:
        """Take in one more entry."""
        run: str = getattr(entry, "run", "")
        if isinstance(entry, entries.RunBegan) and entry.parent:
            self._nest(entry)
        story = self._inner.get(run, self)
        if isinstance(entry, entries.ModelReplied):
            self.usage = self.usage + entry.message.usage
        if (take := _TAKE.get(type(entry))) is not None:
            take(story, seq, at, entry)

    def _nest(self, entry: entries.RunBegan) -> None:
        """Start a run inside a call."""
        outer = self._inner.get(entry.parent, self)
        place = entry.call.rpartition("-")[2]
        at = int(place) if place.isdecimal() and len(place) < 9 else -1
        called = outer._called(-1, at, "")
        if called is None or outer.depth == DEEPEST:
            self._inner[entry.run] = Story()  # of a call from before, or too deep: told nowhere
            return
        inside = called.inside = called.inside or Story(outer.depth + 1)
        inside._waiting = self._waiting
        self._inner[entry.run] = inside

    def calls(self) -> Iterator[Called]:
        """Yield every call, including calls inside calls."""
        for item in self.items:
            if isinstance(item, Replied):
                for called in item.calls:
                    yield called
                    if called.inside is not None:
                        yield from called.inside.calls()

    # — one for each kind —

    def _run_began(self, seq: int, at: float, entry: entries.RunBegan) -> None:
        self.run, self.began, self.reason = entry.run, at, ""
        self.turns.append(seq)

    def _person_said(self, seq: int, at: float, entry: entries.PersonSaid) -> None:
        self.items.append(_said(seq, at, entry.message, entry.who))

    def _queued_up(self, seq: int, at: float, entry: entries.Queued) -> None:
        said = _said(seq, at, entry.message, entry.who)
        said.how = "queued"
        self._queued[entry.id] = said
        self.items.append(said)

    def _steered(self, seq: int, at: float, entry: entries.Steered) -> None:
        if (queued := self._queued.pop(entry.id, None)) is not None:
            self.items.remove(queued)
        self.items.append(_said(seq, at, entry.message, entry.who))

    def _unqueued(self, seq: int, at: float, entry: entries.Unqueued) -> None:
        if (queued := self._queued.pop(entry.id, None)) is not None:
            self.items.remove(queued)

    def _model_asked(self, seq: int, at: float, entry: entries.ModelAsked) -> None:
        self.reason = ""
        self._begin(Replied(seq, entry.turn, entry.model, at))

    def _begin(self, reply: Replied) -> Replied:
        self._reply, self._calls = reply, {}
        self.items.append(reply)
        return reply

    def _asking(self, seq: int, turn: int) -> Replied:
        """Return the request that a reply or a failure belongs to."""
        reply = self._reply
        if reply is None or reply.message is not None or reply.turn != turn:
            return self._begin(Replied(seq, turn))
        return reply

    def _model_failed(self, seq: int, at: float, entry: entries.ModelFailed) -> None:
        self._asking(seq, entry.turn).failures.append(entry.error)

    def _model_replied(self, seq: int, at: float, entry: entries.ModelReplied) -> None:
        reply = self._asking(seq, entry.turn)
        reply.seq, reply.at, reply.message = seq, at, entry.message
        reply.model = entry.message.model or reply.model
        reply.calls = [Called(call, seq, at) for call in entry.message.tool_calls]
        self._calls = {}
        for called in reply.calls:
            self._calls.setdefault(called.call.id, []).append(called)

    def _called(self, turn: int, position: int, within: str) -> Called | None:
        """Return the call that an entry is about; None for calls by code or before the window."""
        reply = self._reply
        if within or reply is None or turn not in (reply.turn, -1):
            return None
        return reply.calls[position] if 0 <= position < len(reply.calls) else None

    def _call_intended(self, seq: int, at: float, entry: entries.CallIntended) -> None:
        if (called := self._called(entry.turn, entry.position, entry.within)) is not None:
            called.seq, called.began = seq, at

    def _call_ended(self, seq: int, at: float, entry: entries.CallEnded) -> None:
        called = self._called(entry.turn, entry.position, entry.within)
        if called is not None and called.result is None:
            called.seq, called.ended, called.result = seq, at, entry.message

    def _waits(self, seq: int, at: float, entry: entries.Waits) -> None:
        for called in self._calls.get(entry.ticket.call_id, ()):
            if called.result is None:
                called.seq, called.ticket, called.waited = seq, entry.ticket, at
                called.verdict = called.began = None
                self._waiting[entry.ticket.id] = called
                return

    def _repeated(self, seq: int, at: float, entry: entries.Repeated) -> None:
        """Show what comes of deferred calls where they were made."""
        reply = Replied(seq, 0, asked=at, at=at, message=entry.message)
        for id, call in zip(entry.tickets, entry.message.tool_calls, strict=False):
            reply.calls.append(self._waiting.get(id) or Called(call, seq, at))
        if not all(id in self._waiting for id in entry.tickets):  # made before the window
            self.items.append(reply)
        self._reply, self._calls = reply, {}
        for called in reply.calls:
            self._calls.setdefault(called.call.id, []).append(called)

    def _decided(self, seq: int, at: float, entry: entries.Decided) -> None:
        called = self._waiting.get(entry.decision.ticket)
        if called is not None and called.ticket and called.ticket.id == entry.decision.ticket:
            said = DecisionView(at, entry.decision.verdict, entry.who, entry.decision.reason)
            called.seq, called.verdict = seq, called.verdict or said

    def _run_ended(self, seq: int, at: float, entry: entries.RunEnded) -> None:
        self.reason = entry.reason
        if entry.reason not in QUIET_ENDS:
            self.items.append(Note(seq, at, f"ended {entry.reason}", entry.error))

    def _tainted(self, seq: int, at: float, entry: entries.Tainted) -> None:
        self.items.append(Note(seq, at, f"tainted {entry.label}", entry.source))

    def _judged(self, seq: int, at: float, entry: entries.Judged) -> None:
        self.items.append(Note(seq, at, "judged", f"{entry.by}: {entry.verdict} {entry.reason}"))

    def _handed_over(self, seq: int, at: float, entry: entries.HandedOver) -> None:
        self.items.append(Note(seq, at, "handed over", entry.agent))

    def _compacted(self, seq: int, at: float, entry: entries.Compacted) -> None:
        self.items.append(Note(seq, at, "compacted", entry.policy))


def _said(seq: int, at: float, message: Message, who: str) -> Said:
    return Said(seq, at, message.text, who, "system" if isinstance(message, SystemMessage) else "")


def story_of(written: Iterable[StoredEntry]) -> Story:
    """Fold journal entries into a story.

    >>> story_of([]).items
    []
    """
    story = Story()
    for each in written:
        story.see(each.seq, each.at, each.entry)
    return story


_TAKE: dict[type, Callable[[Story, int, float, Any], None]] = {
    entries.RunBegan: Story._run_began,
    entries.PersonSaid: Story._person_said,
    entries.Queued: Story._queued_up,
    entries.Steered: Story._steered,
    entries.Unqueued: Story._unqueued,
    entries.ModelAsked: Story._model_asked,
    entries.ModelFailed: Story._model_failed,
    entries.ModelReplied: Story._model_replied,
    entries.CallIntended: Story._call_intended,
    entries.CallEnded: Story._call_ended,
    entries.Waits: Story._waits,
    entries.Repeated: Story._repeated,
    entries.Decided: Story._decided,
    entries.RunEnded: Story._run_ended,
    entries.Tainted: Story._tainted,
    entries.Judged: Story._judged,
    entries.HandedOver: Story._handed_over,
    entries.Compacted: Story._compacted,
}
"""What each kind adds; the others add nothing."""
