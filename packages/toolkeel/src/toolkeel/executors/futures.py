"""An executor over any pool of the `concurrent.futures` form: processes, MPI, Dask, a cloud's.

::

    from concurrent.futures import ProcessPoolExecutor

    @tool(executor=Futures(ProcessPoolExecutor(4)))
    def crunch(data: str) -> str: ...

What crosses is one function of this library, named by its import path, and JSON. So the library, and the
module the tool is in, must be installed where the pool runs its work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from typing import Any, Protocol

from toolkeel._common.checked_arguments import checked
from toolkeel.call.body.stop_errors import detached_error
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import SetupError
from toolkeel.executors.executor import Capabilities
from toolkeel.executors.frames import Message
from toolkeel.executors.warm_pool import Room
from toolkeel.executors.worker import run_order
from toolkeel.executors.worker_request import check_sendable, order_of, tell, unknown, value_of

WIDTH = 64


class Promise(Protocol):
    """What a pool gives for work it was handed: a future."""

    def cancel(self) -> object:
        """Cancel it if it has not begun; whether it will not begin."""
        ...

    def result(self) -> Any:
        """What became of it, once it is done."""
        ...

    def add_done_callback(self, fn: Callable[[Any], Any], /) -> object:
        """Have a function called when it is done, in whatever thread."""
        ...


class Pool(Protocol):
    """Anything with the ``submit`` of `concurrent.futures.Executor`."""

    def submit(self, fn: Callable[[Message], Message], order: Message, /) -> Promise:
        """Have a function called somewhere."""
        ...


@checked
class Futures:
    """An executor: a pool of somebody else's.

    Such a pool cannot end what it has begun, nor tell of it before it has ended: a body whose call was
    stopped runs on, and progress comes with the result. A pool that breaks leaves it unknown whether the
    body took effect.

    Args:
        pool: Anything with ``submit(function, argument)`` that gives a future.
        width: How many calls the pool has at once; further ones wait here, under their deadline.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> Futures(ThreadPoolExecutor(1)).capabilities.kills
    False
    """

    capabilities = Capabilities(remote=True)

    def __init__(self, pool: Pool, *, width: int = WIDTH) -> None:
        if width < 1:
            raise SetupError(f"Futures(width={width}) has room for no call; give 1 or more")
        self._pool = pool
        self._room = Room(width)

    def check_tool(self, tool: AnyTool) -> None:
        """See `Executor`."""
        check_sendable(tool, "Futures(...)")

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """See `Executor`."""
        body, context.body_state = (
            context.body_state,
            "" if context.body_state == "runs" else context.body_state,
        )
        await self._room.enter()
        context.body_state = body
        try:
            return await self._run(prepared, context)
        finally:
            self._room.leave()

    async def _run(self, prepared: Prepared, context: ToolContext) -> object:
        tool, loop = prepared.tool, asyncio.get_running_loop()
        done = asyncio.Event()

        def wake(_: object) -> None:
            with suppress(RuntimeError):  # the loop has closed: nobody waits for it any more
                loop.call_soon_threadsafe(done.set)

        promise: Promise | None = None
        try:
            promise = self._pool.submit(run_order, order_of(prepared, context))
            promise.add_done_callback(wake)
            await done.wait()
            outcome: Message = promise.result()
        except BrokenExecutor:
            return unknown(tool, "died", {})
        except asyncio.CancelledError:
            if promise is not None and promise.cancel():
                context.body_state = "" if context.body_state == "runs" else context.body_state
                raise
            raise detached_error(context, tool.timeout) from None
        for message in outcome["reported"]:
            tell(message, context)
        return value_of(tool, outcome)
