"""An executor for any pool with the interface of `concurrent.futures`: processes, MPI, Dask, a cloud.

::

    from concurrent.futures import ProcessPoolExecutor

    @tool(executor=Futures(ProcessPoolExecutor(4)))
    def crunch(data: str) -> str: ...

The pool gets one function of toolkeel, by its import path, and JSON. So toolkeel and the tool's module
must be installed where the pool runs its work. A `ThreadPoolExecutor` works in this process, and finds any tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol

from toolkeel._common.checked_arguments import checked
from toolkeel.call.body.stop_errors import detached_error
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import SetupError
from toolkeel.executors.executor import Capabilities
from toolkeel.executors.frames import Message
from toolkeel.executors.warm_pool import CrossLoopSemaphore
from toolkeel.executors.worker import run_request
from toolkeel.executors.worker_request import (
    check_sendable,
    forward_report,
    make_request,
    make_unknown_outcome,
    read_outcome,
)

MAX_CONCURRENCY = 64


class PoolFuture(Protocol):
    """The future a pool returns for submitted work."""

    def cancel(self) -> object:
        """Cancel the work. Return true if it will not start."""
        ...

    def result(self) -> Any:
        """Return the result of finished work, or raise its error."""
        ...

    def add_done_callback(self, fn: Callable[[Any], Any], /) -> object:
        """Call a function when the work is done, in any thread."""
        ...


class Pool(Protocol):
    """Anything with the ``submit`` of `concurrent.futures.Executor`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> PoolFuture:
        """Call a function with arguments somewhere."""
        ...


@checked
class Futures:
    """An executor that submits bodies to a pool the program owns.

    Such a pool cannot stop work it has started, nor report before the work is done: a stopped body runs on,
    and progress arrives with the result. If the pool breaks, the outcome is unknown.

    Args:
        pool: Anything with ``submit(function, argument)`` that returns a future.
        max_concurrency: Calls the pool has at once; further ones wait here, within their deadline.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> Futures(ThreadPoolExecutor(1)).capabilities.can_kill
    False

    Raises:
        SetupError: fewer than 1 call at once, or a pool of subinterpreters.
    """

    capabilities = Capabilities(is_remote=True)

    def __init__(self, pool: Pool, *, max_concurrency: int = MAX_CONCURRENCY) -> None:
        if max_concurrency < 1:
            raise SetupError(f"Futures(max_concurrency={max_concurrency}): it must be 1 or more")
        if any(each.__name__ == "InterpreterPoolExecutor" for each in type(pool).__mro__):
            raise SetupError(
                "Futures(...): pydantic does not work in subinterpreters; "
                "give a ThreadPoolExecutor or a ProcessPoolExecutor"
            )
        self._pool = pool
        self._is_local = isinstance(pool, ThreadPoolExecutor)
        self._slots = CrossLoopSemaphore(max_concurrency)

    def check_tool(self, tool: AnyTool) -> None:
        """Check that the pool's process can find the tool and get its injected parameters. See `Executor`."""
        check_sendable(tool, "Futures(...)", is_local=self._is_local)

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """Wait for a slot, run the body in the pool and return its value. See `Executor`."""
        body, context.body_state = (
            context.body_state,
            "" if context.body_state == "runs" else context.body_state,
        )
        await self._slots.acquire()
        context.body_state = body
        try:
            return await self._run(prepared, context)
        finally:
            self._slots.release()

    async def _run(self, prepared: Prepared, context: ToolContext) -> object:
        """Submit the body, wait for its outcome, forward its reports, and return its value.

        A broken pool gives the result of an unknown outcome. A stopped wait raises `CancelledError`
        if the body never started, else `TimedOut` or `Cancelled`.
        """
        tool, loop = prepared.tool, asyncio.get_running_loop()
        done = asyncio.Event()

        def wake(_: object) -> None:
            """Wake the waiting call, from any thread."""
            with suppress(RuntimeError):  # the loop is closed: no call is waiting
                loop.call_soon_threadsafe(done.set)

        promise: PoolFuture | None = None
        try:
            request = make_request(prepared, context, is_local=self._is_local)
            # In this process, runs that the body starts are inside this one, as in our own threads.
            local = partial(copy_context().run, partial(run_request, tool=tool))
            promise = self._pool.submit(local if self._is_local else run_request, request)
            promise.add_done_callback(wake)
            await done.wait()
            outcome: Message = promise.result()
        except BrokenExecutor:
            return make_unknown_outcome(tool, "died", {})
        except asyncio.CancelledError:
            if promise is not None and promise.cancel():
                context.body_state = "" if context.body_state == "runs" else context.body_state
                raise
            raise detached_error(context, tool.timeout) from None
        for message in outcome["reported"]:
            forward_report(message, context)
        return read_outcome(tool, outcome)
