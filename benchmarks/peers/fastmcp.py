"""fastmcp: a server's tool called in process, without a wire."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError, ValidationError
from fastmcp.tools import FunctionTool

from benchmarks.peer import Peer
from benchmarks.work import Call

logging.getLogger("fastmcp").setLevel(logging.CRITICAL)  # it logs each wrong call at length


class FastMcp(Peer):
    packages = ("fastmcp", "mcp")
    line = "from fastmcp.tools import tool"

    def define(self, function: Callable[..., Any]) -> Any:
        return FunctionTool.from_function(function)

    async def open(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.known: Any = FastMCP("bench")
        for function in functions:
            self.known.add_tool(self.define(function))

    async def one(self, call: Call) -> Any:
        try:
            return await self.known.call_tool(call.name, json.loads(call.arguments))
        except (ToolError, ValidationError) as error:
            return str(error)

    def text(self, message: Any) -> str:
        return message if isinstance(message, str) else str(message.content[0].text)

    def serve(self, function: Callable[..., Any]) -> None:
        made = FastMCP("bench")
        made.add_tool(self.define(function))
        made.run("stdio", show_banner=False)


PEER = FastMcp()
