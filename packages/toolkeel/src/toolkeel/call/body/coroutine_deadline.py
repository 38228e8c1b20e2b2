"""Deadlines and cancellation of an async body.

Theory of operation. A body runs in the task of the caller, driven by `run_coroutine` step by step
(``send`` and ``throw``) instead of by a bare ``await``. That gives three things a bare ``await``
cannot: nothing is watched until the body waits for the first time, so a body that never waits costs
no timer; a body that ignores its cancellation can be detached from its call; and our cancellations
are distinguished from foreign ones.

Two signals stop a body: its deadline, a timer of the loop, and the run's cancel token. Both call
`Stopper.request_stop`, which stores the reason first and then cancels the task. The task counts
cancellations (`Task.cancelling`). Those since the body started are either ours or foreign, which
`TaskCancels` distinguishes. When the body has ended, `raise_outcome` takes ours back (`Task.uncancel`), so
`asyncio.timeout` and `TaskGroup` around and inside the body keep counting correctly. Then:

- a foreign cancellation is left: `CancelledError` propagates, whatever the body made of it;
- only ours: the result is `TimedOut` or `Cancelled`, with what is known about the work;
- none, but the body raised `CancelledError`: it cancelled itself.

A body that was asked to stop, or whose task was canceled with `GRACE_ONLY`, has `GRACE` seconds to clean
up. Then it continues in a task of its own (`detached_tasks`) and its call is answered without it. Any other
foreign cancellation is passed to the body, which then takes as long as it takes. A future that ignores cancellation cannot
hold the call either: it is awaited through `TaskCancels.wait_for`, which ends with the grace time.

The deadline of a step differs in what its clock counts and which error it raises: `StepClock`, in
`step_deadline`, is the other `CoroutineStopper`.

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

Sync bodies run in threads, which cannot be stopped: see `run_in_thread`.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from time import perf_counter
from typing import Any, Protocol, TypeAlias, cast

from toolkeel.call.body.detached_tasks import detach
from toolkeel.call.body.stop_errors import (
    Reason,
    WorkState,
    overdue_error,
    self_cancelled_error,
    stop_error,
)
from toolkeel.call.body.task_cancels import TaskCancels
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared
from toolkeel.errors import CallError, Cancelled, Suspend, TimedOut

Handler: TypeAlias = Callable[[Prepared, ToolContext], Awaitable[object]]


class Stopper:
    """Stops waiting work once: stores the reason, then calls back.

    Args:
        loop: The event loop of the work.
        on_stop: Called once, in the loop, when the work must stop.

    Attributes:
        reason: Why the work must stop; empty if it need not.
    """

    __slots__ = ("_closed", "_loop", "_on_stop", "_timer", "reason")

    def __init__(self, loop: asyncio.AbstractEventLoop, on_stop: Callable[[], object]) -> None:
        self.reason: Reason = ""
        self._loop = loop
        self._on_stop = on_stop
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None

    def request_stop(self, reason: Reason) -> None:
        """Store the reason and call `on_stop`. Do nothing after an earlier request or `close`."""
        if not (self.reason or self._closed):
            self.reason = reason
            self._on_stop()

    def _start_timer(self, seconds: float) -> None:
        """Request the stop, for the reason "timeout", after some seconds."""
        self._timer = self._loop.call_later(seconds, self.request_stop, "timeout")

    def _stop_timer(self) -> None:
        """Cancel and remove the timer, if there is one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Remove timer and callback: nothing is stopped from now on."""
        self._closed = True
        self._on_stop = _do_nothing  # it holds this object: nothing shall wait for the collector
        self._stop_timer()


class CallStopper(Stopper):
    """Stops one waiting body at its deadline, or by the run's cancel token, until it is closed.

    Side effect: the context has the deadline, and this clock, from the start.

    Args:
        context: The call.
        timeout: Maximum seconds; None for no limit.
        loop: The event loop of the body.
        on_stop: Called once, in the loop, when the body must stop.
        elapsed: Seconds that the body has run already.
    """

    __slots__ = ("_seconds_left", "_timeout", "context")

    def __init__(
        self,
        context: ToolContext,
        timeout: float | None,
        loop: asyncio.AbstractEventLoop,
        on_stop: Callable[[], object],
        elapsed: float = 0.0,
    ) -> None:
        super().__init__(loop, on_stop)
        self.context = context
        self._timeout = timeout
        self._seconds_left = left = max((timeout or 0.0) - elapsed, 0.0)
        if timeout is not None:
            context.set_deadline(left)
            context.deadline_clock = self
            if not context.pause_count:
                self._start_timer(left)
        context.run.cancel.add_watcher(self, self._on_cancel)

    def _on_cancel(self) -> None:
        """Request the stop from any thread; do nothing once the loop has closed."""
        with suppress(RuntimeError):  # the loop has closed: there is nothing left to stop
            self._loop.call_soon_threadsafe(self.request_stop, "cancelled")

    def pause(self, paused: bool) -> None:
        """Stop the deadline, if any, while a person is asked, or continue with the time that was left."""
        if self._timeout is None or self._closed:
            return
        self._stop_timer()
        if paused:
            self._seconds_left = max(self.context.time_left or 0.0, 0.0)
        else:
            self.context.set_deadline(self._seconds_left)
            self._start_timer(self._seconds_left)

    def close(self) -> None:
        """Stop watching the body: remove timer, watcher and the context's clock."""
        super().close()
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
    """Do nothing."""


