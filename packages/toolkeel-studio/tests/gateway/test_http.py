"""The gateway over HTTP: a token for each client, and none of it goes further."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import mcp_types as types
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.gateway.behind import config
from tests.waiting import until
from toolkeel import Rules, SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.server import http as server_http
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.http import gateway_app
from toolkeel_studio.gateway.policy import Policy, read_policy

TOKENS = "[clients.ada]\ntoken='0123456789abcdef-ada'\n[clients.bo]\ntoken='0123456789abcdef-bo'\n"


@asynccontextmanager
async def serving(gateway: Gateway, policy: Policy) -> AsyncIterator[str]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    app = gateway_app(gateway, policy)
    server = uvicorn.Server(
        uvicorn.Config(app, "127.0.0.1", port, log_level="error", lifespan="on")
    )
    task = asyncio.ensure_future(server.serve())
    await until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def client(url: str, token: str, **options: Any) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}", "x-mine": "secret", "cookie": "c=1"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), **options) as found,
    ):
        yield found


def test_each_client_comes_with_its_token_and_has_its_rules(tmp_path: Any) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TOKENS + "deny = ['new__pid']\n")
    policy = read_policy(file)

    async def use() -> None:
        async with serving(Gateway([config("new")], policy), policy) as url:
            async with client(url, "0123456789abcdef-ada") as ada:
                assert "new__pid" in [tool.name for tool in (await ada.list_tools()).tools]
            async with client(url, "0123456789abcdef-bo") as bo:
                assert "new__pid" not in [tool.name for tool in (await bo.list_tools()).tools]
                refused = await bo.call_tool("new__pid", {})
                assert refused.is_error
            async with httpx2.AsyncClient() as nobody:
                for headers in ({}, {"authorization": "Bearer wrong"}):
                    answer = await nobody.post(url, headers=headers, json={})
                    assert answer.status_code == 401

    asyncio.run(use())


class Echo(BaseHTTPRequestHandler):
    """A server of one tool, which keeps the headers it was sent."""

    seen: list[dict[str, str]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append({key.lower(): value for key, value in self.headers.items()})
        results = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "echo", "version": "1"}},
            "tools/list": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "done"}]},
        }  # fmt: skip
        method = body.get("method")
        said: dict[str, Any] = {"jsonrpc": "2.0", "id": body.get("id")}
        if method in results:
            said["result"] = results[method]
        else:
            said["error"] = {"code": -32601, "message": "no"}
        data = json.dumps(said).encode() if "id" in body else b""
        self.send_response(200 if data else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def echo() -> Iterator[tuple[str, list[dict[str, str]]]]:
    seen: list[dict[str, str]] = []
    handler = type("Kept", (Echo,), {"seen": seen})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp", seen
    finally:
        server.shutdown()
        server.server_close()


def test_what_a_client_proves_itself_with_never_goes_on_to_a_server(tmp_path: Any) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TOKENS)
    policy = read_policy(file)

    async def use(far: str) -> None:
        config = ServerConfig("far", url=far, kind="http", headers={"x-own": "1"})
        async with (
            serving(Gateway([config], policy), policy) as url,
            client(url, "0123456789abcdef-ada") as ada,
        ):
            await ada.list_tools()
            assert not (await ada.call_tool("far__act", {})).is_error

    with echo() as (far, seen):
        asyncio.run(use(far))
    assert len(seen) >= 3
    for headers in seen:
        assert headers["x-own"] == "1"
        assert not {"authorization", "cookie", "x-mine"} & headers.keys()


def test_others_reach_a_gateway_only_with_a_token() -> None:
    gateway = Gateway([config("new")])
    with pytest.raises(SetupError, match="token"):
        gateway_app(gateway, Policy(), host="0.0.0.0")
    named = Policy(clients={"a": Rules()}, tokens={"a": b"x" * 32})
    with pytest.raises(SetupError, match="give no other"):
        gateway_app(gateway, named, token="one for all")


@asynccontextmanager
async def hearing(client: Client, era: str, heard: list[str]) -> AsyncIterator[None]:
    """Keep what a client is told of its tools."""
    if era == "legacy":
        yield  # by its message handler
        return

    async def listen() -> None:
        async with client.listen(tools_list_changed=True) as events:
            ready.set()
            async for event in events:
                heard[len(heard) :] = [type(event).__name__]

    ready = asyncio.Event()
    task = asyncio.ensure_future(listen())
    await ready.wait()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.parametrize("era", ["legacy", "auto"])
@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_whose_search_finds_a_tool_is_told_that_its_list_changed_and_nobody_else(
    era: str, tmp_path: Any
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TOKENS)
    policy = read_policy(file)
    told: dict[str, list[str]] = {"ada": [], "bo": []}

    def noting(name: str) -> dict[str, Any]:
        async def note(message: Any) -> None:
            told[name].append(getattr(message, "method", ""))

        return {"mode": era, **({"message_handler": note} if era == "legacy" else {})}

    async def use() -> None:
        gateway = Gateway([config("new")], policy, threshold=3)
        async with (
            serving(gateway, policy) as url,
            client(url, "0123456789abcdef-ada", **noting("ada")) as ada,
            client(url, "0123456789abcdef-bo", **noting("bo")) as bo,
            hearing(ada, era, told["ada"]),
            hearing(bo, era, told["bo"]),
        ):
            for each in (ada, bo):
                await each.list_tools()
            for query, many in (("say again", 1), ("say again", 1), ("wait for ever", 2)):
                await ada.call_tool("search_tools", {"query": query})
                await until(lambda many=many: len(told["ada"]) == many)  # type: ignore[misc]
            await bo.call_tool("search_tools", {"query": "say it again"})
            await until(lambda: told["bo"])
            assert (len(told["ada"]), len(told["bo"])) == (2, 1)

    asyncio.run(use())


async def ask(
    http: httpx2.AsyncClient, url: str, name: str, method: str, session: str = "", **params: Any
) -> httpx2.Response:
    """A request of the older revisions, with somebody's token."""
    own = {"authorization": f"Bearer 0123456789abcdef-{name}"}
    own |= {"accept": "application/json, text/event-stream"}
    own |= {"mcp-session-id": session} if session else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await http.post(url, headers=own, json=body)


