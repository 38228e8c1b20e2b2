"""Tools of several MCP servers, under the names of ``langchain-mcp-adapters``."""

from __future__ import annotations

import asyncio
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.client.test_http import OK, answer, old_server, send
from toolkeel.errors import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    MultiServerMCPClient,
    ToolMessage,
    create_agent,
    load_mcp_tools,
)

SERVER = """
from mcp.server import MCPServer
server = MCPServer("math")
@server.tool()
def add(a: int, b: int) -> int:
    "Add."
    return a + b
server.run()
"""


@pytest.fixture
def math(tmp_path: Path) -> dict[str, Any]:
    program = tmp_path / "server.py"
    program.write_text(SERVER, "utf-8")
    return {"command": sys.executable, "args": [str(program)], "transport": "stdio"}


def run_add(client: MultiServerMCPClient) -> Any:
    async def main() -> Any:
        tools = await client.get_tools()
        agent = create_agent(Scripted([call(tools[0].name, {"a": 1, "b": 2}), "done"]), tools)
        return await agent.ainvoke({"messages": "go"})

    return asyncio.run(main())["messages"][2]


def test_an_agent_calls_the_tools_of_a_server(math: Any) -> None:
    client = MultiServerMCPClient({"math": math}, tool_name_prefix=True)
    result = run_add(client)
    assert (result.name, result.text) == ("math_add", "3")


def test_interceptors_see_and_change_each_call_the_first_outermost(math: Any) -> None:
    seen: list[Any] = []

    async def doubled(request: Any, handler: Any) -> Any:
        seen.append((request.server_name, request.name, dict(request.args)))
        return await handler(request.override(args={"a": 10, "b": request.args["b"]}))

    async def told(request: Any, handler: Any) -> Any:
        seen.append(dict(request.args))
        result = await handler(request)
        return ToolMessage(f"<{result.text}>", tool_call_id=result.tool_call_id)

    result = run_add(MultiServerMCPClient({"math": math}, tool_interceptors=[doubled, told]))
    assert result.text == "<12>"
    assert seen == [("math", "add", {"a": 1, "b": 2}), {"a": 10, "b": 2}]


def test_an_interceptor_sets_headers_of_one_call() -> None:
    tokens: list[tuple[str, str]] = []

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        tokens.append((handler.headers["x-user"], handler.headers["x-program"]))
        send(handler, answer(message, OK))

    async def sign(request: Any, handler: Any) -> Any:
        user = request.runtime.context
        return await handler(request.override(headers={"X-User": user}))

    async def use(url: str) -> None:
        how = {"transport": "streamable_http", "url": url, "headers": {"X-Program": "p"}}
        client = MultiServerMCPClient({"old": how}, tool_interceptors=[sign])
        agent = create_agent(Scripted([call("act"), "ok"] * 2), await client.get_tools())
        for user in ("ada", "bo"):
            await agent.ainvoke({"messages": "go"}, context=user)

    with old_server(reply) as url:
        asyncio.run(use(url))
    assert tokens == [("ada", "p"), ("bo", "p")]


def test_a_session_gives_its_tools(math: Any) -> None:
    async def main() -> list[str]:
        async with MultiServerMCPClient({"math": math}).session("math") as session:
            return [tool.name for tool in await load_mcp_tools(session)]

    assert asyncio.run(main()) == ["add"]


def test_a_server_that_fails_is_named_and_the_others_still_answer(math: Any) -> None:
    gone = {"command": "/no/such/program", "transport": "stdio"}
    client = MultiServerMCPClient({"gone": gone, "math": math})

    async def main() -> list[str]:
        with pytest.raises(SetupError, match="the MCP server 'gone'"):
            await client.get_tools()
        return [tool.name for tool in await client.get_tools(server_name="math")]

    assert asyncio.run(main()) == ["add"]


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"transport": "websocket", "url": "ws://x"}, "transport is one of"),
        ({"transport": "http", "url": "http://x", "httpx_client_factory": len}, "httpx_client"),
        ({"command": "x", "transport": "stdio", "encoding": "latin1"}, "encoding"),
    ],
)
def test_what_would_be_lost_of_a_connection_is_refused(how: Any, told: str) -> None:
    with pytest.raises(SetupError, match=told):
        MultiServerMCPClient({"x": how})


def test_other_names_and_sessions_are_refused_with_what_to_write() -> None:
    client = MultiServerMCPClient({})
    with pytest.raises(ValueError, match="there is no server 'x'"):
        asyncio.run(client.get_tools(server_name="x"))
    with pytest.raises(SetupError, match="takes the session"):
        asyncio.run(load_mcp_tools(object()))

    async def enter() -> None:
        async with client:
            pass

    with pytest.raises(NotImplementedError, match=r"await client\.get_tools"):
        asyncio.run(enter())
