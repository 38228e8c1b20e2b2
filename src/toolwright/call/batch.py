"""The calls of one turn: run side by side, answered in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from toolwright.approval import Ticket
from toolwright.call.failure import interrupted
from toolwright.call.pipeline import Finds, run_call
from toolwright.call.stop import GRACE
from toolwright.context import Run
from toolwright.errors import Suspend, ToolwrightError
from toolwright.events import ToolFinished, ToolStarted
from toolwright.messages import ToolCall, ToolMessage


class Batch:
    """n calls in, n results out.

    Each call gets a task and they all run at once, up to `width` of them; a call of a
    `sequential` tool waits for those before it and holds back those after it. Tasks are counted
    down by their done-callbacks, so the cost of a call does not grow with the batch.

    Args:
        calls: In the model's order.
        tools: Where to find their tools.
        run: What they share.
        width: How many may run at once; None for all.

    Attributes:
        results: One per call, in order; whole even if `run` raised. A call that waits for a
            person has none.
        tickets: What waits for a person, in order.
    """

    def __init__(
        self, calls: Sequence[ToolCall], tools: Finds, run: Run[Any], width: int | None = None
    ) -> None:
        self.calls = calls
        self._tools = tools
        self._run = run
        self._width = width or len(calls)
        self._results: list[ToolMessage | None] = [None] * len(calls)
        self._waiting = list(range(len(calls) - 1, -1, -1))
        self._tasks: dict[asyncio.Task[tuple[ToolMessage, BaseException | None]], int] = {}
        self._barrier = False
        self._done: asyncio.Future[None] | None = None
        self._fatal: BaseException | None = None
        self._tickets: dict[int, Ticket] = {}

    @property
    def results(self) -> list[ToolMessage]:
        return [
            interrupted(call, call.name) if result is None else result
            for index, (call, result) in enumerate(zip(self.calls, self._results, strict=True))
            if index not in self._tickets
        ]

    @property
    def tickets(self) -> tuple[Ticket, ...]:
        return tuple(ticket for _, ticket in sorted(self._tickets.items()))

    async def run(self) -> list[ToolMessage]:
        """Run them all.

        Raises:
            SetupError: the program is wired up wrongly; after the other calls have ended.
            BaseException: cancellation from outside, `KeyboardInterrupt`, the exception of a guard
                that ends the run; likewise. Every call has its end event and its result by then.
        """
        if len(self.calls) == 1 and not self._run.cancel.cancelled:
            self._waiting.clear()
            self._take(0, *await run_call(self.calls[0], self._tools, self._run))
            return self._whole()
        self._done = asyncio.get_running_loop().create_future()
        self._start()
        try:
            if self._tasks:
                await self._done
        except asyncio.CancelledError as error:
            await self._stop(error)
        self._skip_waiting()
        return self._whole()

    def _take(self, index: int, message: ToolMessage, fatal: BaseException | None) -> None:
        if isinstance(fatal, Suspend):
            self._tickets[index] = fatal.ticket
            return
        self._results[index] = message
        self._fatal = self._fatal or fatal

    def _whole(self) -> list[ToolMessage]:
        if self._fatal is not None:
            raise self._fatal
        return self.results

    def _start(self) -> None:
        """Start what may start now."""
        loop = asyncio.get_running_loop()
        while self._waiting and len(self._tasks) < self._width and not self._barrier:
            if self._run.cancel.cancelled or self._fatal is not None:
                return
            index = self._waiting[-1]
            call = self.calls[index]
            if self._is_sequential(call):
                if self._tasks:
                    return
                self._barrier = True
            self._waiting.pop()
            task = loop.create_task(run_call(call, self._tools, self._run))
            self._tasks[task] = index
            task.add_done_callback(self._ended)

    def _is_sequential(self, call: ToolCall) -> bool:
        try:
            return self._tools.find(call.name).tool.sequential
        except ToolwrightError:
            return False

    def _ended(self, task: asyncio.Task[tuple[ToolMessage, BaseException | None]]) -> None:
        index = self._tasks.pop(task)
        self._barrier = False
        if task.cancelled():
            self._results[index] = interrupted(self.calls[index], self.calls[index].name)
        elif (error := task.exception()) is not None:
            self._results[index] = interrupted(self.calls[index], self.calls[index].name)
            self._fatal = self._fatal or error
        else:
            message, fatal = task.result()
            stopped = isinstance(fatal, asyncio.CancelledError)  # by ourselves: see `_stop`
            self._take(index, message, None if stopped else fatal)
        if self._waiting:
            self._start()
        if not self._tasks and self._done is not None and not self._done.done():
            self._done.set_result(None)

    async def _stop(self, error: BaseException) -> None:
        """Cancel what runs, and give it the time to clean up."""
        self._fatal = error
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=2 * GRACE)

    def _skip_waiting(self) -> None:
        """Answer the calls that never started."""
        while self._waiting:
            index = self._waiting.pop()
            call = self.calls[index]
            message = _not_started(call, self._run.cancel.reason)
            self._results[index] = message
            if self._run.listeners:
                self._run.emit(ToolStarted(*self._run.next(), call.id, call))
                self._run.emit(ToolFinished(*self._run.next(), call.id, message))


def _not_started(call: ToolCall, reason: str) -> ToolMessage:
    why = f": {reason}" if reason else ""
    text = f"The call of {call.name!r} was not started, because its run was cancelled{why}."
    return ToolMessage(text, call.id, call.name, "error", "cancelled")
