"""Connections that are closed only where no request of their client's can be on its way, and bounded.

Whoever closes a connection that the other side takes for open loses the request that is written to
it meanwhile, and of a lost POST nobody knows whether it ran. So an idle connection is kept for
longer than clients keep theirs; a server that ends closes those alone that stayed idle for longer
than that, or whose last answer said so (``Connection: close``).

Whoever sends a request without end, or does not read its answer, is let go, and holds up nobody: of
too many connections those go that have asked nothing yet, and then those that are idle.
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
"""Seconds an idle connection is kept: longer than balancers (60) and clients of Python (5) do."""
CLIENT_KEEP_ALIVE_SECONDS: Final = 6
"""Seconds after which clients of Python use an idle connection no more."""
REQUEST_SECONDS: Final = 60.0
"""Seconds in which the whole of a request must have come."""
READ_SECONDS: Final = 60.0
"""Seconds in which a client must read some of what waits for it."""
MIN_READ_BYTES: Final = 65_536
"""Bytes that are some."""
BACKLOG: Final = 256
"""Connections that are accepted in one turn."""


def connection_limit(files: int) -> int:
    """How many connections there may be: half as many as the process may open files.

    Args:
        files: How many it may open; negative if nobody has said.

    >>> most(1024), most(20), most(-1)
    (512, 256, 10000)
    """
    return min(max(files // 2, BACKLOG), 10_000) if files >= 0 else 10_000


if sys.platform == "win32":
    MAX_CONNECTIONS = connection_limit(1024)
else:
    from resource import RLIMIT_NOFILE, getrlimit

    MAX_CONNECTIONS = connection_limit(getrlimit(RLIMIT_NOFILE)[0])
"""Connections beyond which those go on which nothing is answered."""


class BoundedConnection(H11Protocol):
    """A connection that waits for no client without end."""

    _request_timer: TimerHandle | None = None
    _read_timer: TimerHandle | None = None
    _idle_since = 0.0
    _is_aborted = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a request; where too many do, who has waited longest is let go."""
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._start_request_timer()
        if len(self.connections) > MAX_CONNECTIONS:
            known = (each for each in self.connections if isinstance(each, BoundedConnection))
            waiting = [each for each in known if each.is_idle and each is not self] or [self]
            min(waiting, key=lambda each: (each.cycle is not None, each._idle_since)).abort()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is answered here."""
        answers = self._request_timer is None and self.cycle and not self.cycle.response_complete
        return not self._is_aborted and (not answers or self.transport.is_closing())

    def abort(self) -> None:
        """Close the connection at once, with what was not read."""
        self._is_aborted = True
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request, whose rest must come soon."""
        self._start_request_timer()
        super().data_received(data)
        if self.conn.their_state.__name__ not in ("IDLE", "SEND_BODY"):  # the whole of it has come
            self._request_timer, self._idle_since = cancel_timer(self._request_timer), self.loop.time()

    def _start_request_timer(self) -> None:
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(REQUEST_SECONDS, self.abort)

    def pause_writing(self) -> None:
        """Stop sending, and watch whether the client reads at all."""
        super().pause_writing()
        self._check_client_reads(2**62)

    def resume_writing(self) -> None:
        """Send again: the client has read."""
        self._read_timer = cancel_timer(self._read_timer)
        super().resume_writing()

    def _check_client_reads(self, before: int) -> None:
        """Let it go if nearly nothing was read of what waits; else look again."""
        left = self.transport.get_write_buffer_size()
        if before - left < MIN_READ_BYTES:
            self.abort()
        else:
            self._read_timer = self.loop.call_later(READ_SECONDS, self._check_client_reads, left)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone, and nothing is waited for."""
        self._request_timer, self._read_timer = cancel_timer(self._request_timer), cancel_timer(self._read_timer)
        super().connection_lost(exc)


class KeepAliveConnection(BoundedConnection):
    """A connection that outlives what its client may believe of it."""

    def shutdown(self) -> None:
        """Let it go when its client does, or with the next answer that says so."""
        timer, now = self.timeout_keep_alive_task, self.loop.time()
        since = timer.when() - self.timeout_keep_alive if timer else now  # its last answer
        self.timeout_keep_alive = CLIENT_KEEP_ALIVE_SECONDS
        if self.cycle is None or self.cycle.response_complete:
            self._close_in(max(0, since + CLIENT_KEEP_ALIVE_SECONDS - now))

    def timeout_keep_alive_handler(self) -> None:
        """Close it, unless a request has come that this loop has not read yet."""
        if not self.transport.is_closing() and self._has_unread():
            self._close_in(0.1)
        else:
            super().timeout_keep_alive_handler()

    def _close_in(self, seconds: float) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def _has_unread(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self.transport.get_extra_info("socket"), selectors.EVENT_READ)
            return bool(selector.select(0))


def cancel_timer(timer: TimerHandle | None) -> TimerHandle | None:
    """A timer that never fires, in the place of one that was stopped."""
    if timer is not None:
        timer.cancel()
    return None


def web_config(
    make: Callable[[], Starlette], host: str, port: int, shutdown_seconds: int, **options: Any
) -> uvicorn.Config:
    """Configuration of the web server (uvicorn).

    Args:
        make: Makes what is served, in the process that serves it.
        host: Address to listen on.
        port: Port to listen on.
        drain: Seconds for what is being answered, when it is told to end.
        options: More of uvicorn's.
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
