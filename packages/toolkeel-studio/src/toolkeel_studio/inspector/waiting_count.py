"""How many calls and questions wait for a person, as the navigation of every page shows it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from itertools import islice
from time import monotonic

from toolkeel.errors import ToolkeelError

MOST = 99
"""Calls that are counted; of more the page shows ``99+``."""
REUSE = 20
"""A number is shown for this many times as long as counting took."""


class WaitingCount:
    """A number of calls that is counted again only if that was quick or is long ago.

    Counting reads the state of every session in which a call waits. Since a number is shown again for
    `REUSE` times as long as it took to count, a large store costs its pages at most a twentieth of the
    time, and a small one always shows the present number.

    Args:
        find: Yields what waits.
    """

    def __init__(self, find: Callable[[], Iterable[object]]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._text = ""
        self._until = 0.0
        self._decisions = self._counted = 0  # of which the number is

    def __call__(self) -> str:
        """Return the number as text; empty for none, or if the store cannot be read. May block."""
        with self._lock:
            began = monotonic()
            if began >= self._until or self._counted != self._decisions:
                self._counted = self._decisions
                self._text = self._count()
                ended = monotonic()
                self._until = ended + REUSE * (ended - began)
            return self._text

    def forget(self) -> None:
        """Count again the next time, because a decision was made here."""
        self._decisions += 1  # without the lock, which a count holds

    def _count(self) -> str:
        try:
            number = sum(1 for _ in islice(self._find(), MOST + 1))
        except (ToolkeelError, ValueError):
            return ""
        return f"{MOST}+" if number > MOST else str(number or "")
