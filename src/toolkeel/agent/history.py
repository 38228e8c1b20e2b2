"""History policies: what of a long transcript the model is still shown (trim, budget, compact).

The transcript itself stays whole. A policy says which of its messages are cut or replaced, seldom
and then a lot: a provider's cache of the beginning holds only as long as the beginning stays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol

from toolkeel._records.record import record
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
)


@record
class Cut:
    """A part of the transcript that the model is shown something else for.

    Args:
        start: The first message replaced, counted from 0 over the whole conversation.
        stop: One behind the last.
        messages: What stands in their place; nothing if they are left out.
        policy: Who says so.
        usage: What it cost to say so.
    """

    start: int
    stop: int
    messages: tuple[Message, ...] = ()
    policy: str = ""
    usage: Usage = Usage()


class View:
    """The messages that the model is shown, and where each stands in the whole transcript.

    Args:
        messages: The transcript, or as much of it as is known.
        first: Where the first of them stands.

    Attributes:
        messages: What the model is shown; grows with the transcript.
        places: Where each stands; what replaces others stands where the first of those did.
        total: Messages of the whole transcript.

    >>> view = View([UserMessage("a"), AssistantMessage("b"), UserMessage("c")])
    >>> view.cut(Cut(0, 2, (UserMessage("a and b"),)))
    >>> [message.text for message in view.messages], view.places, view.total
    (['a and b', 'c'], [0, 2], 3)
    """

    __slots__ = ("messages", "places", "total")

    def __init__(self, messages: Sequence[Message] = (), first: int = 0) -> None:
        self.messages = list(messages)
        self.total = first + len(self.messages)
        self.places = list(range(first, self.total))

    def add(self, message: Message) -> None:
        """The transcript has grown by one message."""
        self.messages.append(message)
        self.places.append(self.total)
        self.total += 1

    def cut(self, cut: Cut) -> None:
        """Show something else in place of a part."""
        start, stop = bisect_left(self.places, cut.start), bisect_left(self.places, cut.stop)
        self.messages[start:stop] = cut.messages
        self.places[start:stop] = [cut.start] * len(cut.messages)


class Shown:
    """What the model is sent of a run: the transcript, or less, once something of it was cut.

    Args:
        cuts: What was cut already, in a run that goes on; places count without instructions.

    Attributes:
        cuts: The same, and what was cut since.
    """

    __slots__ = ("_messages", "_view", "cuts")

    def __init__(self, cuts: Sequence[Cut] = ()) -> None:
        self.cuts = list(cuts)
        self._view: View | None = None
        self._messages: list[Message] = []

    def now(self, transcript: list[Message], told: int) -> list[Message]:
        """What is sent now; the same list, grown, as long as nothing more is cut.

        Args:
            transcript: The run's.
            told: How many messages at its beginning are instructions.
        """
        if not self.cuts:
            return transcript
        if self._view is None:
            self._view = View(transcript[told:])
            for cut in self.cuts:
                self._view.cut(cut)
            self._messages = [*transcript[:told], *self._view.messages]
        for place in range(told + self._view.total, len(transcript)):
            self._view.add(transcript[place])
            self._messages.append(transcript[place])
        return self._messages

    def cut(self, cut: Cut) -> None:
        """Show something else in place of a part from now on."""
        self.cuts = [c for c in self.cuts if not (cut.start <= c.start and c.stop <= cut.stop)]
        self.cuts.append(cut)
        self._view = None


class HistoryPolicy(Protocol):
    """Says what the model is no longer shown. Asked between runs: never between a call and its result."""

    async def cuts(self, view: View) -> Sequence[Cut]:
        """What to cut now; nothing, most of the time.

        Args:
            view: What the model would be shown; not to be changed.
        """
        ...


def as_line(message: Message) -> str:
    """A message as text for a model that shall not take up the calls, nor imitate them."""
    if isinstance(message, ToolMessage):
        return f"Result of {message.name}: {message.text}"
    if isinstance(message, AssistantMessage):
        calls = [f"[called {call.name} with {call.arguments}]" for call in message.tool_calls]
        return "\n".join(["Assistant: " + message.text, *calls])
    return f"{'Told' if isinstance(message, SystemMessage) else 'Person'}: {message.text}"


def borders(messages: Sequence[Message]) -> list[int]:
    """Where a transcript may be cut: in front of what a person said, with no call left open.

    So no call is parted from its result and no signed thought from its turn, and what is left
    begins with the person, as some providers ask for.

    >>> borders([UserMessage("a"), AssistantMessage("b"), UserMessage("c")])
    [0, 2]
    """
    found: list[int] = []
    waiting = 0
    for place, message in enumerate(messages):
        if isinstance(message, UserMessage) and not waiting:
            found.append(place)
        elif isinstance(message, AssistantMessage):
            waiting = len(message.tool_calls)
        elif isinstance(message, ToolMessage):
            waiting = max(0, waiting - 1)
    return found
