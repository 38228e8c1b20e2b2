"""What models on HTTP clients share: a client for each event loop, and how long to wait."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

C = TypeVar("C")


class PerLoop(Generic[C]):
    """A client for each event loop, since a client's connections live on one.

    Args:
        make: Makes a client.
        first: One that is made already and belongs to no loop yet.
    """

    __slots__ = ("_clients", "_first", "_make")

    def __init__(self, make: Callable[[], C], first: C | None = None) -> None:
        self._make = make
        self._first = first
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, C] = WeakKeyDictionary()

    def get(self) -> C:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._first or self._make()
            self._first = None
        return client

    def pop(self) -> C | None:
        """The running loop's client, which is then forgotten."""
        return self._clients.pop(asyncio.get_running_loop(), None)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: ``retry-after-ms``, or ``Retry-After`` (RFC 9110 10.2.3).

    >>> retry_after({"retry-after": "7"})
    7.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError, TypeError):
        return None
