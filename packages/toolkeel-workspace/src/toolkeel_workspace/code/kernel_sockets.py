"""Unix sockets of a kernel, passed on with a bound on each message (multipart, ZMTP).

ZeroMQ bounds the parts of a message and not their number: it gathers the parts of one message in our
memory until the last has come. What runs in a kernel can speak on its sockets, and never send a last one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

_GREETING = 64
_MORE, _LONG, _COMMAND = 1, 2, 4
_PART = 128
"""Bytes that a part costs by being one."""
_CHUNK = 1 << 16


class Relay:
    """Listens at some Unix sockets and passes what comes from others through to them.

    Args:
        most: Bytes of one message, all its parts together.

    Attributes:
        overrun: Whether a message was larger; nothing was passed on since.
    """

    def __init__(self, most: int) -> None:
        self.overrun = False
        self._most = most
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, sockets: Iterable[tuple[Path, Path]]) -> None:
        """Listen at the first path of each pair for clients of the second."""
        for ours, theirs in sockets:
            self._servers.append(await asyncio.start_unix_server(self._accepts(theirs), ours))

    def _accepts(
        self, theirs: Path
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accept(near: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._joined(near, answers, theirs))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda _: answers.transport.abort())  # it may not have begun

        return accept

    async def _joined(
        self, near: asyncio.StreamReader, answers: asyncio.StreamWriter, theirs: Path
    ) -> None:
        """Pass on both ways, until one of them has gone; the client then connects again."""
        async with AsyncExitStack() as ends:
            ends.push_async_callback(_closed, answers)
            try:
                far, asks = await asyncio.open_unix_connection(theirs)
            except OSError:
                return
            ends.push_async_callback(_closed, asks)
            ends.callback(asks.transport.abort)  # a kernel may never read what is left
            sides = [
                asyncio.ensure_future(_copied(near, asks)),
                asyncio.ensure_future(self._bounded(far, answers)),
            ]
            try:
                await asyncio.wait(sides, return_when="FIRST_COMPLETED")
            finally:
                for side in sides:
                    side.cancel()
                await asyncio.gather(*sides, return_exceptions=True)

    async def _bounded(self, far: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        """Pass frames on, as long as each message is within its bound."""
        await _passed(far, answers, _GREETING)
        message = 0
        while not self.overrun:
            flags = (head := await far.readexactly(2))[0]
            if flags & _LONG:
                head += await far.readexactly(7)
            size = int.from_bytes(head[1:], "big")
            message += size + _PART
            if message > self._most:
                self.overrun = True
                return
            if not flags & (_MORE | _COMMAND):
                message = 0
            answers.write(head)
            await _passed(far, answers, size)

    async def aclose(self) -> None:
        """Listen no longer, and end what is passed on."""
        for server in self._servers:
            server.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _closed(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.close()
        await writer.wait_closed()


async def _passed(far: asyncio.StreamReader, near: asyncio.StreamWriter, size: int) -> None:
    while size:
        chunk = await far.read(min(size, _CHUNK))
        if not chunk:
            raise asyncio.IncompleteReadError(b"", size)
        near.write(chunk)
        size -= len(chunk)
        await near.drain()


async def _copied(near: asyncio.StreamReader, far: asyncio.StreamWriter) -> None:
    while chunk := await near.read(_CHUNK):
        far.write(chunk)
        await far.drain()
