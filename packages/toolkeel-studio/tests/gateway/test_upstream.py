"""One server behind a gateway: one process for all until it asks something, then one a client."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.gateway.behind import PEERS, Asked, client_of, config
from tests.gateway.test_gateway import text
from tests.mcp.client.test_http import OK, answer, old_server, send
from tests.waiting import until
from toolkeel.mcp.client.mend_responses import mark_peer_error
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.server.multi_round_calls import Exchange
from toolkeel_studio.gateway import upstream
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.upstream import Upstream, as_client_error


async def call(server: Upstream, client: str, exchange: Exchange, tool: str = "pid") -> str:
    """What a tool answers a client: by default the id of the process that it reached."""
    async with server.run_call(client, exchange):
        result = await server.send("tools/call", {"name": tool, "arguments": {}})
    return str(result["content"][0]["text"])


def test_one_process_serves_all_until_it_asks_and_then_each_client_has_one() -> None:
    async def use() -> None:
        server = Upstream(config("old"), lambda: None)
        ada, bo, cy = Asked(), Asked(), Asked()
        first = {await call(server, "ada", ada), await call(server, "bo", bo)}
        assert len(first) == 1 and not server.has_own_connections
        assert (await call(server, "ada", ada, "ask")).startswith("accept")
        assert server.has_own_connections and server.questions == 1
        names = {"ada": ada, "bo": bo, "cy": cy}
        pids = {name: await call(server, name, own) for name, own in names.items()}
        assert len({*pids.values(), *first}) == 4  # what ada and bo shared is nobody's
        assert pids == {name: await call(server, name, own) for name, own in names.items()}
        said = await asyncio.gather(
            *(call(server, name, own, "ask") for name, own in names.items())
        )
        assert all(each.startswith("accept") for each in said)  # though all ask at once
        await server.close()

    asyncio.run(use())


def test_a_call_that_took_too_long_may_still_be_what_its_server_asks_about() -> None:
    async def use() -> str:
        slow = ServerConfig("old", command=tuple(PEERS["old"]), timeout=0.5)
        server = Upstream(slow, lambda: None)
        await call(server, "bo", Asked())
        async with server.run_call("ada", Asked()):
            with pytest.raises(MCPError, match="timed out"):
                await server.send("tools/call", {"name": "wait", "arguments": {}})
        said = await call(server, "bo", Asked(), "ask")
        await server.close()
        return said

    assert asyncio.run(use()).startswith("cancel")


PLAIN = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    said = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {},
                       "serverInfo": {"name": "plain", "version": "1"}},
        "tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]},
    }.get(asked.get("method"))
    if "id" in asked:
        error = {"code": -32601, "message": "no such method"}
        rest = {"error": error} if said is None else {"result": said}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **rest}), flush=True)
"""


def test_a_server_that_does_not_say_it_has_tools_has_those_it_lists() -> None:
    async def use() -> None:
        server = Upstream(config("plain", [sys.executable, "-c", PLAIN]), lambda: None)
        await server.refresh()
        assert (server.problem, list(server.lists.tools)) == ("", ["act"])
        await server.close()

    asyncio.run(use())


def test_who_was_alone_keeps_the_process_it_began_with() -> None:
    async def use() -> None:
        server = Upstream(config("old"), lambda: None)
        ada = Asked()
        pid = await call(server, "ada", ada)
        await call(server, "ada", ada, "ask")
        assert await call(server, "ada", ada) == pid
        assert await call(server, "bo", Asked()) != pid
        await server.close()

    asyncio.run(use())


def test_a_server_whose_questions_name_their_call_is_shared_all_along() -> None:
    async def use() -> None:
        server = Upstream(config("new"), lambda: None)
        pid = await call(server, "ada", Asked())
        async with server.run_call("ada", Asked()):
            await server.send("tools/call", {"name": "ask", "arguments": {}})
        assert await call(server, "bo", Asked()) == pid and not server.has_own_connections
        await server.close()

    asyncio.run(use())


def test_connections_are_bounded_and_those_that_nobody_uses_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upstream, "MAX_CONNECTIONS", 2)
    monkeypatch.setattr(upstream, "IDLE_SECONDS", 0.2)

    async def use() -> None:
        server = Upstream(config("old"), lambda: None)
        server.has_own_connections = True
        ada, bo, cy = (server.run_call(name, Asked()) for name in ("ada", "bo", "cy"))
        async with ada, bo, cy:
            assert set(server._client_connections) == {"ada", "bo", None}
            assert (
                server._connection_for("dan") is server._client_connections[None]
            )  # one call after the other
        assert (
            server._connection_for("eve") is server._client_connections["eve"]
        )  # there is room again
        await call(server, "eve", Asked())
        await until(lambda: not server._client_connections)
        await server.close()

    asyncio.run(use())


def test_an_error_of_a_server_reaches_the_client_as_it_came() -> None:
    said = mark_peer_error(types.ErrorData(code=-32000, message="no", data={"x": 1}))
    error = as_client_error(MCPError.from_error_data(said))
    assert (error.code, error.message, error.data) == (-32000, "no", {"x": 1})


