"""One writer per session: a lock of the store against other processes, and a queue within this one.

Whoever waits in this process is served in order. The queue is by the session's number, which is read
from the store in a thread, and threads end in any order. So runs take a place (`Arrivals`) before
that, and each waits until the run before it is in the queue: runs of a process are written in the
order in which they were asked for.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from time import time
from typing import Generic, TypeVar

from toolkeel.agent.session_interface import Place
from toolkeel.call.body.start_thread import is_exiting
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.store import SessionStore, Writer

T = TypeVar("T")
LOOP_SECONDS = 1.0
"""How often who waits looks whether the event loop of a run before it was closed, of which nobody is told."""


class Arrivals:
    """The order in which this process's runs asked for the sessions of a store."""

    def __init__(self) -> None:
        self._last: dict[Hashable, Arrival] = {}
        self._lock = threading.Lock()

    def arrive(self, session: Hashable) -> Arrival:
        """Take the next place in the order of a session; callable from any thread.

        Raises:
            SessionError: Python is ending, and starts no threads that would write the run.
        """
        if is_exiting():
            raise SessionError(
                "a run of a session cannot begin in an atexit function, since Python is ending and "
                "starts no more threads; run it before the program ends"
            )
        with self._lock:
            before = self._last.get(session)
            arrival = self._last[session] = Arrival(self, session, before)
        return arrival

    def forget(self, arrival: Arrival) -> None:
        """Forget an arrival, unless a later one has come."""
        with self._lock:
            if self._last.get(arrival.session) is arrival:
                del self._last[arrival.session]


class Arrival:
    """The place of one run in that order; a context manager that leaves it at the end.

    Attributes:
        session: Scope and name of the session.
        queued: Resolved when this run and all before it are in the queue or have left.
    """

    def __init__(self, arrivals: Arrivals, session: Hashable, before: Arrival | None) -> None:
        self._arrivals = arrivals
        self.session = session
        self._before = before
        self.queued: Future[None] = Future()
        self._has_left = False
        self._loop: asyncio.AbstractEventLoop | None = None
        with suppress(RuntimeError):  # outside of a loop
            self._loop = asyncio.get_running_loop()

    @property
    def is_gone(self) -> bool:
        """True if no run will come of it: it has left, or its event loop was closed before it was in the queue."""
        return self._has_left or (self._loop is not None and self._loop.is_closed())

    def __enter__(self) -> Arrival:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    async def wait(self) -> None:
        """Wait until the runs before this one are in the queue, or gone."""
        while (before := self._find_before()) is not None:
            queued = asyncio.wrap_future(before.queued)
            while not queued.done() and not before.is_gone:
                await asyncio.wait([queued], timeout=LOOP_SECONDS)

    def leave(self) -> None:
        """Let the next run continue: this one is in the queue, or will not be. May be repeated."""
        self._has_left = True
        if (before := self._find_before()) is None:
            self._leave()
        else:  # it was cancelled while it waited
            before.queued.add_done_callback(lambda _: self._leave())

    def _find_before(self) -> Arrival | None:
        """Return the last run before this one that is still on its way to the queue, and forget all others."""
        before = self._before
        while before is not None and (before.queued.done() or before.is_gone):
            before = None if before.queued.done() else before._before
        self._before = before
        return before

    def _leave(self) -> None:
        """Let the next run continue, and remove this one from the order."""
        if not self.queued.done():
            self.queued.set_result(None)
        self._arrivals.forget(self)


