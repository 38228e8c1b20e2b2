"""The one bridge from sync code: a loop of our own in a thread of its own.

One loop for all sync calls, rather than a new one each time, keeps what is bound to a loop (HTTP
clients, locks) alive between calls, and works where a loop runs already, as in a notebook.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from toolwright.call.stop import GIVE_UP, GRACE
from toolwright.errors import SetupError

T = TypeVar("T")

log = logging.getLogger("toolwright")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def run_sync(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine from sync code and wait for it.

    Ctrl-C while waiting cancels the coroutine, lets it clean up, and then raises.

    Args:
        make: Makes the coroutine; called in the bridge's thread, with the caller's context
            variables.

    Raises:
        SetupError: when called on the bridge's own loop, where waiting would never end.
    """
    loop = _running_loop()
    if _is_current(loop):
        raise SetupError(
            "a sync call was made on toolwright's own event loop, where it would wait for ever; "
            "await the async form, or drop inline=True from the tool that makes the call"
        )
    done: concurrent.futures.Future[T] = concurrent.futures.Future()
    context = contextvars.copy_context()
    tasks: list[asyncio.Task[None]] = []

    async def work() -> None:
        try:
            done.set_result(await make())
        except BaseException as error:  # carried to the caller's thread, whatever it is
            done.set_exception(error)

    def start() -> None:
        tasks.append(context.run(loop.create_task, work()))

    try:
        loop.call_soon_threadsafe(start)
        return done.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(lambda: [task.cancel(GIVE_UP) for task in tasks])
        concurrent.futures.wait([done], timeout=5 * GRACE)
        raise


async def on_own_loop(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on the bridge's loop, from whichever loop this is.

    What is kept alive between runs (connections, processes) has its home there: it outlives the
    loop of the program, and can be used from several.

    Args:
        make: Makes the coroutine.
    """
    loop = _running_loop()
    if _is_current(loop):
        return await make()
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(make(), loop))


def _is_current(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(
                target=_serve, args=(_loop,), name="toolwright-loop", daemon=True
            ).start()
        return _loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop, whatever a task in it raises: `KeyboardInterrupt` and its like end loops."""
    while not loop.is_closed():
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit) as error:
            log.warning("a task on toolwright's own event loop raised this", exc_info=error)


def _forget_after_fork() -> None:
    """A child process has the loop's object but not its thread."""
    global _loop, _lock
    _loop, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
