"""A listener that runs in a thread of its own, so that no run waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from toolkeel._common.cancel import get_logger
from toolkeel._common.unread_events import MOST, UnreadEvents
from toolkeel.errors import SetupError
from toolkeel.events import Event


class SlowListener:
    """Listener that passes events to another listener in a thread, in order.

    Listeners are called on the event loop, between two steps, so one that writes to a network would
    delay all runs of the loop. Here events wait in a queue, as for a slow reader of a stream
    (`toolkeel._common.unread_events`): pieces of replies join, and progress is left out.

    Args:
        listener: Takes an event; what it raises is logged.
        most: Events that may wait before events are joined or dropped.

    >>> from toolkeel.events import TurnStarted
    >>> told = []
    >>> with SlowListener(told.append) as listener:
    ...     listener(TurnStarted(1, 0.0, "r", 1))
    >>> len(told)
    1

    Raises:
        SetupError: `most` is less than 1.
    """

    def __init__(self, listener: Callable[[Event], object], *, most: int = MOST) -> None:
        if most < 1:
            raise SetupError(
                f"SlowListener(most={most}) would leave everything out; give 1 or more"
            )
        self._listener = listener
        self._events = UnreadEvents(most)
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(
            target=self._tell_all, name="toolkeel-listener", daemon=True
        )
        self._thread.start()

    def __call__(self, event: Event) -> None:
        with self._changed:
            self._events.put(event)
            self._changed.notify()

    @property
    def dropped(self) -> int:
        """Number of events that were left out."""
        return self._events.dropped

    def _tell_all(self) -> None:
        """Pass queued events to the listener until the queue is closed; log what it raises."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._events or self._closed)
                event = self._events.get()
                if event is None:
                    return
            try:
                self._listener(event)
            except Exception:
                get_logger().exception("a listener failed on %s; the run continues", event.type)

    def close(self, timeout: float | None = None) -> None:
        """Wait until the listener has received everything, at most `timeout` seconds; then its thread ends."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(timeout)

    def __enter__(self) -> SlowListener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
