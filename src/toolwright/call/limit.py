"""Limits on calls: what a model may not do again and again."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import Any

from toolwright.context import Run, ToolContext
from toolwright.define.tool import Place, Prepared, Proceed
from toolwright.errors import LimitReached
from toolwright.messages import ToolCall, ToolMessage

REPEATS = 3
"""How often the same call may fail in the same way."""


def repeats(run: Run[Any], call: ToolCall) -> None:
    """Refuse a call that has failed in the same way `REPEATS` times.

    Raises:
        LimitReached: telling the model to stop.
    """
    error, count = run.failures.get(_key(call), ("", 0))
    if count >= REPEATS:
        raise LimitReached(
            f"This same call of {call.name!r} has failed {count} times with the same error, so it "
            f"was not run again. Change the arguments or take another way. The error was: {error}"
        )


def note(run: Run[Any], call: ToolCall, message: ToolMessage) -> None:
    """Count a failure, or forget the call's earlier ones if it went well."""
    if message.kind == "limit_reached":
        return
    key = _key(call)
    if not message.failed:
        run.failures.pop(key, None)
        return
    error, count = run.failures.get(key, ("", 0))
    run.failures[key] = (message.text, count + 1 if error == message.text else 1)


def _key(call: ToolCall) -> tuple[str, str]:
    """What makes two calls the same; whatever a wire has put in the place of arguments."""
    arguments = call.arguments
    return call.name, arguments if isinstance(arguments, str) else repr(arguments)


class Budget:
    """A `Step`: at most so many calls in one run.

    As a tool's step it counts that tool; as a toolset's it counts all together.

    Args:
        calls: How many may run.
    """

    place: Place = "limit"

    def __init__(self, calls: int) -> None:
        self.calls = calls

    async def __call__(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        spent = context.run.notes.get(self, 0)
        assert isinstance(spent, int)
        if spent >= self.calls:
            raise LimitReached(
                f"The call of {prepared.tool.name!r} did not run: this run's {self.calls} calls "
                "are used up. Answer with what you have."
            )
        context.run.notes[self] = spent + 1
        return await proceed(prepared)


class AtOnce:
    """A `Step`: at most so many calls of one run at the same time; the others wait in order.

    Args:
        calls: How many may run at once.
    """

    place: Place = "limit"

    def __init__(self, calls: int) -> None:
        self.calls = calls

    async def __call__(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        gate = context.run.notes.get(self)
        if not isinstance(gate, asyncio.Semaphore):
            gate = context.run.notes[self] = asyncio.Semaphore(self.calls)
        async with gate:
            return await proceed(prepared)


class RateLimit:
    """A `Step`: at most so many calls in any stretch of time, over all runs; others wait.

    Args:
        calls: How many calls.
        seconds: In how long a stretch.
        patience: Seconds a call may have to wait; a longer wait is refused at once.
    """

    place: Place = "limit"

    def __init__(self, calls: int, seconds: float, patience: float = 30.0) -> None:
        self.calls = calls
        self.seconds = seconds
        self.patience = patience
        self._starts: deque[float] = deque()

    async def __call__(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        now = monotonic()
        wait = self._reserve(now)
        if wait > self.patience:
            self._starts.pop()
            raise LimitReached(
                f"{prepared.tool.name!r} can be called {self.calls} times in {self.seconds:g} "
                f"seconds; the next call is possible in {wait:.0f} seconds."
            )
        if wait > 0:
            await asyncio.sleep(wait)
        return await proceed(prepared)

    def _reserve(self, now: float) -> float:
        """Take the next free place; how long until it comes."""
        starts = self._starts
        while starts and starts[0] <= now - self.seconds:
            starts.popleft()
        at = now
        if len(starts) >= self.calls:
            at = max(now, starts[-self.calls] + self.seconds)
        starts.append(at)
        return at - now
