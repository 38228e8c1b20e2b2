"""A call through the gateway beside a direct one: ``python -m benchmarks.gateway``.

The official SDK is client and server, over stdio, and the two take turns call by call, so that a slow
moment of the machine hits both. What is said is the ratio of the medians, and of the best tenths,
which a machine that is busy with something else spoils less.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(text: str) -> str:
    "Say it again."
    return text


server.run("stdio")
"""
TEXT = "The quick brown fox jumps over the lazy dog."


async def measure(calls: int, mode: Any, folder: Path) -> dict[str, float]:
    """The medians of calls that take turns, in milliseconds.

    Args:
        calls: How many of each.
        mode: The revision that is spoken: "legacy" or "auto".
        folder: Where `prepared` wrote its files.
    """
    command = [sys.executable, str(folder / "server.py")]
    through = [sys.executable, "-c", GATEWAY, str(folder / "mcp.json")]
    taken: tuple[list[float], list[float]] = [], []
    async with AsyncExitStack() as stack:
        clients = []
        for program, *words in (command, through):
            started = StdioServerParameters(
                command=program, args=words, env={"TOOLKEEL_HOME": str(folder)}
            )
            clients.append(await stack.enter_async_context(Client(started, mode=mode)))
        names = [(await each.list_tools()).tools[0].name for each in clients]
        for _ in range(calls):
            for client, name, times in zip(clients, names, taken, strict=True):
                began = time.perf_counter()
                result = await client.call_tool(name, {"text": TEXT})
                times.append(time.perf_counter() - began)
                assert not result.is_error
    skip = calls // 10  # the first calls warm both up
    medians = [statistics.median(times[skip:]) * 1000 for times in taken]
    tenths = [statistics.quantiles(times[skip:], n=10)[0] * 1000 for times in taken]
    return {
        "direct": medians[0],
        "gateway": medians[1],
        "ratio": medians[1] / medians[0],
        "direct, best tenth": tenths[0],
        "gateway, best tenth": tenths[1],
        "ratio, best tenth": tenths[1] / tenths[0],
    }


GATEWAY = """
import asyncio, sys
from pathlib import Path
from toolkeel.mcp.config import read_config
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel.mcp.server.stdio import serve_stdio, take_stdout

take_stdout()
asyncio.run(serve_stdio(Gateway(read_config(Path(sys.argv[1])).values())))
"""


def prepared(folder: Path) -> None:
    """Write the server and the file that names it."""
    (folder / "server.py").write_text(SERVER)
    server = {"command": sys.executable, "args": [str(folder / "server.py")]}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"echo": server}}))


def main() -> None:
    """Measure both revisions and print them."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    options.add_argument("-n", "--calls", type=int, default=500, help="default: %(default)s")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepared(Path(folder))
        for mode in ("legacy", "auto"):
            print(mode, json.dumps(asyncio.run(measure(given.calls, mode, Path(folder)))))


if __name__ == "__main__":
    main()
