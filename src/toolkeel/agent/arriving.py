"""Calls and answers while they arrive: what an agent's stream says of them, put together.

And what waits for a reader of the stream who takes its time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

from toolkeel.call.arguments.partial import Item, PartialArguments, PartialValue
from toolkeel.events import Event, Progress, Streamed, TurnStarted
from toolkeel.model import CallDelta, Delta, ReasoningDelta, TextDelta


class PartialCall:
    """A call that still arrives.

    Attributes:
        index: Which call of its reply it is.
        id: Its id, once known.
        name: Of its tool, once known.
        arguments: What has come of its arguments.
    """

    __slots__ = ("arguments", "id", "index", "name")

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments = PartialArguments()


class PartialCalls:
    """Follows the events of a run, and keeps the calls of the reply that is arriving.

    >>> calls = PartialCalls()
    >>> event = Streamed(1, 0.0, "r", CallDelta(0, "c1", "search", '{"query": "ca'))
    >>> call = calls.see(event)
    >>> call.name, call.arguments.value()
    ('search', {'query': 'ca'})
    """

    def __init__(self) -> None:
        self._calls: dict[int, PartialCall] = {}

    def see(self, event: Event) -> PartialCall | None:
        """Take the next event; the call that grew by it, if one did."""
        if isinstance(event, TurnStarted):
            self._calls = {}
        if not isinstance(event, Streamed) or not isinstance(event.delta, CallDelta):
            return None
        delta = event.delta
        call = self._calls.get(delta.index)
        if call is None:
            call = self._calls[delta.index] = PartialCall(delta.index)
        call.id = delta.id or call.id
        call.name = delta.name or call.name
        call.arguments.feed(delta.arguments)
        return call

    def __iter__(self) -> Iterator[PartialCall]:
        """The calls of this reply, in order."""
        return iter([self._calls[index] for index in sorted(self._calls)])


class PartialOutput:
    """Follows the events of a run, and keeps the answer of a given form that is arriving.

    Args:
        tool: Name of the tool by which the model answers; empty if its text is the answer.
        shown: The answer within what has come of the JSON object it is sent as.
    """

    def __init__(self, tool: str, shown: Callable[[PartialValue], Item]) -> None:
        self._tool = tool
        self._shown = shown
        self._calls = PartialCalls()
        self._text = PartialArguments()

    def see(self, event: Event) -> Item:
        """Take the next event; the answer so far if it grew by it, else None."""
        if self._tool:
            call = self._calls.see(event)
            return self._grown(call.arguments) if call and call.name == self._tool else None
        if isinstance(event, TurnStarted):
            self._text = PartialArguments()
        if not isinstance(event, Streamed) or not isinstance(event.delta, TextDelta):
            return None
        self._text.feed(event.delta.text)
        return self._grown(self._text)

    def _grown(self, text: PartialArguments) -> Item:
        value = text.value()
        return self._shown(value) if len(value) else None


MOST = 10_000
"""Events that wait."""
PIECE = 4096
"""Most characters of pieces that become one."""


class UnreadEvents:
    """A queue of events; when as many as may wait do, pieces of a reply join the piece before them.

    So a reply that nobody reads takes its own length. Then progress of tools is left out, too, of
    which the next would take the place; all else is kept, and what bodies emit among it.

    Args:
        most: Events that may wait before that.

    Attributes:
        dropped: How many were left out.

    >>> events = UnreadEvents(1)
    >>> for piece in ("天", "气"):
    ...     events.put(Streamed(1, 0.0, "r", TextDelta(piece)))
    >>> events.get().delta.text, events.get()
    ('天气', None)
    """

    def __init__(self, most: int = MOST) -> None:
        self.dropped = 0
        self._most = most
        self._events: deque[Event] = deque()

    def __bool__(self) -> bool:
        return bool(self._events)

    def get(self) -> Event | None:
        """The next event, if there is one."""
        return self._events.popleft() if self._events else None

    def put(self, event: Event) -> None:
        """Have an event wait."""
        if len(self._events) < self._most:
            self._events.append(event)
        elif isinstance(event, Progress):
            self.dropped += 1
        else:
            self._join(event)

    def _join(self, event: Event) -> None:
        """Put an event in the place of the last one if both are pieces of one reply."""
        last, joined = self._events[-1], None
        if isinstance(last, Streamed) and isinstance(event, Streamed):
            joined = _joined(last.delta, event.delta)
            event = event if joined is None else replace(event, delta=joined)
        if joined is not None:
            self._events.pop()
        self._events.append(event)


def _joined(first: Delta, second: Delta) -> Delta | None:
    """Two pieces as one, if they are of one kind and short."""
    match first, second:
        case TextDelta(), TextDelta() if len(first.text) < PIECE:
            return TextDelta(first.text + second.text)
        case ReasoningDelta(signature=""), ReasoningDelta() if len(first.text) < PIECE:
            return replace(second, text=first.text + second.text)
        case CallDelta(), CallDelta() if _continues(first, second):
            return replace(first, arguments=first.arguments + second.arguments)
    return None


def _continues(first: CallDelta, second: CallDelta) -> bool:
    """Whether a piece of a call says nothing but more of the arguments."""
    bare = not (second.id or second.name or second.provider_options)
    return bare and first.index == second.index and len(first.arguments) < PIECE
