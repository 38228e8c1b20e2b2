"""The protocol's own example server, by our client and by the official one: the same results."""

from __future__ import annotations

import asyncio
import base64
import re
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.shared import node_command
from toolkeel import Audio, File, Image, RunContext, Text, ToolCall, ToolMessage, Toolset
from toolkeel.content import Block
from toolkeel.mcp.client.mcp_server import MCPServer

SCRIPT = "@modelcontextprotocol/server-everything/dist/index.js"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "echo": {"message": "猫"},
    "get-annotated-message": {"messageType": "error", "includeImage": True},
    "get-resource-links": {"count": 2},
    "get-resource-reference": {"resourceType": "Blob", "resourceId": 1},
    "get-structured-content": {"location": "Chicago"},
    "get-sum": {"a": 1, "b": 2.5},
    "gzip-file-as-resource": {"name": "a.gz", "data": "data:text/plain,hello"},
    "trigger-long-running-operation": {"duration": 0.2, "steps": 2},
    "trigger-url-elicitation": {"url": "https://example.com/login"},
    "simulate-research-query": {"topic": "cats"},
}
ANSWER = {"name": "Ada"}


async def officially() -> dict[str, types.CallToolResult | MCPError]:
    """What the official client gets from every tool."""

    async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        form = isinstance(params, types.ElicitRequestFormParams)
        defaults = _defaults(params.requested_schema) if form else None
        return types.ElicitResult(action="accept", content=defaults)

    node, script = node_command(SCRIPT)
    found: dict[str, types.CallToolResult | MCPError] = {}
    parameters = StdioServerParameters(command=node, args=[script])
    async with Client(parameters, elicitation_callback=elicit) as client:
        for tool in (await client.list_tools()).tools:
            try:
                found[tool.name] = await client.call_tool(tool.name, ARGUMENTS.get(tool.name, {}))
            except MCPError as error:
                found[tool.name] = error
    return found


def _defaults(schema: Any) -> dict[str, Any]:
    fields = schema.get("properties", {})
    return ANSWER | {name: each["default"] for name, each in fields.items() if "default" in each}


async def ours() -> dict[str, ToolMessage]:
    def fill(ticket: Any) -> Any:
        # A form is filled; a call that is asked about (after strangers' words) runs as it is.
        form = ticket.tool.startswith("answer to ") and "url" not in ticket.arguments
        return ticket.edit(ANSWER) if form else ticket.approve()

    async with MCPServer(node_command(SCRIPT), name="everything", trust=True) as server:
        tools = Toolset(await server.get_tools())
        calls = [ToolCall(name, name, ARGUMENTS.get(name, {})) for name in tools.names]
        run = RunContext[None](approver=fill)
        messages = [message for call in calls for message in await tools.run([call], run)]
    return {message.name: message for message in messages}


@pytest.mark.slow
def test_every_tool_of_the_example_server_gives_what_the_official_client_gets() -> None:
    theirs, own = asyncio.run(officially()), asyncio.run(ours())
    assert list(own) == list(theirs) and len(own) >= 14
    for name, result in theirs.items():
        message = own[name]
        if isinstance(result, MCPError):
            assert message.failed and result.message in message.text
            continue
        assert message.failed == bool(result.is_error), name
        assert message.artifact == result.structured_content, name
        expected = [_plain(block) for block in result.content if _for_model(block)]
        assert _timeless(_said(message)) == _timeless(expected), name


def _timeless(content: list[object]) -> str:
    """Without what the server makes up anew each time: times of day and ids."""
    return re.sub(r"\d+:\d\d:\d\d [AP]M|[0-9a-f]{8}-[0-9a-f-]{27}", "NEW", repr(content))


def _for_model(block: types.ContentBlock) -> bool:
    audience = block.annotations.audience if block.annotations else None
    return not audience or "assistant" in audience


def _said(message: ToolMessage) -> list[object]:
    if isinstance(message.content, str):
        return [message.content]
    return [_ours(block) for block in message.content]


def _ours(block: Block) -> object:
    match block:
        case Text(text, extra):
            link = extra.get("resource_link")
            return link["uri"] if isinstance(link, dict) else text
        case Image(data, kind) | Audio(data, kind):
            return (data, kind)
        case File(data):
            return (data, block.extra["uri"])
    raise AssertionError(block)


def _plain(block: types.ContentBlock) -> object:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent() | types.AudioContent():
            return (base64.b64decode(block.data), block.mime_type)
        case types.ResourceLink(uri=uri):
            return uri
        case types.EmbeddedResource(resource=types.TextResourceContents() as found):
            return (found.text.encode(), found.uri)
        case types.EmbeddedResource(resource=types.BlobResourceContents() as found):
            return (base64.b64decode(found.blob), found.uri)
    raise AssertionError(block)
