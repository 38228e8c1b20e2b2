"""Limits on calls: repeated failures, number, concurrency and rate."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from operator import itemgetter
from time import monotonic
from typing import TypeVar

from toolkeel._common.checked_arguments import checked
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import Prepared, Proceed, StepPlace
from toolkeel.errors import LimitReached, RateLimited, SetupError
from toolkeel.messages import ToolCall, ToolMessage

V = TypeVar("V")
W = TypeVar("W")
MAX_REPEATS = 3
"""How often the same call may fail in the same way."""


MAX_COMPARED = 20_000
"""Characters of arguments up to which they are read to be compared."""


def refuse_failing(run: RunContext, call: ToolCall, tool: str) -> None:
    """Raise if a call has failed alike in `MAX_REPEATS` turns, or its tool has reached its failure limit.

    Raises:
        LimitReached: with a text that tells the model to stop.
    """
    spending = run.scope.spending
    if spending is not None and spending.counts_calls:
        spending.check_failures(tool)
    if not run.loop_state.failed_calls:
        return
    known = run.loop_state.failed_calls.get(call.name)
    turn = run.loop_state.turn
    error, count = known.last_error(call, turn) if known is not None else ("", 0)
    if count >= MAX_REPEATS:
        raise LimitReached(
            f"This same call of {call.name!r} has failed {count} times with the same error, so it "
            f"was not run again. Change the arguments or take another way. The error was: {error}"
        )


def record_result(run: RunContext, call: ToolCall, message: ToolMessage) -> None:
    """Count a failed call, or forget its failures after a success.

    A call that a limit refused, or that was cancelled or skipped, changes nothing.
    """
    if message.kind in ("limit_reached", "cancelled", "skipped"):  # no failure of its own
        return
    known = run.loop_state.failed_calls.get(call.name)
    if message.status == "error":
        if run.scope.spending is not None and run.scope.spending.counts_calls:
            run.scope.spending.count_failure(message.name)
        if known is None:
            known = run.loop_state.failed_calls[call.name] = FailureCounts()
        known.add(call, message.text, run.loop_state.turn)
    elif known is not None:
        known.forget(call)


class FailureCounts:
    """Number of turns in a row in which each call of one tool has failed with the same error."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, tuple[str, int, int]] = {}

    def last_error(self, call: ToolCall, turn: int) -> tuple[str, int]:
        """Return the call's last error, and in how many turns before this one it occurred in a row."""
        error, count, last = self._counts.get(_key(call), ("", 0, 0))
        return error, count - (last == turn and count > 0)

    def add(self, call: ToolCall, error: str, turn: int) -> None:
        """Count a failure of a call, from 1 for another error, once per turn: the model reads errors after it."""
        key = _key(call)
        last, count, before = self._counts.get(key, ("", 0, 0))
        is_new = count == 0 or turn != before
        self._counts[key] = (error, count + is_new if last == error else 1, turn)

    def forget(self, call: ToolCall) -> None:
        """Forget the call's failures."""
        self._counts.pop(_key(call), None)


def _key(call: ToolCall) -> str:
    """Return a key that is equal for equal calls, however their arguments are written.

    Large arguments are the same if they are written alike: this is asked on the event loop.
    """
    arguments: object = call.arguments
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return text if len(text) > MAX_COMPARED else repr(_read(text))
    except (ValueError, TypeError, RecursionError):
        return arguments if isinstance(arguments, str) else repr(arguments)


