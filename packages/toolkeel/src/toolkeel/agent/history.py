"""History policies: which parts of a long transcript requests omit or replace (trim, budget, compact).

The transcript itself stays complete. A policy chooses which messages are cut or replaced, seldom and
then many: a provider's cache of the beginning holds only as long as the beginning stays.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Protocol, runtime_checkable

from toolkeel._records.entries import Compacted
from toolkeel._records.record import record
from toolkeel._records.result_pins import find_pin, list_pinned
from toolkeel._records.result_store import PREFIX
from toolkeel.agent.turn.request_budget import REPORTS_USAGE
from toolkeel.call.body.callback import CallbackTimeout, run_callback
from toolkeel.call.truncate import shorten
from toolkeel.context import RunContext
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
)

log = logging.getLogger("toolkeel")

Count = Callable[[Sequence[Message]], int]
"""Counts the tokens of messages."""
EXCERPT_CHARS = 400
"""Characters of a long result that are shown in its place."""
OMISSION_PREFIX = "[Left out here to save room: "
SUMMARY_PREFIX = "Summary of the conversation so far:\n"


@record
class Cut:
    """A part of the transcript that requests omit, and the messages that they have in its place.

    Args:
        start: Position of the first replaced message, counted from 0 over the whole conversation.
        stop: Position after the last.
        messages: The replacement; empty if the part is omitted.
        policy: Name of the policy that made the cut.
        usage: Tokens that making the replacement took.
        name: Name by which the model can read the original; empty if it cannot.
    """

    start: int
    stop: int
    messages: tuple[Message, ...] = ()
    policy: str = ""
    usage: Usage = Usage()
    name: str = ""


class HistoryView:
    """The messages that the model is shown, each with its position in the complete transcript.

    Args:
        messages: The transcript, or the known end of it.
        first: Position of the first of them.

    Attributes:
        messages: The messages shown; the list grows with the transcript.
        positions: The position of each; a replacement has the position of the first message it replaces.
        total: Number of messages of the complete transcript.
        prompt_position: Position of the current run's prompt; None between runs.
        reader_tool: Name of the tool that reads omitted parts; empty if there is none.

    >>> view = HistoryView([UserMessage("a"), AssistantMessage("b"), UserMessage("c")])
    >>> view.apply_cut(Cut(0, 2, (UserMessage("a and b"),)))
    >>> [message.text for message in view.messages], view.positions, view.total
    (['a and b', 'c'], [0, 2], 3)
    """

    __slots__ = (
        "_count",
        "_sizes",
        "messages",
        "overflow",
        "positions",
        "prompt_position",
        "reader_tool",
        "total",
    )

    def __init__(self, messages: Sequence[Message] = (), first: int = 0) -> None:
        self.messages = list(messages)
        self.total = first + len(self.messages)
        self.positions = list(range(first, self.total))
        self.prompt_position: int | None = None
        self.reader_tool = ""
        self.overflow = 0.0
        """How many times too large the last request was for the model's context, or 0 if it fit."""
        self._count: Count | None = None
        self._sizes: list[int] = []

    def add(self, message: Message) -> None:
        """Add a message that was appended to the transcript."""
        self.messages.append(message)
        self.positions.append(self.total)
        self.total += 1

    def span(self, cut: Cut) -> tuple[int, int]:
        """Return the start and stop index, in the messages shown, of the part that a cut replaces."""
        return bisect_left(self.positions, cut.start), bisect_left(self.positions, cut.stop)

    def apply_cut(self, cut: Cut) -> None:
        """Replace a part of the messages shown by the messages of a cut."""
        start, stop = self.span(cut)
        self.messages[start:stop] = cut.messages
        self.positions[start:stop] = [cut.start] * len(cut.messages)
        del self._sizes[start:]

    # — for policies —

    def count_sizes(self, count: Count) -> list[int]:
        """Return the size of each message by a counting function. Known sizes are not counted again."""
        if self._count is not count:
            self._count, self._sizes = count, []
        self._sizes += [count([message]) for message in self.messages[len(self._sizes) :]]
        return self._sizes

    def can_split_at(self, index: int) -> bool:
        """Return True if a cut can begin before a message: not inside a replacement of several messages."""
        return index == 0 or self.positions[index - 1] < self.positions[index]

    def find_turn_starts(self) -> list[int]:
        """Return the indexes at which the messages shown can be cut. The current run counts as one turn."""
        last = self.total if self.prompt_position is None else self.prompt_position
        return [
            index
            for index in find_turn_starts(self.messages)
            if self.positions[index] <= last and self.can_split_at(index)
        ]

    def shorten_result(self, index: int) -> Cut | None:
        """Return a cut that shortens a result to its beginning and end, with a name to read all of it.

        Return None if the message is no result, is pinned, is new to the model, or has no position of its
        own. The cut is not applied.
        """
        message, place = self.messages[index], self.positions[index]
        alone = self.can_split_at(index) and (
            index + 1 == len(self.positions) or self.can_split_at(index + 1)
        )
        is_new = not any(isinstance(later, AssistantMessage) for later in self.messages[index:])
        if not isinstance(message, ToolMessage) or is_new or not alone or find_pin(message):
            return None
        text, name = message.text, _content_name(message.text)
        if len(text) > EXCERPT_CHARS:
            text = shorten(text, EXCERPT_CHARS, (self.reader_tool, lambda _: name))
        shown = (replace(message, content=text),)
        return Cut(place, place + 1, shown, "reference", name=name)

    def omit(self, start: int, stop: int, policy: str, summary: str = "") -> Cut:
        """Return the cut that omits a part; it is not applied.

        System messages, pinned results and the person's messages of the current run stay. If the model
        can read the part again, a note says how.

        Args:
            start: Index in `messages` of the first one.
            stop: Index after the last.
            policy: Name of the policy.
            summary: Text in place of the part; empty for none.
        """
        part, place = self.messages[start:stop], self.positions[start]
        end = self.positions[stop] if stop < len(self.positions) else self.total
        said, name = SUMMARY_PREFIX + summary if summary else "", ""
        if self.reader_tool:
            name = _content_name(*(message.text for message in part))
            note = f'{OMISSION_PREFIX}{end - place:,} messages; all of it: {self.reader_tool}(path="{name}")]'
            said = f"{said}\n\n{note}" if said else note
        told = [message for message in part if isinstance(message, SystemMessage)]
        since = self.prompt_position is not None and place > self.prompt_position
        people = [
            m for m in part if since and isinstance(m, UserMessage) and not is_omission_note(m)
        ]
        notes = [UserMessage(text, "omission") for text in (said, *list_pinned(part)) if text]
        return Cut(place, end, (*told, *notes, *people), policy, name=name)


