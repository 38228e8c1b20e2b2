"""The order in which runs of a session were asked for, until each is in the queue of the session's lock.

The queue is by the session's number, which is read from the database in a thread. Threads end in any
order, so each run waits here until the run before it is in the queue.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable
from concurrent.futures import Future


class Arrivals:
    """The last run that has asked for each session of a file, in this process."""

    def __init__(self) -> None:
        self._last: dict[Hashable, Future[None]] = {}
        self._lock = threading.Lock()

    def arrive(self, session: Hashable) -> Arrival:
        """Take the next place in the order of a session; callable from any thread."""
        with self._lock:
            arrival = Arrival(self, session, self._last.get(session))
            self._last[session] = arrival.queued
        return arrival

    def forget(self, arrival: Arrival) -> None:
        """Forget an arrival that no later one waits for."""
        with self._lock:
            if self._last.get(arrival.session) is arrival.queued:
                del self._last[arrival.session]


class Arrival:
    """The place of one run; it is left at the end of a ``with`` block, if not before.

    Attributes:
        session: Scope and name of the session.
        queued: Resolved when this run and all before it are in the queue, or gone.
    """

    def __init__(self, arrivals: Arrivals, session: Hashable, before: Future[None] | None) -> None:
        self._arrivals = arrivals
        self.session = session
        self._before = before
        self.queued: Future[None] = Future()

    def __enter__(self) -> Arrival:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    async def wait(self) -> None:
        """Wait until the runs before this one are in the queue."""
        if self._before is not None and not self._before.done():
            await asyncio.shield(asyncio.wrap_future(self._before))

    def leave(self) -> None:
        """Let the next run go on: this one is in the queue, or will not be. A second time does nothing."""
        if self._before is not None and not self._before.done():  # it was cancelled while it waited
            self._before.add_done_callback(lambda _: self._leave())
        else:
            self._leave()

    def _leave(self) -> None:
        if not self.queued.done():
            self.queued.set_result(None)
        self._arrivals.forget(self)
