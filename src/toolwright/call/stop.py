"""Stopping a body that waits: at its deadline, or when the run is cancelled.

Both arrive as a strike. A strike says why before it cancels the task, so that the cancellation it
causes is told from one that comes from outside: ours becomes a result, the other propagates.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Literal, cast

from toolwright.context import ToolContext
from toolwright.errors import Cancelled, TimedOut

GRACE = 1.0
"""Seconds a body may take to clean up after it was told to stop."""

Reason = Literal["", "timeout", "cancelled"]


class Deadlines:
    """One timer for all bodies of a loop, set to the earliest of their deadlines."""

    __slots__ = ("_due", "_entries", "_timer")

    def __init__(self) -> None:
        self._entries: dict[Stop, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def add(self, stop: Stop, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        at = loop.time() + seconds
        self._entries[stop] = at
        if self._timer is None or at < self._due:
            self._arm(at, loop)

    def remove(self, stop: Stop) -> None:
        self._entries.pop(stop, None)

    def _arm(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = at
        self._timer = loop.call_at(at, self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for stop in [stop for stop, at in self._entries.items() if at <= now]:
            del self._entries[stop]
            stop.strike("timeout")
        if self._entries:
            self._arm(min(self._entries.values()), loop)


_local = threading.local()


def deadlines(loop: asyncio.AbstractEventLoop) -> Deadlines:
    """The timer of the loop that runs in this thread."""
    known: tuple[asyncio.AbstractEventLoop, Deadlines] | None = getattr(_local, "known", None)
    if known is None or known[0] is not loop:
        known = _local.known = (loop, Deadlines())
    return known[1]


class Stop:
    """Watches one waiting body.

    Args:
        context: The call.
        timeout: Seconds it may take; None for ever.
        halt: Called once, in the loop, when it must stop.
    """

    __slots__ = ("_forget", "_halt", "_loop", "_timed", "context", "reason", "timeout")

    def __init__(
        self, context: ToolContext[Any], timeout: float | None, halt: Callable[[], object]
    ) -> None:
        self.reason: Reason = ""
        self.context = context
        self.timeout = timeout
        self._halt = halt
        self._loop = asyncio.get_running_loop()
        self._timed = timeout is not None
        if timeout is not None:
            deadlines(self._loop).add(self, timeout, self._loop)
        self._forget = context.run.cancel.watch(self._cancelled)

    def _cancelled(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed: nothing is left to stop
            self._loop.call_soon_threadsafe(self.strike, "cancelled")

    def strike(self, reason: Reason) -> None:
        if not self.reason:
            self.reason = reason
            self._halt()

    def close(self) -> None:
        """Stop watching."""
        if self._timed:
            deadlines(self._loop).remove(self)
        self._forget()

    def error(self, running: bool) -> TimedOut | Cancelled:
        """What the model is told.

        Args:
            running: Whether the work may still go on.
        """
        still = (
            "Its work may still be running and may still take effect."
            if running
            else "Its work was stopped; what it had already done stays done."
        )
        details = {"may_still_be_running": running}
        if self.reason == "timeout":
            text = f"{self.context.tool_name!r} did not finish within {self.timeout:g} seconds."
            return TimedOut(f"{text} {still}", details)
        why = self.context.run.cancel.reason
        text = f"{self.context.tool_name!r} was cancelled{': ' + why if why else ''}."
        return Cancelled(f"{text} {still}", details)


_abandoned: set[asyncio.Task[object]] = set()
"""Bodies that resisted being stopped; kept here so that they are not collected in mid-work."""


def run_coroutine(
    body: Coroutine[Any, Any, object], context: ToolContext[Any], timeout: float | None
) -> Awaitable[object]:
    """Await a body under its deadline and the run's cancel token.

    The body runs in the caller's task. Nothing is watched until it waits for the first time, so a
    body that never waits pays for nothing. One that goes on after it was told to stop, and after
    `GRACE` seconds to clean up, moves to a task of its own and is waited for no longer.
    """
    return _drive(body, context, timeout)


@types.coroutine
def _drive(
    body: Coroutine[Any, Any, object], context: ToolContext[Any], timeout: float | None
) -> Generator[Any, Any, object]:
    try:
        waiting = body.send(None)
    except StopIteration as ended:
        return ended.value
    task = cast("asyncio.Task[object]", asyncio.current_task())
    struck_before = task.cancelling()
    stop = Stop(context, timeout, task.cancel)
    if timeout is not None:
        context.set_deadline(timeout)
    grace: asyncio.TimerHandle | None = None
    try:
        while True:
            try:
                yield waiting
            except BaseException as error:
                if stop.reason and grace is not None:
                    _abandon(body, error)
                    raise stop.error(running=True) from None
                if stop.reason:
                    grace = asyncio.get_running_loop().call_later(GRACE, task.cancel)
                waiting = body.throw(error)
            else:
                waiting = body.send(None)
    except StopIteration as ended:
        if stop.reason:
            raise stop.error(running=False) from None
        return ended.value
    except asyncio.CancelledError:
        if stop.reason and _only_ours(task, struck_before, grace):
            raise stop.error(running=False) from None
        raise
    finally:
        stop.close()
        if grace is not None:
            grace.cancel()
        _settle(task, stop, struck_before)


def _only_ours(task: asyncio.Task[object], before: int, grace: asyncio.TimerHandle | None) -> bool:
    """Whether nobody else has asked this task to stop: each of our strikes counts one."""
    return task.cancelling() <= before + 1 + (grace is not None and _fired(grace))


def _fired(handle: asyncio.TimerHandle) -> bool:
    return handle.when() <= asyncio.get_running_loop().time()


def _settle(task: asyncio.Task[object], stop: Stop, before: int) -> None:
    """Take our own strikes back, so that the task is not seen as cancelled from outside."""
    if stop.reason:
        while task.cancelling() > before:
            task.uncancel()


def _abandon(body: Coroutine[Any, Any, object], error: BaseException) -> None:
    task = asyncio.get_running_loop().create_task(_resist(body, error))
    _abandoned.add(task)
    task.add_done_callback(_abandoned.discard)
    task.add_done_callback(_look)


def _look(task: asyncio.Task[object]) -> None:
    """Fetch an abandoned body's exception: its call was answered long ago."""
    if not task.cancelled():
        task.exception()


async def _resist(body: Coroutine[Any, Any, object], error: BaseException) -> object:
    return await _go_on(body, error)


@types.coroutine
def _go_on(body: Coroutine[Any, Any, object], error: BaseException) -> Generator[Any, Any, object]:
    try:
        waiting = body.throw(error)
        while True:
            try:
                yield waiting
            except BaseException as thrown:
                waiting = body.throw(thrown)
            else:
                waiting = body.send(None)
    except StopIteration as ended:
        return ended.value
