"""Executors in this process: on the event loop, or in a thread pool of their own."""

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


class _LocalExecutor:
    """Base class of executors in this process. It caches each tool's copy without executor."""

    def __init__(self) -> None:
        self._tools: WeakKeyDictionary[AnyTool, AnyTool] = WeakKeyDictionary()

    def _without_executor(self, prepared: Prepared, context: ToolContext) -> Prepared:
        """Return the call for the tool's copy without executor; set its deadline in the context."""
        tool = self._tools.get(prepared.tool)
        if tool is None:
            tool = self._tools[prepared.tool] = without_executor(prepared.tool)
        if prepared.tool.timeout is not None:
            context.set_deadline(prepared.tool.timeout)
        return Prepared(prepared.call, tool, prepared.arguments, prepared.changes)


def without_executor(tool: AnyTool, **changes: Any) -> AnyTool:
    """Return a copy of a tool that runs inline, without executor and timeout, with the `changes` applied."""
    return dataclasses.replace(tool, executor=None, timeout=None, inline=True, **changes)


def run_without_loop(prepared: Prepared, context: ToolContext) -> object:
    """Run a sync body in this thread, without an event loop. Return its value, or raise as `invoke`.

    A sync body never awaits, so one `send` runs the coroutine to its end. The body may start a loop itself.

    Raises:
        AssertionError: the body awaits, so it is not a sync one.
    """
    tool = prepared.tool
    if tool.body == "sync":
        function = partial(_call_and_await, tool.function)
        prepared = Prepared(
            prepared.call, dataclasses.replace(tool, function=function), prepared.arguments
        )
    try:
        invoke(prepared, context).send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("a sync body waits for nothing")


def _call_and_await(function: Callable[..., Any], *args: Any, **values: Any) -> object:
    """Call a sync function; if it returns an awaitable, run that in a loop of its own."""
    value = function(*args, **values)
    return asyncio.run(_await(value)) if inspect.isawaitable(value) else value


async def _await(value: Awaitable[object]) -> object:
    """Await a value in a coroutine of its own, as `asyncio.run` needs."""
    return await value


class Inline(_LocalExecutor):
    """An executor: on the event loop itself, for bodies that never block.

    It accepts any tool. A sync body is not stopped at its timeout: the call fails when the body has ended.

    >>> from toolkeel import tool
    >>> @tool(executor=Inline())
    ... def add(a: int, b: int) -> int:
    ...     "Add."
    ...     return a + b
    >>> add.invoke({"a": 1, "b": 2})
    3
    """

    capabilities = Capabilities(can_stream=True, can_inject=True)

    def check_tool(self, tool: AnyTool) -> None:
        """Accept any tool."""

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """Run the body on the loop. See `Executor`."""
        return await invoke(self._without_executor(prepared, context), context)


@checked
class Thread(_LocalExecutor):
    """An executor: sync bodies in a thread pool of its own.

    Use it for a library that is not thread-safe (``Thread(1)``), or for work that must not take the threads
    of other tools. A thread cannot be killed: a stopped body runs on, and is counted.

    Args:
        max_concurrency: Number of threads; further calls wait, within their deadline.
        max_abandoned: Stopped bodies that may still run before further calls are refused.

    Raises:
        SetupError: fewer than 1 thread.
    """

    capabilities = Capabilities(can_stream=True, can_inject=True)

    def __init__(self, max_concurrency: int = 8, *, max_abandoned: int = MAX_ABANDONED) -> None:
        super().__init__()
        if max_concurrency < 1:
            raise SetupError(f"Thread({max_concurrency}): max_concurrency must be 1 or more")
        self._pool = ThreadPool(max_concurrency, max_abandoned)

    def check_tool(self, tool: AnyTool) -> None:
        """Raise `SetupError` for an async body, which belongs to its own loop.

        Raises:
            SetupError: the body is async.
        """
        if tool.body in ("async", "async_generator"):
            raise SetupError(
                f"{tool.name}: its body is async, and Thread() runs sync ones; leave out executor="
            )

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """Run the body in one of the threads and return its result; abandon it if it must stop.

        Raises:
            asyncio.CancelledError: the call was stopped before its body started.
            Cancelled: the body was stopped with its run and still runs.
            TimedOut: the body was stopped at its deadline and still runs.
        """
        job = self._pool.submit(
            partial(run_without_loop, self._without_executor(prepared, context), context)
        )
        try:
            return await job.future
        except asyncio.CancelledError:
            has_started = job.started
            self._pool.abandon(job)
            if not has_started:
                raise
            raise detached_error(context, prepared.tool.timeout) from None
        finally:
            del job  # else an error's traceback would keep this frame and the future alive
