"""One timer for all deadlines of a loop: a timer each would cost more than most calls."""

from __future__ import annotations

import asyncio
import threading
from typing import Literal, Protocol


class Waiting(Protocol):
    """What waits under a deadline."""

    def strike(self, reason: Literal["timeout"]) -> None:
        """Stop: the time is up."""


class Deadlines:
    """One timer for all bodies of a loop, set to the earliest of their deadlines.

    Attributes:
        entries: When each is due, by the loop's clock; who is taken out is not struck.
    """

    __slots__ = ("_due", "_timer", "entries")

    def __init__(self) -> None:
        self.entries: dict[Waiting, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def add(self, waiting: Waiting, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        """Strike what waits after so many seconds."""
        at = loop.time() + seconds
        self.entries[waiting] = at
        if self._timer is None or at < self._due:
            self._arm(at, loop)

    def _arm(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = at
        self._timer = loop.call_at(at, self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for waiting in [each for each, at in self.entries.items() if at <= now]:
            if self.entries.pop(waiting, None) is not None:  # none of those struck removed it
                waiting.strike("timeout")
        if self.entries:
            self._arm(min(self.entries.values()), loop)


_local = threading.local()


def deadlines(loop: asyncio.AbstractEventLoop) -> Deadlines:
    """The timer of the loop that runs in this thread."""
    known: tuple[asyncio.AbstractEventLoop, Deadlines] | None = getattr(_local, "known", None)
    if known is None or known[0] is not loop:
        known = _local.known = (loop, Deadlines())
    return known[1]
