"""The deadline of a step: the time that it takes itself, without the time inside `proceed`.

The clock stops while the step waits for what it wraps, or for a person (`ToolContext.pause_deadline`).
A step that exceeds its deadline is cancelled where it waits, as a body is, and left behind if it
resists. An attribute `step_timeout` of a step replaces the run's `callback_timeout`: None for a step
whose waits have a bound of their own.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar, cast

from toolkeel.call.body.coroutine_deadline import Stopper, wait_until_end
from toolkeel.call.body.stop_errors import WorkState
from toolkeel.call.body.task_cancels import TaskCancels
from toolkeel.context import RunContext, ToolContext
from toolkeel.errors import CallError, Suspend

W = TypeVar("W")
V = TypeVar("V")
StepWork = Callable[[Callable[[W], Awaitable[V]]], Awaitable[V]]
"""Starts a step with the function by which it proceeds."""
LateError = Callable[[float, WorkState], Exception]
"""Returns the error of a step that exceeded its deadline: the seconds, and what became of its work."""


def step_name(step: object) -> str:
    """Return the name of a step: that of its function or class."""
    name: str = getattr(step, "__name__", type(step).__name__)
    return name


def step_timeout(step: object, run: RunContext) -> float | None:
    """Return the step's `step_timeout`, else the run's `callback_timeout`; None for no limit."""
    seconds: float | None = getattr(step, "step_timeout", run.scope.callback_timeout)
    return seconds


async def run_step(
    start: StepWork[W, V],
    proceed: Callable[[W], Awaitable[V]],
    seconds: float,
    late: LateError,
    context: ToolContext | None = None,
) -> V:
    """Run a step under its deadline, and return its value.

    Args:
        start: Starts it.
        proceed: Runs what the step wraps; this time does not count.
        seconds: Maximum time of the step itself.
        late: Returns the error of a step that took longer.
        context: The call, whose `pause_deadline` stops the clock; None for a model request.

    Raises:
        Exception: the error of `late`, or the step's own.
    """
    clock = StepClock(seconds, late, context)

    async def passing(what: W) -> V:
        """Run what the step wraps, with the clock stopped; raise the step's error once it was stopped."""
        if clock.reason:  # it was stopped, and nothing it does counts any more
            raise clock.error("running")
        clock.stop()
        try:
            return await proceed(what)
        finally:
            clock.resume()

    clock.resume()
    try:
        work = start(passing)
        body = work if isinstance(work, types.CoroutineType) else _await(work)
        return cast("V", await _run_coroutine(body, clock))
    finally:
        clock.close()


async def _await(work: Awaitable[V]) -> V:
    """Await a value that is no coroutine, and return its result."""
    return await work


@types.coroutine
def _run_coroutine(
    body: Coroutine[Any, Any, object], clock: StepClock
) -> Generator[Any, Any, object]:
    """Await a step under its clock; return its value, or raise its exception or the clock's."""
    try:
        waiting = body.send(None)
    except StopIteration as ended:
        return ended.value
    return (yield from wait_until_end(body, waiting, clock))


class StepClock(Stopper):
    """A stopper whose deadline counts the time of a step alone.

    Args:
        seconds: Maximum time of the step itself.
        late: Returns the error of a step that took longer.
        context: The call; None for a model request.

    Attributes:
        cancels: The cancellations of the step's task.
    """

    __slots__ = ("_context", "_late", "_seconds", "_seconds_left", "_since", "_stops", "cancels")

    def __init__(self, seconds: float, late: LateError, context: ToolContext | None) -> None:
        self.cancels = cancels = TaskCancels()
        super().__init__(cancels.loop, cancels.cancel)
        self._seconds_left = self._seconds = seconds
        self._late, self._context = late, context
        self._since, self._stops = 0.0, 1

    def resume(self) -> None:
        """Count the time from now on, unless something else still stops the clock."""
        self._stops -= 1
        if self._stops or self._closed:
            return
        if self._context is not None:
            self._context.deadline_clock = self
        self._since = self._loop.time()
        self._start_timer(self._seconds_left)

    def stop(self) -> None:
        """Stop the clock until `resume` has been called as often."""
        self._stops += 1
        if self._timer is None:
            return
        self._stop_timer()
        self._seconds_left = max(self._seconds_left - (self._loop.time() - self._since), 0.0)
        if self._context is not None and self._context.deadline_clock is self:
            self._context.deadline_clock = None

    def pause(self, paused: bool) -> None:
        """Stop the clock while a person is asked, or continue it."""
        (self.stop if paused else self.resume)()

    def close(self) -> None:
        """Stop the clock for good, and end the grace period."""
        if not self._closed:
            self.stop()
            super().close()
            self.cancels.close()

    def error(self, work: WorkState) -> Exception:
        """Return the error of a step that took more than its seconds; `work` is what became of its work."""
        return self._late(self._seconds, work)

    def finish(self, began: float) -> None:
        """Raise the clock's error, or `CancelledError`, if the returned step was stopped or cancelled."""
        if self.reason or self.cancels.has_any():
            self.raise_outcome(None)

    def raise_outcome(self, error: BaseException | None) -> None:
        """Undo the clock's cancellations, then raise the error that replaces the step's, if any."""
        is_foreign = self.cancels.take_back()
        if isinstance(error, Suspend):
            return
        if is_foreign and not isinstance(error, asyncio.CancelledError):
            raise asyncio.CancelledError from error
        if self.reason and not is_foreign and not isinstance(error, CallError):
            cause = None if isinstance(error, asyncio.CancelledError) else error
            raise self.error("stopped") from cause
