"""A server at an address: who reaches it, who does not, and what the official client gets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp.client.client import Client as Peer
from mcp.client.streamable_http import streamable_http_client

from tests.mcp.serving import ERAS, both_eras, text
from tests.waiting import run, until
from toolkeel import SetupError, tool
from toolkeel.mcp.server import http
from toolkeel.mcp.server.http import asgi, is_loopback, serve_http
from toolkeel.mcp.server.tool_server import ToolServer


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@asynccontextmanager
async def served(server: ToolServer, **options: Any) -> AsyncIterator[str]:
    """The server at an address of this machine."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(asgi(server, **options), log_level="error", lifespan="on")
        web = uvicorn.Server(config)
        task = asyncio.create_task(web.serve([listener]))
        await until(lambda: web.started or task.done())
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            web.should_exit = True
            await task


@both_eras
def test_the_official_client_lists_and_calls_with_the_token_and_without(era: str) -> None:
    async def main() -> None:
        for token in ("", "geheim"):
            async with served(ToolServer([add]), token=token) as url:
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                async with httpx2.AsyncClient(headers=headers) as http:
                    transport = streamable_http_client(f"{url}/mcp", http_client=http)
                    async with Peer(transport, mode=era) as peer:
                        assert [t.name for t in (await peer.list_tools()).tools] == ["add"]
                        assert text(await peer.call_tool("add", {"a": 2, "b": 3})) == "5"

    run(main)


PING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"},
}}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "tools.example.org"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:5173"}, 200),
        ({"Origin": "https://app.example.org"}, 200),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_web_pages_and_other_hosts_are_kept_out(headers: dict[str, str], status: int) -> None:
    async def main() -> int:
        options = {
            "allowed_hosts": ["tools.example.org"],
            "allowed_origins": ["https://app.example.org"],
        }
        async with served(ToolServer([add]), **options) as url, httpx2.AsyncClient() as http:
            found = await http.post(f"{url}/mcp", json=PING, headers={**ACCEPT, **headers})
            if "Content-Type" not in headers:  # what it says of itself is said to nobody else
                metrics = await http.get(f"{url}/metrics", headers=headers)
                assert metrics.status_code == found.status_code
            return found.status_code

    assert run(main) == status


# Signed for somebody else's server: {"aud": "https://other.example", "iss": "https://id.example"}.
FOREIGN = (
    "Bearer eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJodHRwczovL290aGVyLmV4YW1wbGUiLCJpc3MiOiJodHRwczov"
    "L2lkLmV4YW1wbGUifQ.5hVt0QZ9nV1mB7bTq2Yh3k7m4m1l6oC2yq8s0x9w3zE"
)


@pytest.mark.parametrize(
    "authorization",
    [FOREIGN, "", "Bearer", "Bearer wrong", "Basic geheim", "Bearer gehei", "Bearer gëheim"],
)
def test_without_the_token_nothing_is_reached(authorization: str) -> None:
    async def main() -> None:
        async with served(ToolServer([add]), token="geheim") as url, httpx2.AsyncClient() as http:
            headers = {**ACCEPT, "Authorization": authorization.encode("latin-1")}
            for send in (http.get, http.post, http.delete):
                refused = await send(f"{url}/mcp", headers=headers)
                assert refused.status_code == 401
                assert refused.headers["WWW-Authenticate"].startswith("Bearer")

    run(main)


def test_a_giant_request_is_refused_before_it_is_read() -> None:
    async def main() -> int:
        async with served(ToolServer([add])) as url, httpx2.AsyncClient() as http:
            big = await http.post(
                f"{url}/mcp",
                content=b"x" * (5 << 20),
                headers={**ACCEPT, "Content-Type": "application/json"},
            )
            return big.status_code

    assert run(main) == 413


def test_an_address_others_reach_needs_a_token() -> None:
    server = ToolServer([add])
    for host in ("0.0.0.0", "::", "192.168.1.5", "tools.example.org"):
        with pytest.raises(SetupError, match="token"):
            asgi(server, host=host)
        asgi(server, host=host, token="geheim")
        with pytest.raises(SetupError, match="token"):
            asyncio.run(serve_http(server, host, 1))
    assert is_loopback("::1") and is_loopback("[::1]") and not is_loopback("localhost.evil.org")


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_vanishes_in_mid_call_stops_the_body(era: str) -> None:
    stopped: list[str] = []
    began: list[str] = []

    @tool(timeout=None)
    async def wait() -> str:
        """Wait."""
        began.append("yes")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append("yes")
            raise
        return "never"

    async def main() -> None:
        async with served(ToolServer([wait])) as url:

            async def gone() -> None:
                async with Peer(f"{url}/mcp", mode=era) as peer:
                    await peer.call_tool("wait", {})

            task = asyncio.create_task(gone())
            await until(lambda: began)
            task.cancel()
            await asyncio.wait([task])
            await until(lambda: stopped)

    run(main)


def test_of_too_many_sessions_one_ends_that_is_idle_and_none_that_is_at_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "MAX_SESSIONS", 3)

    async def main() -> None:
        async with (
            served(ToolServer([add])) as url,
            httpx2.AsyncClient(headers=ACCEPT, timeout=60) as web,
        ):

            async def open_one() -> str:
                opened = await web.post(f"{url}/mcp", json=PING)
                assert opened.status_code == 200
                return str(opened.headers["mcp-session-id"])

            async def status(session: str) -> int:
                body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
                own = {"mcp-session-id": session}
                return (await web.post(f"{url}/mcp", json=body, headers=own)).status_code

            first = await open_one()
            async with web.stream("GET", f"{url}/mcp", headers={"mcp-session-id": first}) as stream:
                assert stream.status_code == 200
                others = [await open_one() for _ in range(6)]
                assert [await status(each) for each in others] == [404] * 4 + [200] * 2
                assert await status(first) == 200

    run(main)
