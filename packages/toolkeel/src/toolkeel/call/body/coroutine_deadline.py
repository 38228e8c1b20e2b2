"""Deadlines and cancellation of an async body.

Theory of operation. A body runs in the task of the caller, driven by `run_coroutine` step by step
(``send`` and ``throw``) instead of by a bare ``await``. That gives three things a bare ``await``
cannot: nothing is watched until the body waits for the first time, so a body that never waits costs
no timer; a body that ignores its cancellation can be detached from its call; and our cancellations
are distinguished from foreign ones.

Two signals stop a body: its deadline, a timer of the loop, and the run's cancel token. Both call
`Stopper.request_stop`, which stores the reason first and then cancels the task. The task counts
cancellations (`Task.cancelling`). Those since the body started are either ours (`_own_cancels`) or
foreign. When the body has ended, `raise_outcome` takes ours back (`Task.uncancel`), so
`asyncio.timeout` and `TaskGroup` around and inside the body keep counting correctly. Then:

- a foreign cancellation is left: `CancelledError` propagates, whatever the body made of it;
- only ours: the result is `TimedOut` or `Cancelled`, with what is known about the work;
- none, but the body raised `CancelledError`: it cancelled itself.

A body that was asked to stop, or whose task was canceled with `GRACE_ONLY`, has `GRACE` seconds to clean
up. Then it continues in a task of its own (`detached_tasks`) and its call is answered without it. Any other
foreign cancellation is passed to the body, which then takes as long as it takes. A future that ignores cancellation cannot
hold the call either: it is awaited through `TaskStopper.wait_for`, which ends with the grace time.

::

    started --returns or raises--> ended
       | first wait
       v
    waiting --returns or raises---------------> ended
       |                                          ^
       | deadline, cancel token, or `GRACE_ONLY`   |
       v                                          |
    stopping --ends within GRACE seconds-----------+
       |
       | GRACE seconds over
       v
    detached: the call has its result, the body continues in its own task

Before Python 3.13 a `TaskGroup` that fails cancels its parent task and never takes that back. No
public name distinguishes this cancellation from a foreign one, so `_is_exiting_task_group` inspects
the group. Sync bodies run in threads, which cannot be stopped: see `run_in_thread`.
"""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from time import perf_counter
from typing import Any, TypeAlias, TypeGuard, cast

from toolkeel.call.body.detached_tasks import detach
from toolkeel.call.body.stop_errors import (
    Reason,
    WorkState,
    overdue_error,
    self_cancelled_error,
    stop_error,
)
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared
from toolkeel.errors import CallError, Cancelled, Suspend, TimedOut

Handler: TypeAlias = Callable[[Prepared, ToolContext], Awaitable[object]]

GRACE = 1.0
"""Seconds a body may take to clean up after it was asked to stop."""

GRACE_ONLY = "toolkeel: end within the time of grace"
"""Message for `Task.cancel` that also gives a body which resists only `GRACE` seconds."""


class Stopper:
    """The signals that stop one waiting body: its deadline and the run's cancel token.

    Args:
        context: The call.
        timeout: Maximum seconds; None for no limit.
        loop: The event loop of the body.
        on_stop: Called once, in the loop, when the body must stop.
        elapsed: Seconds that the body has run already.

    Attributes:
        reason: Why the body must stop; empty if it need not.
    """

    __slots__ = (
        "_closed",
        "_loop",
        "_on_stop",
        "_seconds_left",
        "_timeout",
        "_timer",
        "context",
        "reason"
    )  # fmt: skip

    def __init__(
        self,
        context: ToolContext,
        timeout: float | None,
        loop: asyncio.AbstractEventLoop,
        on_stop: Callable[[], object],
        elapsed: float = 0.0,
    ) -> None:
        self.reason: Reason = ""
        self.context = context
        self._timeout = timeout
        self._loop = loop
        self._on_stop = on_stop
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._seconds_left = left = max((timeout or 0.0) - elapsed, 0.0)
        if timeout is not None:
            context.set_deadline(left)
            context.deadline_clock = self
            if not context.pause_count:
                self._timer = loop.call_later(left, self.request_stop, "timeout")
        context.run.cancel.add_watcher(self, self._on_cancel)

    def _on_cancel(self) -> None:
        """Request the stop from any thread; do nothing once the loop has closed."""
        with suppress(RuntimeError):  # the loop has closed: there is nothing left to stop
            self._loop.call_soon_threadsafe(self.request_stop, "cancelled")

    def request_stop(self, reason: Reason) -> None:
        """Store the reason and call `on_stop`. Do nothing after an earlier request or the body's end."""
        if not (self.reason or self._closed):
            self.reason = reason
            self._on_stop()

    def pause(self, paused: bool) -> None:
        """Stop the deadline while a person is asked, or continue with the time that was left."""
        if self._timeout is None or self._closed:
            return
        self._stop_timer()
        if paused:
            self._seconds_left = max(self.context.time_left or 0.0, 0.0)
        else:
            self.context.set_deadline(self._seconds_left)
            self._timer = self._loop.call_later(self._seconds_left, self.request_stop, "timeout")

    def _stop_timer(self) -> None:
        """Cancel and remove the deadline's timer, if there is one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Stop watching the body: remove timer and watcher."""
        self._closed = True
        self._on_stop = _do_nothing  # it holds this object: nothing shall wait for the collector
        self._stop_timer()
        if self.context.deadline_clock is self:
            self.context.deadline_clock = None
        self.context.run.cancel.remove_watcher(self)

    def error(self, work: WorkState) -> TimedOut | Cancelled:
        """Return the error, for the model, of the stopped call.

        Args:
            work: State of the body, such as ``running`` or ``stopped``.
        """
        return stop_error(self.context, self.reason, self._timeout, work)