HELLO = {"protocolVersion": "2025-11-25", "capabilities": {},
         "clientInfo": {"name": "t", "version": "0"}}  # fmt: skip


def test_a_session_is_found_with_the_token_alone_that_opened_it(tmp_path: Any) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TOKENS)
    policy = read_policy(file)

    async def use() -> None:
        async with (
            serving(Gateway([config("new")], policy), policy) as url,
            httpx2.AsyncClient(timeout=60) as http,
        ):
            opened = await ask(http, url, "ada", "initialize", **HELLO)
            session = opened.headers["mcp-session-id"]
            asked = [await ask(http, url, name, "tools/list", session) for name in ("bo", "ada")]
            assert [each.status_code for each in asked] == [404, 200]
            for method in ("GET", "DELETE"):  # nor can its stream be read, or be ended
                own = {"authorization": "Bearer 0123456789abcdef-bo", "mcp-session-id": session}
                assert (await http.request(method, url, headers=own)).status_code == 404
            assert (await ask(http, url, "ada", "tools/list", session)).status_code == 200

    asyncio.run(use())


def test_a_client_that_opens_session_after_session_ends_its_own_and_no_others(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_http, "MAX_SESSIONS", 4)
    file = tmp_path / "policy.toml"
    file.write_text(TOKENS)
    policy = read_policy(file)

    async def use() -> None:
        async with (
            serving(Gateway([config("new")], policy), policy) as url,
            httpx2.AsyncClient(timeout=60) as http,
        ):
            names = ["bo", *["ada"] * 9]
            opened = [await ask(http, url, name, "initialize", **HELLO) for name in names]
            sessions = [each.headers["mcp-session-id"] for each in opened]
            asked = [
                (await ask(http, url, name, "tools/list", session)).status_code
                for name, session in zip(names, sessions, strict=True)
            ]
            assert asked == [200, *[404] * 6, *[200] * 3]

    asyncio.run(use())


def test_what_a_client_was_asked_about_its_call_is_answered_with_its_token_alone(
    tmp_path: Any,
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(TOKENS + "[approval]\nask = ['new__echo']\n")
    policy = read_policy(file)

    async def person(context: Any, params: Any) -> types.ElicitResult:
        raise AssertionError("the rounds are made by hand")

    async def use() -> None:
        async with (
            serving(Gateway([config("new")], policy), policy) as url,
            client(url, "0123456789abcdef-ada", elicitation_callback=person) as ada,
            client(url, "0123456789abcdef-bo", elicitation_callback=person) as bo,
        ):
            call: dict[str, Any] = {"name": "new__echo", "arguments": {"text": "x"}}
            call |= {"allow_input_required": True}
            asked: Any = await ada.session.call_tool(**call)
            [key] = asked.input_requests
            yes = types.ElicitResult(action="accept", content={"approve": True})
            call |= {"input_responses": {key: yes}, "request_state": asked.request_state}
            with pytest.raises(MCPError, match="requestState"):
                await bo.session.call_tool(**call)
            done: Any = await ada.session.call_tool(**call)
            assert done.content[0].text == "x"

    asyncio.run(use())