class TranscriptWindow:
    """The part of a run's transcript that is sent to the model.

    Args:
        cuts: Cuts made before, in a resumed run; positions count without instructions.

    Attributes:
        cuts: All cuts made so far.
        initial_count: Number of messages, without instructions, that the run started with.
    """

    __slots__ = ("_head", "_messages", "_view", "cuts", "initial_count")

    def __init__(self, cuts: Sequence[Cut] = ()) -> None:
        self.cuts = list(cuts)
        self.initial_count = 0
        self._view: HistoryView | None = None
        self._head: list[Message] = []
        self._messages: list[Message] | None = None

    def restore(self, cuts: Sequence[Cut]) -> None:
        """Replace the cuts by those of a saved run."""
        self.cuts, self._view, self._messages = list(cuts), None, None

    def view(self, run: RunContext) -> HistoryView:
        """Return the messages that are sent now, without instructions, up to the end of the transcript.

        It is the same object each time; policies must not change it.
        """
        view = self._view
        if view is None:
            view = self._view = HistoryView(run.messages)
            known = run.recorder.places if run.recorder is not None else ()
            for index in range(1, min(len(known), view.total)):
                if known[index] == known[index - 1]:  # they replace others together
                    view.positions[index] = view.positions[index - 1]
            for cut in self.cuts:
                view.apply_cut(cut)
        for place in range(run.loop_state.instruction_count + view.total, len(run.transcript)):
            view.add(run.transcript[place])
        return view

    def messages(self, run: RunContext) -> list[Message]:
        """Return the messages to send, instructions included.

        Without cuts it is the transcript itself. With cuts it is a list that this window caches and
        extends from call to call; a new list only after a cut or a change of the instructions.
        """
        if not self.cuts:
            return run.transcript
        shown, head = self.view(run).messages, run.transcript[: run.loop_state.instruction_count]
        if self._messages is None or self._head != head:
            self._messages, self._head = list(head), head
        self._messages += shown[len(self._messages) - len(head) :]
        return self._messages

    def apply_cut(self, cut: Cut) -> None:
        """Replace a part of the transcript, and earlier cuts inside it, in requests from now on.

        `add_cut` also writes the journal.
        """
        self.cuts = [c for c in self.cuts if not (cut.start <= c.start and c.stop <= cut.stop)]
        self.cuts.append(cut)
        self._messages = None
        if self._view is not None:
            self._view.apply_cut(cut)

    async def shorten(self, policy: HistoryPolicy, run: RunContext, view: HistoryView) -> Usage:
        """Let a policy cut the transcript, and write its cuts to the journal.

        A policy that takes longer than `callback_timeout` changes nothing, with a warning in the log.

        Returns:
            The usage of the policy's own requests.

        Raises:
            Exception: what the policy raised.
        """
        used, seconds = Usage(), run.scope.callback_timeout
        name = f"the history policy {type(policy).__name__}"
        token = REPORTS_USAGE.set(True)
        try:
            cuts = await run_callback(policy.cuts, view, seconds=seconds, name=name)
        except CallbackTimeout as error:
            log.warning("the history stays as it is: %s", error)
            return used
        finally:
            REPORTS_USAGE.reset(token)
        for cut in cuts:
            used = used + cut.usage
            self.add_cut(cut, run, view)
        return used

    def add_cut(self, cut: Cut, run: RunContext, view: HistoryView) -> None:
        """Write a cut to the journal and apply it. Do nothing if the part is not shown any more."""
        start, stop = view.span(cut)
        if start < stop:
            if run.recorder is not None:
                run.recorder.record_cut(_to_entry(cut), start, stop)
            self.apply_cut(cut)


