"""A session's journal as the page shows it: turns, replies, calls and pending approvals (a fold).

The page is built from the journal alone, so it also shows runs of other processes and killed runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

from toolkeel._records import entries
from toolkeel._records.tickets import Ticket
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
)
from toolkeel.observe.wording import arguments_of
from toolkeel.sessions.journal import StoredEntry
from toolkeel_studio.inspector.page_items import DecisionView, MessageItem, Note, Prompt

QUIET_ENDS = ("answered", "returned", "waiting")
"""End reasons that need no note of their own."""
MAX_DEPTH = 20
"""Maximum nesting of runs that a page shows."""


@dataclass
class CallItem:
    """A call, from the model's request to its result.

    Args:
        call: The call as the model made it.
        seq: Sequence number of the latest entry about it.
        asked: When the model requested it.
        began: When it started; None before that.
        ended: When its result was recorded.
        result: The result.
        ticket: The ticket that a person decides.
        waited: When it began to wait for the decision.
        verdict: The first decision.
        inside: Story of the nested run, if the call is an agent.
        interrupted: True if it began, and its process ended before its result.
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
    interrupted: bool = False

    @property
    def status(self) -> str:
        """``done``, ``failed``, ``waits``, ``decided``, ``runs``, ``interrupted`` or ``planned``."""
        if self.result is not None:
            return "failed" if self.result.failed else "done"
        if self.ticket is not None:
            return "waits" if self.verdict is None else "decided"
        if self.began is None:
            return "planned"
        return "interrupted" if self.interrupted else "runs"

    @property
    def arguments(self) -> Mapping[str, Any] | str:
        """The parsed arguments, or the text if it is not a JSON object."""
        return arguments_of(self.call)


@dataclass
class ReplyItem:
    """One request to the model and its reply.

    Args:
        seq: Sequence number of the request's entry, later of the reply's.
        asked: When it was sent; None if the window begins later.
        at: When the reply was complete; None before that.
        message: The reply.
        model: Name of the model.
        turn: Number of the request in its run, from 1.
        calls: The calls in the reply.
        failures: Errors of failed attempts.
        prompt: What the request sent besides the messages; None if the window begins later.
    """

    kind: ClassVar[str] = "replied"
    seq: int
    turn: int
    model: str = ""
    asked: float | None = None
    at: float | None = None
    message: AssistantMessage | None = None
    calls: list[CallItem] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    prompt: Prompt | None = None


PageItem: TypeAlias = MessageItem | Note | ReplyItem


