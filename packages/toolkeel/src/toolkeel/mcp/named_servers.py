"""Servers named on the command line."""

from __future__ import annotations

from typing import Any

from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.tool_sources import gather_tools
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.mcp.client.mcp_server import MCPServer, servers
from toolkeel.mcp.pins import Pins
from toolkeel.mcp.state_files import mcp_state_folder


def servers_of_target(source: str) -> list[MCPServer]:
    """Return the servers of a target: all of a file, or one.

    A person is asked about every call, and definitions are pinned over runs.
    Raises as `servers`, which also logs servers that it leaves out.
    """
    pins = Pins(mcp_state_folder() / "pins.json")
    if source.endswith(".json"):
        return servers(source, pins=pins)
    return [MCPServer(source, pins=pins)]


def load_tools(source: str) -> Toolset:
    """Return the tools of a target's servers.

    Raises:
        SetupError: a server cannot be used, or nobody has agreed to start it.
    """
    return run_sync(lambda: gather_tools(servers_of_target(source), Toolset(), RunContext()))


def make_server(source: str, **options: Any) -> MCPServer:
    """Return an `MCPServer` for callers that do not import the protocol."""
    return MCPServer(source, **options)
