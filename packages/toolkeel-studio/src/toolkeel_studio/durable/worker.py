"""The worker of this process: it lets runs that are next into the engine's queue, and runs them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from datetime import datetime
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any, Final, NoReturn

from dbos import DBOS, WorkflowStatus
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from toolkeel.errors import SetupError
from toolkeel.sessions.errors import LaterTables, SessionError
from toolkeel_studio.durable.connections import close_engine
from toolkeel_studio.durable.engine import JOURNAL, RUN, TICK, JSONOnly, RunQueue
from toolkeel_studio.durable.fair_queue import FairQueue, ScopeLimits
from toolkeel_studio.durable.orders import RunOrder
from toolkeel_studio.durable.worker_log import LOGGER

Work = Callable[[RunOrder, WorkflowStatus | None], Awaitable[dict[str, str]]]
Tick = Callable[[str, dict[str, Any]], RunOrder]

POLL_SECONDS: Final = 0.2
"""Seconds between two polls of the queue."""
CHOICE_SECONDS: Final = 0.1
"""Seconds between two choices of the runs that are next."""
ATTEMPTS: Final = 9
"""How many times a run is tried while its session cannot be read or written, in some two minutes."""
_CONNECTIONS: Final = 8
COUNT_SECONDS: Final = 2.0
"""Seconds in which the database says how many runs wait; a scraper waits for ten."""
END_SECONDS: Final = 15.0
"""Seconds in which an ending worker puts its runs back, or gives up."""
_POLL_END_SECONDS: Final = 10.0
"""Seconds in which a poll of the queue ends, even if the database is silent."""


class Worker:
    """The worker of this process.

    Args:
        queue: What it takes runs from.
        work: Runs one.
        tick: Makes a run of a schedule's name, time and context.
        id: Its name, which stays the same when it is started again.
        max_concurrency: How many runs go on in it at a time.
        limits: Limits of each scope.
    """

    def __init__(
        self,
        queue: RunQueue,
        work: Work,
        tick: Tick,
        id: str,
        max_concurrency: int,
        limits: ScopeLimits,
    ) -> None:
        self.queue = queue
        self._fair = FairQueue(queue.address, queue.name, JOURNAL, limits)
        self._is_stopping = self._has_late = self.is_outdated = False
        self._is_reachable = True
        self._room_changed = Event()
        self._chooser = Thread(target=self._choose, name="toolkeel-next-runs", daemon=True)
        self.id = id
        self.tick = tick
        self._work = work
        self._max_concurrency = max_concurrency
        self._lock = Lock()
        self.running = 0
        self._counted: Future[int] | None = None
        self._engine: DBOS | None = None
        self._connections: Engine | None = None
        self.put_back: list[str] = []

    def start(self) -> None:
        """Start to take runs, unfinished ones of this worker's name first.

        Raises:
            SetupError: this process has a worker already.
        """
        global _worker
        if _worker is not None:
            raise SetupError("a process has one worker: start another process")
        _worker = self
        self._connections = self.queue.open_engine(_CONNECTIONS)
        self._engine = DBOS(
            config={
                "name": self.queue.name,
                "system_database_url": self.queue.address,
                "system_database_engine": self._connections,
                "serializer": JSONOnly(),
                "executor_id": self.id,
                "application_version": JOURNAL,
                "log_level": "WARNING",
                "sys_db_pool_size": _CONNECTIONS,
                "scheduler_polling_interval_sec": 5.0,
            }
        )
        DBOS.launch()
        DBOS.register_queue(
            self.queue.name,
            worker_concurrency=self._max_concurrency,
            partition_concurrency=1,  # runs of one session come one after the other
            polling_interval_sec=POLL_SECONDS,
            on_conflict="always_update",
        )
        self._chooser.start()

    def _choose(self) -> None:
        """Let the runs that are next into the engine's queue, as long as there is room."""
        while not self._is_stopping:
            self._room_changed.wait(CHOICE_SECONDS)
            self._room_changed.clear()
            try:
                self._fair.move_next(self._max_concurrency, self.id)
                self._is_reachable = True
            except SQLAlchemyError as error:
                if self._is_reachable:
                    LOGGER.warning("the next runs cannot be chosen: %s", str(error).split("\n")[0])
                self._is_reachable = False
        self._fair.close()

    def show_health(self) -> tuple[int, str]:
        """Return an HTTP status, and ``ok``, ``ending``, or that the database cannot be reached."""
        if self._is_stopping:
            return 503, "ending\n"
        return (200, "ok\n") if self._is_reachable else (503, "the database cannot be reached\n")

    def count_queued(self, seconds: float = COUNT_SECONDS) -> int | None:
        """Return how many runs wait in the queue, or None if the database does not answer in time.

        One thread asks at a time, so that a silent database leaves no more behind.

        Args:
            seconds: How long to wait for the answer.
        """
        with self._lock:
            if (counted := self._counted) is None or counted.done():
                counted = self._counted = Future[int]()
                Thread(target=self._count, args=(counted,), daemon=True).start()
        try:
            return counted.result(seconds)
        except (TimeoutError, SQLAlchemyError):
            return None

    def _count(self, counted: Future[int]) -> None:
        try:
            counted.set_result(self._fair.count_waiting())
        except Exception as error:
            counted.set_exception(error)

    async def work(self, order: RunOrder) -> dict[str, str]:
        """Run one order, and count it as running; while the worker ends, leave it to be put back."""
        with self._lock:
            is_late = self._is_stopping
            self._has_late |= is_late
            self.running += not is_late
        if is_late:  # what begins now would be cancelled in its middle
            await _forever()
        try:
            status = await asyncio.to_thread(self.queue.status, order["id"])
            return await self._work(order, status)
        except LaterTables as error:  # a worker of the later version goes on with it
            if not self.is_outdated:
                LOGGER.error("this worker ends: %s", error)
            self._has_late = self.is_outdated = True
        finally:
            with self._lock:
                self.running -= 1
            self._room_changed.set()
        return await _forever()

    def stop(self, seconds: float) -> bool:
        """Take no more runs, and wait for those in progress. Return True if all have ended.

        Unfinished runs return to the queue; they stop only when this process ends. If the database does
        not answer, they stay this worker's own, and this returns at most `END_SECONDS` later.

        Args:
            seconds: How long to wait.

        Raises:
            Exception: Whatever else fails meanwhile.
        """
        with self._lock:
            self._is_stopping = True
        ended = Future[bool]()

        def drain() -> None:
            try:
                ended.set_result(self._drain(monotonic() + seconds))
            except Exception as error:  # raised again below
                ended.set_exception(error)

        Thread(target=drain, daemon=True).start()
        # The engine asks a silent database again forever.
        if wait([ended], seconds + END_SECONDS).done:
            try:
                return ended.result()
            except (OperationalError, PoolTimeout):  # it refuses, or is silent to our own requests
                pass
        LOGGER.error(
            "the database does not answer: runs of this worker continue when it is started again as "
            "%s, or with --adopt",
            self.id,
        )
        return False

    def _drain(self, limit: float) -> bool:
        """Wait for runs until a time of the monotonic clock; see `stop`."""
        global _worker
        assert self._engine is not None
        for event in self._engine.background_thread_stop_events:
            event.set()
        for thread in threading.enumerate():
            if thread.name.startswith("queue-worker-"):  # of the engine: it may be taking runs now
                thread.join(_POLL_END_SECONDS)
        while self.running or self._has_taken():
            if (self._has_late and not self.running) or monotonic() > limit:
                self.put_back = self.queue.requeue(self.id, died=False)
                return False
            sleep(0.05)
        DBOS.destroy(workflow_completion_timeout_sec=2)
        if self._connections is not None:
            close_engine(self._connections)
        self._engine, _worker = None, None
        return True

    def _has_taken(self) -> bool:
        """Return True if the engine has a run that has not begun, or whose end is not yet stored."""
        return self._is_reachable and bool(self.queue.unfinished(self.id))


