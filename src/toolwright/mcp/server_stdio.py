"""A `ToolServer` over stdin and stdout, for the program that started this one.

The client reads nothing but messages on stdout, and tools print. The SDK gives stdout back when it
has served, and text that is still in a buffer then reaches the client. Here it is never given back:
from the first moment to the end of the process, whatever is printed goes to stderr.
"""

from __future__ import annotations

import io
import os
import sys

import anyio
from mcp.server.stdio import stdio_server

from toolwright.mcp.server import ToolServer

_wire: list[int] = []
"""The descriptor that leads to the client, once it is taken."""


def take_stdout() -> int:
    """Keep stdout for messages, for good: what is printed goes to stderr.

    Call it before a user's code is imported, since that may print, too.

    Returns:
        The descriptor that leads to whoever reads this process's stdout.
    """
    if not _wire:
        sys.stdout.flush()
        _wire.append(os.dup(1))
        os.dup2(2, 1)
    return _wire[0]


async def serve_stdio(server: ToolServer) -> None:
    """Serve the program that started this one, until it closes stdin.

    Args:
        server: What to serve.
    """
    raw = os.fdopen(take_stdout(), "wb", closefd=False)  # open as long as the process
    out = anyio.wrap_file(io.TextIOWrapper(raw, encoding="utf-8", newline="\n"))
    sdk = server.sdk
    async with stdio_server(stdout=out) as (read, write):
        await sdk.run(read, write, sdk.create_initialization_options())
