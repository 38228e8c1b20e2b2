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

    from toolkeel.mcp.server.prometheus_metrics import Figures

HEALTH: Final = "/healthz"
METRICS: Final = "/metrics"
LINGER: Final = 2.0
"""Seconds in which a server that is told to end still takes what comes."""
DRAIN: Final = 30
"""Seconds it then waits for what is being answered."""


class Draining:
    """The end of a server (graceful shutdown): whether it has begun, and which requests are open.

    Args:
        figures: What its calls came to.
        let_go: Ends what a client listens to for as long as it likes.
    """

    def __init__(self, figures: Figures, let_go: Callable[[], None]) -> None:
        self.figures = figures
        self.begun = False
        self._let_go = let_go
        self._streams: set[asyncio.Event] = set()

    def begin(self) -> None:
        """Begin to end: new requests are refused, open ones are awaited."""
        self.begun = True
        self._let_go()
        for stream in self._streams:
            stream.set()

    async def metrics(self, _: Request) -> PlainTextResponse:
        """Answer with the figures."""
        return PlainTextResponse(self.figures.text(), media_type="text/plain; version=0.0.4")

    def receiving(self, receive: Receive) -> tuple[Receive, asyncio.Event]:
        """What a standing stream hears: its client has gone, as soon as the server is told to end."""
        told = asyncio.Event()
        self._streams.add(told)
        if self.begun:
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

    def forget(self, stream: asyncio.Event) -> None:
        """Note that a stream has ended."""
        self._streams.discard(stream)


class Drained:
    """ASGI middleware: answers at ``/healthz``, counts requests, and lets connections go at the end.

    Args:
        app: What is served.
        draining: Whether it is told to end.
    """

    def __init__(self, app: ASGIApp, draining: Draining) -> None:
        self._app = app
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = self._draining
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == HEALTH:
            said, code = ("ending", 503) if state.begun else ("ok", 200)
            await PlainTextResponse(f"{said}\n", code)(scope, receive, self._closing(send))
        elif scope["method"] == "GET":
            heard, stream = state.receiving(receive)
            try:
                await self._app(scope, heard, self._closing(send))
                if stream.is_set():  # it was cut off, and its client is there still
                    with suppress(RuntimeError):
                        await send({"type": "http.response.body"})
            finally:
                state.forget(stream)
        else:
            state.figures.in_flight += 1
            try:
                await self._app(scope, receive, self._closing(send))
            finally:
                state.figures.in_flight -= 1

    def _closing(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if self._draining.begun and message["type"] == "http.response.start":
                MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        return sent


def end_gently(draining: Draining, linger: float = LINGER) -> None:
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
            signal.signal(number, partial(_on_signal, loop, draining.begin, seconds, before))


def _on_signal(
    loop: asyncio.AbstractEventLoop,
    begin: Callable[[], None],
    seconds: float,
    before: Callable[..., object],
    *said: object,
) -> None:
    loop.call_soon_threadsafe(begin)
    loop.call_soon_threadsafe(loop.call_later, seconds, partial(_end, loop, before, *said))


def _end(loop: asyncio.AbstractEventLoop, before: Callable[..., object], *said: object) -> None:
    """Accept no more, and only then close: asyncio drops what it accepted in the turn before that."""
    for server in getattr(getattr(before, "__self__", None), "servers", ()):
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
    before(*said)
