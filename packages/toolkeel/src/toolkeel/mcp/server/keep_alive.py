"""HTTP connections with time limits, closed only when no request can be on its way.

A server that closes a connection which the client believes open loses the request that the client is
writing, and the client cannot know if a lost POST ran. So idle connections stay open longer than
clients keep theirs. On shutdown the server closes only connections that were idle longer than that,
or whose last answer carried ``Connection: close``.

A client that never finishes a request, or does not read its answer, is disconnected. When there are
too many connections, those without any request are closed first, then idle ones.

uvicorn has no public API for this. `BoundedConnection` and `KeepAliveConnection` override methods of
its `H11Protocol` and read its attributes; ``packages/toolkeel/tests/mcp/test_private_apis.py`` lists them with the
checked version, and fails first when one changes.
"""

from __future__ import annotations

import selectors
import sys
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from starlette.applications import Starlette

KEEP_ALIVE_SECONDS: Final = 75
"""Seconds an idle connection stays open: longer than with load balancers (60) and Python clients (5)."""
CLIENT_KEEP_ALIVE_SECONDS: Final = 6
"""Seconds after which Python clients no longer reuse an idle connection."""
REQUEST_SECONDS: Final = 60.0
"""Seconds in which a request must arrive completely."""
READ_SECONDS: Final = 60.0
"""Seconds in which a client must read at least `MIN_READ_BYTES` of its pending answer."""
MIN_READ_BYTES: Final = 65_536
"""Bytes that count as progress."""
BACKLOG: Final = 256
"""Connections accepted in one turn of the event loop."""


def connection_limit(files: int) -> int:
    """Return the maximum number of connections: half of the open files, but from 256 to 10,000.

    Args:
        files: The limit of open files; negative if there is none.

    >>> connection_limit(1024), connection_limit(20), connection_limit(-1)
    (512, 256, 10000)
    """
    return min(max(files // 2, BACKLOG), 10_000) if files >= 0 else 10_000


if sys.platform == "win32":
    MAX_CONNECTIONS = connection_limit(1024)
else:
    from resource import RLIMIT_NOFILE, getrlimit

    MAX_CONNECTIONS = connection_limit(getrlimit(RLIMIT_NOFILE)[0])
"""Above this number of connections, idle ones are closed."""


class BoundedConnection(H11Protocol):
    """HTTP connection that limits how long a client may take to send and to read."""

    _request_timer: TimerHandle | None = None
    _read_timer: TimerHandle | None = None
    _idle_since = 0.0
    _is_aborted = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the request timer; with more than `MAX_CONNECTIONS`, abort one.

        Others that are idle go first, those without any request before the longest idle; if all others are
        busy, this one is aborted.
        """
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._start_request_timer()
        if len(self.connections) > MAX_CONNECTIONS:
            known = (each for each in self.connections if isinstance(each, BoundedConnection))
            waiting = [each for each in known if each.is_idle and each is not self] or [self]
            min(waiting, key=lambda each: (each.cycle is not None, each._idle_since)).abort()

    @property
    def is_idle(self) -> bool:
        """True if no request is being answered here, and `abort` was not called.

        A request that is still arriving is not being answered.
        """
        answers = self._request_timer is None and self.cycle and not self.cycle.response_complete
        return not self._is_aborted and (not answers or self.transport.is_closing())

    def abort(self) -> None:
        """Close the connection at once and discard unsent data."""
        self._is_aborted = True
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Handle received data; start the request timer, and stop it once the request is complete."""
        self._start_request_timer()
        super().data_received(data)
        if self.conn.their_state.__name__ not in ("IDLE", "SEND_BODY"):  # the request is complete
            self._request_timer, self._idle_since = (
                cancel_timer(self._request_timer),
                self.loop.time(),
            )

    def _start_request_timer(self) -> None:
        """Start a timer that aborts the connection after `REQUEST_SECONDS`, unless one runs."""
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(REQUEST_SECONDS, self.abort)

    def pause_writing(self) -> None:
        """Pause sending, and start checking that the client reads."""
        super().pause_writing()
        self._check_client_reads(2**62)

    def resume_writing(self) -> None:
        """Resume sending, and stop the timer: the client has read."""
        self._read_timer = cancel_timer(self._read_timer)
        super().resume_writing()

    def _check_client_reads(self, before: int) -> None:
        """Abort if the client read almost nothing since the last check; else schedule the next check.

        Args:
            before: Bytes in the write buffer at the last check.
        """
        left = self.transport.get_write_buffer_size()
        if before - left < MIN_READ_BYTES:
            self.abort()
        else:
            self._read_timer = self.loop.call_later(READ_SECONDS, self._check_client_reads, left)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        self._request_timer, self._read_timer = (
            cancel_timer(self._request_timer),
            cancel_timer(self._read_timer),
        )
        super().connection_lost(exc)


class KeepAliveConnection(BoundedConnection):
    """Connection that stays open as long as its client may believe it is."""

    def shutdown(self) -> None:
        """Close after the client's keep-alive time, or with the next answer."""
        timer, now = self.timeout_keep_alive_task, self.loop.time()
        since = timer.when() - self.timeout_keep_alive if timer else now  # its last answer
        self.timeout_keep_alive = CLIENT_KEEP_ALIVE_SECONDS
        if self.cycle is None or self.cycle.response_complete:
            self._close_in(max(0, since + CLIENT_KEEP_ALIVE_SECONDS - now))

    def timeout_keep_alive_handler(self) -> None:
        """Close the idle connection; if it has received data that is not read yet, try again in 0.1 seconds."""
        if not self.transport.is_closing() and self._has_unread():
            self._close_in(0.1)
        else:
            super().timeout_keep_alive_handler()

    def _close_in(self, seconds: float) -> None:
        """Schedule closing the idle connection in `seconds`, instead of any earlier schedule."""
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def _has_unread(self) -> bool:
        """Return True if the socket has received data that is not read yet."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.transport.get_extra_info("socket"), selectors.EVENT_READ)
            return bool(selector.select(0))


def cancel_timer(timer: TimerHandle | None) -> TimerHandle | None:
    """Cancel a timer if there is one, and return None to store in its place."""
    if timer is not None:
        timer.cancel()
    return None


def web_config(
    make: Callable[[], Starlette], host: str, port: int, shutdown_seconds: int, **options: Any
) -> uvicorn.Config:
    """Return the configuration of the web server (uvicorn).

    Args:
        make: Builds the application in the serving process.
        host: Address to listen on.
        port: Port to listen on.
        shutdown_seconds: Seconds to wait for running requests on shutdown.
        options: Further options of uvicorn.
    """
    return uvicorn.Config(
        make,
        host,
        port,
        factory=True,
        http=KeepAliveConnection,
        log_level="warning",
        ws="none",
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=shutdown_seconds,
        lifespan="on",
        **options,
    )
