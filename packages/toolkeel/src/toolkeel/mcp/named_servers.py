"""Servers named on the command line, as one set of tools."""

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
    """The servers a target stands for: all of a file, or the one that `MCPServer` takes.

    A person is asked about every call, and definitions are pinned over runs.
    """
    pins = Pins(mcp_state_folder() / "pins.json")
    if source.endswith(".json"):
        return servers(source, pins=pins)
    return [MCPServer(source, pins=pins)]


def load_tools(source: str) -> Toolset:
    """The tools of the servers a target stands for.

    Raises:
        SetupError: a server cannot be used, or nobody has agreed to start it.
    """
    return run_sync(lambda: gather_tools(servers_of_target(source), Toolset(), RunContext()))


def make_server(source: str, **options: Any) -> MCPServer:
    """A server as a tool source, for who does not import the protocol; see `MCPServer`."""
    return MCPServer(source, **options)
