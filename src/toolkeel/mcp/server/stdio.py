"""A `ToolServer` over stdin and stdout, for the program that started this one.

The client reads nothing but messages on stdout, and tools print. The SDK gives stdout back when it
has served, and text that is still in a buffer then reaches the client. Here it is never given back:
from the first moment to the end of the process, whatever is printed goes to stderr.

Stdin is read by the loop, or where a loop cannot (files, Windows) by a thread that nothing waits for.
A thread of the SDK's would have to be waited for, and reads until the client closes the pipe, so the
process could not end when it is told to.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import anyio
import mcp_types as types
from mcp.shared._context_streams import (
    ContextReceiveStream,
    ContextSendStream,
    create_context_streams,
)
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage
from pydantic_core import from_json

from toolkeel.mcp.messages import read_message
from toolkeel.mcp.server.tool_server import ToolServer

Incoming: TypeAlias = "ContextReceiveStream[SessionMessage | Exception]"
Outgoing: TypeAlias = "ContextSendStream[SessionMessage]"
_Read: TypeAlias = "ContextSendStream[SessionMessage | Exception]"
_Written: TypeAlias = "ContextReceiveStream[SessionMessage]"

Take: TypeAlias = "Callable[[bytes, Callable[[bytes], Awaitable[None]]], bool]"

_CHUNK = 65536
AHEAD = 1000
"""Lines that may be read before they are handled."""
_AT_ONCE = getattr(select, "PIPE_BUF", 512)
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
    async with stdio_streams(server.takes_line) as (read, write):
        await server.sdk.run(read, write, server.sdk.create_initialization_options())


@asynccontextmanager
async def stdio_streams(take: Take) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """What the program that started this one says, and what it is told.

    A line that is no message is answered with an error of JSON-RPC and told on stderr.

    Args:
        take: Sees each line first, with what writes one; what it takes is no message here.
    """
    wire = _Wire(take_stdout())
    incoming, read = create_context_streams[SessionMessage | Exception](0)
    write, outgoing = create_context_streams[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(_take_stdin(), wire, incoming, take)),
        asyncio.create_task(_write(wire, outgoing)),
    ]
    try:
        yield read, write
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


class _Wire:
    """Writes whole lines, one after the other, without holding up the loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = asyncio.Lock()

    async def send(self, message: JSONRPCMessage) -> None:
        await self.line(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def line(self, line: bytes) -> None:
        async with self._lock:
            if len(line) <= _AT_ONCE and self._has_room():
                os.write(self._descriptor, line)  # whole, and at once: so is a pipe that has room
            else:
                await asyncio.to_thread(self._write_all, line)

    def _has_room(self) -> bool:
        if sys.platform == "win32":
            return False
        return bool(select.select((), (self._descriptor,), (), 0)[1])

    def _write_all(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._descriptor, line) :]


async def _read(descriptor: int, wire: _Wire, incoming: _Read, take: Take) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with incoming:
            async for line in _lines(descriptor, lambda line: take(line, wire.line)):
                try:
                    message = read_message(line)
                except ValueError as error:
                    await _refuse(line, error, wire)
                else:
                    await incoming.send(SessionMessage(message))


async def _write(wire: _Wire, outgoing: _Written) -> None:
    with suppress(anyio.ClosedResourceError, OSError):
        async with outgoing:
            async for item in outgoing:
                await wire.send(item.message)


async def _refuse(line: bytes, error: ValueError, wire: _Wire) -> None:
    """Tell the client that its message cannot be read, and the person who looks at stderr.

    Specification of JSON-RPC, section 5.1: -32700 for what is no JSON, -32600 for what is no
    request. A notification is never answered.
    """
    why = str(error).split("\n", 2)
    said = " ".join(part.strip() for part in why[:2])[:300]
    print(f"toolkeel: a message cannot be read: {said}: {line[:200]!r}", file=sys.stderr)
    try:
        data = from_json(line)
    except ValueError:
        code, id, told = types.PARSE_ERROR, None, "Parse error"
    else:
        code, told = types.INVALID_REQUEST, "Invalid Request"
        id = data.get("id") if isinstance(data, dict) else None
        if isinstance(data, dict) and "method" in data and "id" not in data:
            return
    known = id if isinstance(id, str | int) and not isinstance(id, bool) else None
    reply = types.JSONRPCError(
        jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=f"{told}: {said}")
    )
    with suppress(OSError):
        await wire.send(reply)


def _take_stdin() -> int:
    """Keep stdin for messages: a tool that reads it finds it at its end."""
    taken = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return taken


async def _lines(descriptor: int, take: Callable[[bytes], bool]) -> AsyncIterator[bytes]:
    lines = _Lines(descriptor, take)
    lines.start()
    try:
        while (line := await lines.queue.get()) is not None:
            lines.go_on()
            if line.strip() and not take(line):
                yield line
    finally:
        lines.stop()


class _Lines:
    """Lines of a descriptor, read when there is something to read.

    Args:
        descriptor: What is read.
        take: Sees each line first, at once while none waits.

    Attributes:
        queue: Of lines; None is their end.
    """

    def __init__(self, descriptor: int, take: Callable[[bytes], bool]) -> None:
        self._take = take
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._rest: list[bytes] = []
        self._reads = False
        self._ended = False
        self._room = threading.BoundedSemaphore(AHEAD)
        self._threaded = False

    def start(self) -> None:
        try:
            self._loop.add_reader(self._descriptor, self._readable)
        except (OSError, NotImplementedError):  # a file, or Windows
            self._threaded = True
            threading.Thread(target=self._read, name="toolkeel stdin", daemon=True).start()
        else:
            self._reads = True

    def go_on(self) -> None:
        """There is room again."""
        if self._threaded:
            with suppress(ValueError):
                self._room.release()
        elif not self._reads and not self._ended:
            self._loop.add_reader(self._descriptor, self._readable)
            self._reads = True

    def stop(self) -> None:
        if self._reads:
            self._loop.remove_reader(self._descriptor)
            self._reads = False

    def _readable(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except OSError:
            chunk = b""
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            line = b"".join((*self._rest, line))
            self._rest.clear()
            if not (self.queue.empty() and self._take(line)):
                self.queue.put_nowait(line)
        if rest:
            self._rest.append(rest)
        if not chunk:
            self._ended = True
            if self._rest:
                self.queue.put_nowait(b"".join(self._rest))
            self.queue.put_nowait(None)
        if self._ended or self.queue.qsize() >= AHEAD:
            self.stop()

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop has closed: nobody reads on
            with os.fdopen(self._descriptor, "rb") as stdin:
                for line in stdin:
                    self._room.acquire()
                    self._loop.call_soon_threadsafe(self.queue.put_nowait, line)
            self._loop.call_soon_threadsafe(self.queue.put_nowait, None)
