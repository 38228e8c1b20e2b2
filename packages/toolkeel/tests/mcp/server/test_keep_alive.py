"""Requests that arrive while their server lets connections go: each is answered."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import pytest
import uvicorn
from mcp.client.client import Client as Peer
from mcp.client.streamable_http import streamable_http_client
from sse_starlette.sse import AppStatus

from tests.mcp.serving import both_eras, text
from tests.waiting import run, until
from toolkeel import tool
from toolkeel.mcp.server import keep_alive
from toolkeel.mcp.server.drain import DrainState, graceful_shutdown
from toolkeel.mcp.server.http import asgi
from toolkeel.mcp.server.keep_alive import KeepAliveConnection, web_config
from toolkeel.mcp.server.prometheus_metrics import CallMetrics
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
    def connections(self) -> set[KeepAliveConnection]:
        return cast("set[KeepAliveConnection]", self.web.server_state.connections)

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
    monkeypatch.setattr(keep_alive, "CLIENT_KEEP_ALIVE_SECONDS", 0)

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
            graceful_shutdown(DrainState(CallMetrics(), lambda: None), linger=0)
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
                graceful_shutdown(app.state.draining, linger=0)
                called = asyncio.create_task(peer.call_tool("work", {}))
                await begun.wait()
                signal.raise_signal(signal.SIGTERM)
                await until(lambda: made.web.should_exit)
                made.listener.close()  # so that what connects from now on is refused
                await asyncio.sleep(0.7)  # the library of streams looks twice a second
                may_end.set()
                assert text(await called) == "done"

    run(main)


async def closed(reader: asyncio.StreamReader, seconds: float = 10) -> bytes:
    """What came until the server let go."""
    async with asyncio.timeout(seconds):
        with suppress(ConnectionError):
            return await reader.read()
    return b""


@pytest.mark.parametrize(
    "part",
    [b"", b"GET / HTTP/1.1\r\nHost: h\r\nX: ", b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n"],
    ids=["nothing", "a head", "a body"],
)  # fmt: skip
def test_who_never_ends_a_request_is_let_go_however_often_a_byte_of_it_comes(
    part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep_alive, "REQUEST_SECONDS", 0.5)

    async def main() -> None:
        async with served() as made:
            made.may_end.clear()  # what begins to be answered early is let go, too
            reader, writer = await made.connect()
            writer.write(part)
            gone = asyncio.ensure_future(closed(reader))
            while part and not gone.done():  # slowly, but never idle
                writer.write(b"x")
                await asyncio.sleep(0.01)
            await gone
            await until(lambda: not made.connections)
            writer.close()

    run(main)


def test_a_body_that_goes_on_after_its_answer_is_read_no_longer_than_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keep_alive, "REQUEST_SECONDS", 0.5)

    async def main() -> None:
        async with served() as made:
            reader, writer = await made.connect()
            writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999\r\n\r\n")
            await answer(reader)
            gone = asyncio.ensure_future(closed(reader))
            while not gone.done():
                writer.write(b"x")
                await asyncio.sleep(0.01)
            await until(lambda: not made.connections)
            writer.close()

    run(main)


def test_a_request_that_was_answered_leaves_its_connection_open_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keep_alive, "REQUEST_SECONDS", 0.3)

    async def main() -> None:
        async with served() as made:
            reader, writer = await made.connect()
            for _ in range(3):
                writer.write(ASK)
                assert b"200 OK" in await answer(reader)
                await asyncio.sleep(0.2)
            made.may_end.clear()
            writer.write(ASK)
            await asyncio.sleep(0.5)  # an answer may take as long as it takes
            made.may_end.set()
            assert b"200 OK" in await answer(reader)
            writer.close()

    run(main)


def test_a_thousand_that_ask_nothing_keep_nobody_out_and_who_is_answered_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keep_alive, "MAX_CONNECTIONS", 20)

    async def main() -> None:
        async with served() as made:
            made.may_end.clear()
            at_work, idle = await made.connect(), await made.connect()
            at_work[1].write(ASK)
            await at_work[0].readuntil(b"\r\n\r\n")
            others = []
            for _ in range(1000):
                others.append(await asyncio.open_connection(*made.listener.getsockname()))
                if len(others) % 50 == 0:
                    await until(lambda: len(made.connections) <= 20)
            assert await closed(idle[0]) == b""  # it had waited longest
            made.may_end.set()
            assert await answer(at_work[0])
            reader, writer = await asyncio.open_connection(*made.listener.getsockname())
            writer.write(ASK)
            assert b"200 OK" in await answer(reader)
            assert len(made.connections) <= 20
            for _, each in [*others, (reader, writer), at_work, idle]:
                each.close()

    run(main)


def test_who_does_not_read_is_let_go_and_who_reads_slowly_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keep_alive, "READ_SECONDS", 0.5)
    much = b"x" * (16 << 20)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for end in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{end}.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": much, "more_body": True})
        await send({"type": "http.response.body", "body": b"end"})

    async def main() -> None:
        async with served(app) as made:
            (reader, writer), silent = await made.connect(), await made.connect()
            writer.write(ASK)
            silent[1].write(ASK)
            got, piece = 0, b""
            while not piece.endswith(b"0\r\n\r\n"):
                piece = await reader.read(1 << 20)
                got += len(piece)
                assert piece, f"let go after {got} bytes"
                await asyncio.sleep(0.02)
            assert got > len(much)
            await until(lambda: len(made.connections) == 1)  # the other one has gone
            for each in (writer, silent[1]):
                each.close()

    run(main)


def test_who_leaves_the_rest_of_a_closed_answer_unread_keeps_nobody_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keep_alive, "MAX_CONNECTIONS", 5)
    monkeypatch.setattr(keep_alive, "READ_SECONDS", 600.0)
    much = b"x" * (8 << 20)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for end in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{end}.complete"})
            return
        close = [(b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": close})
        await send({"type": "http.response.body", "body": much})

    async def main() -> None:
        async with served(app) as made:
            others = [socket.create_connection(made.listener.getsockname()) for _ in range(30)]
            for each in others:
                with suppress(ConnectionError):
                    each.sendall(ASK)
            await until(lambda: len(made.connections) == 5)
            await until(lambda: all(each.cycle for each in made.connections))
            reader, writer = await asyncio.open_connection(*made.listener.getsockname())
            writer.write(ASK)
            assert len(await closed(reader, 60)) > len(much)
            for each in others:
                each.close()
            writer.close()

    run(main)


def test_who_comes_when_all_others_are_idle_is_served_in_the_place_of_the_longest_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keep_alive, "MAX_CONNECTIONS", 3)

    async def main() -> None:
        async with served() as made:
            ends = []
            for _ in range(9):
                reader, writer = await asyncio.open_connection(*made.listener.getsockname())
                ends.append((reader, writer))
                writer.write(ASK)
                assert b"200 OK" in await answer(reader)
            await until(lambda: len(made.connections) == 3)
            assert [await closed(reader) for reader, _ in ends[:6]] == [b""] * 6
            for _, writer in ends:
                writer.close()

    run(main)
