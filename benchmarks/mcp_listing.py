"""Time the first listing of a server with many tools, ours and the official client's.

    python -m benchmarks.mcp_listing [TOOLS [ROUNDS]]

Each round connects anew to a server process and measures both clients, one after the other.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
from time import perf_counter

SERVER = """
import asyncio, sys
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

def tool(n):
    words = {"type": "string", "description": "Words to look for.", "minLength": 1}
    limit = {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}
    order = {"type": "string", "enum": ["new", "old", "best"]}
    found = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
    properties = {f"query_{n}": words, "limit": limit, "order": order}
    schema = {"type": "object", "properties": properties, "required": [f"query_{n}"]}
    return types.Tool(name=f"search_{n}", description=f"Search collection {n}.", input_schema=schema,
                      output_schema=found if n % 4 == 0 else None)

TOOLS = [tool(n) for n in range(int(sys.argv[1]))]

async def list_tools(context, params):
    return types.ListToolsResult(tools=TOOLS)

async def main():
    server = Server("many", on_list_tools=list_tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""


async def list_with_official_client(command: list[str]) -> float:
    """Return the seconds of a first listing by the client of the ``mcp`` package."""
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(server) as client:
        began = perf_counter()
        listed = await client.list_tools()
        took = perf_counter() - began
        assert len(listed.tools) == int(command[-1])
    return took


async def list_with_ours(command: list[str]) -> float:
    """Return the seconds of a first listing by `MCPServer`."""
    from toolkeel.mcp.client import MCPServer

    async with MCPServer(command, name="many") as server:
        began = perf_counter()
        listed = await server.get_tools()
        took = perf_counter() - began
        assert len(listed) == int(command[-1])
    return took


async def main(tools: int = 1000, rounds: int = 5) -> None:
    """Print the medians of both and their ratio."""
    command = [sys.executable, "-c", SERVER, str(tools)]
    times = [
        (await list_with_official_client(command), await list_with_ours(command))
        for _ in range(rounds)
    ]
    official, ours = (statistics.median(each) for each in zip(*times, strict=True))
    print(
        f"{tools} tools, {rounds} rounds, medians: official client {official:.3f} s, "
        f"MCPServer {ours:.3f} s, {ours / official:.1f} times"
    )


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
