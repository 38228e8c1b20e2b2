"""Calls from sync code: one event loop for all of them, in a thread of its own.

A single loop keeps what is bound to a loop (HTTP clients, locks) alive between calls, and works
where a loop runs already, as in a notebook.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import logging
import os
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import aclosing, suppress
from typing import Any, Generic, TypeVar

from toolkeel.call.body.start_thread import NoThread, start_thread
from toolkeel.call.body.task_cancels import GRACE, GRACE_ONLY
from toolkeel.errors import SetupError

T = TypeVar("T")

log = logging.getLogger("toolkeel")

PATIENCE = 0.25
"""Seconds after which a coroutine that has not started moves to another loop."""

_lock = threading.RLock()  # a finalizer may make a sync call while it is held
_loop: asyncio.AbstractEventLoop | None = None
_home: asyncio.AbstractEventLoop | None = None
"""The first loop there was: where connections live."""


def run_sync(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on the bridge's loop from sync code, and return its result.

    If no thread can be started for that loop, the coroutine runs on a new one in this thread.

    Ctrl-C while waiting cancels the coroutine, lets it clean up, and then raises.

    Args:
        make: Creates the coroutine; called in the bridge's thread, with the caller's context
            variables.

    Raises:
        SetupError: the caller runs on the bridge's own loop, where waiting would never end.
    """
    try:
        work = _Work(make)
    except NoThread:
        if _has_running_loop():
            raise
        runner = asyncio.Runner()
        try:
            return runner.run(make())
        finally:
            with suppress(RuntimeError):  # a thread would end its executor; the loop closes anyway
                runner.close()
    try:
        work.begin(work.done)
        return work.done.result()
    finally:
        if not work.done.done():  # Ctrl-C, or another signal's exception
            work.stop()


class _Work(Generic[T]):
    """A coroutine on the bridge's loop that a sync caller waits for.

    Args:
        make: Creates it.

    Attributes:
        started: Resolved once it has started.
        done: Resolved with its result or exception.

    Raises:
        SetupError: it is created on the bridge's own loop, where the caller would wait for ever.
    """

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self.started: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.done: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._make = make
        self._context = contextvars.copy_context()
        self._tasks: list[asyncio.Task[None] | None] = []
        self._loop = _running_loop()
        if _is_current(self._loop):
            raise SetupError(
                "a sync call was made on toolkeel's own event loop, where it would wait for ever; "
                "await the async form, or drop inline=True from the tool that makes the call"
            )

    def begin(self, until: concurrent.futures.Future[Any]) -> None:
        """Start the coroutine, on a new loop if the old one is blocked, and wait briefly for `until`.

        Raises `SetupError` if no thread can be started for a new loop.
        """
        self._loop.call_soon_threadsafe(self._start, self._loop)
        concurrent.futures.wait([until], timeout=PATIENCE)
        while not self._tasks:  # some body blocks that loop, which must not delay this call
            self._loop = _another_loop(self._loop)
            self._loop.call_soon_threadsafe(self._start, self._loop)
            concurrent.futures.wait([until], timeout=PATIENCE)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the task on a loop, and resolve `started`, unless another loop has started it or `stop` was called."""
        with _lock:
            if self._tasks:
                return
            self._tasks.append(self._context.run(loop.create_task, self._run()))
        self.started.set_result(None)

    async def _run(self) -> None:
        """Await the coroutine, and set its result or exception on `done`."""
        try:
            self.done.set_result(await self._make())
        except BaseException as error:  # carried to the caller's thread, whatever it is
            self.done.set_exception(error)

    def stop(self) -> None:
        """Cancel the coroutine and let it clean up; wait for that, at most five times `GRACE`.

        One that has not started, since a body blocks its loop, never starts.
        """
        with _lock:
            if not self._tasks:
                self._tasks.append(None)
            [task] = self._tasks
        if task is not None:
            task.get_loop().call_soon_threadsafe(task.cancel, GRACE_ONLY)
            concurrent.futures.wait([self.done], timeout=5 * GRACE)


class SyncIterator(Generic[T]):
    """An iterable over an async generator, for ``async for`` and, in sync code, ``for``.

    Leaving a loop early closes the generator.

    Args:
        make: Creates the generator, once for each iteration.
    """

    def __init__(self, make: Callable[[], AsyncGenerator[T, None]]) -> None:
        self._make = make

    def __aiter__(self) -> AsyncGenerator[T, None]:
        return self._make()

    def __iter__(self) -> Generator[T, None, None]:
        """Iterate in sync code: the generator runs on the bridge's loop, ahead of the reader."""
        come: queue.SimpleQueue[tuple[T] | None] = queue.SimpleQueue()

        async def pump() -> None:
            """Put each item of the async iterator into the queue, and None at its end."""
            try:
                async with aclosing(self._make()) as pieces:
                    async for piece in pieces:
                        come.put((piece,))
            finally:
                come.put(None)

        work = _Work(pump)
        try:
            work.begin(work.started)
            while (item := come.get()) is not None:
                yield item[0]
            work.done.result()
        finally:
            if not work.done.done():
                work.stop()


def _another_loop(blocked: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
    """Return the loop for sync calls, a new one in place of `blocked`; raise `SetupError` without a thread for it."""
    global _loop
    with _lock:
        if _loop is blocked:
            _loop = None
    return _running_loop()


async def on_own_loop(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on the bridge's first loop, from any loop, and return its result.

    Connections and processes that outlive a run live there: it outlives the
    loop of the program, and can be used from several.

    Args:
        make: Creates the coroutine.

    Raises:
        SetupError: no thread can be started for the loop.
    """
    loop = _home or _running_loop()
    if _is_current(loop):
        return await make()
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(make(), loop))


def require_event_loop() -> None:
    """Raise `SetupError` if this thread runs no asyncio event loop, as in a task of trio."""
    if not _has_running_loop():
        raise SetupError(
            "no asyncio event loop is running here, which async calls of toolkeel need; call the sync "
            "form, in trio as await trio.to_thread.run_sync(agent.run_sync, prompt)"
        )


def _has_running_loop() -> bool:
    """Return True if this thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_current(loop: asyncio.AbstractEventLoop) -> bool:
    """Return True if `loop` is the one that runs this code."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _running_loop() -> asyncio.AbstractEventLoop:
    """Return the bridge's event loop; start it in a thread of its own if there is none.

    Raises `SetupError` if no thread can be started.
    """
    global _loop, _home
    with _lock:
        if _loop is None or _loop.is_closed():
            loop = asyncio.new_event_loop()
            try:
                start_thread(_serve, "toolkeel-loop", loop)
            except SetupError:
                loop.close()
                raise
            _loop = loop
            _home = _home or loop
        return _loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop forever, also after exceptions such as `KeyboardInterrupt` that end loops; log those."""
    while not loop.is_closed():
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit) as error:
            log.warning("a task on toolkeel's own event loop raised this", exc_info=error)


def _forget_after_fork() -> None:
    """Drop the loop in a child process, which has its object but not its thread."""
    global _loop, _home, _lock
    _loop, _home, _lock = None, None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
