"""Connections to PostgreSQL that do not wait forever, and do not share the server's with others.

libpq waits without end for a server that has fallen silent. So connections get timeouts, and a thread
closes the socket of a statement that takes too long: its caller then gets an error.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

STATEMENT_SECONDS: Final = 15.0
"""Seconds that a statement may take before its connection is closed."""
PARAMETERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "connect_timeout": 10,
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 15000,
    }
)
"""Parameters of a connection whose address does not say otherwise: seconds, the last one milliseconds."""
_ROUNDS = 8
"""Questions by which a proxy that shares the server's connections is found."""


def with_parameters(address: str) -> str:
    """Return a database URL with our default parameters, except those that it has already.

    >>> with_parameters("postgresql://db/app?connect_timeout=3")[:51]
    'postgresql://db/app?connect_timeout=3&keepalives=1&'
    """
    query = urlsplit(address).query
    missing = {k: v for k, v in PARAMETERS.items() if k not in parse_qs(query, True)}
    joint = "&" if query else "" if address.endswith("?") else "?"
    return f"{address}{joint}{urlencode(missing)}" if missing else address


# — deadlines —


class Deadlines:
    """Time limits of database statements, enforced by closing their sockets from one thread."""

    def __init__(self) -> None:
        self._due: dict[object, tuple[float, int]] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def limit(self, descriptor: int, seconds: float) -> Iterator[Callable[[], bool]]:
        """Shut a socket down if the block takes more than `seconds`. Yield a function that returns True if it was.

        Args:
            descriptor: File descriptor of the socket.
            seconds: Maximum duration of the block.
        """
        token = object()
        with self._changed:
            self._due[token] = monotonic() + seconds, descriptor
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="toolkeel-deadlines", daemon=True
                )
                self._thread.start()
            elif len(self._due) == 1:
                self._changed.notify()
        try:
            yield lambda: token not in self._due
        finally:
            with self._changed:
                self._due.pop(token, None)

    def _run(self) -> None:
        """Shut down the sockets whose time is over, forever, in the thread."""
        with self._changed:
            while True:
                now = monotonic()
                for token, (end, descriptor) in list(self._due.items()):
                    if end <= now:
                        del self._due[token]
                        _shut_down(descriptor)
                ends = [end for end, _ in self._due.values()]
                self._changed.wait(min(1.0, max(0.01, min(ends) - now)) if ends else None)


def _shut_down(descriptor: int) -> None:
    """Shut a socket down, ignoring errors; its owner reads the end of the stream."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
        copy.shutdown(socket.SHUT_RDWR)


deadlines = Deadlines()


def _forget() -> None:
    """Reset the one `deadlines` in place in a forked child, which lacks the parent's thread."""
    deadlines.__init__()  # type: ignore[misc]  # the thread is the parent's


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# — proxies —


def shares_connections(connection: Any, connect: Callable[[], Any]) -> bool:
    """Return True if a pooler such as PgBouncer runs transactions on changing server connections.

    It compares process ids of the server, and leaves no state on its connections.

    Args:
        connection: A new psycopg connection.
        connect: Opens a second one to the same address, which is closed again.
    """
    if _server_process(connection) == connection.info.backend_pid:
        return False  # a proxy invents this number
    other = connect()
    try:
        found = {connection: set[int](), other: set[int]()}
        asked = [connection, other]
        for _ in range(_ROUNDS):
            for each in asked:
                found[each].add(_server_process(each))
            if len(found[connection]) > 1 or found[connection] & found[other]:
                return True
            asked.reverse()  # a proxy that lends two connections in turn gave each the same again
        return False
    finally:
        other.close()


def _server_process(connection: Any) -> int:
    """Return the id of the server process that runs a statement now."""
    with deadlines.limit(connection.fileno(), STATEMENT_SECONDS):
        return int(connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()[0])
