"""Callbacks of the program under a deadline: guardrails, predicates, policies, instructions, tool sources.

A run waits for them, so each has a limit: `callback_timeout`, by default `CALLBACK_TIMEOUT` of
`_common/loop_state.py`. A sync callback runs in a thread, which cannot be stopped: at its
deadline the thread is left behind, and the pool replaces it. An async callback is cancelled, and left
behind if it resists for `GRACE` seconds. Only a callback that blocks the event loop itself (an async
one that never awaits) has no bound: no timer runs then.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from toolkeel.call.body.detached_tasks import log_late_failure
from toolkeel.call.body.thread_pool import shared_pool

T = TypeVar("T")
GRACE = 1.0
"""Seconds an async callback may take to clean up after it was cancelled."""
_left_behind: set[asyncio.Future[Any]] = set()
_questions: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
_is_asking: ContextVar[bool] = ContextVar("_is_asking", default=False)


class CallbackTimeout(TimeoutError):
    """Raised when a callback of the program did not return in time.

    Attributes:
        seconds: Maximum duration.
    """

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(
            f"{name} did not return within {seconds:g} seconds; give it more time by "
            "Agent(..., callback_timeout=seconds), or None for no bound"
        )
        self.seconds = seconds


def is_async(function: Callable[..., object]) -> bool:
    """Return True if calling a function only makes a coroutine."""
    if inspect.isroutine(function) or isinstance(function, functools.partial):
        return inspect.iscoroutinefunction(function)
    return inspect.iscoroutinefunction(type(function).__call__)


async def run_callback(
    function: Callable[..., object], *arguments: object, seconds: float | None, name: str
) -> Any:
    """Call a function, in a thread if it is sync, await its result if necessary, and return the result.

    Args:
        function: The callback.
        arguments: Its arguments.
        seconds: Maximum duration; None for no limit.
        name: Subject of the error message.

    Raises:
        CallbackTimeout: the function takes longer. It may still be running.
        LimitReached: there is no thread for a sync function.
        BaseException: what the function raised.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    if is_async(function):
        value = function(*arguments)
    else:
        value = await _run_in_thread(functools.partial(function, *arguments), seconds, name)
    if inspect.isawaitable(value):
        left = None if seconds is None else seconds - (loop.time() - began)
        value = await await_callback(value, seconds, name, left)
    return value


async def ask_person(
    function: Callable[..., object],
    *arguments: object,
    name: str,
    unless: Callable[[], Awaitable[object]] | None = None,
) -> Any:
    """Call a function that asks a person, in a thread if it is sync, and return its awaited answer.

    There is no deadline. The sync functions of one event loop, and async ones with a true attribute
    `asks_in_turn`, are called one after another: two questions at one terminal would read each other's
    answers. One called by another does not wait for it.

    Args:
        function: The function.
        arguments: Its arguments.
        name: Subject of error messages.
        unless: Called if other questions came before this one; what it returns, unless None, is the answer.

    Raises:
        BaseException: what the function raised.
    """
    asynchronous = is_async(function)
    if _is_asking.get() or (asynchronous and not getattr(function, "asks_in_turn", False)):
        return await run_callback(function, *arguments, seconds=None, name=name)
    lock = _questions.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    had_to_wait = lock.locked()
    async with lock:
        if had_to_wait and unless is not None and (answer := await unless()) is not None:
            return answer
        token = _is_asking.set(True)  # the thread gets a copy
        try:
            if asynchronous:
                return await run_callback(function, *arguments, seconds=None, name=name)
            value = await _run_in_thread(functools.partial(function, *arguments), None, name)
        finally:
            _is_asking.reset(token)
    return await value if inspect.isawaitable(value) else value


async def _run_in_thread(call: Callable[[], object], seconds: float | None, name: str) -> object:
    """Return what a function returns in a thread, as `await_callback`; close a returned coroutine if the wait ends early."""
    made: list[object] = []
    dropped: list[bool] = []

    def run() -> object:
        """Call the function in its thread; close its coroutine if the caller no longer waits."""
        made.append(call())
        if dropped:
            _close(made[0])
        return made[0]

    threads = shared_pool()
    job = threads.submit(run)
    try:
        return await await_callback(job.future, seconds, name)
    except BaseException:
        dropped.append(True)
        for value in made:
            _close(value)
        raise
    finally:
        threads.abandon(job)


def _close(value: object) -> None:
    """Close a coroutine that is not awaited; do nothing for another value."""
    if inspect.iscoroutine(value):
        value.close()


async def await_callback(
    work: Awaitable[T], seconds: float | None, name: str, left: float | None = None
) -> T:
    """Await what a callback returned, under its deadline, and return the result.

    Args:
        work: What the callback returned.
        seconds: Maximum duration; None for no limit.
        name: Subject of the error message.
        left: Seconds that remain; None for all of them.

    Raises:
        CallbackTimeout: the callback takes longer. It is cancelled, and left behind if it resists.
    """
    if seconds is None:
        return await work
    future: asyncio.Future[T] = asyncio.ensure_future(
        _awaited(work) if inspect.iscoroutine(work) else work
    )
    try:
        await asyncio.wait({future}, timeout=max(seconds if left is None else left, 0.0))
        if future.done():
            return future.result()
        raise CallbackTimeout(name, seconds)
    finally:
        if not future.done():
            await _stop(future)
        elif not future.cancelled():
            future.exception()  # who is cancelled meanwhile does not read it


async def _awaited(work: Awaitable[T]) -> T:
    """Await a coroutine below a frame of the library, by which the watchdog finds what blocks."""
    return await work


async def _stop(future: asyncio.Future[Any]) -> None:
    """Cancel work; leave it behind after `GRACE` seconds, its error logged once it ends."""
    future.cancel()
    await asyncio.wait({future}, timeout=GRACE)
    if not future.done():
        _left_behind.add(future)
    future.add_done_callback(_forget)


def _forget(future: asyncio.Future[Any]) -> None:
    """Forget a finished callback that its caller left, and log its error, if any."""
    _left_behind.discard(future)
    if not future.cancelled() and (error := future.exception()) is not None:
        log_late_failure(error)
