"""Calls and answers while they arrive, assembled from a run's events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from toolkeel.call.arguments.partial import PartialArguments
from toolkeel.call.arguments.partial_value import PartialItem, PartialValue
from toolkeel.events import Event, Streamed, TurnStarted
from toolkeel.model_interface import CallDelta, TextDelta


class PartialCall:
    """A call that is still arriving.

    Attributes:
        index: Index of the call in its reply.
        id: Its id, once known.
        name: Name of its tool, once known.
        arguments: The part of its arguments that has arrived.
    """

    __slots__ = ("arguments", "id", "index", "name")

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments = PartialArguments()


class PartialCalls:
    """The calls of the reply that is arriving, assembled from the events of a run.

    >>> calls = PartialCalls()
    >>> event = Streamed(1, 0.0, "r", CallDelta(0, "c1", "search", '{"query": "ca'))
    >>> call = calls.take_event(event)
    >>> call.name, call.arguments.value()
    ('search', {'query': 'ca'})
    """

    def __init__(self) -> None:
        self._calls: dict[int, PartialCall] = {}

    def take_event(self, event: Event) -> PartialCall | None:
        """Return the call that an event extends, with the event's text added; None for any other event.

        `TurnStarted` removes all calls.
        """
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
        """Yield the calls of this reply in order."""
        return iter([self._calls[index] for index in sorted(self._calls)])


class PartialOutput:
    """The structured answer that is arriving, assembled from the events of a run.

    Args:
        readers: By name of a tool by which the model answers, or "" for its text: a function that
            returns the answer that is in the part of the JSON that has arrived.
    """

    def __init__(self, readers: Mapping[str, Callable[[PartialValue], PartialItem]]) -> None:
        self._readers = readers
        self._calls = PartialCalls()
        self._text = PartialArguments()

    def take_event(self, event: Event) -> PartialItem:
        """Read the next event. Return the answer so far if it changed, or None."""
        if "" not in self._readers:
            call = self._calls.take_event(event)
            if call is None or call.name not in self._readers:
                return None
            return self._read(call.name, call.arguments)
        if isinstance(event, TurnStarted):
            self._text = PartialArguments()
        if not isinstance(event, Streamed) or not isinstance(event.delta, TextDelta):
            return None
        self._text.feed(event.delta.text)
        return self._read("", self._text)

    def _read(self, name: str, text: PartialArguments) -> PartialItem:
        """Return the answer in parsed arguments so far; None while they are empty."""
        value = text.value()
        return self._readers[name](value) if len(value) else None
