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
    """Return the library's logger. `logging` is imported at the first call only."""
    import logging

    return logging.getLogger("toolkeel")


class CancelToken:
    """A cancellation request, set once and visible to every holder of the token.

    Any thread or signal handler may cancel: nothing here waits for a lock.

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
        """Set the token, and call and remove its callbacks. Later calls change nothing."""
        if not self._once.acquire(blocking=False):
            return
        self.reason = reason
        self.cancelled = True
        for key in list(self._callbacks):
            self._call(key)

    def watch(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Register a callback, called once when the token is cancelled, or now; return a function that removes it.

        Exceptions of the callback are logged.
        """
        key = object()
        self.add_watcher(key, callback)
        return partial(self.remove_watcher, key)

    def add_watcher(self, key: object, callback: Callable[[], object]) -> None:
        """Register a callback under a key. Like `watch`, but `remove_watcher` removes it."""
        self._callbacks[key] = callback
        if self.cancelled:
            self._call(key)

    def remove_watcher(self, key: object) -> None:
        """Remove the callback of a key. Do nothing if it was called or removed."""
        self._callbacks.pop(key, None)

    def _call(self, key: object) -> None:
        """Call and remove the callback of a key, if it is registered. Its exception is logged."""
        callback = self._callbacks.pop(key, None)
        if callback is not None:
            try:
                callback()
            except Exception:
                get_logger().exception("a watcher of a cancel token failed; the others are called")

    def raise_if_cancelled(self) -> None:
        """Raise `Cancelled` if the token is cancelled. For long loops in sync bodies."""
        if self.cancelled:
            raise Cancelled(f"The call was cancelled{': ' + self.reason if self.reason else ''}.")