def _do_nothing() -> None:
    pass


# — coroutines —


@types.coroutine
def run_coroutine(
    body: Coroutine[Any, Any, object],
    context: ToolContext,
    timeout: float | None,
    clock: TaskStopper | None = None,
) -> Generator[Any, Any, object]:
    """Await a body under its deadline and the run's cancel token, or a `clock`; return its value.

    A body that ignores its cancellation continues in a task of its own.

    Raises:
        TimedOut, Cancelled: the body was stopped, or cancelled itself.
        asyncio.CancelledError: the task was cancelled from outside, even if the body swallowed that.
        BaseException: any other exception of the body, unchanged.
    """
    began = perf_counter()
    try:
        waiting = body.send(None)
    except StopIteration as ended:
        if timeout is not None and perf_counter() - began > timeout:
            raise overdue_error(context.tool_name, timeout) from None
        return ended.value
    except (
        asyncio.CancelledError
    ) as error:  # only the body can have raised it before its first wait
        raise _early_cancel(error, context, clock) from None
    stopper = clock or TaskStopper(context, timeout, perf_counter() - began)
    try:
        while True:
            try:
                if type(waiting) is asyncio.Future:
                    yield waiting
                else:
                    yield from stopper.wait_for(waiting)
            except BaseException as error:
                if stopper.is_grace_over(error, body):
                    raise stopper.detach_body(body, error) from None
                waiting = body.throw(error)
            else:
                began = perf_counter()
                waiting = body.send(None)
    except StopIteration as ended:
        stopper.finish(began)
        return ended.value
    except (asyncio.CancelledError, Exception, Suspend) as error:
        stopper.raise_outcome(error)
        raise
    finally:
        stopper.close()


def _early_cancel(
    error: BaseException, context: ToolContext, clock: TaskStopper | None
) -> BaseException:
    """Return the error of a body that raised `CancelledError` before its first wait."""
    return self_cancelled_error(context.tool_name) if clock is None else error


def stop_on_cancel(handler: Handler) -> Handler:
    """Return a handler that the run's cancel token stops also while steps run."""

    def watching(prepared: Prepared, context: ToolContext) -> Awaitable[object]:
        """Run the handler in a task that the run's cancel token stops."""
        inner = cast("Coroutine[Any, Any, object]", handler(prepared, context))
        return cast("Awaitable[object]", run_coroutine(inner, context, None))

    return watching


