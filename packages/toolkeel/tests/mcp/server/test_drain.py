"""What a balancer and a scraper are told, and what becomes of connections when a server ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import httpx2
import mcp_types as types
import uvicorn
from mcp.client.client import Client as Peer
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette

from tests.mcp.serving import both_eras, text
from tests.shared import optional
from tests.waiting import run, until
from toolkeel import tool
from toolkeel.call.steps.rules import Rules
from toolkeel.mcp.server.drain import graceful_shutdown
from toolkeel.mcp.server.http import asgi
from toolkeel.mcp.server.tool_server import ToolServer

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def fail() -> None:
    """Fail."""
    raise ValueError("no")


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        web = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        task = asyncio.create_task(web.serve([listener]))
        await until(lambda: web.started or task.done())
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            web.should_exit = True
            await task


async def get(url: str, **headers: Any) -> httpx2.Response:
    async with httpx2.AsyncClient() as http:
        return await http.get(url, headers=headers)


def test_calls_are_counted_by_outcome_and_only_who_has_the_token_sees_it() -> None:
    async def main() -> None:
        app = asgi(ToolServer([add, fail]), token="geheim")
        async with served(app) as url:
            token = {"Authorization": "Bearer geheim"}
            async with (
                httpx2.AsyncClient(headers=token) as http,
                Peer(streamable_http_client(f"{url}/mcp", http_client=http)) as peer,
            ):
                assert text(await peer.call_tool("add", {"a": 2, "b": 3})) == "5"
                await peer.call_tool("add", {"a": "x"})
                await peer.call_tool("fail", {})
            assert (await get(f"{url}/metrics")).status_code == 401
            told = (await get(f"{url}/metrics", **token)).text
            health = await get(f"{url}/healthz")
            assert (health.status_code, health.text) == (200, "ok\n")
        for outcome in ("success", "invalid_arguments", "crashed"):
            assert f'toolkeel_calls_total{{outcome="{outcome}"}} 1\n' in told, told
        assert "toolkeel_requests_in_flight 0" in told

    run(main)


def test_a_server_that_is_told_to_end_says_so_and_lets_connections_and_streams_go() -> None:
    async def main() -> None:
        app = asgi(ToolServer([add]))
        async with served(app) as url, httpx2.AsyncClient(headers=ACCEPT) as http:
            begun = await http.post(f"{url}/mcp", json=HELLO)
            assert begun.headers.get("connection") != "close"
            session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
            async with http.stream("GET", f"{url}/mcp", headers=session) as stream:
                app.state.draining.start()
                async with asyncio.timeout(5):
                    assert [line async for line in stream.aiter_lines() if "data" in line] == []
            health = await http.get(f"{url}/healthz")
            assert (health.status_code, health.text) == (503, "ending\n")
            late = await http.post(f"{url}/mcp", json=HELLO)  # it still takes what comes
            assert (late.status_code, late.headers["connection"]) == (200, "close")

    run(main)


def test_the_gateways_health_needs_no_token_and_its_figures_do() -> None:
    Gateway = optional("toolkeel_studio.gateway.gateway").Gateway
    gateway_app = optional("toolkeel_studio.gateway.http").gateway_app
    Policy = optional("toolkeel_studio.gateway.policy").Policy

    async def main() -> None:
        digest = sha256(("x" * 32).encode()).digest()
        policy = Policy(clients={"ada": Rules()}, tokens={"ada": digest})
        async with served(gateway_app(Gateway([], policy), policy)) as url:
            assert (await get(f"{url}/healthz")).status_code == 200
            assert (await get(f"{url}/metrics")).status_code == 401
            told = await get(f"{url}/metrics", Authorization=f"Bearer {'x' * 32}")
            assert "toolkeel_call_seconds_count 0" in told.text

    run(main)


def test_a_server_in_a_thread_leaves_signals_alone() -> None:
    app = asgi(ToolServer([add]))

    async def main() -> None:
        await asyncio.to_thread(graceful_shutdown, app.state.draining)

    run(main)


@both_eras
def test_without_sessions_a_tool_that_must_ask_is_refused_to_clients_that_cannot_be_asked(
    era: str,
) -> None:
    """As where several processes share an address; of the newest revision they can be."""
    asked: list[str] = []

    async def answers(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"approve": True})

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    async def main() -> tuple[bool, str]:
        async with served(asgi(ToolServer([pay]), stateless_http=True)) as url:
            transport = streamable_http_client(f"{url}/mcp")
            async with Peer(transport, mode=era, elicitation_callback=answers) as peer:  # type: ignore[arg-type]
                result = await peer.call_tool("pay", {})
                return bool(result.is_error), text(result)

    refused, told = run(main)
    assert refused == (era == "legacy") == (not asked)
    assert told == "paid" or "cannot ask a person" in told