async def _forever() -> NoReturn:
    """Wait until the process ends, so that the run stays unfinished and is put back."""
    while True:
        await asyncio.Event().wait()


_worker: Worker | None = None


def _working() -> Worker:
    if _worker is None:
        raise SetupError("this process has no worker")
    return _worker


def _unreachable(error: BaseException) -> bool:
    return isinstance(error, SessionError)


def is_retried(error: BaseException) -> bool:
    """Return True if the run in progress is tried again after this error, by this worker or another."""
    if not isinstance(error, Exception) or isinstance(error, LaterTables):
        return True
    step = DBOS.step_status
    is_last = step is not None and step.current_attempt == ATTEMPTS - 1
    return _unreachable(error) and not is_last


@DBOS.workflow(name=RUN, max_recovery_attempts=None)  # `recovery` has a rule of its own
async def _run(order: RunOrder) -> dict[str, str]:
    """Run an order in one step, which the session's journal makes safe to repeat."""
    return await DBOS.run_step_async(
        {
            "name": "go_on",
            "retries_allowed": True,
            "max_attempts": ATTEMPTS,
            "interval_seconds": 0.25,
            "should_retry": _unreachable,
        },
        _working().work,
        order,
    )


@DBOS.workflow(name=TICK)
async def _tick(when: str | datetime, context: dict[str, Any]) -> None:
    """Put a scheduled run into the queue, under an id that all workers share."""
    worker = _working()
    at = when if isinstance(when, str) else when.isoformat()
    order = await asyncio.to_thread(worker.tick, at, context)
    await asyncio.to_thread(worker.queue.put, order)
