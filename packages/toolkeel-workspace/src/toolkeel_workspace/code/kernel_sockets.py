"""Relay a kernel's Unix sockets with a limit on each multipart message (ZMTP).

ZeroMQ limits the size of a message's parts, not their number: it collects the parts in our memory until
the last one. Code in a kernel can write to its sockets, and never send a last part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

_GREETING = 64
_MORE, _LONG, _COMMAND = 1, 2, 4
_PART_OVERHEAD = 128
"""Bytes counted for each part itself."""
_CHUNK = 1 << 16


class Relay:
    """Listens at Unix sockets and forwards connections to others.

    Args:
        max_message_bytes: Limit of one message, all its parts together.

    Attributes:
        has_overrun: True once a message was larger; nothing is forwarded since.
    """

    def __init__(self, max_message_bytes: int) -> None:
        self.has_overrun = False
        self._max_message_bytes = max_message_bytes
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, sockets: Iterable[tuple[Path, Path]]) -> None:
        """Listen at the first path of each pair and forward to the second."""
        for ours, theirs in sockets:
            self._servers.append(await asyncio.start_unix_server(self._make_handler(theirs), ours))

    def _make_handler(
        self, theirs: Path
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accept(near: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._relay_both_ways(near, answers, theirs))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(
                lambda _: answers.transport.abort()
            )  # the task may not have started

        return accept

    async def _relay_both_ways(
        self, near: asyncio.StreamReader, answers: asyncio.StreamWriter, theirs: Path
    ) -> None:
        """Forward in both directions until one side closes. The client then reconnects."""
        async with AsyncExitStack() as ends:
            ends.push_async_callback(_close, answers)
            try:
                far, asks = await asyncio.open_unix_connection(theirs)
            except OSError:
                return
            ends.push_async_callback(_close, asks)
            ends.callback(asks.transport.abort)  # a kernel may never read the rest
            sides = [
                asyncio.ensure_future(_copy_until_end(near, asks)),
                asyncio.ensure_future(self._relay_bounded(far, answers)),
            ]
            try:
                await asyncio.wait(sides, return_when="FIRST_COMPLETED")
            finally:
                for side in sides:
                    side.cancel()
                await asyncio.gather(*sides, return_exceptions=True)

    async def _relay_bounded(
        self, far: asyncio.StreamReader, answers: asyncio.StreamWriter
    ) -> None:
        """Forward frames as long as each message is within the limit."""
        await _copy_exactly(far, answers, _GREETING)
        message = 0
        while not self.has_overrun:
            flags = (head := await far.readexactly(2))[0]
            if flags & _LONG:
                head += await far.readexactly(7)
            size = int.from_bytes(head[1:], "big")
            message += size + _PART_OVERHEAD
            if message > self._max_message_bytes:
                self.has_overrun = True
                return
            if not flags & (_MORE | _COMMAND):
                message = 0
            answers.write(head)
            await _copy_exactly(far, answers, size)

    async def aclose(self) -> None:
        """Stop listening and forwarding."""
        for server in self._servers:
            server.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _close(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.close()
        await writer.wait_closed()


async def _copy_exactly(far: asyncio.StreamReader, near: asyncio.StreamWriter, size: int) -> None:
    while size:
        chunk = await far.read(min(size, _CHUNK))
        if not chunk:
            raise asyncio.IncompleteReadError(b"", size)
        near.write(chunk)
        size -= len(chunk)
        await near.drain()


async def _copy_until_end(near: asyncio.StreamReader, far: asyncio.StreamWriter) -> None:
    while chunk := await near.read(_CHUNK):
        far.write(chunk)
        await far.drain()
