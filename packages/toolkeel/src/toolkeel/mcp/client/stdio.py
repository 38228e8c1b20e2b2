"""A server as a child process: no shell, its own process group, a small environment.

The SDK's own transport reads lines of any length and keeps nothing of what the server says before
it dies. This one bounds lines, keeps the end of stderr for the error, notices the death of the
process itself even if its children hold the pipes, and leaves no process behind. It refuses the
SDK's first request in the place of a server that ignores it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from toolkeel.errors import SetupError
from toolkeel.mcp.client.end_orphans import guard_group, release_group
from toolkeel.mcp.client.frames import FrameReader
from toolkeel.mcp.client.raw_requests import RawRequests
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.launch_files import resolve_program

STOP_SECONDS = 2.0
"""Seconds a server may take to end after its stdin is closed, and again after SIGTERM."""
_LAST_OUTPUT_SECONDS = 0.3
"""Seconds in which what a dead process had written is still read."""
PROBE_SECONDS = 2.0
"""Seconds for a server to answer which revisions it knows; many older ones ignore the question."""
_CHUNK = 65536
_STDERR_LINES = 20

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]

log = logging.getLogger("toolkeel.mcp")


class Stderr:
    """The last lines a server wrote to stderr."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_STDERR_LINES)

    def add(self, line: str) -> None:
        """Append a line, cut to 500 characters, and drop the oldest beyond the limit."""
        self._lines.append(line[:500])

    def __str__(self) -> str:
        return "\n".join(self._lines)


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Subprocess protocol with a future that is done when the process itself has ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(_CHUNK, loop)
        self.ended: asyncio.Future[None] = loop.create_future()

    def process_exited(self) -> None:
        """Mark the process as ended."""
        super().process_exited()
        if not self.ended.done():
            self.ended.set_result(None)


class _ServerProcess:
    """A server's running process and its children."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        self.transport = transport
        self.ended = protocol.ended
        loop = asyncio.get_running_loop()
        self.process = asyncio.subprocess.Process(transport, protocol, loop)

    async def stop(self) -> None:
        """Close stdin, wait, terminate, wait, kill: the process and its children."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        for number in (None, signal.SIGTERM, _KILL):
            if number is not None:
                self._signal(number)
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self.ended), STOP_SECONDS)
                break
        self._signal(_KILL)  # children that outlive it
        release_group(self.process.pid)
        self.transport.close()

    def _signal(self, number: int) -> None:
        """Send a signal to the process group, on Windows to the process; ignore that it has ended."""
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                if not self.ended.done():
                    self.process.send_signal(number)
            else:
                os.killpg(self.process.pid, number)


_KILL: int = getattr(signal, "SIGKILL", signal.SIGTERM)


async def _start_process(config: ServerConfig) -> _ServerProcess:
    """Start the server's process in a group of its own, which the guardian ends if this program does not.

    Raises:
        SetupError: if it cannot be started.
    """
    loop = asyncio.get_running_loop()
    program = resolve_program(config) or config.command[0]
    inherited = {k: v for k, v in get_default_environment().items() if k not in config.unset}
    options: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
    try:
        transport, protocol = await loop.subprocess_exec(
            lambda: _Protocol(loop),
            program,
            *config.command[1:],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=inherited | dict(config.env),
            cwd=config.cwd or None,
            **options,
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SetupError(
            f"the MCP server {config.name!r} cannot be started: {config.command[0]}: {why}"
        ) from None
    guard_group(transport.get_pid())
    return _ServerProcess(transport, protocol)


@asynccontextmanager
async def stdio(config: ServerConfig, stderr: Stderr, raw: RawRequests) -> AsyncIterator[Streams]:
    """Start a server's process, and yield the streams to communicate with it.

    Args:
        config: The command.
        stderr: Receives what it writes to stderr.
        raw: Requests over the same pipe; each line is offered to them first.

    Raises:
        SetupError: if it cannot be started.
    """
    server = await _start_process(config)
    incoming, read = anyio.create_memory_object_stream[Incoming](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(server, config.name, incoming, raw)),
        asyncio.create_task(_write(server, outgoing, incoming)),
        asyncio.create_task(_collect_stderr(server, config.name, stderr)),
    ]
    try:
        yield read, write
    finally:
        with anyio.CancelScope(shield=True):
            await server.stop()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for stream in (incoming, read, write, outgoing):
            stream.close()


async def _read(
    server: _ServerProcess, name: str, incoming: MemoryObjectSendStream[Incoming], raw: RawRequests
) -> None:
    """Pass on the server's messages until its output or process ends; then close `incoming` and `raw`."""
    assert server.process.stdout is not None and server.process.stdin is not None
    frames = FrameReader(name, take=raw.handle_line)
    raw.open(server.process.stdin)
    pump = asyncio.create_task(_pump(server.process.stdout, frames, incoming, raw))
    try:
        await asyncio.wait([pump, server.ended], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([pump], timeout=_LAST_OUTPUT_SECONDS)
    finally:
        pump.cancel()
        raw.close()
        incoming.close()


async def _pump(
    stdout: asyncio.StreamReader,
    frames: FrameReader,
    incoming: MemoryObjectSendStream[Incoming],
    raw: RawRequests,
) -> None:
    """Pass on messages from a pipe until it ends, each to `incoming`; errors of raw requests to `raw`."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        while chunk := await stdout.read(_CHUNK):
            for message in frames.feed(chunk):
                if not raw.end_by_error(message):
                    await incoming.send(message)


async def _write(
    server: _ServerProcess,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[Incoming],
) -> None:
    """Write outgoing messages to the server until they end; close `incoming` if the pipe breaks.

    The first ``server/discover`` gets an error as its answer after `PROBE_SECONDS`, for older servers that
    ignore it.
    """
    stdin = server.process.stdin
    assert stdin is not None
    refusal: asyncio.Task[None] | None = None
    try:
        async for item in outgoing:
            message = item.message
            if (
                refusal is None  # a second probe goes to a server that knows the newest revision
                and isinstance(message, types.JSONRPCRequest)
                and message.method == "server/discover"
            ):
                refusal = asyncio.create_task(_refuse_later(message.id, incoming))
            text = message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(text.encode() + b"\n")
            await stdin.drain()
    except (OSError, anyio.ClosedResourceError):
        incoming.close()  # who waits for an answer learns that there will be none
    finally:
        outgoing.close()
        if refusal is not None:
            refusal.cancel()


async def _refuse_later(id: types.RequestId, incoming: MemoryObjectSendStream[Incoming]) -> None:
    """Answer a probe with an error after `PROBE_SECONDS`. The SDK ignores it if the server has answered."""
    await asyncio.sleep(PROBE_SECONDS)
    error = types.ErrorData(code=types.METHOD_NOT_FOUND, message="the server did not answer")
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await incoming.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id, error=error)))


async def _collect_stderr(server: _ServerProcess, name: str, tail: Stderr) -> None:
    """Add each line the server writes to stderr to `tail`, and log it, until the stream ends."""
    assert server.process.stderr is not None
    rest = b""
    while chunk := await server.process.stderr.read(_CHUNK):
        *lines, rest = (rest[-_CHUNK:] + chunk).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip()
            tail.add(text)
            log.debug("%s: %s", name, text)
    if rest:
        tail.add(rest.decode("utf-8", "replace"))