# — coroutines —


class CoroutineStopper(Protocol):
    """What `wait_until_end` needs to know of the signals that stop a coroutine.

    Attributes:
        reason: Why the coroutine must stop; empty if it need not.
        cancels: The cancellations of its task.
    """

    reason: Reason
    cancels: TaskCancels

    def error(self, work: WorkState) -> Exception:
        """Return the error of the stopped coroutine."""
        raise NotImplementedError

    def finish(self, began: float) -> None:
        """Handle the coroutine's return; raise if it was stopped. `began`: start of its last step."""

    def raise_outcome(self, error: BaseException | None) -> None:
        """Undo our cancellations; raise the error that replaces `error`, the coroutine's, if any."""

    def close(self) -> None:
        """Stop watching the coroutine."""


@types.coroutine
def run_coroutine(
    body: Coroutine[Any, Any, object], context: ToolContext, timeout: float | None
) -> Generator[Any, Any, object]:
    """Await a body under its deadline, if it has one, and the run's cancel token; return its value.

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
    except asyncio.CancelledError:  # only the body can have raised it before its first wait
        raise self_cancelled_error(context.tool_name) from None
    stopper = TaskStopper(context, timeout, perf_counter() - began)
    return (yield from wait_until_end(body, waiting, stopper))


def wait_until_end(
    body: Coroutine[Any, Any, object], waiting: Any, stopper: CoroutineStopper
) -> Generator[Any, Any, object]:
    """Drive a coroutine from its first wait to its end; return its value. Close the stopper.

    Args:
        body: The coroutine. If it ignores its cancellation, it continues in a task of its own.
        waiting: What it waits for.
        stopper: The signals that stop it.

    Raises:
        BaseException: the stopper's error, or the coroutine's own exception.
    """
    cancels = stopper.cancels
    began = 0.0
    try:
        while True:
            try:
                if type(waiting) is asyncio.Future:
                    yield waiting
                else:
                    yield from cancels.wait_for(waiting)
            except BaseException as error:
                if cancels.is_grace_over(error, body):
                    raise _detach(body, error, stopper) from None
                began = perf_counter()
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


def _detach(
    body: Coroutine[Any, Any, object], error: BaseException, stopper: CoroutineStopper
) -> BaseException:
    """Move a coroutine, still running, to its own task. Return the error that ends its call."""
    detach(body, error, stopper.cancels.loop)
    return stopper.error("running") if stopper.reason else error


def stop_on_cancel(handler: Handler) -> Handler:
    """Return a handler that the run's cancel token stops also while steps run."""

    def watching(prepared: Prepared, context: ToolContext) -> Awaitable[object]:
        """Return an awaitable that runs the handler, and that the run's cancel token stops."""
        inner = cast("Coroutine[Any, Any, object]", handler(prepared, context))
        return cast("Awaitable[object]", run_coroutine(inner, context, None))

    return watching


class TaskStopper(CallStopper):
    """A stopper that cancels the body's task.

    Attributes:
        cancels: The cancellations of the task.
    """

    __slots__ = ("cancels",)

    def __init__(self, context: ToolContext, timeout: float | None, elapsed: float) -> None:
        self.cancels = cancels = TaskCancels()
        super().__init__(context, timeout, cancels.loop, cancels.cancel, elapsed)

    def finish(self, began: float) -> None:
        """Record that the body has returned; raise `TimedOut` or `Cancelled` if it was stopped or is late."""
        self.check_return(began)
        self.context.body_state = "done"

    def check_return(self, began: float) -> None:
        """Raise unless the value that a body returned counts, since it came in time.

        Args:
            began: Start time of its last step: a step that blocks the loop hides the deadline.

        Raises:
            TimedOut, Cancelled, asyncio.CancelledError: the body was stopped, or is too late.
        """
        if self.reason or self.cancels.has_any():
            self.raise_outcome(None)
            return
        deadline = self.context.deadline or began
        if self._timeout is not None and began < deadline < perf_counter():
            raise overdue_error(self.context.tool_name, self._timeout) from None

    def raise_outcome(self, error: BaseException | None) -> None:
        """Undo our own cancellations, then raise the error that replaces the body's, if any.

        Args:
            error: The exception of the body; None if it returned.
        """
        is_foreign = self.cancels.take_back()
        if isinstance(error, Suspend):  # the call goes on later, whatever stopped its inner run now
            if isinstance(error.__cause__, asyncio.CancelledError) and not is_foreign:
                error.__cause__ = None
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

    def close(self) -> None:
        """Stop watching the body, and end its grace period."""
        super().close()
        self.cancels.close()
