"""Requests that arrive while their server lets connections go: each is answered."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import uvicorn
from mcp.client.client import Client as Peer
from mcp.client.streamable_http import streamable_http_client
from sse_starlette.sse import AppStatus

from tests.mcp.serving import both_eras, text
from tests.waiting import run, until
from toolkeel import tool
from toolkeel.mcp.server import kept_connections
from toolkeel.mcp.server.drain import Draining, end_gently
from toolkeel.mcp.server.http import asgi
from toolkeel.mcp.server.kept_connections import KeptConnection, web_config
from toolkeel.mcp.server.prometheus_metrics import Figures
from toolkeel.mcp.server.tool_server import ToolServer

ASK = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class Served:
    """A server whose answers begin at once, and end when they may."""

    def __init__(self, app: Any) -> None:
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        config = web_config(cast("Any", lambda: app or self), "127.0.0.1", 0, 20)
        self.web = uvicorn.Server(config)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for end in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{end}.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.may_end.wait()
        await send({"type": "http.response.body", "body": b"ok"})

    @property
    def connections(self) -> set[KeptConnection]:
        return cast("set[KeptConnection]", self.web.server_state.connections)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        before = len(self.connections)
        streams = await asyncio.open_connection(*self.listener.getsockname())
        await until(lambda: len(self.connections) > before)
        return streams


@asynccontextmanager
async def served(app: Any = None) -> AsyncIterator[Served]:
    made = Served(app)
    task = asyncio.create_task(made.web.serve([made.listener.dup()]))
    await until(lambda: made.web.started or task.done())
    try:
        yield made
    finally:
        made.may_end.set()
        made.web.should_exit = True
        await task
        made.listener.close()


async def told_to_end(web: uvicorn.Server) -> None:
    """It listens no more, and has let go what it lets go at once."""
    web.should_exit = True
    await until(lambda: not any(server.is_serving() for server in web.servers))


async def answer(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(5):
        return await reader.readuntil(b"0\r\n\r\n")


def test_a_connection_that_is_new_or_was_used_just_now_is_answered_after_the_server_has_closed() -> (
    None
):
    async def main() -> None:
        async with served() as made:
            new, used = await made.connect(), await made.connect()
            used[1].write(ASK)
            await answer(used[0])
            await told_to_end(made.web)
            for reader, writer in (new, used):
                writer.write(ASK)
                assert b"200 OK" in await answer(reader)
                writer.close()

    run(main)


def test_an_answer_that_began_without_saying_so_does_not_close_its_connection() -> None:
    async def main() -> None:
        async with served() as made:
            made.may_end.clear()
            reader, writer = await made.connect()
            writer.write(ASK)
            await reader.readuntil(b"\r\n\r\n")
            await told_to_end(made.web)
            made.may_end.set()
            await answer(reader)
            writer.write(ASK)
            assert b"200 OK" in await answer(reader)
            writer.close()

    run(main)


def test_a_connection_that_its_client_no_longer_takes_for_open_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kept_connections, "STALE", 0)

    async def main() -> None:
        async with served() as made:
            reader, writer = await made.connect()
            await told_to_end(made.web)
            async with asyncio.timeout(5):
                assert await reader.read() == b""
            writer.close()

    run(main)


def test_a_request_that_has_come_and_was_not_read_yet_keeps_its_connection_open() -> None:
    async def main() -> None:
        async with served() as made:
            with socket.create_connection(made.listener.getsockname()) as client:
                await until(lambda: len(made.connections) == 1)
                [connection] = made.connections
                client.sendall(ASK)  # the loop does not turn between these two
                connection.timeout_keep_alive_handler()
                client.settimeout(5)
                assert b"200 OK" in await asyncio.to_thread(client.recv, 1000)

    run(main)


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A program's own handler, which the web server gives the signal back to when it has ended."""
    monkeypatch.setattr(AppStatus, "enable_automatic_graceful_drain", True)
    monkeypatch.setattr(AppStatus, "should_exit", False)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("signals")
def test_who_connects_when_it_listens_no_more_is_left_to_the_other_workers() -> None:
    async def main() -> None:
        async with served() as made:
            end_gently(Draining(Figures(), lambda: None), linger=0)
            signal.raise_signal(signal.SIGTERM)
            await until(lambda: made.web.should_exit)
            with socket.create_connection(made.listener.getsockname()) as client:
                await until(lambda: not any(each.is_serving() for each in made.web.servers))
                made.listener.settimeout(5)
                other, place = made.listener.accept()  # as another worker does
                other.close()
                assert place == client.getsockname()

    run(main)


@both_eras
@pytest.mark.usefixtures("signals")
def test_a_call_that_goes_on_when_its_server_closes_is_answered(era: Any) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        begun.set()
        await may_end.wait()
        return "done"

    async def main() -> None:
        app = asgi(ToolServer([work]))
        async with served(app) as made:
            url = "http://{}:{}/mcp".format(*made.listener.getsockname())
            async with Peer(streamable_http_client(url), mode=era) as peer:
                await peer.list_tools()  # which it would ask for later
                end_gently(app.state.draining, linger=0)
                called = asyncio.create_task(peer.call_tool("work", {}))
                await begun.wait()
                signal.raise_signal(signal.SIGTERM)
                await until(lambda: made.web.should_exit)
                made.listener.close()  # so that what connects from now on is refused
                await asyncio.sleep(0.7)  # the library of streams looks twice a second
                may_end.set()
                assert text(await called) == "done"

    run(main)
