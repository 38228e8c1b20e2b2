"""What a run shares between its calls, and what one running tool may see of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from toolwright.approval import Approver, Decision, Ticket
from toolwright.errors import Cancelled
from toolwright.events import Event, Progress
from toolwright.messages import ToolCall, Usage
from toolwright.record import NOTHING

if TYPE_CHECKING:
    import asyncio
    import logging

C = TypeVar("C")
T = TypeVar("T")
Listener = Callable[[Event], None]


def _log() -> logging.Logger:
    """The library's logger; to define a tool logging need not be loaded."""
    import logging

    return logging.getLogger("toolwright")


class CancelToken:
    """A wish to stop, given once, seen by everyone who holds the token.

    Any thread may give it, and so may a signal handler: nothing here waits for a lock.

    >>> token = CancelToken()
    >>> token.cancel("enough")
    >>> token.cancelled, token.reason
    (True, 'enough')
    """

    __slots__ = ("_callbacks", "_once", "cancelled", "reason")

    def __init__(self) -> None:
        self.cancelled = False
        self.reason = ""
        self._callbacks: dict[object, Callable[[], object]] = {}
        self._once = threading.Lock()  # whoever gets it was the first; it is never given back

    def cancel(self, reason: str = "") -> None:
        """Ask everything that watches this token to stop; later wishes change nothing."""
        if not self._once.acquire(blocking=False):
            return
        self.reason = reason
        self.cancelled = True
        for key in list(self._callbacks):
            self._call(key)

    def watch(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Call `callback` at the cancel, in the cancelling thread; at once if it was before.

        Returns:
            A function that takes the callback back.
        """
        key = object()
        self.add(key, callback)
        return partial(self.remove, key)

    def add(self, key: object, callback: Callable[[], object]) -> None:
        """`watch` for those who are a key themselves, as what waits is: one in every call."""
        self._callbacks[key] = callback
        if self.cancelled:
            self._call(key)

    def remove(self, key: object) -> None:
        """Take the callback of a key back, if it was not called."""
        self._callbacks.pop(key, None)

    def _call(self, key: object) -> None:
        """Call back, unless another thread has; one watcher cannot keep it from the next."""
        callback = self._callbacks.pop(key, None)
        if callback is not None:
            try:
                callback()
            except Exception:
                _log().exception("a watcher of a cancel token failed; the others are called")

    def check(self) -> None:
        """Raise `Cancelled` if the wish was given: for long loops in sync bodies."""
        if self.cancelled:
            raise Cancelled(f"The call was cancelled{': ' + self.reason if self.reason else ''}.")


class Masks(Protocol):
    """What hides secrets in what a run tells."""

    def event(self, event: Event) -> Event:
        """The event as listeners may see it."""
        ...

    def deep(self, value: T) -> T:
        """Anything else without them."""
        ...


class Run(Generic[C]):
    """What all calls of one run share.

    Args:
        context: The user's own object, handed to tools that ask for it.
        state: The run's data; an agent keeps its messages there.
        store: Memory that outlives the run.
        inject: Values of parameters marked with a plain `InjectedToolArg`, by name.
        agent: The agent that runs, if one does.
        listeners: Called with each event, in order. One that raises is logged and goes on.
        cancel: Token that stops the run.
        approver: Asked when a call needs approval; without one such a call is refused, or, in an
            agent, suspends the run.

    Attributes:
        closers: What gives back at the run's end what was opened for it; see `close`.
        depth: How many runs it is within.
        deadline: `time.perf_counter` value at which a run around it ends it; None if none does.
        waiting: Inner runs to go on with, by the id of the call that is each.
        failures: How calls of each tool failed, by its name; see `toolwright.call.limit`.
        notes: What steps remember during the run, each under itself.
        mask: Hides secrets in events and failures; None as long as no tool has any.
    """

    __slots__ = (
        "agent", "approver", "cancel", "closers", "context", "deadline", "decisions", "depth",
        "failures", "id", "inject", "listeners", "mask", "notes", "seq", "state", "store",
        "suspends", "usage", "waiting",
    )  # fmt: skip

    def __init__(
        self,
        context: C = None,  # type: ignore[assignment]
        *,
        state: MutableMapping[str, object] | None = None,
        store: object = None,
        inject: Mapping[str, object] = NOTHING,
        agent: object = None,
        listeners: tuple[Listener, ...] = (),
        cancel: CancelToken | None = None,
        approver: Approver | None = None,
    ) -> None:
        self.id = os.urandom(8).hex()
        self.context = context
        self.state = {} if state is None else state
        self.store = store
        self.inject = inject
        self.agent = agent
        self.usage = Usage()
        self.cancel = cancel or CancelToken()
        self.listeners = listeners
        self.seq = 0
        self.approver = approver
        self.closers: list[Callable[[], Awaitable[object]]] = []
        self.depth = 0
        self.deadline: float | None = None
        self.waiting: dict[str, object] = {}
        self.notes: dict[object, object] = {}
        self.mask: Masks | None = None
        self.decisions: dict[tuple[str, str], tuple[Ticket | None, Decision]] = {}
        self.suspends = False
        self.failures: dict[str, Any] = {}

    def next(self) -> tuple[int, float, str]:
        """The three fields every event begins with."""
        self.seq += 1
        return self.seq, time(), self.id

    def emit(self, event: Event) -> None:
        """Hand an event to every listener; none of them can break the run."""
        if self.mask is not None:
            try:
                event = self.mask.event(event)
            except Exception:
                _log().exception("%s cannot be masked, so nobody is told", event.type)
                return
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:
                _log().exception("a listener failed on %s; the run goes on", event.type)

    async def close(self) -> None:
        """Give back what was opened for this run: an agent does it when its run has ended."""
        while self.closers:
            try:
                await self.closers.pop()()
            except Exception:
                _log().exception("what was opened for a run could not be closed")


PROGRESS_INTERVAL = 0.05
"""Seconds between two progress events of one call; snapshots in between replace each other."""

_Snapshot = tuple[str, float | None, float | None]


def _first_running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread; to define a tool asyncio need not be loaded."""
    global _running_loop
    import asyncio

    _running_loop = asyncio._get_running_loop
    return _running_loop()


_running_loop: Callable[[], asyncio.AbstractEventLoop | None] = _first_running_loop


class _Reporter:
    """Shows how far one call is: the first snapshot at once, then the latest in each interval.

    Whatever thread a snapshot comes from, its event is emitted in the loop, where events have one
    order.
    """

    __slots__ = ("_call_id", "_called", "_last", "_loop", "_run", "_said", "_shown", "_timer")

    def __init__(self, run: Run[Any], call_id: str, loop: asyncio.AbstractEventLoop | None) -> None:
        self._run = run
        self._call_id = call_id
        self._loop = loop
        self._said: _Snapshot | None = None
        self._shown: _Snapshot | None = None
        self._last = 0.0
        self._called = False
        self._timer: asyncio.TimerHandle | None = None

    def say(self, message: str, done: float | None, total: float | None) -> None:
        self._said = (message, done, total)
        if self._loop is None or self._loop is _running_loop():
            self._show()
        elif not self._called:
            self._called = True
            with suppress(RuntimeError):  # the loop has closed: nobody watches any more
                self._loop.call_soon_threadsafe(self._show)

    def _show(self) -> None:
        """Show the latest snapshot now, or when the one before has been seen for long enough."""
        self._called = False  # before the snapshot is read: one that comes now calls again
        if self._timer is not None:
            return
        wait = self._last + PROGRESS_INTERVAL - perf_counter()
        if wait <= 0:
            self._emit()
        elif self._loop is not None:
            self._timer = self._loop.call_later(wait, self._emit)

    def _emit(self) -> None:
        self._timer = None
        said = self._said
        if said is not None and said is not self._shown:
            self._shown = said
            self._last = perf_counter()
            self._run.emit(Progress(*self._run.next(), self._call_id, *said))

    def end(self) -> None:
        """Emit what was held back; drop whatever comes later."""
        if self._timer is not None:
            self._timer.cancel()
        self._emit()
        self._shown = self._said
        self._called = True


class Clock(Protocol):
    """What stops a call at its deadline."""

    def hold(self, paused: bool) -> None:
        """Let no time pass, or go on with what was left."""
        ...


class ToolContext(Generic[C]):
    """What a running tool may see. Ask for it by annotating a parameter, at any position.

    Attributes:
        call: The call being run.
        tool_name: Name of the tool.
        run: What the calls of this run share.
        deadline: `time.perf_counter` value at which the call is stopped; None if never.
        ended: Whether the call has its result already, because it was stopped.
        clock: What stops it at the deadline, once it waits for something.
        paused: How many parts of it are off the clock.
    """

    __slots__ = (
        "_loop",
        "_reporter",
        "call",
        "clock",
        "deadline",
        "ended",
        "paused",
        "run",
        "tool_name",
    )

    def __init__(self, call: ToolCall, tool_name: str, run: Run[C]) -> None:
        self.call = call
        self.tool_name = tool_name
        self.run = run
        self.deadline = run.deadline
        self.ended = False
        self.clock: Clock | None = None
        self.paused = 0
        # Asked for only if somebody listens: it costs a system call in Python 3.11.
        self._loop = _running_loop() if run.listeners else None
        self._reporter: _Reporter | None = None

    @property
    def tool_call_id(self) -> str:
        return self.call.id

    @property
    def context(self) -> C:
        """The user's own object, as given to the run."""
        return self.run.context

    @property
    def state(self) -> MutableMapping[str, object]:
        return self.run.state

    @property
    def store(self) -> object:
        return self.run.store

    @property
    def agent(self) -> object:
        return self.run.agent

    @property
    def usage(self) -> Usage:
        """Tokens the run has spent so far."""
        return self.run.usage

    @property
    def cancel(self) -> CancelToken:
        return self.run.cancel

    @property
    def time_left(self) -> float | None:
        """Seconds until the deadline; None if there is none."""
        return None if self.deadline is None else self.deadline - perf_counter()

    def progress(
        self, message: str = "", done: float | None = None, total: float | None = None
    ) -> None:
        """Tell whoever watches how far this call is. Any thread may call it.

        Args:
            message: What is being done.
            done: Amount done.
            total: Amount in all, in the unit of `done`.
        """
        if not self.run.listeners or self.ended:
            return
        if self._reporter is None:
            self._reporter = _Reporter(self.run, self.call.id, self._loop)
        self._reporter.say(message, done, total)

    def set_deadline(self, seconds: float) -> None:
        """Say when the call will be stopped, counted from now."""
        self.deadline = perf_counter() + seconds
        if self.run.deadline is not None:
            self.deadline = min(self.deadline, self.run.deadline)

    @contextmanager
    def off_the_clock(self) -> Iterator[None]:
        """Wait for a person: time in here does not count. For async bodies only."""
        self.paused += 1
        if self.paused == 1 and self.clock is not None:
            self.clock.hold(True)
        try:
            yield
        finally:
            self.paused -= 1
            if self.paused == 0 and self.clock is not None:
                self.clock.hold(False)

    def end(self) -> None:
        """Emit progress that was held back; drop whatever comes later."""
        self.ended = True
        if self._reporter is not None:
            self._reporter.end()
