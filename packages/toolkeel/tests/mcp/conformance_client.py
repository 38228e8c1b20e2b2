"""The program the conformance suite starts: an ordinary user of the public API.

It lists the tools of the server it is told of and calls each, with the suite's arguments where it
gives some.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from toolkeel import RunContext, Tool, ToolCall, Toolset
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.client.oauth.login import OAuth

METADATA = "https://conformance-test.local/client-metadata.json"
context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")


async def visit(url: str) -> str:
    """A person who agrees to everything."""
    async with httpx2.AsyncClient() as browser:
        response = await browser.get(url)
    return response.headers["location"]


def made_up(schema: Mapping[str, Any]) -> object:
    """Some value of a schema."""
    return {"integer": 3, "number": 3.5, "boolean": True, "array": [], "object": {}}.get(
        str(schema.get("type")), "text"
    )


def calls(tools: Toolset) -> list[ToolCall]:
    if "toolCalls" in context:
        return [
            ToolCall(str(n), c["name"], c["arguments"]) for n, c in enumerate(context["toolCalls"])
        ]
    return [ToolCall(f"call_{tool.name}", tool.name, arguments(tool)) for tool in tools]


def arguments(tool: Tool[..., Any]) -> dict[str, object]:
    properties: Any = tool.parameters.get("properties", {})
    required: Any = tool.parameters.get("required", [])
    return {name: made_up(properties.get(name, {})) for name in required}


async def main() -> int:
    auth = None
    if scenario.startswith("auth/"):
        auth = OAuth(
            client_id=context.get("client_id", ""),
            client_secret=context.get("client_secret", ""),
            client_metadata_url=METADATA,
            visit=visit,
            tokens=Path(tempfile.mkdtemp()) / "login.json",
        )
    server = MCPServer(
        sys.argv[-1], trust=True, auth=auth, timeout=120
    )  # forty scenarios start at once
    async with server:
        tools = Toolset(await server.get_tools())
        run = RunContext[None](approver=lambda ticket: True)
        results = await tools.run(calls(tools), run)
    for message in results:
        print(message.name, message.status, message.kind, message.text, file=sys.stderr)
    return any(message.failed for message in results)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
