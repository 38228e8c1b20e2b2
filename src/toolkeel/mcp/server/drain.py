"""The end of a server over HTTP without a lost call, and what balancers ask of it meanwhile.

When it is told to end (TERM) it says so at ``/healthz``, and lets each connection go with the next
answer, for a moment in which it still takes what comes. Then it listens no more, what is being
answered is answered, and the process ends.
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

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from toolkeel.mcp.server.prometheus_metrics import CallMetrics

HEALTH_PATH: Final = "/healthz"
METRICS_PATH: Final = "/metrics"
DRAIN_SECONDS: Final = 2.0
"""Seconds in which a server that is told to end still takes what comes."""
SHUTDOWN_SECONDS: Final = 30
"""Seconds it then waits for what is being answered."""


class DrainState:
    """The end of a server (graceful shutdown): whether it has begun, and which requests are open.

    Args:
        figures: What its calls came to.
        let_go: Ends what a client listens to for as long as it likes.
    """

    def __init__(self, figures: CallMetrics, let_go: Callable[[], None]) -> None:
        self.metrics = figures
        self.is_draining = False
        self._close_streams = let_go
        self._streams: set[asyncio.Event] = set()

    def start(self) -> None:
        """Begin to end: new requests are refused, open ones are awaited."""
        self.is_draining = True
        self._close_streams()
        for stream in self._streams:
            stream.set()

    async def serve_metrics(self, _: Request) -> PlainTextResponse:
        """Answer with the figures."""
        return PlainTextResponse(self.metrics.render(), media_type="text/plain; version=0.0.4")

    def track_stream(self, receive: Receive) -> tuple[Receive, asyncio.Event]:
        """What a standing stream hears: its client has gone, as soon as the server is told to end."""
        told = asyncio.Event()
        self._streams.add(told)
        if self.is_draining:
            told.set()

        async def heard() -> Message:
            asked, gone = asyncio.ensure_future(receive()), asyncio.ensure_future(told.wait())
            try:
                await asyncio.wait((asked, gone), return_when=asyncio.FIRST_COMPLETED)
                return asked.result() if asked.done() else {"type": "http.disconnect"}
            finally:
                asked.cancel()
                gone.cancel()

        return heard, told

    def discard_stream(self, stream: asyncio.Event) -> None:
        """Note that a stream has ended."""
        self._streams.discard(stream)


class DrainMiddleware:
    """ASGI middleware: answers at ``/healthz``, counts requests, and lets connections go at the end.

    Args:
        app: What is served.
        draining: Whether it is told to end.
    """

    def __init__(self, app: ASGIApp, draining: DrainState) -> None:
        self._app = app
        self._state = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = self._state
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == HEALTH_PATH:
            said, code = ("ending", 503) if state.is_draining else ("ok", 200)
            await PlainTextResponse(f"{said}\n", code)(
                scope, receive, self._close_after_answer(send)
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

    def _close_after_answer(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if self._state.is_draining and message["type"] == "http.response.start":
                MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        return sent


def graceful_shutdown(draining: DrainState, linger: float = DRAIN_SECONDS) -> None:
    """On SIGTERM let open calls end first, for so many seconds; Ctrl-C ends at once.

    For the web server's own thread, once it has its handlers; in others nothing happens.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    AppStatus.enable_automatic_graceful_drain = False  # it cuts the answers that are streams
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
    *said: object,
) -> None:
    loop.call_soon_threadsafe(begin)
    loop.call_soon_threadsafe(
        loop.call_later, seconds, partial(_stop_accepting, loop, before, *said)
    )


def _stop_accepting(
    loop: asyncio.AbstractEventLoop, before: Callable[..., object], *said: object
) -> None:
    """Accept no more, and only then close: asyncio drops what it accepted in the turn before that."""
    for server in getattr(getattr(before, "__self__", None), "servers", ()):
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
    before(*said)
