"""Locks by declared resource: writers of one thing wait for each other, all else overlaps.

A tool says what it touches in its effects, ``resources=("file:{path}",)``. Calls that only read it
share it; a call that writes has it alone. Who comes first goes first, so two edits of one file
keep their order, and a stream of readers cannot starve a writer.

What a body calls while it holds a resource may use that resource too: it would wait for itself.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from toolwright.call.step import Recheck
from toolwright.call.validate import effective
from toolwright.context import ToolContext
from toolwright.define.tool import AnyTool, Prepared, Proceed, Step
from toolwright.errors import DefinitionError, Refused

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
        """Let in whoever may come in now; who no longer waits is passed over."""
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

    def __len__(self) -> int:
        """Resources that are held or waited for."""
        return len(self._locks)

    async def acquire(self, keys: Sequence[str], write: bool) -> bool:
        """Take all keys, which are sorted for everybody, so that nobody waits in a circle.

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
            self.release(held, write)
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
        except BaseException:
            if future.done() and not future.cancelled():
                lock.give(write)
            else:
                future.cancel()
                lock.pass_on()
            self._forget(key)
            raise
        return True

    def release(self, keys: Sequence[str], write: bool) -> None:
        """Give all keys back."""
        for key in keys:
            self._locks[key].give(write)
            self._forget(key)

    def _forget(self, key: str) -> None:
        lock = self._locks.get(key)  # who was cancelled may find it gone already
        if lock is not None and lock.idle:
            del self._locks[key]


_local = threading.local()


def locks() -> Locks:
    """The locks of the loop that runs in this thread."""
    loop = asyncio.get_running_loop()
    known: tuple[asyncio.AbstractEventLoop, Locks] | None = getattr(_local, "known", None)
    if known is None or known[0] is not loop:
        known = _local.known = (loop, Locks())
    return known[1]


class _Hold:
    """What one call holds, as those it calls see it."""

    __slots__ = ("active", "keys", "outer", "write")

    def __init__(self, keys: Sequence[str], write: bool, outer: _Hold | None) -> None:
        self.keys = frozenset(keys)
        self.write = write
        self.outer = outer
        self.active = True


_holding: ContextVar[_Hold | None] = ContextVar("toolwright_holding", default=None)


def _not_held(keys: Sequence[str], write: bool, tool: str) -> list[str]:
    """Those keys that no call around this one holds.

    Raises:
        Refused: one of them is held by a call that has said it only reads, and this one writes.
    """
    wanted = set(keys)
    hold = _holding.get()
    while hold is not None:
        if hold.active:
            if write and not hold.write and (shared := sorted(wanted & hold.keys)):
                raise Refused(
                    f"The call of {tool!r} was refused: it writes {shared[0]!r}, which the tool "
                    "that calls it has said it only reads. This is a fault of that tool."
                )
            wanted -= hold.keys
        hold = hold.outer
    return [key for key in keys if key in wanted]


# — what a call touches —


def check_resources(tool: AnyTool) -> None:
    """See that the names in the tool's resources are parameters.

    Raises:
        DefinitionError: naming the one that is not.
    """
    properties = tool.parameters.get("properties")
    known = {*(properties if isinstance(properties, Mapping) else ()), *tool.arguments.keys}
    known.update(parameter.name for parameter in tool.injected)
    closed = tool.parameters.get("additionalProperties") is False
    for resource in tool.effects.resources:
        for name in _NAME.findall(resource):
            if closed and name not in known:
                raise DefinitionError(
                    f"{tool.name}: its resource {resource!r} names {name!r}, which is no "
                    f"parameter; it has {', '.join(sorted(known)) or 'none'}"
                )


def resource_keys(prepared: Prepared) -> tuple[str, ...]:
    """What the call touches: the tool's resources with its arguments put in, sorted.

    What the model left out counts with its advertised default. An argument without a value leaves
    its name in braces, one key for all such calls.
    """
    tool = prepared.tool
    values = effective(prepared)
    for name, key in tool.arguments.keys.items():
        values.setdefault(name, values.get(key))
    return tuple(sorted({_fill(resource, values) for resource in tool.effects.resources}))


def _fill(resource: str, values: Mapping[str, object]) -> str:
    # Plain names only: format strings could reach into an argument's attributes.
    return _NAME.sub(lambda found: _text(values.get(found[1]), found[0]), resource)


def _text(value: object, absent: str) -> str:
    if value is None:
        return absent
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # however it was written
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def locking(guards: Sequence[Recheck]) -> Step:
    """The step that takes the tool's resources.

    Args:
        guards: Look again after a wait, since what they looked at may have changed meanwhile.
    """

    async def lock(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        write = prepared.tool.effects.writes
        keys = _not_held(resource_keys(prepared), write, prepared.tool.name)
        held = locks()
        waited = await held.acquire(keys, write)
        hold = _Hold(keys, write, _holding.get())
        _holding.set(hold)
        try:
            if waited:
                await _recheck(prepared, context, guards)
            return await proceed(prepared)
        finally:
            hold.active = False
            _holding.set(hold.outer)
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
