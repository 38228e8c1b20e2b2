"""Deliberate faults at named places of the pipeline: its promises must hold whatever fails, and where.

A test opens `Faults`, creates its tools inside, and runs them. At the place and the hit that a fault
names, it raises, hangs, is cancelled, arrives later than others, or the process dies. The library contains
nothing of this: the functions of the table are wrapped only while the block is open.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from toolkeel._records.record import record
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.agent.turn.model_caller import ModelCaller
from toolkeel.call import batch, compose_tool, pipeline
from toolkeel.call.arguments import validate
from toolkeel.call.arguments.mask import SecretMask
from toolkeel.call.body import run_body
from toolkeel.call.body.thread_pool import ThreadPool
from toolkeel.call.enabled_tools import EnabledTools
from toolkeel.call.steps import approve, guard
from toolkeel.call.steps.approve import Approval
from toolkeel.call.steps.cache import Cache
from toolkeel.call.steps.call_limits import CallLimit
from toolkeel.call.steps.guard import InputGuard
from toolkeel.call.steps.resource_conflicts import Claim
from toolkeel.call.steps.retry import Retry
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext

Action: TypeAlias = Literal["raise", "hang", "cancel", "reorder", "kill"]
LATER = 5
"""Turns of the event loop by which a reordered place comes later."""


@record
class Point:
    """A place where something can fail.

    Args:
        name: What fault plans call it.
        owner: The module or class that has the function.
        function: Its name there.
        about: What happens there.
        waits: True if it is awaited; only there a fault can hang or reorder.
    """

    name: str
    owner: Any
    function: str
    about: str
    waits: bool = True


POINTS: tuple[Point, ...] = (
    Point("offer", EnabledTools, "current", "which tools the model is told about"),
    Point("ask", ModelCaller, "send", "the model is asked"),
    Point("delta", ReplyBuilder, "add", "a piece of its reply is taken in", False),
    Point("start", batch, "run_call", "a call of a turn begins"),
    Point("find", Toolset, "find", "its tool is looked up", False),
    Point("prepare", pipeline, "prepare", "its arguments are validated", False),
    Point("parse", validate, "parse_arguments", "they are parsed strictly, and mended", False),
    Point("enabled", compose_tool, "check_enabled", "whether the tool can be called now"),
    Point("guard in", InputGuard, "__call__", "an input guard looks"),
    Point("approve", Approval, "_approved_call", "whether it may run"),
    Point("decide", approve, "ask", "somebody is asked"),
    Point("lock", Claim, "wait", "its resources are taken"),
    Point("limit", CallLimit, "__call__", "its budget is looked at"),
    Point("cache", Cache, "__call__", "a result that others may share is looked for, or made"),
    Point("keep", Cache, "_store", "and kept", False),
    Point("retry", Retry, "__call__", "a body that may be tried again"),
    Point("inject", run_body, "injected_values", "the program's own values are put in", False),
    Point("run", run_body, "run_coroutine", "an async body runs"),
    Point("thread", ThreadPool, "submit", "a sync body gets a thread", False),
    Point("output", run_body, "check_output", "the result is checked against its promise", False),
    Point("guard out", guard, "_with_content", "an output guard has looked", False),
    Point("render", pipeline, "render", "the result becomes a message", False),
    Point("failed", pipeline, "failure_message", "a failure becomes a message", False),
    Point("mask", SecretMask, "mask_event", "secrets are taken out of an event", False),
    Point("emit", RunContext, "emit", "listeners are told", False),
    Point("stop", batch.Batch, "_stop_tasks", "a turn that was cancelled from outside ends"),
)


class Injected(Exception):
    """Exception that a fault raises by default."""


@record
class Fault:
    """Plan to fail at one place.

    Args:
        point: Name of the place.
        action: ``raise`` an exception; ``hang`` until cancelled; ``cancel`` the task that is
            there; ``reorder``: let others go first; ``kill`` the process, with no last words.
        hit: At which visit of the place, counted from 1; 0 for each.
        error: What is raised.
    """

    point: str
    action: Action = "raise"
    hit: int = 1
    error: type[BaseException] = Injected


class Faults:
    """Context manager that applies a plan of faults.

    Args:
        faults: The faults. Without any, visits are only counted.

    Attributes:
        hits: How often each place was visited.

    Raises:
        ValueError: a place is unknown, or the action is impossible there.

    >>> with Faults(Fault("render")) as faults:
    ...     from toolkeel import ToolCall, tool
    ...     @tool
    ...     def add(a: int, b: int) -> int:
    ...         "Add."
    ...         return a + b
    ...     [result] = Toolset([add]).run_sync([ToolCall("1", "add", {"a": 1, "b": 2})])
    >>> result.kind, faults.hits["render"]
    ('crashed', 1)
    """

    def __init__(self, *faults: Fault) -> None:
        points = {point.name: point for point in POINTS}
        for fault in faults:
            if fault.point not in points:
                raise ValueError(f"no place is called {fault.point!r}: {', '.join(points)}")
            if fault.action in ("hang", "reorder") and not points[fault.point].waits:
                raise ValueError(f"{fault.point!r} waits for nothing, so it cannot {fault.action}")
        self.hits: Counter[str] = Counter()
        self._faults = faults
        self._originals: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Faults:
        originals = [
            vars(point.owner)[point.function] for point in POINTS
        ]  # all, before any is patched
        for point, original in zip(POINTS, originals, strict=True):
            wrap = _wrap_async if point.waits else _wrap_sync
            wrapped = wrap(original, functools.partial(self._count_visit, point))
            self._patch(point.owner, point.function, wrapped)
        return self

    def _patch(self, owner: Any, name: str, value: object) -> None:
        """Replace an attribute and remember the original."""
        self._originals.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def __exit__(self, *_: object) -> None:
        while self._originals:
            setattr(*self._originals.pop())

    def _count_visit(self, point: Point) -> Fault | None:
        """Count a visit of a place; return the fault that applies to it, or None."""
        self.hits[point.name] += 1
        number = self.hits[point.name]
        for fault in self._faults:
            if fault.point == point.name and fault.hit in (0, number):
                return fault
        return None


Hit: TypeAlias = "Callable[[], Fault | None]"


def _wrap_sync(original: Callable[..., Any], hit: Hit) -> Callable[..., Any]:
    """Return a wrapper of a sync function that applies a fault before it calls it."""

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        """Apply the fault of this visit, if any, then call the original."""
        fault = hit()
        if fault is not None:
            _apply(fault, args)
        return original(*args, **kwargs)

    return wrapped


def _wrap_async(original: Callable[..., Any], hit: Hit) -> Callable[..., Any]:
    """Return a wrapper of an async function that applies a fault before it awaits it."""

    @functools.wraps(original)
    async def wrapped(*args: Any, **kwargs: Any) -> Any:
        """Apply the fault of this visit, if any, then await the original."""
        fault = hit()
        if fault is not None:
            _apply(fault, args)
            try:
                await _delay(fault)
            except BaseException:
                _close_coroutines(args)
                raise
        return await original(*args, **kwargs)

    return wrapped


def _apply(fault: Fault, args: Iterable[object]) -> None:
    """Raise the fault's error, kill the process or cancel the current task; nothing for other actions.

    Args:
        fault: The fault.
        args: Arguments of the call that fails; before an error, coroutines among them are closed.
    """
    if fault.action == "raise":
        _close_coroutines(args)
        raise fault.error(f"a fault at {fault.point!r}")
    if fault.action == "kill":
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    if fault.action == "cancel" and (task := asyncio.current_task()) is not None:
        task.cancel()


async def _delay(fault: Fault) -> None:
    """Wait forever for ``hang``, or some turns of the event loop for ``cancel`` and ``reorder``."""
    if fault.action == "hang":
        await asyncio.get_running_loop().create_future()
    elif fault.action == "cancel":
        await asyncio.sleep(0)
    elif fault.action == "reorder":
        for _ in range(LATER):
            await asyncio.sleep(0)


def _close_coroutines(args: Iterable[object]) -> None:
    """Close coroutines among the arguments that will not be awaited now."""
    for item in args:
        if inspect.iscoroutine(item):
            item.close()
