"""Detached tasks: bodies that ignored their cancellation and continue without their calls."""

from __future__ import annotations

import asyncio
import logging
import types
from collections.abc import Coroutine, Generator
from typing import Any, cast

from toolkeel.call.body import task_cancels
from toolkeel.errors import Cancelled

log = logging.getLogger("toolkeel")

_detached: set[asyncio.Task[object]] = set()
"""Bodies that resisted being stopped; referenced here so that they are not garbage-collected."""


def log_late_failure(error: BaseException) -> None:
    """Log the exception of a body that outlived its call. Cancellations are not logged."""
    if not isinstance(error, (Cancelled, asyncio.CancelledError)):
        log.warning("a body failed after its call had ended: %r", error, exc_info=error)


def _forget(task: asyncio.Task[object]) -> None:
    """Forget a finished detached task, and log its error, if any."""
    _detached.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log_late_failure(error)


def detach(
    body: Coroutine[Any, Any, object],
    error: BaseException,
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Continue a body in a task of its own, referenced until it ends. Its late exception is logged.

    When its loop ends, the body has `GRACE` seconds to end.

    Args:
        body: The body, which waits.
        error: The exception that is thrown into it next.
        loop: Its event loop.
    """
    task = loop.create_task(_run_detached(body, error))
    _detached.add(task)
    task.add_done_callback(_forget)


async def _run_detached(body: Coroutine[Any, Any, object], error: BaseException) -> object:
    """Throw `error` into a body, run it to its end and return its result.

    Raises:
        RuntimeError: the body raised SystemExit, which would end the event loop.
        BaseException: any other exception of the body, unchanged.
    """
    try:
        return await _drive(body, error)
    except SystemExit as exit:  # it would end the event loop
        raise RuntimeError(f"the body raised SystemExit: {exit}") from exit


@types.coroutine
def _drive(body: Coroutine[Any, Any, object], error: BaseException) -> Generator[Any, Any, object]:
    """Throw `error` into a body and run it to its end; return its result.

    A first cancellation is passed to the body, and a second one follows after `GRACE` seconds: it
    closes the body and is raised.
    """
    task = cast("asyncio.Task[object]", asyncio.current_task())
    warned = False
    try:
        waiting = body.throw(error)
        while True:
            try:
                yield waiting
            except asyncio.CancelledError as thrown:  # the loop is about to end
                if warned:  # and must not wait for this body for ever
                    body.close()
                    raise
                warned = True
                task.get_loop().call_later(task_cancels.GRACE, task.cancel)
                waiting = body.throw(thrown)
            except BaseException as thrown:
                waiting = body.throw(thrown)
            else:
                waiting = body.send(None)
    except StopIteration as ended:
        return ended.value