class TaskStopper(Stopper):
    """A stopper that cancels the body's task, and counts whose cancellations it has had.

    Those since the body started are ours or foreign. A body may swallow them; only the count shows
    them.

    Attributes:
        task: The task in which the body waits.
        cancels_before: Number of cancellations when the body started.
    """

    __slots__ = ("_grace", "_is_over", "_own_cancels", "cancels_before", "task")

    def __init__(self, context: ToolContext, timeout: float | None, elapsed: float) -> None:
        task = self._start_counting()
        Stopper.__init__(self, context, timeout, task.get_loop(), self._cancel, elapsed)

    def _start_counting(self) -> asyncio.Task[object]:
        """Count cancellations of the current task from now on, and return the task."""
        self.task = task = cast("asyncio.Task[object]", asyncio.current_task())
        self._loop = task.get_loop()
        # A signal handler may have cancelled the task in the very step in which the body began.
        self.cancels_before = task.cancelling() - int(getattr(task, "_must_cancel", False))
        self._own_cancels = 0
        self._grace: asyncio.TimerHandle | None = None
        self._is_over = False
        return task

    def wait_for(self, waiting: Any) -> Generator[Any, Any, None]:
        """Wait for an awaitable that is no plain future and may ignore cancellation.

        As in a task, a cancellation is passed on to the awaitable, and reaches the body only if it
        refuses. The wait ends with the grace time.
        """
        if not _is_future_of(waiting, self._loop):
            yield waiting
            return
        waiting._asyncio_future_blocking = False  # as a task does that takes a future on
        while not waiting.done():
            turn: asyncio.Future[None] = self._loop.create_future()
            waiting.add_done_callback(lambda _, turn=turn: turn.done() or turn.set_result(None))
            try:
                yield from turn
            except asyncio.CancelledError as error:
                if self.is_grace_over(error, None) or not waiting.cancel(*error.args[:1]):
                    raise

    def is_grace_over(self, error: BaseException, body: object) -> bool:
        """Count a cancellation of the task. Return True if the grace time is over."""
        if isinstance(error, asyncio.CancelledError):
            task = cast("asyncio.Task[object]", asyncio.current_task())
            if task is not self.task:  # an outer body was left behind, and this one in it
                self.task, self.cancels_before, self._own_cancels = task, task.cancelling(), 0
            if GRACE_ONLY in error.args:
                self._start_grace()
            elif sys.version_info < (3, 13) and _is_exiting_task_group(body):
                self._own_cancels += 1
        return self._is_over

    def detach_body(self, body: Coroutine[Any, Any, object], error: BaseException) -> BaseException:
        """Move the body, still running, to its own task. Return the error that ends its call."""
        detach(body, error, self._loop, GRACE)
        return self.error("running") if self.reason else error

    def finish(self, began: float) -> None:
        """Record that the body has returned, or raise if it was stopped or is too late."""
        self.check_return(began)
        self.context.body_state = "done"

    def check_return(self, began: float) -> None:
        """Raise unless the value that a body returned counts, since it came in time.

        Args:
            began: Start time of its last step: a step that blocks the loop hides the deadline.

        Raises:
            TimedOut, Cancelled, asyncio.CancelledError: the body was stopped, or is too late.
        """
        if self.reason or self.task.cancelling() != self.cancels_before:
            self.raise_outcome(None)
            return
        deadline = self.context.deadline or began
        if self._timeout is not None and began < deadline < perf_counter():
            raise overdue_error(self.context.tool_name, self._timeout) from None

    def raise_outcome(self, error: BaseException | None) -> None:
        """Undo our own cancellations, then raise the error that the call ends with, if any.

        Args:
            error: The exception of the body; None if it returned.
        """
        is_foreign = self.take_back_cancels()
        if isinstance(error, Suspend):  # the call goes on later, whatever stopped its inner run now
            error.__cause__ = error.__cause__ if is_foreign else None
        elif is_foreign:
            if not isinstance(error, asyncio.CancelledError):
                raise asyncio.CancelledError from error
        elif self.reason and not isinstance(error, CallError):
            cause = None if isinstance(error, asyncio.CancelledError) else error
            if cause is None and error and isinstance(error.__cause__, Cancelled):
                raise error.__cause__  # an inner body's own result of the same cancellation
            raise self.error("stopped") from cause
        elif isinstance(error, asyncio.CancelledError):
            raise self_cancelled_error(self.context.tool_name) from None

    def take_back_cancels(self) -> bool:
        """Take our cancellations of the task back; return True if there are foreign ones."""
        if self._grace is not None:
            self._grace.cancel()
        for _ in range(self._own_cancels):
            if self.task.cancelling() > self.cancels_before:
                self.task.uncancel()
        return self.task.cancelling() > self.cancels_before

    def _cancel(self) -> None:
        """Cancel the body's task, count it as our cancellation, and start the grace period."""
        self._own_cancels += 1
        self.task.cancel()
        self._start_grace()

    def _start_grace(self) -> None:
        """Start the grace period, unless it runs already."""
        if self._grace is None:
            self._grace = self._loop.call_later(GRACE, self._end_grace)

    def _end_grace(self) -> None:
        """Cancel a task that outlived its grace period again, if its stop is still requested."""
        self._grace = None
        if self._closed:
            return
        if self.reason or self.task.cancelling() > self.cancels_before:
            self._is_over = True
            self._own_cancels += 1
            self.task.cancel()


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
