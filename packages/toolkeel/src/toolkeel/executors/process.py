"""Tools whose body runs in a process of its own, so that its deadline truly ends it.

::

    @tool(executor=Process(), timeout=10)
    def crunch(data: str) -> str: ...

A body in a thread can only be left behind when its time is up: Python has no way to end a thread
that is inside of C code, such as a regular expression without end. A process is killed, with all
that it started. The first call costs the start of a Python, some tenths of a second; then the process
stays warm for the next. What the body may be given: arguments and results cross as JSON, never
pickled, and of its context what can cross.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Hashable
from pathlib import Path

from toolkeel._common.checked_arguments import checked
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import SetupError
from toolkeel.executors import warm_pool
from toolkeel.executors.command_limits import Limits
from toolkeel.executors.executor import Capabilities
from toolkeel.executors.frames import Message, pack
from toolkeel.executors.process_tree import Finished
from toolkeel.executors.supervised import Confinement, Unconfined
from toolkeel.executors.warm_pool import Room, Worker
from toolkeel.executors.worker import TOO_LARGE
from toolkeel.executors.worker_request import DIED, check_sendable, order_of, tell, value_of

WIDTH = 8
MAX_CALLS = 1000
"""Calls that a worker serves before a fresh one takes its place."""
_START = "import sys; sys.path = sys.argv[1:]; from toolkeel.executors.worker import main; main()"
_LIBRARY = Path(__file__).parents[2]
_FRESH_STARTS = 3  # of workers that end before a body has begun


@checked
class Process:
    """An executor: bodies in worker processes that stay warm, each killed at its call's deadline.

    The tool must be a name at the top of a module or script, where the process finds it again.
    All `Process()` of the same limits share their workers. A worker keeps what its modules keep, from
    call to call; one that a body has left anything running in serves no other call.

    Args:
        sandbox: What confines the process; by default nothing but `limits` does. Files of the
            library and of the tool can be read in it, too.
        limits: What it may use at most; for a process without a sandbox.
        width: How many calls may run at once; further ones wait, under their deadline.
        max_calls: How many calls a worker serves; ``1`` is a fresh process for each call, which is
            also the default with a sandbox.
        queue_timeout: Seconds a call may wait for room; then it is refused, and has not started.
        max_retries: How often a call is run again whose process died; only of tools whose effects
            are declared `read_only` or `idempotent`. All others run once.

    Raises:
        SetupError: if there is no way here to start such processes (on Windows).

    >>> from toolkeel import tool
    >>> @tool(executor=Process(), timeout=10)
    ... def crunch(data: str) -> str:
    ...     "Work hard."
    """

    capabilities = Capabilities(kills=True, streams=True, isolates=True, queues=True)

    def __init__(
        self,
        sandbox: Confinement | None = None,
        *,
        limits: Limits | None = None,
        width: int = WIDTH,
        max_calls: int | None = None,
        queue_timeout: float | None = None,
        max_retries: int = 0,
    ) -> None:
        self._walls = None if sandbox is None or sandbox.mode == "off" else sandbox
        self._unconfined = Unconfined(sandbox.limits if sandbox else limits)
        self._max_calls = max_calls or (MAX_CALLS if self._walls is None else 1)
        self._queue_timeout = queue_timeout
        self._max_retries = max_retries
        if width < 1:
            raise SetupError(f"Process(width={width}) has room for no call; give 1 or more")
        self._room = Room(width)

    def check_tool(self, tool: AnyTool) -> None:
        """See `Executor`."""
        check_sendable(tool, "Process()")

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """Run the body; when this is cancelled, the process is killed before it ends."""
        body, context.body_state = (
            context.body_state,
            "" if context.body_state == "runs" else context.body_state,
        )
        await self._room.enter_within(self._queue_timeout, prepared.tool.name)
        context.body_state = body
        tool = prepared.tool
        tries = 1 + (self._max_retries if tool.effects.repeatable else 0)
        try:
            outcome = await self.carry_out(
                order_of(prepared, context), tries, lambda message: tell(message, context)
            )
        finally:
            self._room.leave()
        return value_of(tool, outcome)

    async def carry_out(
        self, order: Message, tries: int, hear: Callable[[Message], object]
    ) -> Message:
        """Have an order carried out by a worker; a worker that ended before it began is replaced.

        Args:
            order: See `toolkeel.executors.worker_request.order_of`.
            tries: How often a body may begin.
            hear: Takes what it reports.

        Returns:
            What `toolkeel.executors.worker_request.value_of` takes.
        """
        starts = _FRESH_STARTS
        kind = self._kind(order)
        folder = str(self._walls.roots[0]) if self._walls else os.getcwd()
        packed = pack({**order, "folder": folder})
        while True:
            worker = warm_pool.take(kind)
            fresh = worker is None
            if worker is None:
                worker = self._start(order["file"])
            outcome = await worker.ask(packed, hear)
            said = worker.said()
            await self._put_back(kind, worker, outcome)
            if outcome is not None:
                return {**outcome, "said": said}
            if worker.ended == "output":
                return {"kind": TOO_LARGE}
            if worker.begun:
                tries -= 1
            elif fresh:
                starts -= 1
            if not (tries and starts):
                return _died(worker, said)

    def _kind(self, order: Message) -> Hashable:
        """What tells workers apart: who is given another's has what it would have started itself."""
        if self._walls is None:
            return repr(self._unconfined.limits), tuple(sys.path)
        return self._walls, Path(order["file"]).parent, tuple(sys.path)

    def _start(self, file: str) -> Worker:
        words = [sys.executable, "-I", "-c", _START, *map(os.path.abspath, sys.path)]
        if self._walls is None:
            return Worker(self._unconfined.command(words), self._unconfined.limits.total_memory)
        inside = self._walls.reading(_LIBRARY, Path(file).parent)
        return Worker(inside.command(words), inside.limits.total_memory)

    async def _put_back(self, kind: Hashable, worker: Worker, outcome: Message | None) -> None:
        if outcome is None:
            return
        spent = outcome.get("spent", True) or worker.calls >= self._max_calls
        if spent or not warm_pool.keep(kind, worker):
            await asyncio.shield(worker.end())


def _died(worker: Worker, said: str) -> Message:
    found = Finished(worker.code, worker.ended, b"", b"", 0.0)
    how = f"was killed by {found.signal}" if found.signal else f"exited ({found.code})"
    details = {"exit_code": found.code, "signal": found.signal, "stderr": said}
    return {"kind": DIED, "text": how, "details": details}
