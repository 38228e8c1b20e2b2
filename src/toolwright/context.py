"""What a run shares between its calls, and what one running tool may see of it."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable, Mapping, MutableMapping
from time import perf_counter, time
from typing import Generic, TypeVar

from toolwright.approval import Approver, Decision
from toolwright.errors import Cancelled
from toolwright.events import Event, Progress
from toolwright.messages import ToolCall, Usage
from toolwright.record import NOTHING

C = TypeVar("C")
Listener = Callable[[Event], None]

log = logging.getLogger("toolwright")


class CancelToken:
    """A wish to stop, given once, seen by everyone who holds the token; thread-safe.

    >>> token = CancelToken()
    >>> token.cancel("enough")
    >>> token.cancelled, token.reason
    (True, 'enough')
    """

    __slots__ = ("_callbacks", "_lock", "cancelled", "reason")

    def __init__(self) -> None:
        self.cancelled = False
        self.reason = ""
        self._callbacks: dict[object, Callable[[], object]] = {}
        self._lock = threading.Lock()

    def cancel(self, reason: str = "") -> None:
        """Ask everything that watches this token to stop; later wishes change nothing."""
        with self._lock:
            if self.cancelled:
                return
            self.cancelled, self.reason = True, reason
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            callback()

    def watch(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` at the cancel, in the cancelling thread; at once if it was before.

        Returns:
            A function that takes the callback back.
        """
        key = object()
        with self._lock:
            if not self.cancelled:
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: object) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    def check(self) -> None:
        """Raise `Cancelled` if the wish was given: for long loops in sync bodies."""
        if self.cancelled:
            raise Cancelled(f"The call was cancelled{': ' + self.reason if self.reason else ''}.")


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
        notes: What steps remember during the run, each under itself.
    """

    __slots__ = (
        "agent",
        "approver",
        "cancel",
        "context",
        "decisions",
        "failures",
        "id",
        "inject",
        "listeners",
        "notes",
        "seq",
        "state",
        "store",
        "suspends",
        "usage",
    )

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
        self.id = secrets.token_hex(8)
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
        self.notes: dict[object, object] = {}
        self.decisions: dict[tuple[str, str], Decision] = {}
        self.suspends = False
        self.failures: dict[tuple[str, str], tuple[str, int]] = {}

    def next(self) -> tuple[int, float, str]:
        """The three fields every event begins with."""
        self.seq += 1
        return self.seq, time(), self.id

    def emit(self, event: Event) -> None:
        """Hand an event to every listener; none of them can break the run."""
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed on %s; the run goes on", event.type)


PROGRESS_INTERVAL = 0.05
"""Seconds between two progress events of one call; snapshots in between replace each other."""


class ToolContext(Generic[C]):
    """What a running tool may see. Ask for it by annotating a parameter, at any position.

    Attributes:
        call: The call being run.
        tool_name: Name of the tool.
        run: What the calls of this run share.
        deadline: `time.perf_counter` value at which the call is stopped; None if never.
    """

    __slots__ = (
        "_ended",
        "_last",
        "_loop",
        "_pending",
        "call",
        "deadline",
        "run",
        "tool_name",
    )

    def __init__(self, call: ToolCall, tool_name: str, run: Run[C]) -> None:
        self.call = call
        self.tool_name = tool_name
        self.run = run
        self.deadline: float | None = None
        self._ended = False
        self._last = 0.0
        self._pending: tuple[str, float | None, float | None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

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
        if not self.run.listeners or self._ended:
            return
        self._pending = (message, done, total)
        if self._loop is None or _runs_here(self._loop):
            self._flush_soon()
        else:
            self._loop.call_soon_threadsafe(self._flush_soon)

    def _flush_soon(self) -> None:
        if perf_counter() - self._last >= PROGRESS_INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Emit the latest snapshot that was held back."""
        pending, self._pending = self._pending, None
        if pending is not None and not self._ended:
            self._last = perf_counter()
            self.run.emit(Progress(*self.run.next(), self.call.id, *pending))

    def end(self) -> None:
        """Emit what was held back; drop whatever comes later."""
        if self._pending is not None:
            self.flush()
        self._ended = True

    def set_deadline(self, seconds: float) -> None:
        """Say when the call will be stopped, counted from now."""
        self.deadline = perf_counter() + seconds

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Say in which loop events are emitted, before the body moves to a thread."""
        self._loop = loop


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
