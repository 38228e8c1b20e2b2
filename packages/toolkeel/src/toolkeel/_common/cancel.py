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
    """Return the library's logger; defining a tool does not load logging."""
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
        """Ask everything that watches this token to stop; later wishes change nothing."""
        if not self._once.acquire(blocking=False):
            return
        self.reason = reason
        self.cancelled = True
        for key in list(self._callbacks):
            self._call(key)

    def watch(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Call `callback` at the cancel, in the cancelling thread; at once if it was before.

        Returns:
            A function that takes the callback back.
        """
        key = object()
        self.add_watcher(key, callback)
        return partial(self.remove_watcher, key)

    def add_watcher(self, key: object, callback: Callable[[], object]) -> None:
        """`watch` for those who are a key themselves, as what waits is: one in every call."""
        self._callbacks[key] = callback
        if self.cancelled:
            self._call(key)

    def remove_watcher(self, key: object) -> None:
        """Take the callback of a key back, if it was not called."""
        self._callbacks.pop(key, None)

    def _call(self, key: object) -> None:
        """Call back, unless another thread has; one watcher cannot keep it from the next."""
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
