"""MCP servers under the SDK's names."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.mcp.peers import PEER
from toolkeel import SetupError
from toolkeel.compat.openai_agents import (
    Agent,
    MCPServerSse,
    MCPServerStdio,
    MCPServerStreamableHttp,
    Runner,
    create_static_tool_filter,
)
from toolkeel.testing.scripted import Scripted, call


def test_a_servers_tools_are_the_agents_and_run_without_being_asked_about() -> None:
    async def main() -> Any:
        params = {"command": PEER[0], "args": PEER[1:]}
        async with MCPServerStdio(params=params, name="peer", cache_tools_list=True) as server:
            assert server.name == "peer"
            names = [tool.name for tool in await server.list_tools()]
            agent = Agent(
                name="a", mcp_servers=[server],
                model=Scripted([call(names[0], {}), "done"]),
            )  # fmt: skip
            return await Runner.run(agent, "go")

    result = asyncio.run(main())
    assert result.final_output == "done" and not result.interruptions


def test_only_the_tools_that_are_allowed_are_taken() -> None:
    async def main() -> list[str]:
        params = {"command": PEER[0], "args": PEER[1:]}
        async with MCPServerStdio(params=params) as server:
            first = (await server.list_tools())[0].name
        only = create_static_tool_filter(allowed_tool_names=[first])
        async with MCPServerStdio(params=params, tool_filter=only) as server:
            return [first, *(tool.name for tool in await server.list_tools())]

    first, *kept = asyncio.run(main())
    assert kept == [first]


def test_addresses_make_servers_of_both_kinds_on_the_network() -> None:
    params = {"url": "http://127.0.0.1:9/mcp", "headers": {"a": "b"}}
    assert MCPServerStreamableHttp(params).config.kind == "http"
    assert MCPServerSse(params, name="old").config.kind == "sse"
    assert MCPServerSse(params, name="old").name == "old"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_retry_attempts": 3}, "max_retry_attempts"),
        ({"tool_filter": lambda context, tool: True}, "tool_filter"),
        ({"tool_filter": {"blocked_tool_names": ["x"]}}, "Rules"),
        ({"require_approval": {"always": {}}}, "require_approval"),
    ],
)
def test_an_option_that_would_not_be_honoured_is_refused(options: Any, named: str) -> None:
    with pytest.raises(SetupError, match=named):
        MCPServerStreamableHttp({"url": "http://127.0.0.1:9"}, **options)


def test_a_parameter_that_would_be_dropped_is_refused() -> None:
    with pytest.raises(SetupError, match="encoding"):
        MCPServerStdio({"command": "x", "encoding": "latin1"})
