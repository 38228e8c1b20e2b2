"""Executors of this process: on the event loop itself, or in threads of its own number."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from toolkeel._common.checked_arguments import checked
from toolkeel.call.body.run_body import invoke
from toolkeel.call.body.stop_errors import detached_error
from toolkeel.call.body.thread_pool import MAX_ABANDONED, ThreadPool
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import SetupError
from toolkeel.executors.executor import Capabilities


class _Here:
    """Runs bodies in this process. What makes the tool one without an executor is done once."""

    def __init__(self) -> None:
        self._tools: WeakKeyDictionary[AnyTool, AnyTool] = WeakKeyDictionary()

    def _moved(self, prepared: Prepared, context: ToolContext) -> Prepared:
        """The call as it runs here; its deadline is kept around it."""
        tool = self._tools.get(prepared.tool)
        if tool is None:
            tool = self._tools[prepared.tool] = moved(prepared.tool)
        if prepared.tool.timeout is not None:
            context.set_deadline(prepared.tool.timeout)
        return Prepared(prepared.call, tool, prepared.arguments, prepared.changes)


def moved(tool: AnyTool, **changes: Any) -> AnyTool:
    """The tool as it runs where its executor runs it."""
    return dataclasses.replace(tool, executor=None, timeout=None, inline=True, **changes)


def run_by_hand(prepared: Prepared, context: ToolContext) -> object:
    """Run a sync body in this thread. It never waits and needs no loop, so it may make one itself."""
    tool = prepared.tool
    if tool.body == "sync":
        function = partial(_run_to_end, tool.function)
        prepared = Prepared(
            prepared.call, dataclasses.replace(tool, function=function), prepared.arguments
        )
    try:
        invoke(prepared, context).send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("a sync body waits for nothing")


def _run_to_end(function: Callable[..., Any], *args: Any, **values: Any) -> object:
    """What a sync function gives; an awaitable is awaited."""
    value = function(*args, **values)
    return asyncio.run(_await(value)) if inspect.isawaitable(value) else value


async def _await(value: Awaitable[object]) -> object:
    return await value


class Inline(_Here):
    """An executor: on the event loop itself; for bodies that never block.

    >>> from toolkeel import tool
    >>> @tool(executor=Inline())
    ... def add(a: int, b: int) -> int:
    ...     "Add."
    ...     return a + b
    >>> add.invoke({"a": 1, "b": 2})
    3
    """

    capabilities = Capabilities(streams=True, injects=True)

    def check_tool(self, tool: AnyTool) -> None:
        """It runs any."""

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """See `Executor`."""
        return await invoke(self._moved(prepared, context), context)


@checked
class Thread(_Here):
    """An executor: sync bodies in threads of its own, so many at once.

    What a library that is no good for many threads needs (``Thread(1)``), or what shall not hold up
    other tools. A thread cannot be ended: a body whose call was stopped runs on, and is counted.

    Args:
        size: Threads at once; further calls wait, under their deadline.
        leaks: Calls that may be given up and still run before further ones are refused.
    """

    capabilities = Capabilities(streams=True, injects=True)

    def __init__(self, size: int = 8, *, leaks: int = MAX_ABANDONED) -> None:
        super().__init__()
        if size < 1:
            raise SetupError(f"Thread({size}) has no thread; give 1 or more")
        self._pool = ThreadPool(size, leaks)

    def check_tool(self, tool: AnyTool) -> None:
        """See `Executor`: an async body belongs to its loop."""
        if tool.body in ("async", "async_generator"):
            raise SetupError(
                f"{tool.name}: its body is async, and Thread() runs sync ones; leave out executor="
            )

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """See `Executor`."""
        job = self._pool.submit(partial(run_by_hand, self._moved(prepared, context), context))
        try:
            return await job.future
        except asyncio.CancelledError:
            begun = job.started
            self._pool.abandon(job)
            if not begun:
                raise
            raise detached_error(context, prepared.tool.timeout) from None
        finally:
            del job  # an error would hold itself, by its traceback, this frame and the future
