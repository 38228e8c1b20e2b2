"""Locks by declared resource: writers of one thing wait for each other, all else overlaps.

A tool says what it touches in its effects, ``resources=("file:{path}",)``. Calls that only read it
share it; a call that writes has it alone. Who comes first goes first, so two edits of one file
keep their order, and a stream of readers cannot starve a writer.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from toolwright.call.step import Recheck
from toolwright.context import ToolContext
from toolwright.define.tool import Prepared, Proceed, Step
from toolwright.errors import Refused

_NAME = re.compile(r"\{(\w+)\}")


class _Lock:
    """One resource: many readers or one writer, in order of arrival."""

    __slots__ = ("queue", "readers", "writer")

    def __init__(self) -> None:
        self.readers = 0
        self.writer = False
        self.queue: deque[tuple[asyncio.Future[None], bool]] = deque()

    @property
    def idle(self) -> bool:
        return not (self.readers or self.writer or self.queue)

    def take(self, write: bool) -> bool:
        """Take it if it is free for that."""
        if self.writer or (write and self.readers):
            return False
        if write:
            self.writer = True
        else:
            self.readers += 1
        return True

    def give(self, write: bool) -> None:
        """Give it back, to those who wait the longest."""
        if write:
            self.writer = False
        else:
            self.readers -= 1
        self.pass_on()

    def pass_on(self) -> None:
        while self.queue:
            future, write = self.queue[0]
            if not future.done():
                if not self.take(write):
                    return
                future.set_result(None)
            self.queue.popleft()


class Locks:
    """The locks of one event loop."""

    def __init__(self) -> None:
        self._locks: dict[str, _Lock] = {}

    async def acquire(self, keys: tuple[str, ...], write: bool) -> bool:
        """Take all keys, in one order for everybody so that nobody waits in a circle.

        Returns:
            Whether any of them had to be waited for.
        """
        waited = False
        held: list[str] = []
        try:
            for key in keys:
                waited = await self._acquire(key, write) or waited
                held.append(key)
        except BaseException:
            self.release(tuple(held), write)
            raise
        return waited

    async def _acquire(self, key: str, write: bool) -> bool:
        lock = self._locks.setdefault(key, _Lock())
        if not lock.queue and lock.take(write):
            return False
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        lock.queue.append((future, write))
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                lock.give(write)
            else:
                lock.pass_on()
            self._forget(key)
            raise
        return True

    def release(self, keys: tuple[str, ...], write: bool) -> None:
        """Give all keys back."""
        for key in keys:
            self._locks[key].give(write)
            self._forget(key)

    def _forget(self, key: str) -> None:
        if self._locks[key].idle:
            del self._locks[key]


_local = threading.local()


def locks() -> Locks:
    """The locks of the loop that runs in this thread."""
    loop = asyncio.get_running_loop()
    known: tuple[asyncio.AbstractEventLoop, Locks] | None = getattr(_local, "known", None)
    if known is None or known[0] is not loop:
        known = _local.known = (loop, Locks())
    return known[1]


def resource_keys(prepared: Prepared) -> tuple[str, ...]:
    """What the call touches: the tool's resources with its arguments put in, sorted.

    An argument that is absent leaves its name in braces, one key for all such calls.
    """
    arguments = prepared.arguments
    return tuple(sorted({_fill(key, arguments) for key in prepared.tool.effects.resources}))


def _fill(key: str, arguments: Mapping[str, object]) -> str:
    # Plain names only: format strings could reach into an argument's attributes.
    return _NAME.sub(lambda found: str(arguments.get(found[1], found[0])), key)


def locking(guards: Sequence[Recheck]) -> Step:
    """The step that takes the tool's resources.

    Args:
        guards: Look again after a wait, since what they looked at may have changed meanwhile.
    """

    async def lock(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        keys, write = resource_keys(prepared), prepared.tool.effects.writes
        held = locks()
        waited = await held.acquire(keys, write)
        try:
            if waited:
                await _recheck(prepared, context, guards)
            return await proceed(prepared)
        finally:
            held.release(keys, write)

    return lock


async def _recheck(
    prepared: Prepared, context: ToolContext[Any], guards: Sequence[Recheck]
) -> None:
    """Show the call to its guards once more.

    Raises:
        Refused: one of them says no now, or wants other arguments than those approved.
    """
    for check in guards:
        seen = await check(prepared, context)
        if seen.arguments != prepared.arguments:
            raise Refused(
                f"The call of {prepared.tool.name!r} was refused: its checks asked for other "
                "arguments after it had waited for its resource. Call it again."
            )
