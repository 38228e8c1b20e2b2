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

KEPT: Final = 75
"""Seconds an idle connection is kept: longer than balancers (60) and clients of Python (5) do."""
STALE: Final = 6
"""Seconds after which clients of Python use an idle connection no more."""
ARRIVES: Final = 60.0
"""Seconds in which the whole of a request must have come."""
READS: Final = 60.0
"""Seconds in which a client must read some of what waits for it."""
LEAST: Final = 65_536
"""Bytes that are some."""
BACKLOG: Final = 256
"""Connections that are accepted in one turn."""


def most(files: int) -> int:
    """How many connections there may be: half as many as the process may open files.

    Args:
        files: How many it may open; negative if nobody has said.

    >>> most(1024), most(20), most(-1)
    (512, 256, 10000)
    """
    return min(max(files // 2, BACKLOG), 10_000) if files >= 0 else 10_000


if sys.platform == "win32":
    MOST = most(1024)
else:
    from resource import RLIMIT_NOFILE, getrlimit

    MOST = most(getrlimit(RLIMIT_NOFILE)[0])
"""Connections beyond which those go on which nothing is answered."""


class BoundedConnection(H11Protocol):
    """A connection that waits for no client without end."""

    _late: TimerHandle | None = None
    _slow: TimerHandle | None = None
    _since = 0.0
    _ended = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a request; where too many do, who has waited longest is let go."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._begin()
        if len(self.connections) > MOST:
            known = (each for each in self.connections if isinstance(each, BoundedConnection))
            waiting = [each for each in known if each.waits and each is not self] or [self]
            min(waiting, key=lambda each: (each.cycle is not None, each._since)).end()

    @property
    def waits(self) -> bool:
        """Whether nothing is answered here."""
        answers = self._late is None and self.cycle and not self.cycle.response_complete
        return not self._ended and (not answers or self.transport.is_closing())

    def end(self) -> None:
        """Close the connection at once, with what was not read."""
        self._ended = True
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request, whose rest must come soon."""
        self._begin()
        super().data_received(data)
        if self.conn.their_state.__name__ not in ("IDLE", "SEND_BODY"):  # the whole of it has come
            self._late, self._since = stopped(self._late), self.loop.time()

    def _begin(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(ARRIVES, self.end)

    def pause_writing(self) -> None:
        """Stop sending, and watch whether the client reads at all."""
        super().pause_writing()
        self._unread(2**62)

    def resume_writing(self) -> None:
        """Send again: the client has read."""
        self._slow = stopped(self._slow)
        super().resume_writing()

    def _unread(self, before: int) -> None:
        """Let it go if nearly nothing was read of what waits; else look again."""
        left = self.transport.get_write_buffer_size()
        if before - left < LEAST:
            self.end()
        else:
            self._slow = self.loop.call_later(READS, self._unread, left)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone, and nothing is waited for."""
        self._late, self._slow = stopped(self._late), stopped(self._slow)
        super().connection_lost(exc)


class KeptConnection(BoundedConnection):
    """A connection that outlives what its client may believe of it."""

    def shutdown(self) -> None:
        """Let it go when its client does, or with the next answer that says so."""
        timer, now = self.timeout_keep_alive_task, self.loop.time()
        since = timer.when() - self.timeout_keep_alive if timer else now  # its last answer
        self.timeout_keep_alive = STALE
        if self.cycle is None or self.cycle.response_complete:
            self._close_in(max(0, since + STALE - now))

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


def stopped(timer: TimerHandle | None) -> TimerHandle | None:
    """A timer that never fires, in the place of one that was stopped."""
    if timer is not None:
        timer.cancel()
    return None


def web_config(
    make: Callable[[], Starlette], host: str, port: int, drain: int, **options: Any
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
        http=KeptConnection,
        log_level="warning",
        ws="none",
        backlog=BACKLOG,
        timeout_keep_alive=KEPT,
        timeout_graceful_shutdown=drain,
        lifespan="on",
        **options,
    )
