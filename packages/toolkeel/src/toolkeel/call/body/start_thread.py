"""Start of the library's threads, which must be threads of the system."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from toolkeel.errors import SetupError


class NoThread(SetupError):
    """Raised if the system has no thread left."""


def start_thread(target: Callable[..., object], name: str, *args: Any) -> None:
    """Start a daemon thread.

    Raises:
        NoThread: The system has none left, or Python is ending.
        SetupError: gevent has patched the process, whose event loops would wait for ever.
    """
    gevent = sys.modules.get("gevent.monkey")
    if gevent is not None and gevent.is_anything_patched():
        raise SetupError(
            "gevent's monkey patching has replaced threads or sockets of this process by greenlets, "
            "which an event loop cannot run in; use real threads or processes instead: gunicorn "
            "-k gthread, celery --pool=threads or --pool=prefork"
        )
    try:
        threading.Thread(target=target, args=args, name=name, daemon=True).start()
    except RuntimeError as error:
        raise NoThread(
            "no thread can be started; raise the limit of threads (ulimit -u, or the container's "
            "pids limit), or await the async form with async tools"
        ) from error
