"""mcp, the protocol's own SDK: a server's tool called in process, without a wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool

from benchmarks.peer import Peer
from benchmarks.work import Call


class Mcp(Peer):
    packages = ("mcp",)
    line = "from mcp.server.mcpserver import MCPServer"

    def define(self, function: Callable[..., Any]) -> Any:
        return Tool.from_function(function)

    async def open(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.known: Any = MCPServer("bench")
        for function in functions:
            self.known.add_tool(function)

    async def one(self, call: Call) -> Any:
        try:
            return await self.known.call_tool(call.name, json.loads(call.arguments))
        except ToolError as error:
            return str(error)

    def text(self, message: Any) -> str:
        return message if isinstance(message, str) else str(message.content[0].text)

    def server(self, function: Callable[..., Any]) -> Any:
        made = MCPServer("bench")
        made.add_tool(function)
        return made

    def serve(self, function: Callable[..., Any]) -> None:
        self.server(function).run("stdio")


PEER = Mcp()
