"""Where a server's tools come from: all but other MCP servers, of which only the tools would arrive."""

from __future__ import annotations

from collections.abc import Iterable

from toolkeel.call.tool_sources import ToolOrSource, static_tools
from toolkeel.call.toolset import Toolset
from toolkeel.errors import SetupError
from toolkeel.mcp.config import ServerConfig


def split_sources(
    tools: Toolset | Iterable[ToolOrSource],
) -> tuple[Toolset, tuple[ToolOrSource, ...]]:
    """Return the tools known now, and all sources if some need to be asked.

    Raises:
        SetupError: one is an MCP server, whose other features would be lost.
    """
    known, sources = static_tools(tools)
    for source in sources:
        if isinstance(config := getattr(source, "config", None), ServerConfig):
            raise SetupError(_LOST.format(config.name))
    return known, sources


_LOST = (
    "ToolServer(tools=...) would lose what the MCP server {!r} has besides tools: sampling, roots, "
    "resources, prompts, completion, logs and list changes. Serve it by `toolkeel gateway mcp.json` "
    "or Gateway of toolkeel_studio.gateway.gateway, which pass all of it on; or give only its present "
    "tools: ToolServer(await server.get_tools())"
)