def _sorted(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object that can be compared: its pairs in order, repeated keys included."""
    return {"object": sorted(pairs, key=itemgetter(0))}


_read = json.JSONDecoder(object_pairs_hook=_sorted).decode


@checked
class CallLimit:
    """A `Step` that allows a number of calls per run.

    As a tool's step it counts calls of that tool; as a toolset's, calls of all its tools together.
    Further calls raise `LimitReached`.

    Args:
        calls: Maximum number of calls.

    Raises:
        SetupError: the number is invalid.
    """

    place: StepPlace = "limit"
    step_timeout = None  # it never waits

    def __init__(self, calls: int) -> None:
        if calls < 0:
            raise SetupError(f"CallLimit({calls}): give 0 or more")
        self.calls = calls

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Count the call in the run and run it, or raise `LimitReached` if no call is left."""
        spent = context.run.scope.step_state.get(self, 0)
        assert isinstance(spent, int)
        if spent >= self.calls:
            raise LimitReached(
                f"The call of {prepared.tool.name!r} did not run: this run's {self.calls} calls "
                "are used up. Answer with what you have."
            )
        context.run.scope.step_state[self] = spent + 1
        return await proceed(prepared)


@checked
class ConcurrencyLimit:
    """A `Step` that limits how many calls of one run execute at the same time. Others wait in order.

    Args:
        calls: Maximum number at the same time.

    Raises:
        SetupError: the number is less than 1.
    """

    place: StepPlace = "limit"
    step_timeout = None  # its waits have bounds of their own
    inside = False
    """A call holds its place while calls within it run: they must not wait for it."""

    def __init__(self, calls: int) -> None:
        if calls < 1:
            raise SetupError(f"ConcurrencyLimit({calls}): no call could ever run; give 1 or more")
        self.calls = calls

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Run the call once one of the run's places is free; they are created at the first call."""
        gate = context.run.scope.step_state.get(self)
        if not isinstance(gate, asyncio.Semaphore):
            gate = context.run.scope.step_state[self] = asyncio.Semaphore(self.calls)
        async with gate:
            return await proceed(prepared)


@checked
class RateLimit:
    """A `Step` or `ModelStep` that allows a number of calls or requests in any period of some seconds.

    It counts over all runs, and further calls wait. As one of ``model_steps`` it counts requests of
    each model separately: inside `Fallback`, a request that would wait too long goes to the next model.

    Args:
        calls: Number of calls or requests.
        seconds: Length of the period.
        max_wait: Maximum seconds to wait; a call that would wait longer raises `LimitReached` at once,
            a request `RateLimited`.

    Raises:
        SetupError: a number is invalid.
    """

    place: StepPlace = "limit"
    step_timeout = None  # its waits have bounds of their own

    def __init__(self, calls: int, seconds: float, max_wait: float = 30.0) -> None:
        if calls < 1 or seconds <= 0:
            raise SetupError(f"RateLimit({calls}, {seconds:g}): give 1 call or more, in some time")
        self.calls = calls
        self.seconds = seconds
        self.max_wait = max_wait
        self._starts: defaultdict[str, deque[float]] = defaultdict(deque)
        self._lock = threading.Lock()  # runs in other threads count too

    async def __call__(self, what: W, context: object, proceed: Callable[[W], Awaitable[V]]) -> V:
        """Wait for a free place and proceed. Raise at once if the wait would exceed `max_wait`.

        Raises:
            RateLimited: a model request would wait too long.
            LimitReached: a call would wait too long.
        """
        model: str = getattr(getattr(what, "model", None), "name", "")
        wait = self._reserve(monotonic(), model)
        if wait > self.max_wait:
            name = repr(what.tool.name) if isinstance(what, Prepared) else f"the model {model}"
            text = (
                f"{name} can be called {self.calls} times in {self.seconds:g} seconds; "
                f"the next call is possible in {wait:.0f} seconds."
            )
            if isinstance(what, Prepared):
                raise LimitReached(text)
            raise RateLimited(text, retry_after=wait)
        if wait > 0:
            await asyncio.sleep(wait)
        return await proceed(what)

    def _reserve(self, now: float, model: str = "") -> float:
        """Return the seconds until a place is free, and reserve it if `max_wait` allows them."""
        with self._lock:
            starts = self._starts[model]
            while starts and starts[0] <= now - self.seconds:
                starts.popleft()
            at = now
            if len(starts) >= self.calls:
                at = max(now, starts[-self.calls] + self.seconds)
            if at - now <= self.max_wait:
                starts.append(at)
        return at - now
