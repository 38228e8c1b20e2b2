"""A `ToolServer` over stdin and stdout, for the program that started this process.

The client expects only messages on stdout, but tools print. The SDK restores stdout after serving,
and buffered text then reaches the client. Here stdout is claimed for the lifetime of the process:
everything that is printed goes to stderr.

The event loop reads stdin, or a daemon thread where it cannot (files, Windows). The SDK's own thread
would have to be joined, and reads until the client closes the pipe, so the process could not end on a
signal.
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
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage
from pydantic_core import from_json

from toolkeel.mcp.messages import read_client_message, unreadable_reason, visible_id
from toolkeel.mcp.server.tool_server import ToolServer

Incoming: TypeAlias = "MemoryObjectReceiveStream[SessionMessage | Exception]"
Outgoing: TypeAlias = "MemoryObjectSendStream[SessionMessage]"
_Read: TypeAlias = "MemoryObjectSendStream[SessionMessage | Exception]"
_Written: TypeAlias = "MemoryObjectReceiveStream[SessionMessage]"

LineHandler: TypeAlias = "Callable[[bytes, Callable[[bytes], Awaitable[None]]], bool]"

_CHUNK = 65536
MAX_QUEUED_LINES = 1000
"""Maximum of lines read ahead."""
_ATOMIC_WRITE_BYTES = getattr(select, "PIPE_BUF", 512)
_stdout: list[int] = []
"""The descriptor of the original stdout, once claimed."""


def claim_stdout() -> int:
    """Reserve stdout for messages, permanently; redirect prints to stderr. Later calls change nothing.

    Call it before importing a user's code, which may print.

    Returns:
        The descriptor of the original stdout.
    """
    if not _stdout:
        sys.stdout.flush()
        _stdout.append(os.dup(1))
        os.dup2(2, 1)
    return _stdout[0]


async def serve_stdio(server: ToolServer) -> None:
    """Serve the program that started this process, until it closes stdin.

    Args:
        server: The server.
    """
    async with stdio_streams(server.handle_line) as (read, write):
        await server.sdk.run(read, write, server.sdk.create_initialization_options())


@asynccontextmanager
async def stdio_streams(take: LineHandler) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Yield the streams of incoming and outgoing messages; reserve stdin and stdout for them.

    A line that is not a message is answered with a JSON-RPC error and reported on stderr.

    Args:
        take: Receives each line first, with a function that writes a line; returns True if it
            handled the line.
    """
    wire = _StdoutWriter(claim_stdout())
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(_claim_stdin(), wire, incoming, take)),
        asyncio.create_task(_write(wire, outgoing)),
    ]
    try:
        yield read, write
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


class _StdoutWriter:
    """Writer of complete lines, in order, that does not block the event loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = asyncio.Lock()

    async def send(self, message: JSONRPCMessage) -> None:
        """Write a message as a line."""
        await self.send_line(
            message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        )

    async def send_line(self, line: bytes) -> None:
        """Write a line; in a thread if the pipe has no room."""
        async with self._lock:
            if len(line) <= _ATOMIC_WRITE_BYTES and self._has_room():
                os.write(self._descriptor, line)  # atomic, and does not block: the pipe has room
            else:
                await asyncio.to_thread(self._write_all, line)

    def _has_room(self) -> bool:
        """Return True if a short write would not block; always False on Windows."""
        if sys.platform == "win32":
            return False
        return bool(select.select((), (self._descriptor,), (), 0)[1])

    def _write_all(self, line: bytes) -> None:
        """Write a line completely; blocks."""
        while line:
            line = line[os.write(self._descriptor, line) :]


async def _read(descriptor: int, wire: _StdoutWriter, incoming: _Read, take: LineHandler) -> None:
    """Pass messages from stdin on until it closes; answer unreadable lines with errors."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with incoming:
            async for line in _read_lines(descriptor, lambda line: take(line, wire.send_line)):
                try:
                    message = read_client_message(line)
                except ValueError as error:
                    await _answer_unreadable(line, error, wire)
                else:
                    await incoming.send(SessionMessage(message))


async def _write(wire: _StdoutWriter, outgoing: _Written) -> None:
    """Write outgoing messages to stdout until the stream closes."""
    with suppress(anyio.ClosedResourceError, OSError):
        async with outgoing:
            async for item in outgoing:
                await wire.send(item.message)


