"""Connections that are closed only where no request of their client's can be on its way.

Whoever closes a connection that the other side takes for open loses the request that is written to
it meanwhile, and of a lost POST nobody knows whether it ran. So an idle connection is kept for
longer than clients keep theirs; a server that ends closes those alone that stayed idle for longer
than that, or whose last answer said so (``Connection: close``).
"""

from __future__ import annotations

import selectors
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


class KeptConnection(H11Protocol):
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


def web_config(
    make: Callable[[], Starlette], host: str, port: int, drain: int, **options: Any
) -> uvicorn.Config:
    """How a server is served.

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
        timeout_keep_alive=KEPT,
        timeout_graceful_shutdown=drain,
        lifespan="on",
        **options,
    )
