"""Headers that differ by run: each run is its own caller, and no session is shared."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.mcp.client.test_http import OK, answer, old_server, send
from toolkeel import Agent, RunContext, SetupError
from toolkeel.call.body.sync_bridge import on_own_loop
from toolkeel.mcp.client import connections
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.testing import Scripted, call


def of_run(run: RunContext[Any] | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {run.deps}"} if run else {}


def test_each_runs_calls_carry_its_own_headers_in_a_session_of_its_own() -> None:
    calls: list[tuple[str, str]] = []

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        calls.append((handler.headers["authorization"], handler.headers["mcp-session-id"]))
        send(handler, answer(message, OK))

    async def use(url: str) -> None:
        server = MCPServer(url, trust=True, headers=of_run)

        async def ask(person: str) -> None:
            agent = Agent(Scripted([call("act"), call("act"), "Done."]), tools=[server])
            assert (await agent.run("go", deps=person)).output == "Done."

        await asyncio.gather(ask("ada"), ask("bo"))
        await ask("ada")
        await server.close()

    with old_server(reply) as url:
        asyncio.run(use(url))
    assert sorted(token for token, _ in calls) == ["Bearer ada"] * 4 + ["Bearer bo"] * 2
    sessions = {
        token: {session for other, session in calls if other == token} for token, _ in calls
    }
    assert len(sessions["Bearer ada"]) == len(sessions["Bearer bo"]) == 1
    assert sessions["Bearer ada"] != sessions["Bearer bo"]


def test_connections_nobody_uses_are_closed_when_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        send(handler, answer(message, OK))

    async def use(url: str) -> int:
        server = MCPServer(url, trust=True, headers=of_run)
        for person in range(5):
            agent = Agent(Scripted([call("act"), "Done."]), tools=[server])
            assert (await agent.run("go", deps=person)).output == "Done."
        count = len(server._connections._made)
        await server.close()
        return count

    with old_server(reply) as url:
        assert asyncio.run(use(url)) == 2


def test_a_connection_that_watches_a_resource_is_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 1)

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        send(handler, answer(message, OK))

    async def use(url: str) -> list[bool]:
        server, is_open = MCPServer(url, trust=True, headers=of_run), list[bool]()
        watching = await on_own_loop(server._connections.current)
        await on_own_loop(lambda: watching.watches.add(["app://log"], print))
        for person in range(2):
            agent = Agent(Scripted([call("act"), "Done."]), tools=[server])
            assert (await agent.run("go", deps=person)).output == "Done."
            is_open.append(watching in server._connections._made.values())
            await on_own_loop(lambda: watching.watches.remove(["app://log"], print))
        await server.close()
        return is_open

    with old_server(reply) as url:
        assert asyncio.run(use(url)) == [True, False]


@pytest.mark.parametrize("headers", [lambda run: run.deps["token"], lambda run: {"x": 5}, dict])
def test_headers_that_cannot_be_made_are_told(headers: Any) -> None:
    server = MCPServer("http://127.0.0.1:1/mcp", headers=headers)
    with pytest.raises(SetupError, match="headers= of the MCP server '127_0_0_1' failed"):
        server.tools()


def test_headers_that_hang_end_their_call_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def hang(run: RunContext[Any] | None) -> dict[str, str]:
        assert run is None or release.wait(20)
        return {}

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        send(handler, answer(message, OK))

    async def use(url: str) -> str:
        slow, quick = MCPServer(url, trust=True, headers=hang), MCPServer(url, trust=True)
        first = Agent(Scripted(["Done."]), [slow], callback_timeout=0.02)
        with pytest.raises(SetupError, match=r"the function did not return within 0\.02 seconds"):
            await first.run("go")
        waits = asyncio.ensure_future(Agent(Scripted(["Later."]), [slow]).run("go"))
        assert (await Agent(Scripted([call("act"), "Done."]), [quick]).run("go")).output == "Done."
        assert not waits.done()
        release.set()
        said = (await waits).output
        await slow.close()
        await quick.close()
        return said

    with old_server(reply) as url:
        assert asyncio.run(use(url)) == "Later."


def test_an_async_function_of_headers_runs_on_one_loop() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def headers(run: RunContext[Any] | None) -> dict[str, str]:
        loops.append(asyncio.get_running_loop())
        return {}

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        send(handler, answer(message, OK))

    async def use(url: str) -> None:
        server = MCPServer(url, trust=True, headers=headers)
        await Agent(Scripted([call("act"), "Done."]), tools=[server]).run("go")
        await server.close()

    with old_server(reply) as url:
        asyncio.run(use(url))
    assert len({*loops}) == 1 < len(loops)


def test_a_command_has_no_headers() -> None:
    with pytest.raises(SetupError, match="headers= is for servers with an address"):
        MCPServer("npx x", headers=of_run)