class WriterLocks:
    """The locks of one store in this process.

    Args:
        store: The store, which locks sessions against other processes.

    Attributes:
        arrivals: The order of runs that are not in the queue yet.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._queues: dict[int, deque[Future[None]]] = {}
        self.arrivals = Arrivals()
        self._lock = threading.Lock()

    async def acquire(self, session: int, arrival: Place | None = None) -> None:
        """Wait until this task is the session's only writer. If canceled, leave the queue.

        Args:
            session: The session's number.
            arrival: The place of this run, if it has one, which is left as soon as it is in the queue.
        """
        turn = self._queue_up(session)
        if arrival is not None:
            arrival.leave()
        try:
            await asyncio.wrap_future(turn)
            while not await self._take(session):  # noqa: ASYNC110  # others send no event
                await asyncio.sleep(self._store.poll_seconds)
        except BaseException:
            self._leave(session, turn)
            raise

    def try_acquire(self, session: int) -> bool:
        """Become the session's one writer if it has none. Return True on success."""
        with self._lock:
            if self._queues.get(session):
                return False
        turn, taken = self._queue_up(session), False
        try:
            taken = turn.done() and self._store.try_lock(session)
        finally:
            if not taken:
                self._leave(session, turn)
        return taken

    def release(self, session: int) -> None:
        """Unlock the session in the store, and let the next task of the queue try."""
        self._store.unlock(session)
        self._leave(session, self._queues[session][0])

    async def _take(self, session: int) -> bool:
        """Try to lock a session in the store. Return False if another has it. If canceled, undo the lock."""
        asked = asyncio.ensure_future(asyncio.to_thread(self._store.try_lock, session))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(partial(self._give_back, session))
            raise

    def _give_back(self, session: int, asked: asyncio.Future[bool]) -> None:
        """Unlock a session if the attempt, which nobody waits for any more, has locked it."""
        if not asked.cancelled() and not asked.exception() and asked.result():
            self._store.unlock(session)

    def _queue_up(self, session: int) -> Future[None]:
        """Add a waiter to a session's queue. Return its future, which is done once it is first."""
        turn: Future[None] = Future()
        with self._lock:
            waiting = self._queues.setdefault(session, deque())
            waiting.append(turn)
            if waiting[0] is turn:
                turn.set_result(None)
        return turn

    def _leave(self, session: int, turn: Future[None]) -> None:
        """Remove a waiter from a session's queue; if it was first, the next one's future becomes done."""
        with self._lock:
            waiting = self._queues[session]
            was_first = waiting[0] is turn
            waiting.remove(turn)
            if not waiting:
                del self._queues[session]
            elif was_first:
                _next(waiting)


def _next(waiting: deque[Future[None]]) -> None:
    """Wake the first task that still waits; canceled ones leave the queue by themselves."""
    for turn in waiting:
        if turn.cancelled():
            continue
        with suppress(InvalidStateError):  # it has its turn, or was cancelled this moment
            turn.set_result(None)
        if not turn.cancelled():
            return


# — what this process does —


class LiveSessions(Generic[T]):
    """Watchers and active runs of the sessions of a store in this process.

    Attributes:
        inboxes: Functions that move a session's inbox into its active run, by the session's number.
    """

    def __init__(self) -> None:
        self.inboxes: dict[int, Callable[[], None]] = {}
        self._watchers: dict[int, tuple[Callable[[Sequence[T]], None], ...]] = {}

    def watch(self, session: int, watcher: Callable[[Sequence[T]], None]) -> Callable[[], None]:
        """Call `watcher` with each batch of entries from now on; return a function that removes it."""
        self._watchers[session] = (*self._watchers.get(session, ()), watcher)

        def stop() -> None:
            """Remove the watcher."""
            left = tuple(each for each in self._watchers.get(session, ()) if each is not watcher)
            self._watchers[session] = left
            if not left:
                del self._watchers[session]

        return stop

    def is_watched(self, session: int) -> bool:
        """Return True if the session has a watcher."""
        return session in self._watchers

    def notify(self, session: int, written: Sequence[T], done: Future[None]) -> None:
        """Call the watchers of a session, unless the write has failed."""
        if done.exception() is None:
            for watcher in self._watchers.get(session, ()):
                watcher(written)


# — who holds it —


def record_writer(store: SessionStore, id: int) -> None:
    """Record this process as a session's writer. The lock shows if it still is."""
    program = os.path.basename(sys.argv[0]) if sys.argv else ""
    store.set_writer(id, Writer(os.getpid(), socket.gethostname(), user_name(), program, time()))


def user_name() -> str:
    """Return the user's name as `getpass.getuser` does, or an empty string if it is unknown."""
    with suppress(Exception):
        return getpass.getuser()
    return ""
