"""The cancellations of the task in which a coroutine runs: ours, and foreign ones.

Before Python 3.13 a `TaskGroup` that fails cancels its parent task and never takes that back. No
public name distinguishes this cancellation from a foreign one, so `_is_exiting_task_group` inspects
the group. See `coroutine_deadline` for the theory of operation.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator
from typing import Any, TypeGuard, cast

GRACE = 1.0
"""Seconds a body may take to clean up after it was asked to stop."""

GRACE_ONLY = "toolkeel: end within the time of grace"
"""Message for `Task.cancel` that also gives a body which resists only `GRACE` seconds."""


class TaskCancels:
    """The cancellations of the current task from now on, and their grace period.

    A coroutine may swallow a cancellation; only the task's count shows it.

    Attributes:
        loop: The task's event loop.
    """

    __slots__ = ("_before", "_grace", "_is_over", "_is_requested", "_own", "_task", "loop")

    def __init__(self) -> None:
        self._task = task = cast("asyncio.Task[object]", asyncio.current_task())
        self.loop = task.get_loop()
        # A signal handler may have cancelled the task in the very step in which the body began.
        self._before = task.cancelling() - int(getattr(task, "_must_cancel", False))
        self._own = 0
        self._grace: asyncio.TimerHandle | None = None
        self._is_requested = False
        self._is_over = False

    def cancel(self) -> None:
        """Cancel the task, count that as our cancellation, and start the grace period."""
        self._is_requested = True
        self._own += 1
        self._task.cancel()
        self._start_grace()

    def has_any(self) -> bool:
        """Return True if the task has cancellations that were not taken back, ours or foreign."""
        return self._task.cancelling() != self._before

    def take_back(self) -> bool:
        """Take our cancellations of the task back; return True if there are foreign ones."""
        self.close()
        for _ in range(self._own):
            if self._task.cancelling() > self._before:
                self._task.uncancel()
        return self._task.cancelling() > self._before

    def close(self) -> None:
        """End the grace period without another cancellation."""
        if self._grace is not None:
            self._grace.cancel()

    def wait_for(self, waiting: Any) -> Generator[Any, Any, None]:
        """Wait for an awaitable that is no plain future and may ignore cancellation.

        As in a task, a cancellation is passed on to the awaitable. `CancelledError` is raised only if
        the awaitable refuses it, or once the grace time is over.
        """
        if not _is_future_of(waiting, self.loop):
            yield waiting
            return
        waiting._asyncio_future_blocking = False  # as a task does that takes a future on
        while not waiting.done():
            turn: asyncio.Future[None] = self.loop.create_future()
            waiting.add_done_callback(lambda _, turn=turn: turn.done() or turn.set_result(None))
            try:
                yield from turn
            except asyncio.CancelledError as error:
                if self.is_grace_over(error, None) or not waiting.cancel(*error.args[:1]):
                    raise

    def is_grace_over(self, error: BaseException, body: object) -> bool:
        """Return True if the grace time is over. Side effect: take note of a cancellation.

        One with `GRACE_ONLY` starts the grace period; that of an ending `TaskGroup` counts as ours.

        Args:
            error: The exception that ended the wait.
            body: The coroutine that waits.
        """
        if isinstance(error, asyncio.CancelledError):
            task = cast("asyncio.Task[object]", asyncio.current_task())
            if task is not self._task:  # an outer body was left behind, and this one in it
                self._task, self._before, self._own = task, task.cancelling(), 0
            if GRACE_ONLY in error.args:
                self._start_grace()
            elif sys.version_info < (3, 13) and _is_exiting_task_group(body):
                self._own += 1
        return self._is_over

    def _start_grace(self) -> None:
        """Start the grace period, unless it runs already."""
        if self._grace is None:
            self._grace = self.loop.call_later(GRACE, self._end_grace)

    def _end_grace(self) -> None:
        """Cancel a task that outlived its grace period again, if its stop is still requested."""
        self._grace = None
        if self._is_requested or self._task.cancelling() > self._before:
            self._is_over = True
            self._own += 1
            self._task.cancel()


def _is_exiting_task_group(body: object) -> bool:
    """Return True if a body waits at the end of a `TaskGroup` that cancelled its task.

    Before Python 3.13 the group never takes that cancellation back, and the task would count it
    for ever.
    """
    while body is not None:
        frame = getattr(body, "cr_frame", None)
        if frame is not None and frame.f_code is asyncio.TaskGroup.__aexit__.__code__:
            group = frame.f_locals["self"]
            return bool(getattr(group, "_parent_cancel_requested", False))
        body = getattr(body, "cr_await", None)
    return False


def _is_future_of(waiting: object, loop: asyncio.AbstractEventLoop) -> TypeGuard[Any]:
    """Return True if an object is a future of this event loop."""
    return isinstance(waiting, asyncio.Future) and waiting.get_loop() is loop
