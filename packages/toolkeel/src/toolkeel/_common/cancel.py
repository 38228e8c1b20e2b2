"""The cancel token: any thread can set it, and every holder can check it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from toolkeel.errors import Cancelled

if TYPE_CHECKING:
    import logging


def get_logger() -> logging.Logger:
    """Return the library's logger. Defining a tool does not import logging."""
    import logging

    return logging.getLogger("toolkeel")


class CancelToken:
    """A cancellation request, set once and visible to every holder of the token.

    Any thread may give it, and so may a signal handler: nothing here waits for a lock.

    >>> token = CancelToken()
    >>> token.cancel("enough")
    >>> token.cancelled, token.reason
    (True, 'enough')
    """

    __slots__ = ("_callbacks", "_once", "cancelled", "reason")

    def __init__(self) -> None:
        self.cancelled = False
        self.reason = ""
        self._callbacks: dict[object, Callable[[], object]] = {}
        self._once = threading.Lock()  # whoever gets it was the first; it is never passed back

    def cancel(self, reason: str = "") -> None:
        """Cancel everything that watches this token. Later calls change nothing."""
        if not self._once.acquire(blocking=False):
            return
        self.reason = reason
        self.cancelled = True
        for key in list(self._callbacks):
            self._call(key)

    def watch(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Register a callback, called once, at the cancel or now. Its exceptions are logged.

        Returns:
            A function that takes the callback back.
        """
        key = object()
        self.add_watcher(key, callback)
        return partial(self.remove_watcher, key)

    def add_watcher(self, key: object, callback: Callable[[], object]) -> None:
        """Register a callback under a key, as `watch` does without a removal function."""
        self._callbacks[key] = callback
        if self.cancelled:
            self._call(key)

    def remove_watcher(self, key: object) -> None:
        """Remove the callback of a key, if it was not called."""
        self._callbacks.pop(key, None)

    def _call(self, key: object) -> None:
        """Call the callback of a key once, and log its exception."""
        callback = self._callbacks.pop(key, None)
        if callback is not None:
            try:
                callback()
            except Exception:
                get_logger().exception("a watcher of a cancel token failed; the others are called")

    def raise_if_cancelled(self) -> None:
        """Raise `Cancelled` if the wish was passed: for long loops in sync bodies."""
        if self.cancelled:
            raise Cancelled(f"The call was cancelled{': ' + self.reason if self.reason else ''}.")
