"""Threads of our own for sync bodies.

Three things the standard executor lacks: results that come together wake the loop together,
a thread whose call was abandoned is counted and replaced, and no thread keeps the program from
ending.

One number decides if a new thread is needed: `_spare`, the threads without a job less the jobs
without a thread. It changes only under the lock, and only where a job comes, a thread becomes
free, or a thread starts or leaves; so no job waits while there is room for a thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable
from time import perf_counter

from toolkeel.call.body.detached_tasks import log_late_failure
from toolkeel.call.body.start_thread import NoThread, is_exiting, start_thread
from toolkeel.errors import LimitReached, SetupError

MAX_THREADS = 64
MAX_ABANDONED = 32
IDLE_SECONDS = 20.0

Outcome = tuple["asyncio.Future[object]", object, BaseException | None]


class _Mailbox:
    """Finished jobs of one event loop. One wake-up delivers all that have finished."""

    __slots__ = ("_outcomes", "_woken", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._outcomes: deque[Outcome] = deque()
        self._woken = False

    def put(self, outcome: Outcome) -> None:
        """Queue an outcome from any thread, and wake the loop. A closed loop drops all outcomes."""
        self._outcomes.append(outcome)
        if not self._woken:
            self._woken = True
            try:
                self.loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop has closed: no caller waits
                self._outcomes.clear()

    def _deliver(self) -> None:
        """Set all queued outcomes on their futures, on the loop; skip futures already done."""
        self._woken = False  # before the box is emptied: a letter that comes now wakes again
        letters = self._outcomes
        while letters:
            future, value, error = letters.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)


class Job:
    """A function that runs in a thread.

    Attributes:
        future: Resolved in the loop that submitted it.
        started: A thread has taken it.
        finished: It has ended, and its outcome is on the way.
        ended: `time.perf_counter` value at which its function had its outcome; 0 before.
        abandoned: No caller waits for it.
    """

    __slots__ = (
        "_context", "_function", "_mailbox", "abandoned", "ended", "finished", "future", "started"
    )  # fmt: skip

    def __init__(self, function: Callable[[], object], mailbox: _Mailbox) -> None:
        self._function = function
        self._context = contextvars.copy_context()
        self._mailbox = mailbox
        self.future: asyncio.Future[object] = mailbox.loop.create_future()
        self.started = self.finished = self.abandoned = False
        self.ended = 0.0

    def run(self) -> None:
        """Run the function in this thread, record when it ended, and hand its outcome to the loop.

        An abandoned job has no outcome; its failure is logged.
        """
        try:
            outcome: Outcome = (self.future, self._context.run(self._function), None)
        except StopIteration as error:  # a future cannot carry it
            outcome = (self.future, None, RuntimeError("the body raised StopIteration"))
            outcome[2].__cause__ = error
        except BaseException as error:
            outcome = (self.future, None, error)
            if self.abandoned:
                log_late_failure(error)
        self.ended = perf_counter()
        if not self.abandoned:
            self._mailbox.put(outcome)
        del outcome, self  # an error would hold itself, by its traceback and this frame


class ThreadPool:
    """A pool of at most `size` threads that replaces those whose jobs were abandoned.

    Args:
        size: Maximum number of threads; further jobs wait.
        max_abandoned: Number of threads with abandoned jobs from which on new jobs are refused.
        idle: Seconds without a job after which a thread ends.

    Attributes:
        leaked: Threads that still run abandoned jobs.
    """

    def __init__(
        self,
        size: int = MAX_THREADS,
        max_abandoned: int = MAX_ABANDONED,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self.size = size
        self.max_abandoned = max_abandoned
        self.idle = idle
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        """Forget all threads, jobs and counts, as a child process must after a fork."""
        self.leaked = 0
        self._count = 0
        self._spare = 0
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._boxes = threading.local()

    def submit(self, function: Callable[[], object]) -> Job:
        """Queue a function for a thread, with a copy of the context variables, and return its job.

        Raises:
            LimitReached: too many abandoned bodies still run, the system has no thread left, or the
                program is ending.
            SetupError: as `start_thread`.
            RuntimeError: no event loop is running.
        """
        if self.leaked >= self.max_abandoned:
            raise LimitReached(
                f"{self.leaked} earlier calls were given up but still run; no further one is "
                "started until some of them end."
            )
        loop = asyncio.get_running_loop()
        box: _Mailbox | None = getattr(self._boxes, "box", None)
        if box is None or box.loop is not loop:
            box = self._boxes.box = _Mailbox(loop)
        job = Job(function, box)
        with self._lock:
            self._spare -= 1
            grows = self._reserve()
        if grows and not self._start_thread():
            with self._lock:
                self._spare += 1
            if is_exiting():
                raise LimitReached("The program is ending: no thread can be started for this call.")
            raise LimitReached("The system has no thread left to run this call in.")
        self._jobs.put(job)
        return job

    def abandon(self, job: Job) -> None:
        """Stop waiting for a job. If its thread is busy, count it as leaked and replace it."""
        with self._lock:
            if job.abandoned or job.finished:
                return
            job.abandoned = True
            if not job.started:
                return
            self.leaked += 1
            self._count -= 1
            grows = self._reserve()
        if grows:
            self._start_thread()

    def _reserve(self) -> bool:
        """Count one more thread and return True if one must start. The caller holds the lock."""
        if self._spare >= 0 or self._count >= self.size:
            return False
        self._count += 1
        self._spare += 1
        return True

    def _start_thread(self) -> bool:
        """Start a reserved thread, or undo the reservation. Return False if there is then no thread at all."""
        try:
            start_thread(self._work, "toolkeel")
        except SetupError as error:  # the system's limit is reached: those that run must do
            with self._lock:
                self._count -= 1
                self._spare -= 1
                if not isinstance(error, NoThread):
                    raise
                return self._count > 0
        return True

    def _work(self) -> None:
        """Run jobs until there are none for this thread, or the one it ran was abandoned meanwhile.

        Jobs that nobody waits for any more are skipped.
        """
        while (job := self._next()) is not None:
            with self._lock:
                if job.abandoned or job.future.done():  # no caller waits
                    self._spare += 1
                    continue
                job.started = True
            job.run()
            with self._lock:
                if job.abandoned:  # this thread has been replaced
                    self.leaked -= 1
                    return
                job.finished = True
                self._spare += 1
            del job  # and with it the body's arguments and result

    def _next(self) -> Job | None:
        """Return the next job, or None if this thread was idle for `idle` seconds and ends; it is then counted no more.

        Rarely the queue waits forever instead: its time left goes below zero when another thread takes the item
        for which it woke. Such a thread is as free as before, and leaves later.
        """
        while True:
            try:
                return self._jobs.get(timeout=self.idle)
            except queue.Empty:
                pass
            with self._lock:
                if self._spare > 0:  # else a job is on its way to this thread
                    self._spare -= 1
                    self._count -= 1
                    return None


_pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()
_shared: ThreadPool | None = None


def shared_pool() -> ThreadPool:
    """Return the process's pool for toolsets without their own; the first call makes it."""
    global _shared
    if _shared is None:
        _shared = ThreadPool()
    return _shared


def _forget_after_fork() -> None:
    """Drop the threads of all pools in a child process, which has none of them."""
    for pool in list(_pools):
        pool._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
