"""A server and the official client in one process, in each era of the protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types as types
import pytest
from mcp.client.client import Client as Peer

from tests.waiting import run
from toolkeel.mcp.server.tool_server import ToolServer

T = TypeVar("T")
Test = Callable[[Peer], Awaitable[T]]

ERAS = ("legacy", "2026-07-28")
both_eras = pytest.mark.parametrize("era", ERAS)
deprecations = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


def talk(server: ToolServer, test: Test[T], era: str = "2026-07-28", **options: Any) -> T:
    """Run `test` with a client of the server.

    Args:
        server: Ours.
        test: Gets the official client.
        era: ``legacy`` or a modern revision.
        options: Of the client: its callbacks.
    """

    async def main() -> T | Exception:
        async with Peer(server.sdk, mode=era, **options) as peer:
            try:
                return await test(peer)
            except Exception as error:  # a task group would wrap it
                return error

    found = run(main)
    if isinstance(found, Exception):
        raise found
    return found


def call(
    server: ToolServer,
    name: str,
    arguments: dict[str, Any] | None = None,
    era: str = "2026-07-28",
    **options: Any,
) -> types.CallToolResult:
    """One call's result."""

    async def test(peer: Peer) -> types.CallToolResult:
        return await peer.call_tool(name, arguments or {})

    return talk(server, test, era, **options)


def text(result: types.CallToolResult) -> str:
    """The result's only block, a text."""
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def person(**answer: Any) -> dict[str, Any]:
    """Options of a client with a person who answers this."""

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult.model_validate(answer)

    return {"elicitation_callback": elicit}


def answering(**content: Any) -> dict[str, Any]:
    """The same with a person who accepts every form and fills in this."""
    return person(action="accept", content=content)
