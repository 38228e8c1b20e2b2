"""A server of the first revision, over HTTP with events: ``python sse_peer.py PORT``."""

from __future__ import annotations

import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("old")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


if __name__ == "__main__":
    uvicorn.run(server.sse_app(), port=int(sys.argv[1]), log_level="error")
