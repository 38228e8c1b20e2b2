"""The proxy lets out only to what may be reached, and only whoever has its password."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.waiting import run as run_async
from tests.waiting import until
from toolkeel_workspace.sandbox import proxy as module
from toolkeel_workspace.sandbox.proxy import (
    Proxy,
    _ErrorResponse,
    _parse_body_length,
    _parse_target,
    _rewrite_head,
)
from toolkeel_workspace.sandbox.reachable_hosts import HostPolicy


class Echo:
    """A server that keeps what it was sent, and answers."""

    def __init__(self) -> None:
        self.got = b""
        self.end = b"END"
        self.connections = 0

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while piece := await reader.read(1000):
            self.got += piece
            if self.got.endswith(self.end):
                break
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()


class Place:
    """A proxy in front of such a server, which is called ``good.example``."""

    def __init__(self, proxy: Proxy, echo: Echo, port: int) -> None:
        self.proxy = proxy
        self.echo = echo
        self.port = port

    async def ask(self, head: str, body: bytes = b"", password: str | None = None) -> bytes:
        """What the proxy answers to a request; with its password unless another is given."""
        reader, writer = await asyncio.open_connection("127.0.0.1", int(self.proxy.url[17:]))
        words = f"{self.proxy.user}:{self.proxy.password if password is None else password}"
        key = base64.b64encode(words.encode()).decode()
        lines = [*head.format(port=self.port).split("\n"), f"Proxy-Authorization: Basic {key}"]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        answer = await reader.read()
        writer.close()
        return answer


def with_place(test: Callable[[Place], Awaitable[None]]) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return {"split.example": ["93.184.216.34", "127.0.0.1"]}.get(host, ["127.0.0.1"])

    async def main() -> None:
        async with AsyncExitStack() as stack:
            echo = Echo()
            server = await asyncio.start_server(lambda *ends: echo.take(*ends), "127.0.0.1", 0)
            stack.callback(server.close)
            port = server.sockets[0].getsockname()[1]
            reach = HostPolicy([f"good.example:{port}"], ports=[port, 80], resolve=resolve)
            proxy = await stack.enter_async_context(Proxy(reach))
            await test(Place(proxy, echo, port))

    run_async(main)


def test_a_request_goes_on_with_its_own_path_and_without_our_password() -> None:
    async def test(place: Place) -> None:
        head = "POST http://good.example:{port}/a/b?c=d HTTP/1.1\nHost: good.example\nContent-Length: 3"
        answer = await place.ask(f"{head}\nProxy-Connection: keep-alive", b"END")
        assert answer.endswith(b"hello")
        assert place.echo.got.startswith(b"POST /a/b?c=d HTTP/1.1\r\nConnection: close\r\n")
        assert b"Host: good.example" in place.echo.got
        assert b"roxy" not in place.echo.got
        assert (place.proxy.sent, place.proxy.received) == (3, 43)

    with_place(test)


@pytest.mark.parametrize(
    "line", ["Host: evil.example", "host : evil.example", "HOST:\n evil.example"]
)
def test_the_server_is_told_the_host_that_was_checked(line: str) -> None:
    async def test(place: Place) -> None:
        head = "POST http://good.example:{port}/a HTTP/1.1\nContent-Length: 3\n" + line
        assert (await place.ask(head, b"END")).endswith(b"hello")
        assert f"\r\nHost: good.example:{place.port}\r\n".encode() in place.echo.got
        assert b"evil" not in place.echo.got

    with_place(test)


def test_a_tunnel_carries_what_it_is_given() -> None:
    async def test(place: Place) -> None:
        answer = await place.ask("CONNECT good.example:{port} HTTP/1.1", b"anything END")
        assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"hello")
        assert place.echo.got == b"anything END"

    with_place(test)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("CONNECT evil.example:{port} HTTP/1.1", 403),
        ("CONNECT split.example:{port} HTTP/1.1", 403),
        ("CONNECT 127.0.0.1:{port} HTTP/1.1", 403),
        ("CONNECT [::1]:{port} HTTP/1.1", 403),
        ("CONNECT 2130706433:{port} HTTP/1.1", 403),
        ("CONNECT good.example:22 HTTP/1.1", 403),
        ("CONNECT good.example HTTP/1.1", 405),
        ("CONNECT a@good.example:{port} HTTP/1.1", 405),
        ("CONNECT good.example:{port}/x HTTP/1.1", 405),
        ("CONNECT good.example:99999 HTTP/1.1", 400),
        ("GET http://evil.example:{port}/ HTTP/1.1", 403),
        ("GET http://good.example:{port}@evil.example:{port}/ HTTP/1.1", 405),
        ("GET https://good.example:{port}/ HTTP/1.1", 405),
        ("GET ftp://good.example:{port}/ HTTP/1.1", 405),
        ("GET / HTTP/1.1\nHost: good.example", 405),
        ("GET http://good.example:{port}/ HTTP/1.1\nTransfer-Encoding: chunked", 411),
        ("GET http://good.example:{port}/ HTTP/1.1\nContent-Length: 1\nContent-Length: 2", 400),
        ("nonsense", 400),
    ],
)
def test_what_may_not_be_reached_is_refused_and_never_connected_to(head: str, status: int) -> None:
    async def test(place: Place) -> None:
        assert (await place.ask(head)).startswith(f"HTTP/1.1 {status} ".encode())
        assert place.echo.connections == 0
        assert bool(place.proxy.refused) is (status == 403)

    with_place(test)


def test_nobody_without_the_password_is_served() -> None:
    async def test(place: Place) -> None:
        answer = await place.ask("CONNECT good.example:{port} HTTP/1.1", password="wrong")
        assert answer.startswith(b"HTTP/1.1 407 ")
        assert place.echo.connections == 0

    with_place(test)


@pytest.mark.parametrize("body", [b"END", b"E"])
def test_what_follows_a_request_is_not_sent_on(body: bytes) -> None:
    async def test(place: Place) -> None:
        place.echo.end = b"\r\n\r\n" + body
        head = f"POST http://good.example:{{port}}/ HTTP/1.1\nContent-Length: {len(body)}"
        await place.ask(head, body + b"GET http://other.example/secret HTTP/1.1\r\n\r\n")
        assert place.echo.got.endswith(place.echo.end)

    with_place(test)


def test_more_bytes_than_may_come_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)

    async def test(place: Place) -> None:
        answer = await place.ask("CONNECT good.example:{port} HTTP/1.1", b"END")
        assert b"hello" not in answer

    with_place(test)


def test_a_head_without_end_is_refused() -> None:
    async def test(place: Place) -> None:
        answer = await place.ask("GET http://good.example/ HTTP/1.1\nX: " + "x" * 70_000)
        assert answer.startswith(b"HTTP/1.1 431 ")

    with_place(test)


@settings(max_examples=300)
@given(st.text("abc.:/@[]?#\\ %0127\t", max_size=40), st.sampled_from(["CONNECT", "GET"]))
def test_any_target_is_a_host_with_a_port_or_refused(text: str, method: str) -> None:
    target = text if method == "CONNECT" else f"http://{text}"
    try:
        host, port = _parse_target(method, target)
    except _ErrorResponse:
        return
    assert host and 0 <= port < 65536 and "@" not in host


@given(st.binary(max_size=60))
def test_any_head_has_one_length_or_is_refused(data: bytes) -> None:
    head = b"POST http://a/ HTTP/1.1\r\n" + data + b"\r\n\r\n"
    try:
        assert _parse_body_length(head) >= 0
    except _ErrorResponse:
        return


@given(
    st.lists(
        st.sampled_from(["Proxy-Authorization", "Connection", "Cookie", "Host", "keep-alive"])
    ),
    st.sampled_from(["http://a", "http://a/", "http://a/b/c?d=http://e/f", "http://a:8080/x"]),
)
def test_no_header_meant_for_the_proxy_is_sent_on(names: list[str], target: str) -> None:
    lines = "".join(f"{name}: value-of-{name}\r\n" for name in names).encode()
    first = f"GET {target} HTTP/1.1\r\n".encode()
    sent = _rewrite_head(first + lines + b"\r\n", len(first), "GET", target).decode()
    assert re.match(r"GET /\S* HTTP/1\.1\r\nConnection: close\r\n", sent)
    assert "value-of-Proxy" not in sent and "value-of-keep" not in sent
    assert sent.count("value-of-Cookie") == names.count("Cookie") and sent.endswith("\r\n\r\n")


def test_any_number_that_does_not_know_the_password_keeps_nobody_out_who_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 5)

    async def test(place: Place) -> None:
        async with AsyncExitStack() as stack:
            for _ in range(20):
                _, writer = await asyncio.open_connection("127.0.0.1", int(place.proxy.url[17:]))
                stack.callback(writer.close)
            answer = await place.ask("CONNECT good.example:{port} HTTP/1.1", b"END")
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert len(place.proxy._tasks) <= 6

    with_place(test)


def test_who_asks_for_much_and_does_not_read_it_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.5)
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.5)

    async def test(place: Place) -> None:
        async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            with suppress(OSError):
                while True:
                    writer.write(b"x" * 65_536)
                    await writer.drain()

        place.echo.take = flood  # type: ignore[method-assign]
        key = base64.b64encode(f"{place.proxy.user}:{place.proxy.password}".encode()).decode()
        _, writer = await asyncio.open_connection("127.0.0.1", int(place.proxy.url[17:]))
        head = f"GET http://good.example:{place.port}/ HTTP/1.1\r\nProxy-Authorization: Basic {key}"
        writer.write(f"{head}\r\n\r\n".encode())
        await until(lambda: place.proxy.received > 100_000)
        await until(lambda: not place.proxy._tasks)  # though it could send for ever
        writer.close()

    with_place(test)
