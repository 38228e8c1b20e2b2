"""Start of the library's threads, which must be threads of the system."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from toolkeel.errors import SetupError

_T = TypeVar("_T")


class NoThread(SetupError):
    """Raised if the system has no thread left, or Python is ending."""


def is_exiting() -> bool:
    """Return True in functions of `atexit`, when Python may start no more threads."""
    return not threading.main_thread().is_alive()


def start_thread(target: Callable[..., object], name: str, *args: Any) -> threading.Thread:
    """Start a daemon thread, and return it.

    Raises:
        NoThread: The system has none left, or Python is ending.
        SetupError: gevent has patched the process, and event loops would wait forever.
    """
    gevent = sys.modules.get("gevent.monkey")
    if gevent is not None and gevent.is_anything_patched():
        raise SetupError(
            "gevent's monkey patching has replaced threads or sockets of this process by greenlets, "
            "which an event loop cannot run in; use real threads or processes instead: gunicorn "
            "-k gthread, celery --pool=threads or --pool=prefork"
        )
    try:
        thread = threading.Thread(target=target, args=args, name=name, daemon=True)
        thread.start()
    except RuntimeError as error:
        if is_exiting():
            raise NoThread(
                "no thread can be started in an atexit function, since Python is ending; do this "
                "before the program ends"
            ) from error
        raise NoThread(
            "no thread can be started; raise the limit of threads (ulimit -u, or the container's "
            "pids limit), or await the async form with async tools"
        ) from error
    return thread


async def run_beside(function: Callable[..., _T], *args: Any) -> _T:
    """Run a short function in a thread, or here if the system has no thread left.

    While it runs here, the event loop waits.
    """
    done: Future[_T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        """Run the function, and set its result or exception on the future."""
        done.set_running_or_notify_cancel()
        try:
            done.set_result(context.run(function, *args))
        except BaseException as error:
            done.set_exception(error)

    try:
        start_thread(work, "toolkeel-beside")
    except NoThread:
        return function(*args)
    return await asyncio.wrap_future(done)
