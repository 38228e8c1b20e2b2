"""Reports of a running call: its progress and the values it emits, as events in the loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from toolkeel.events import Emitted, Event, Progress, StateOverwritten

if TYPE_CHECKING:
    import asyncio

PROGRESS_INTERVAL = 0.05
"""Seconds between two progress events of one call; snapshots in between replace each other."""

_Snapshot = tuple[str, float | None, float | None]


class EventEmitter(Protocol):
    """The run that a reporter emits events for."""

    def next_event_fields(self) -> tuple[int, float, str]:
        """Return the three fields that every event begins with: number, time and run id."""
        ...

    def emit(self, event: Event) -> None:
        """Pass an event to every listener."""
        ...


def _first_running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the running loop or None. The first call imports asyncio and replaces this function."""
    global running_loop
    import asyncio

    running_loop = asyncio._get_running_loop
    return running_loop()


running_loop: Callable[[], asyncio.AbstractEventLoop | None] = _first_running_loop
"""The loop that runs in this thread; None if none does."""


class _Overwrite(tuple[str, str]):
    """Key and call id of a lost write, between the values that a call emits."""


class Reporter:
    """Reports of one call, emitted as events: values, progress and lost writes.

    The first progress report is emitted at once, then the latest of each interval. Reports may come
    from any thread; events are emitted in the loop, in one order.
    """

    __slots__ = (
        "_call_id", "_called", "_ended", "_last", "_loop", "_run", "_said", "_shown", "_timer",
        "_values",
    )  # fmt: skip

    def __init__(
        self, run: EventEmitter, call_id: str, loop: asyncio.AbstractEventLoop | None
    ) -> None:
        self._run = run
        self._call_id = call_id
        self._loop = loop
        self._said: _Snapshot | None = None
        self._shown: _Snapshot | None = None
        self._last = 0.0
        self._called = self._ended = False
        self._timer: asyncio.TimerHandle | None = None
        self._values: deque[object] = deque()

    def progress(self, message: str, done: float | None, total: float | None) -> None:
        """Accept a progress report. It replaces one that was not emitted yet."""
        self._said = (message, done, total)
        self._call()

    def emit(self, value: object) -> None:
        """Queue a value to emit as an event, and schedule the emission."""
        self._values.append(value)
        self._call()

    def report_overwrite(self, key: str, lost_call_id: str) -> None:
        """Queue a `StateOverwritten` event for a lost write, and schedule the emission."""
        self._values.append(_Overwrite((key, lost_call_id)))
        self._call()

    def _call(self) -> None:
        """Emit stored reports: now if the loop runs here or there is none, else soon in the loop's thread."""
        if self._loop is None or self._loop is running_loop():
            self._show()
        elif not self._called:
            self._called = True
            with suppress(RuntimeError):  # the loop has closed: no one watches any more
                self._loop.call_soon_threadsafe(self._show)

    def _show(self) -> None:
        """Emit stored values, and the latest progress report now or when its interval is over."""
        self._called = False  # before anything is read: what comes now calls again
        self._tell_values()
        if self._timer is not None or self._ended or self._said is self._shown:
            return
        wait = self._last + PROGRESS_INTERVAL - perf_counter()
        if wait <= 0:
            self._tell()
        elif self._loop is not None:
            self._timer = self._loop.call_later(wait, self._tell)

    def _tell_values(self) -> None:
        """Emit each stored value as `Emitted`, or `StateOverwritten` for a lost write."""
        while self._values:
            value, place = self._values.popleft(), (*self._run.next_event_fields(), self._call_id)
            if isinstance(value, _Overwrite):
                self._run.emit(StateOverwritten(*place, *value))
            else:
                self._run.emit(Emitted(*place, value))

    def _tell(self) -> None:
        """Emit the latest progress report unless it was emitted already, and clear the timer."""
        self._timer = None
        stated = self._said
        if stated is not None and stated is not self._shown:
            self._shown = stated
            self._last = perf_counter()
            self._run.emit(Progress(*self._run.next_event_fields(), self._call_id, *stated))

    def end(self) -> None:
        """Emit stored reports. Later progress is dropped; later values belong to the run, not the call."""
        if self._timer is not None:
            self._timer.cancel()
        self._tell_values()
        self._tell()
        self._shown = self._said
        self._call_id, self._ended = "", True
