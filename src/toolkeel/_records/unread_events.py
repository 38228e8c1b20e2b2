"""Events that wait for a slow reader of a stream: bounded, and nothing that was said is lost."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from toolkeel.events import Event, Progress, Streamed
from toolkeel.model import CallDelta, Delta, ReasoningDelta, TextDelta

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