def _to_entry(cut: Cut) -> Compacted:
    """Return the journal entry of a cut."""
    return Compacted("", cut.start, cut.stop, cut.messages, cut.policy, cut.usage, cut.name)


@runtime_checkable
class HistoryPolicy(Protocol):
    """A policy that shortens the transcript that requests contain.

    It is called before each model request, and by a session before each run, never between a call and
    its result.
    """

    async def cuts(self, view: HistoryView) -> Sequence[Cut]:
        """Return the cuts to make now, usually none.

        Args:
            view: The messages that would be sent; must not be changed.
        """
        ...


@record
class ShortenedTranscript:
    """A complete transcript and its cuts, to find omitted parts by name.

    Args:
        get_cuts: Returns the cuts.
        get_messages: Returns the complete transcript; called only when an omitted part is read.
    """

    get_cuts: Callable[[], Sequence[Cut]]
    get_messages: Callable[[], Sequence[Message]]

    @property
    def has_named_cuts(self) -> bool:
        """True if the model can read an omitted part by name."""
        return any(cut.name for cut in self.get_cuts())

    def find(self, name: str) -> bytes | None:
        """Return a result's text, or the lines of an omitted part, in UTF-8; None for an unknown name."""
        cut = next((cut for cut in self.get_cuts() if cut.name == name), None) if name else None
        if cut is None:
            return None
        part = self.get_messages()[cut.start : cut.stop]
        if len(part) == 1 and isinstance(part[0], ToolMessage):
            text = part[0].text
        else:
            text = "\n\n".join(map(message_to_text, part))
        return text.encode("utf-8", "replace")


def is_omission_note(message: Message) -> bool:
    """Return True if a policy inserted the message."""
    return isinstance(message, UserMessage) and message.origin == "omission"


def _content_name(*texts: str) -> str:
    """Derive a name from the content, so that a replayed run has the same name."""
    data = "\0".join(texts).encode("utf-8", "replace")
    return PREFIX + sha256(data).hexdigest()[:16]


def message_to_text(message: Message) -> str:
    """Format a message as text with its role, for a model that must not continue or imitate its calls."""
    if isinstance(message, ToolMessage):
        return f"Result of {message.name}: {message.text}"
    if isinstance(message, AssistantMessage):
        calls = [f"[called {call.name} with {call.arguments}]" for call in message.tool_calls]
        return "\n".join(["Assistant: " + message.text, *calls])
    return f"{'Told' if isinstance(message, SystemMessage) else 'Person'}: {message.text}"


def find_turn_starts(messages: Sequence[Message]) -> list[int]:
    """Return the indexes where a transcript can be cut: before messages of people or a handoff, with no open call.

    A cut there separates no call from its result and no signed reasoning from its turn, and the rest
    begins with a user message, as some providers require.

    >>> find_turn_starts([UserMessage("a"), AssistantMessage("b"), UserMessage("c")])
    [0, 2]
    """
    found: list[int] = []
    waiting = 0
    for place, message in enumerate(messages):
        if isinstance(message, UserMessage) and not waiting:
            if message.origin in ("person", "handoff"):
                found.append(place)
        elif isinstance(message, AssistantMessage):
            waiting = len(message.tool_calls)
        elif isinstance(message, ToolMessage):
            waiting = max(0, waiting - 1)
    return found
