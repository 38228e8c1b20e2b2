"""A `ToolServer` over stdin and stdout, for the program that started this one.

The client reads nothing but messages on stdout, and tools print. The SDK gives stdout back when it
has served, and text that is still in a buffer then reaches the client. Here it is never given back:
from the first moment to the end of the process, whatever is printed goes to stderr.

Stdin is read by a thread that nothing waits for. One of the SDK's would have to be waited for, and
reads until the client closes the pipe, so the process could not end when it is told to.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import cast

import anyio
from mcp.server.stdio import stdio_server

from toolwright.mcp.server import ToolServer

AHEAD = 1000
"""Lines that may be read before they are handled."""
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
    lines = cast("anyio.AsyncFile[str]", _lines(_take_stdin()))
    async with stdio_server(lines, out) as (read, write):
        await server.sdk.run(read, write, server.sdk.create_initialization_options())


def _take_stdin() -> int:
    """Keep stdin for messages: a tool that reads it finds it at its end."""
    taken = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return taken


async def _lines(descriptor: int) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    room = threading.BoundedSemaphore(AHEAD)

    def read() -> None:
        with suppress(RuntimeError):  # the loop has closed: nobody reads on
            with os.fdopen(descriptor, "rb") as stdin:
                for line in stdin:
                    room.acquire()
                    loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, name="toolwright stdin", daemon=True).start()
    while (line := await lines.get()) is not None:
        room.release()
        if line.strip():
            yield line.decode("utf-8", "replace")