class Story:
    """The events of a session, folded into displayed items.

    Attributes:
        items: Displayed items in order.
        run: Id of the last run.
        began: When the last run began.
        reason: End reason of the last run; empty if it has not ended or was killed.
        turns: Sequence number of the first entry of each turn.
        usage: Token usage of all replies.
        latest: Time of the latest entry of the last run.
        agents: Agents that owned the last run, in order.
        depth: Nesting level of the run.
    """

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.items: list[PageItem] = []
        self.run = ""
        self.began = 0.0
        self.reason = ""
        self.turns: list[int] = []
        self.usage = Usage()
        self.latest = 0.0
        self.agents: list[str] = []
        self._prompt = Prompt()
        self._starts_turn = False
        self._inner: dict[str, Story] = {}
        self._queued: dict[str, MessageItem] = {}
        self._reply: ReplyItem | None = None  # the last request, and its calls by their ids
        self._calls: dict[str, list[CallItem]] = {}
        self._waiting: dict[str, CallItem] = {}  # by the ticket, those within calls too

    def add(self, seq: int, at: float, entry: entries.Entry) -> None:
        """Add the next entry."""
        run: str = getattr(entry, "run", "")
        if isinstance(entry, entries.RunBegan) and entry.parent:
            self._nest(entry)
        story = self._inner.get(run, self)
        if run:
            self.latest = story.latest = at
        if isinstance(entry, entries.ModelReplied):
            self.usage = self.usage + entry.message.usage
        if (take := _HANDLERS.get(type(entry))) is not None:
            take(story, seq, at, entry)

    def _nest(self, entry: entries.RunBegan) -> None:
        """Start a run inside a call."""
        outer = self._inner.get(entry.parent, self)
        place = entry.call.rpartition("-")[2]
        at = int(place) if place.isdecimal() and len(place) < 9 else -1
        called = outer._find_call(-1, at, "")
        if called is None or outer.depth == MAX_DEPTH:
            self._inner[entry.run] = (
                Story()
            )  # its call is before the window, or too deep: not displayed
            return
        inside = called.inside = called.inside or Story(outer.depth + 1)
        inside._waiting = self._waiting
        self._inner[entry.run] = inside

    def calls(self) -> Iterator[CallItem]:
        """Yield every call, including calls inside calls."""
        for item in self.items:
            if isinstance(item, ReplyItem):
                for called in item.calls:
                    yield called
                    if called.inside is not None:
                        yield from called.inside.calls()

    def interrupt(self) -> None:
        """Mark the calls that began and have no result: no process runs them any more."""
        for called in self.calls():
            called.interrupted = called.began is not None and called.result is None

    def add_decisions(self, decided: Iterable[entries.Decided]) -> None:
        """Add decisions that are not in the journal yet: the next process that goes on writes them there."""
        for each in decided:
            if (called := self._waiting.get(each.decision.ticket)) is not None:
                self._decided(called.seq, 0.0, each)

    # — one handler for each kind of entry —

    def _run_began(self, seq: int, at: float, entry: entries.RunBegan) -> None:
        self.run, self.began, self.reason = entry.run, at, ""
        self.turns.append(seq)
        self._starts_turn, self.agents = True, [entry.agent] if entry.agent else []
        self._instruct(entry.instructions)

    def _person_said(self, seq: int, at: float, entry: entries.PersonSaid) -> None:
        self._add_message(_message_item(seq, at, entry.message, entry.who))

    def _add_message(self, item: MessageItem) -> None:
        if self._starts_turn and item.how != "system":
            self._starts_turn, item.turn = False, len(self.turns)
        self.items.append(item)

    def _instruct(self, text: str) -> None:
        """Set the instructions that the next requests send."""
        if text != self._prompt.instructions:
            changes = (*self._prompt.changes, "instructions")
            self._prompt = replace(self._prompt, instructions=text, changes=changes)

    def _queued_up(self, seq: int, at: float, entry: entries.Queued) -> None:
        message_item = _message_item(seq, at, entry.message, entry.who)
        message_item.how = "queued"
        self._queued[entry.id] = message_item
        self.items.append(message_item)

    def _steered(self, seq: int, at: float, entry: entries.Steered) -> None:
        if (queued := self._queued.pop(entry.id, None)) is not None:
            self.items.remove(queued)
        self._add_message(_message_item(seq, at, entry.message, entry.who))

    def _unqueued(self, seq: int, at: float, entry: entries.Unqueued) -> None:
        if (queued := self._queued.pop(entry.id, None)) is not None:
            self.items.remove(queued)

    def _model_asked(self, seq: int, at: float, entry: entries.ModelAsked) -> None:
        self.reason, self._starts_turn = "", False
        sent = self._prompt
        if entry.tools and entry.tools != sent.tools:
            sent = replace(sent, tools=entry.tools, changes=(*sent.changes, "tools"))
        if entry.settings:
            settings = {**sent.settings, **entry.settings}
            sent = replace(sent, settings=settings, changes=(*sent.changes, "settings"))
        origins = sent.origins | dict.fromkeys(sent.changes, seq)
        sent = replace(sent, seq=seq, origins=origins)
        self._prompt = replace(sent, changes=())
        self._begin(ReplyItem(seq, entry.turn, entry.model, at, prompt=sent))

    def _begin(self, reply: ReplyItem) -> ReplyItem:
        self._reply, self._calls = reply, {}
        self.items.append(reply)
        return reply

    def _open_reply(self, seq: int, turn: int) -> ReplyItem:
        """Return the request that a reply or a failure belongs to."""
        reply = self._reply
        if reply is None or reply.message is not None or reply.turn != turn:
            return self._begin(ReplyItem(seq, turn))
        return reply

    def _model_failed(self, seq: int, at: float, entry: entries.ModelFailed) -> None:
        self._open_reply(seq, entry.turn).failures.append(entry.error)

    def _model_replied(self, seq: int, at: float, entry: entries.ModelReplied) -> None:
        reply = self._open_reply(seq, entry.turn)
        reply.seq, reply.at, reply.message = seq, at, entry.message
        reply.model = entry.message.model or reply.model
        reply.calls = [CallItem(call, seq, at) for call in entry.message.tool_calls]
        self._calls = {}
        for called in reply.calls:
            self._calls.setdefault(called.call.id, []).append(called)

    def _find_call(self, turn: int, position: int, within: str) -> CallItem | None:
        """Return the call that an entry is about; None for calls by code or before the window."""
        reply = self._reply
        if within or reply is None or turn not in (reply.turn, -1):
            return None
        return reply.calls[position] if 0 <= position < len(reply.calls) else None

    def _call_intended(self, seq: int, at: float, entry: entries.CallIntended) -> None:
        if (called := self._find_call(entry.turn, entry.position, entry.within)) is not None:
            called.seq, called.began = seq, at

    def _call_ended(self, seq: int, at: float, entry: entries.CallEnded) -> None:
        called = self._find_call(entry.turn, entry.position, entry.within)
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
        """Attach results of deferred calls to the calls in their original reply."""
        reply = ReplyItem(seq, 0, asked=at, at=at, message=entry.message)
        for id, call in zip(entry.tickets, entry.message.tool_calls, strict=False):
            reply.calls.append(self._waiting.get(id) or CallItem(call, seq, at))
        if not all(id in self._waiting for id in entry.tickets):  # made before the window
            self.items.append(reply)
        self._reply, self._calls = reply, {}
        for called in reply.calls:
            self._calls.setdefault(called.call.id, []).append(called)

    def _decided(self, seq: int, at: float, entry: entries.Decided) -> None:
        called = self._waiting.get(entry.decision.ticket)
        if called is not None and called.ticket and called.ticket.id == entry.decision.ticket:
            view = DecisionView(at, entry.decision.verdict, entry.who, entry.decision.reason)
            called.seq, called.verdict = seq, called.verdict or view

    def _run_ended(self, seq: int, at: float, entry: entries.RunEnded) -> None:
        self.reason = entry.reason
        if entry.reason not in QUIET_ENDS:
            self.items.append(Note(seq, at, f"ended {entry.reason}", entry.error))

    def _tainted(self, seq: int, at: float, entry: entries.Tainted) -> None:
        self.items.append(Note(seq, at, f"tainted {entry.label}", entry.source))

    def _judged(self, seq: int, at: float, entry: entries.Judged) -> None:
        self.items.append(Note(seq, at, "judged", f"{entry.by}: {entry.verdict} {entry.reason}"))

    def _handed_over(self, seq: int, at: float, entry: entries.HandedOver) -> None:
        self.agents.append(entry.agent)
        self._instruct(entry.instructions)
        self.items.append(Note(seq, at, "handed over", entry.agent))

    def _compacted(self, seq: int, at: float, entry: entries.Compacted) -> None:
        self.items.append(Note(seq, at, "compacted", entry.policy))


def _message_item(seq: int, at: float, message: Message, who: str) -> MessageItem:
    return MessageItem(
        seq, at, message.text, who, "system" if isinstance(message, SystemMessage) else ""
    )


def fold_story(written: Iterable[StoredEntry]) -> Story:
    """Fold journal entries into a story.

    >>> fold_story([]).items
    []
    """
    story = Story()
    for each in written:
        story.add(each.seq, each.at, each.entry)
    return story


_HANDLERS: dict[type, Callable[[Story, int, float, Any], None]] = {
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
"""Handler of each kind of entry; other kinds add nothing."""
