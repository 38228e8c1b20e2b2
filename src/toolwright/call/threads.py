"""Threads of our own for sync bodies.

Three things the standard executor lacks: results that come together wake the loop together,
a thread whose call was given up is counted and replaced, and no thread keeps the program from
ending.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import threading
from collections import deque
from collections.abc import Callable

from toolwright.errors import LimitReached

SIZE = 64
LEAKS = 32
IDLE_SECONDS = 20.0

Outcome = tuple["asyncio.Future[object]", object, BaseException | None]


class _Mailbox:
    """Finished work of one loop; the first letter wakes it, the others wait in the box."""

    __slots__ = ("_letters", "_loop", "_woken")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._letters: deque[Outcome] = deque()
        self._woken = False

    def put(self, outcome: Outcome) -> None:
        self._letters.append(outcome)
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop has closed: nobody waits for this any more
                self._letters.clear()

    def _deliver(self) -> None:
        self._woken = False
        letters = self._letters
        while letters:
            future, value, error = letters.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)


class Job:
    """One body in a thread.

    Attributes:
        future: Resolved in the loop that submitted it.
        abandoned: Nobody waits for it any more.
    """

    __slots__ = ("_context", "_function", "_mailbox", "abandoned", "future", "started")

    def __init__(self, function: Callable[[], object], mailbox: _Mailbox) -> None:
        self._function = function
        self._context = contextvars.copy_context()
        self._mailbox = mailbox
        self.future: asyncio.Future[object] = mailbox._loop.create_future()
        self.abandoned = False
        self.started = False

    def run(self) -> None:
        try:
            outcome: Outcome = (self.future, self._context.run(self._function), None)
        except StopIteration as error:  # a future cannot carry it
            stopped = RuntimeError("the body raised StopIteration")
            stopped.__cause__ = error
            outcome = (self.future, None, stopped)
        except BaseException as error:
            outcome = (self.future, None, error)
        if not self.abandoned:
            self._mailbox.put(outcome)


class ThreadPool:
    """At most `size` threads at work, and at most `leaks` given up on.

    Args:
        size: Threads that run at once; further bodies wait.
        leaks: Threads past their deadline that may still run before new work is refused.
    """

    def __init__(self, size: int = SIZE, leaks: int = LEAKS) -> None:
        self.size = size
        self.leaks = leaks
        self.leaked = 0
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._count = 0
        self._boxes = threading.local()

    def submit(self, function: Callable[[], object]) -> Job:
        """Run `function` in a thread, with a copy of the current context variables.

        Raises:
            LimitReached: too many earlier bodies are past their deadline and still run.
        """
        if self.leaked >= self.leaks:
            raise LimitReached(
                f"{self.leaked} earlier calls passed their deadline and still run; "
                "no further one is started until some of them end."
            )
        loop = asyncio.get_running_loop()
        box: _Mailbox | None = getattr(self._boxes, "box", None)
        if box is None or box._loop is not loop:
            box = self._boxes.box = _Mailbox(loop)
        job = Job(function, box)
        self._jobs.put(job)
        if not self._idle.acquire(blocking=False):
            self._grow()
        return job

    def abandon(self, job: Job) -> None:
        """Stop waiting for a job; if its thread is busy with it, count and replace that thread."""
        with self._lock:
            if job.abandoned or job.future.done():
                return
            job.abandoned = True
            if job.started:
                self.leaked += 1
                self._count -= 1

    def _grow(self) -> None:
        with self._lock:
            if self._count >= self.size:
                return
            self._count += 1
        threading.Thread(target=self._work, name="toolwright", daemon=True).start()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            with self._lock:
                if job.abandoned:
                    continue
                job.started = True
            job.run()
            with self._lock:
                if job.abandoned:
                    self.leaked -= 1
                    return
                job.started = False

    def _next(self) -> Job | None:
        """The next job; None when this thread has been idle for long and leaves."""
        try:
            return self._jobs.get_nowait()
        except queue.Empty:
            self._idle.release()
        while True:
            try:
                return self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                if self._retire():
                    return None

    def _retire(self) -> bool:
        """Leave the pool, unless work was promised to this thread meanwhile."""
        if not self._idle.acquire(blocking=False):
            return False
        with self._lock:
            self._count -= 1
        return True


_shared: ThreadPool | None = None


def shared_pool() -> ThreadPool:
    """The pool all toolsets use that have none of their own."""
    global _shared
    if _shared is None:
        _shared = ThreadPool()
    return _shared


def _forget_after_fork() -> None:
    global _shared
    _shared = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)

__all__ = ["Job", "ThreadPool", "shared_pool"]