HALF = """
import json, sys
FINE = {"name": "fine", "uri": "app://fine", "uriTemplate": "app://{x}"}
for line in sys.stdin:
    asked = json.loads(line)
    method, id = asked.get("method", ""), asked.get("id")
    said = {"error": {"code": int(sys.argv[1]), "message": "no list"}}
    if method == "initialize":
        able = {"tools": {}, "prompts": {}, "resources": {}}
        info = {"name": "half", "version": "1"}
        said = {"result": {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": info}}
    elif method == "tools/list":
        said = {"result": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}}
    elif method == sys.argv[2]:
        key = {"prompts/list": "prompts", "resources/list": "resources"}
        key = key.get(method, "resourceTemplates")
        said = {"result": {key: [{"name": 5}, "x", FINE, {"name": "a", "arguments": 3, "uri": 1}]}}
    if id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id, **said}), flush=True)
"""


@pytest.mark.parametrize("code", [-32601, -32603])
@pytest.mark.parametrize(
    ("method", "kept"),
    [
        ("prompts/list", (1, 0, 0)),
        ("resources/list", (0, 1, 0)),
        ("resources/templates/list", (0, 0, 1)),
    ],
)
def test_a_list_that_cannot_be_had_costs_no_other_and_a_definition_no_list(
    method: str, kept: tuple[int, int, int], code: int
) -> None:
    async def use() -> Upstream:
        server = Upstream(
            config("half", [sys.executable, "-c", HALF, str(code), method]), lambda: None
        )
        await server.refresh()
        await server.close()
        return server

    server = asyncio.run(use())
    lists = server.lists
    assert server.problem == "" and list(lists.tools) == ["act"]
    assert (len(lists.prompts), len(lists.resources), len(lists.templates)) == kept


def test_many_calls_of_a_session_forgotten_with_400_are_all_sent_again() -> None:
    sessions: list[str] = []

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        sessions.append(handler.headers["mcp-session-id"])
        if sessions[-1] == "s0":
            error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
            send(handler, {"jsonrpc": "2.0", "error": error, "id": None}, 400)
        else:
            send(handler, answer(message, OK))

    async def use(url: str) -> list[str]:
        gateway = Gateway([ServerConfig("far", url=url, kind="http")])
        async with client_of(gateway, "legacy") as client:
            await client.list_tools()
            results = await asyncio.gather(*(client.call_tool("far__act", {}) for _ in range(50)))
            return [text(each) for each in results]

    with old_server(reply) as url:
        assert asyncio.run(use(url)) == ["done"] * 50
    assert sessions.count("s1") == 50 and set(sessions) == {"s0", "s1"}


@pytest.mark.parametrize("comes_back", [True, False])
def test_calls_wait_for_a_server_that_restarts_and_are_not_sent_to_one_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, comes_back: bool
) -> None:
    if not comes_back:
        monkeypatch.setattr(upstream, "RESTART_SECONDS", 0.3)
    ran: list[object] = []

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        ran.extend([message["id"]] if message["method"] == "tools/call" else [])
        send(handler, answer(message, OK))

    async def use() -> list[str]:
        async with AsyncExitStack() as stack:
            with old_server(reply, version="HTTP/1.0") as url:  # no connection outlives it
                gateway = Gateway([ServerConfig("far", url=url, kind="http")])
                client = await stack.enter_async_context(client_of(gateway, "legacy"))
                await client.call_tool("far__act", {})
            waiting = asyncio.gather(*(client.call_tool("far__act", {}) for _ in range(20)))
            if comes_back:
                await until(lambda: gateway.servers["far"]._unreached_since is not None)
                port = urlsplit(url).port
                stack.enter_context(old_server(reply, port or 0))
            return [text(each) for each in await waiting]

    found = asyncio.run(use())
    assert len(ran) == (21 if comes_back else 1)
    assert all(each == "done" if comes_back else "was not sent" in each for each in found)


def test_calls_that_wait_for_a_restart_fail_as_not_sent_when_the_server_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait, begun = Upstream._wait_for_restart, list[None]()

    async def counted(server: Upstream) -> None:
        begun.append(None)
        await wait(server)

    monkeypatch.setattr(Upstream, "_wait_for_restart", counted)

    async def use() -> list[str]:
        async with AsyncExitStack() as stack:
            with old_server(lambda h, m: send(h, answer(m, OK)), version="HTTP/1.0") as url:
                gateway = Gateway([ServerConfig("far", url=url, kind="http")])
                client = await stack.enter_async_context(client_of(gateway, "legacy"))
                await client.call_tool("far__act", {})
            waiting = asyncio.gather(*(client.call_tool("far__act", {}) for _ in range(3)))
            await until(lambda: len(begun) == 3)
            await gateway.servers["far"].close()
            return [text(each) for each in await waiting]

    found = asyncio.run(use())
    assert len(found) == 3 and all("was not sent" in each for each in found)
