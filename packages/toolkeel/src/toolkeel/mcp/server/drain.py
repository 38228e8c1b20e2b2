"""Graceful shutdown of a server over HTTP, with its health and metrics endpoints.

Theory of operation. A load balancer learns late that a process is about to end, and a client may
write a request into a connection that the server is just closing. A POST that is lost this way
must not be repeated blindly, because it may have run. So the process ends in four states::

    SERVING --SIGTERM--> DRAINING --DRAIN_SECONDS--> CLOSING --answers sent--> ENDED
       |                                                |
       +--SIGINT (Ctrl-C): DRAINING for 0 seconds ------+--SHUTDOWN_SECONDS--> ENDED

- SERVING: ``/healthz`` answers 200 ``ok``.
- DRAINING: ``/healthz`` answers 503 ``ending``, so that balancers send traffic elsewhere. New
  requests are still accepted and answered. Every answer carries ``Connection: close``, which ends
  a connection at the only moment at which no request can be on its way. Open event streams (GET)
  receive a disconnect; clients reconnect to another process.
- CLOSING: the listeners are removed from the event loop one turn before uvicorn closes them,
  because asyncio drops connections that it accepted in the same turn. uvicorn then waits up to
  ``SHUTDOWN_SECONDS`` for running requests. `KeepAliveConnection` decides when idle connections
  can be closed.
- ENDED: uvicorn returns, and the lifespan of the application ends.

`graceful_shutdown` wraps the signal handlers that uvicorn has installed. `DrainMiddleware` reads
`DrainState` and acts on each request.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sse_starlette.sse import AppStatus
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse

from toolkeel._common.prometheus_text import CONTENT_TYPE

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from toolkeel.mcp.server.prometheus_metrics import CallMetrics

HEALTH_PATH: Final = "/healthz"
METRICS_PATH: Final = "/metrics"
DRAIN_SECONDS: Final = 2.0
"""Seconds for which a server still accepts requests after SIGTERM."""
SHUTDOWN_SECONDS: Final = 30
"""Seconds it then waits for running requests."""


class DrainState:
    """The shutdown state of a server, and its open requests.

    Args:
        figures: Counts of the server's calls.
        let_go: Ends the subscriptions of clients.

    Attributes:
        is_draining: True once the shutdown has started.
    """

    def __init__(self, figures: CallMetrics, let_go: Callable[[], None]) -> None:
        self.metrics = figures
        self.is_draining = False
        self._close_streams = let_go
        self._streams: set[asyncio.Event] = set()

    def start(self) -> None:
        """Start the shutdown: mark the state and disconnect event streams."""
        self.is_draining = True
        self._close_streams()
        for stream in self._streams:
            stream.set()

    async def serve_metrics(self, _: Request) -> PlainTextResponse:
        """Answer with the metrics in Prometheus' text format."""
        text = await asyncio.to_thread(self.metrics.render)
        return PlainTextResponse(text, media_type=CONTENT_TYPE)

    def track_stream(self, receive: Receive) -> tuple[Receive, asyncio.Event]:
        """Register a stream. Return a `receive` that reports a disconnect once the shutdown starts, and its event."""
        draining = asyncio.Event()
        self._streams.add(draining)
        if self.is_draining:
            draining.set()

        async def heard() -> Message:
            """Return the next message, or a disconnect once the shutdown starts."""
            message, stop = asyncio.ensure_future(receive()), asyncio.ensure_future(draining.wait())
            try:
                await asyncio.wait((message, stop), return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message.done() else {"type": "http.disconnect"}
            finally:
                message.cancel()
                stop.cancel()

        return heard, draining

    def discard_stream(self, stream: asyncio.Event) -> None:
        """Stop tracking a stream that has ended."""
        self._streams.discard(stream)


class DrainMiddleware:
    """ASGI middleware: serves ``/healthz``, counts requests, and closes connections while draining.

    Args:
        app: The wrapped application.
        draining: The shutdown state.
    """

    def __init__(self, app: ASGIApp, draining: DrainState) -> None:
        self._app = app
        self._state = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = self._state
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == HEALTH_PATH:
            status, code = ("ending", 503) if state.is_draining else ("ok", 200)
            await PlainTextResponse(f"{status}\n", code)(
                scope, receive, self._close_after_answer(send, is_health=True)
            )
        elif scope["method"] == "GET":
            heard, stream = state.track_stream(receive)
            try:
                await self._app(scope, heard, self._close_after_answer(send))
                if stream.is_set():  # it was cut off, and its client is there still
                    with suppress(RuntimeError):
                        await send({"type": "http.response.body"})
            finally:
                state.discard_stream(stream)
        else:
            state.metrics.in_flight += 1
            try:
                await self._app(scope, receive, self._close_after_answer(send))
            finally:
                state.metrics.in_flight -= 1

    def _close_after_answer(self, send: Send, is_health: bool = False) -> Send:
        """Return a `send` that closes the connection while draining, and counts answers of 400 or more.

        Answers to health checks are not counted.
        """

        async def sent(message: Message) -> None:
            """Send a message; count a rejection, and close the connection while draining."""
            if message["type"] == "http.response.start":
                if message["status"] >= 400 and not is_health:
                    self._state.metrics.record_rejection(message["status"])
                if self._state.is_draining:
                    MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        return sent


def graceful_shutdown(draining: DrainState, linger: float = DRAIN_SECONDS) -> None:
    """Install signal handlers: SIGTERM drains for some seconds before uvicorn shuts down, Ctrl-C does not.

    Call it in the web server's main thread after its signal handlers are installed. It does nothing
    in other threads, which cannot set handlers.

    Args:
        draining: The shutdown state.
        linger: Seconds to drain after SIGTERM.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    stop_draining: Callable[[], object] = AppStatus.disable_automatic_graceful_drain
    stop_draining()  # it cuts answers that are streams
    loop = asyncio.get_running_loop()
    for number, seconds in ((signal.SIGTERM, linger), (signal.SIGINT, 0.0)):
        before: Any = signal.getsignal(number)
        if callable(before):
            signal.signal(number, partial(_on_signal, loop, draining.start, seconds, before))


def _on_signal(
    loop: asyncio.AbstractEventLoop,
    begin: Callable[[], None],
    seconds: float,
    before: Callable[..., object],
    *args: object,
) -> None:
    """Start draining; some seconds later, stop accepting and call the former handler."""
    loop.call_soon_threadsafe(begin)
    loop.call_soon_threadsafe(
        loop.call_later, seconds, partial(_stop_accepting, loop, before, *args)
    )


def _stop_accepting(
    loop: asyncio.AbstractEventLoop, before: Callable[..., object], *args: object
) -> None:
    """Stop accepting, then call the former handler, which closes the listeners in a later turn.

    asyncio drops connections that it accepted in the turn in which a listener closes.
    """
    for server in getattr(getattr(before, "__self__", None), "servers", ()):
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
    before(*args)
