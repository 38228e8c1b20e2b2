"""A bounded buffer of events for a slow reader of a stream; no part of a reply is lost."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from toolkeel.events import Event, Nested, Progress, Streamed
from toolkeel.model_interface import CallDelta, Delta, ReasoningDelta, TextDelta

MOST = 10_000
"""Events that wait."""
PIECE = 4096
"""Most characters of pieces that become one."""


class UnreadEvents:
    """A queue of events that stays short if nothing reads it.

    Once `most` events wait, a piece of a reply is appended to the piece before it, and new progress reports are
    dropped. All other events stay, values that bodies emit included.

    Args:
        most: Number of waiting events from which on this happens.

    Attributes:
        dropped: Number of events that were dropped.

    >>> events = UnreadEvents(1)
    >>> for piece in ("天", "气"):
    ...     events.put(Streamed(1, 0.0, "r", TextDelta(piece)))
    >>> events.get().delta.text, events.get()
    ('天气', None)
    """

    def __init__(self, most: int = MOST) -> None:
        self.dropped = 0
        self._most = most
        self._events: deque[list[Event]] = deque()
        """Each event in a place of its own, which is empty once it was read."""
        self._last: dict[tuple[str, ...], list[Event]] = {}
        """The place of each run's last event, by the calls that the run stands within."""

    def __bool__(self) -> bool:
        return bool(self._events)

    def get(self) -> Event | None:
        """Remove and return the next event, or None if there is none."""
        if not self._events:
            self._last.clear()
            return None
        return self._events.popleft().pop()

    def put(self, event: Event) -> None:
        """Add an event, also to a full buffer; that drops progress, and joins a delta to the last if it fits."""
        within, inmost = _parts(event)
        if len(self._events) >= self._most:
            if isinstance(inmost, Progress):
                self.dropped += 1
                return
            if isinstance(inmost, Streamed) and self._join(self._last.get(within), inmost.delta):
                return
        self._last[within] = place = [event]
        self._events.append(place)

    def _join(self, place: list[Event] | None, delta: Delta) -> bool:
        """Join a delta to the event before it, in place. Return False if they cannot be joined."""
        last = _parts(place[0])[1] if place else None
        joined = _joined(last.delta, delta) if isinstance(last, Streamed) else None
        if place and joined is not None:
            place[0] = _saying(place[0], joined)
        return joined is not None


def _parts(event: Event) -> tuple[tuple[str, ...], Event]:
    """Return the ids of calls and runs that an event is nested in, and the innermost event."""
    within: tuple[str, ...] = ()
    while isinstance(event, Nested):
        within, event = (*within, event.call_id, event.event.run_id), event.event
    return within, event


def _saying(event: Event, delta: Delta) -> Event:
    """Return an event, nested or not, with another delta."""
    if isinstance(event, Nested):
        return replace(event, event=_saying(event.event, delta))
    return replace(event, delta=delta) if isinstance(event, Streamed) else event


def _joined(first: Delta, second: Delta) -> Delta | None:
    """Return two pieces of one kind joined; None if they differ, or the first has `PIECE` characters."""
    match first, second:
        case TextDelta(), TextDelta() if len(first.text) < PIECE:
            return TextDelta(first.text + second.text)
        case ReasoningDelta(signature=""), ReasoningDelta() if len(first.text) < PIECE:
            return replace(second, text=first.text + second.text)
        case CallDelta(), CallDelta() if _continues(first, second):
            return replace(first, arguments=first.arguments + second.arguments)
    return None


def _continues(first: CallDelta, second: CallDelta) -> bool:
    """Return True if a piece of a call only continues another's arguments, which are shorter than `PIECE` characters."""
    bare = not (second.id or second.name or second.provider_options)
    return bare and first.index == second.index and len(first.arguments) < PIECE
