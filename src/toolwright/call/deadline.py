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
    """One timer for all bodies of a loop, set to the earliest of their deadlines."""

    __slots__ = ("_due", "_entries", "_timer")

    def __init__(self) -> None:
        self._entries: dict[Waiting, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def add(self, waiting: Waiting, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        at = loop.time() + seconds
        self._entries[waiting] = at
        if self._timer is None or at < self._due:
            self._arm(at, loop)

    def remove(self, waiting: Waiting) -> None:
        self._entries.pop(waiting, None)

    def _arm(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = at
        self._timer = loop.call_at(at, self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for waiting in [each for each, at in self._entries.items() if at <= now]:
            if self._entries.pop(waiting, None) is not None:  # none of those struck removed it
                waiting.strike("timeout")
        if self._entries:
            self._arm(min(self._entries.values()), loop)


_local = threading.local()


def deadlines(loop: asyncio.AbstractEventLoop) -> Deadlines:
    """The timer of the loop that runs in this thread."""
    known: tuple[asyncio.AbstractEventLoop, Deadlines] | None = getattr(_local, "known", None)
    if known is None or known[0] is not loop:
        known = _local.known = (loop, Deadlines())
    return known[1]