async def _answer_unreadable(line: bytes, error: ValueError, wire: _StdoutWriter) -> None:
    """Answer an unreadable line with an error, and report it on stderr.

    Specification of JSON-RPC, section 5.1: -32700 for what is no JSON, -32600 for what is no
    request. A notification is never answered.
    """
    reason = unreadable_reason(error)
    print(f"toolkeel: a message cannot be read: {reason}: {line[:200]!r}", file=sys.stderr)
    try:
        data = from_json(line)
    except ValueError:
        code, text = types.PARSE_ERROR, "Parse error"
    else:
        code, text = types.INVALID_REQUEST, "Invalid Request"
        if isinstance(data, dict) and "method" in data and "id" not in data:
            return
    reply = types.JSONRPCError(
        jsonrpc="2.0",
        id=visible_id(line),
        error=types.ErrorData(code=code, message=f"{text}: {reason}"),
    )
    with suppress(OSError):
        await wire.send(reply)


def _claim_stdin() -> int:
    """Reserve stdin for messages, and return its descriptor; a tool that reads stdin gets end-of-file."""
    taken = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return taken


async def _read_lines(descriptor: int, take: Callable[[bytes], bool]) -> AsyncIterator[bytes]:
    """Yield lines that are not blank and not handled by `take`."""
    lines = _LineReader(descriptor, take)
    lines.start()
    try:
        while (line := await lines.queue.get()) is not None:
            lines.resume()
            if line.strip() and not take(line):
                yield line
    finally:
        lines.stop()


class _LineReader:
    """Reader of lines from a descriptor, as they arrive.

    Args:
        descriptor: The descriptor.
        take: Receives each line first, immediately if the queue is empty.

    Attributes:
        queue: The lines; None marks the end.
    """

    def __init__(self, descriptor: int, take: Callable[[bytes], bool]) -> None:
        self._handle = take
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._partial_line: list[bytes] = []
        self._is_reading = False
        self._is_at_end = False
        self._room = threading.BoundedSemaphore(MAX_QUEUED_LINES)
        self._uses_thread = False

    def start(self) -> None:
        """Start reading: on the event loop, or in a thread where that is impossible."""
        try:
            self._loop.add_reader(self._descriptor, self._on_readable)
        except (OSError, NotImplementedError):  # a file, or Windows
            self._uses_thread = True
            threading.Thread(
                target=self._read_in_thread, name="toolkeel stdin", daemon=True
            ).start()
        else:
            self._is_reading = True

    def resume(self) -> None:
        """Resume reading, since the queue has room; do nothing at the end of the input."""
        if self._uses_thread:
            with suppress(ValueError):
                self._room.release()
        elif not self._is_reading and not self._is_at_end:
            self._loop.add_reader(self._descriptor, self._on_readable)
            self._is_reading = True

    def stop(self) -> None:
        """Stop reading on the event loop; resumable."""
        if self._is_reading:
            self._loop.remove_reader(self._descriptor)
            self._is_reading = False

    def _on_readable(self) -> None:
        """Read a chunk, and handle or queue its complete lines; buffer the rest. Pause if the queue is full."""
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except OSError:
            chunk = b""
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            line = b"".join((*self._partial_line, line))
            self._partial_line.clear()
            if not (self.queue.empty() and self._handle(line)):
                self.queue.put_nowait(line)
        if rest:
            self._partial_line.append(rest)
        if not chunk:
            self._is_at_end = True
            if self._partial_line:
                self.queue.put_nowait(b"".join(self._partial_line))
            self.queue.put_nowait(None)
        if self._is_at_end or self.queue.qsize() >= MAX_QUEUED_LINES:
            self.stop()

    def _read_in_thread(self) -> None:
        """Queue lines until the end, waiting while the queue is full."""
        with suppress(RuntimeError):  # the loop has closed
            with os.fdopen(self._descriptor, "rb") as stdin:
                for line in stdin:
                    self._room.acquire()
                    self._loop.call_soon_threadsafe(self.queue.put_nowait, line)
            self._loop.call_soon_threadsafe(self.queue.put_nowait, None)
