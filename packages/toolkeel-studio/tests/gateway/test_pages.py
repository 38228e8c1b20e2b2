"""Pages of the servers behind a gateway, for hosts in front of it."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from tests.gateway.behind import client_of, config
from tests.mcp.serving import deprecations
from tests.warm import WARM
from toolkeel_studio.gateway.gateway import Gateway

pytestmark = deprecations
PROGRAM = """
from mcp.server import MCPServer
from mcp.server.apps import Apps, ResourceCsp, client_supports_apps
from mcp.server.mcpserver import Context

apps = Apps()
apps.add_html_resource(
    "ui://clock", "<p>clock</p>", csp=ResourceCsp(connect_domains=["https://a.example"])
)


@apps.tool(resource_uri="ui://clock")
def now(context: Context) -> str:
    "Return the time."
    return f"12:00, {client_supports_apps(context)}"


@apps.tool(resource_uri="ui://clock", visibility=["app"])
def refresh() -> str:
    "Return the time again."
    return "12:01"


MCPServer("clock", extensions=[apps]).run()
"""


@pytest.mark.parametrize("older", [False, True])
def test_pages_of_two_servers_lead_to_their_own(tmp_path: Path, older: bool) -> None:
    file = tmp_path / "clock.py"
    file.write_text(PROGRAM, "utf-8")

    async def use() -> None:
        servers = [
            dataclasses.replace(config(name, [*WARM, str(file)]), is_legacy=older) for name in "ab"
        ]
        async with client_of(Gateway(servers)) as client:
            tools = {each.name: each.meta for each in (await client.list_tools()).tools}
            for name in "ab":
                uri = f"toolkeel+{name}:ui://clock"
                assert tools[f"{name}__now"] == {"ui": {"resourceUri": uri}}
                hidden = {"ui": {"resourceUri": uri, "visibility": ["app"]}}
                assert tools[f"{name}__refresh"] == hidden
                [page] = (await client.read_resource(uri)).contents
                assert isinstance(page, types.TextResourceContents)
                assert (page.text, page.mime_type, page.uri) == (
                    "<p>clock</p>",
                    "text/html;profile=mcp-app",
                    uri,
                )
            result: Any = await client.call_tool("a__now", {})
            assert result.content[0].text.startswith("12:00")
            again: Any = await client.call_tool("a__refresh", {})  # by the page
            assert again.content[0].text == "12:01"

    asyncio.run(use())
