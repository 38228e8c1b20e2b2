"""A sync body in a thread, under its call's deadline; the thread itself cannot be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolkeel.call.body.coroutine_deadline import CallStopper
from toolkeel.call.body.stop_errors import not_started_error, self_cancelled_error, stop_error
from toolkeel.call.body.thread_pool import Job, ThreadPool, shared_pool
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool


async def run_in_thread(
    tool: AnyTool, body: Callable[[], object], context: ToolContext, pool: ThreadPool | None
) -> object:
    """Run a body in a thread, under the call's deadline and the run's cancel token. Return its value.

    A body that is abandoned after it began is added to the context's `remote_count`.

    Args:
        tool: The tool, which has the timeout.
        body: The function to run.
        context: The context of the call.
        pool: The threads; None for the pool that all toolsets share.

    Raises:
        TimedOut, Cancelled: The body was abandoned, since a thread cannot be stopped, or cancelled
            itself.
        LimitReached: there is no thread for the body.
        BaseException: any other exception of the body, unchanged.
    """
    threads = pool or shared_pool()
    job, stop, drop = _submit(tool, body, context, threads)
    try:
        value = await job.future
        if tool.timeout is not None and job.ended > (context.deadline or job.ended):
            # A loop that was late has struck nothing: when the body ended decides.
            raise stop_error(
                context, "timeout", tool.timeout, "late" if context.body_state else "not started"
            )
        return value
    except asyncio.CancelledError:
        ended = job.future.done() and not job.future.cancelled()
        if ended and isinstance(job.future.exception(), asyncio.CancelledError):
            raise self_cancelled_error(tool.name) from None  # it is the body's
        if drop():
            context.remote_count += (
                not job.finished
            )  # a thread runs on, whoever cancelled this wait
        elif context.body_state == "runs":
            context.body_state = ""
        raise
    finally:
        stop.close()
        # An error would hold itself, by its traceback, this frame and the future.
        del job, stop, drop


def _submit(
    tool: AnyTool, body: Callable[[], object], context: ToolContext, threads: ThreadPool
) -> tuple[Job, CallStopper, Callable[[], bool]]:
    """Submit the body. Return its job, its stopper, and a function that abandons it.

    Raises:
        LimitReached: there is no thread for the body.
    """
    cancel = context.run.cancel
    started = abandoned = False

    def start() -> object:
        """Run the body in its thread, or raise `Cancelled` if the run was cancelled first.

        An abandoned body does not start and gives None.
        """
        nonlocal started
        if cancel.cancelled:  # while it waited for a thread
            raise not_started_error(tool.name, cancel.reason)
        started = True
        return None if abandoned else body()

    def drop() -> bool:
        """Abandon the job; return True if its body has started."""
        nonlocal abandoned
        abandoned = True  # before `started` is read: a thread that comes now sees it
        threads.abandon(job)
        return started

    def halt() -> None:
        """Abandon the job and fail its future with the stop error, unless it has an outcome."""
        ran = drop()
        if not (job.future.done() or job.finished):  # else its outcome is on the way
            job.future.set_exception(stop.error("running" if ran else "queued"))

    job = threads.submit(start)
    stop = CallStopper(context, tool.timeout, job.future.get_loop(), halt)
    return job, stop, drop
