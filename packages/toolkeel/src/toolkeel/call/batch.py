"""The calls of one turn: run in parallel, answered in order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from toolkeel.call.arguments.validate import argument_text, is_large
from toolkeel.call.body.stop_errors import not_started_error
from toolkeel.call.body.sync_bridge import require_event_loop
from toolkeel.call.body.task_cancels import GRACE, GRACE_ONLY
from toolkeel.call.failure_message import failure_message, interrupted_message
from toolkeel.call.pipeline import ToolLookup, run_call
from toolkeel.call.steps.turn_order import end_turn
from toolkeel.call.watchdog import WATCHDOG
from toolkeel.context import RunContext
from toolkeel.errors import CallError, SetupError, Skipped, Suspend
from toolkeel.events import ToolFinished, ToolStarted
from toolkeel.messages import ToolCall, ToolMessage

Fatal = BaseException | None
NO_LENDERS: Mapping[str, Any] = MappingProxyType({})


def check_calls(calls: Sequence[ToolCall]) -> None:
    """Raise unless `calls` is a sequence of `ToolCall`.

    Args:
        calls: The calls of a turn.

    Raises:
        SetupError: `calls` has another type; the message says how to convert it.
    """
    several = type(calls) is list or (isinstance(calls, Sequence) and not isinstance(calls, str))
    strange = [call for call in calls if not isinstance(call, ToolCall)] if several else [calls]
    if strange:
        raise SetupError(
            f"{strange[0]!r:.80}: not a ToolCall in a list of calls; a provider's "
            "decode_calls(reply) makes such a list of a client's reply"
        )


def _may_be_large(call: ToolCall) -> bool:
    """Return True for argument texts that `is_large` names, and for arguments that are no text."""
    arguments: object = call.arguments
    return type(arguments) is not str or is_large(arguments)


class Batch:
    """The calls of one turn: n calls in, n results out.

    Calls run concurrently, up to `max_concurrency`, each in a task of its own unless it is the only
    one. A call of a `sequential` tool waits for the calls before it and delays those after it. A call
    that declares resources and has arguments too large to validate on the loop runs exclusively,
    since its resources are not known before.

    Args:
        calls: In the model's order.
        tools: The toolset of their tools.
        run: The run that they belong to.
        max_concurrency: How many may run at once; None for all.
        lenders: The toolsets of calls whose tools are of other sets, by call id.

    Attributes:
        results: One per call, in order; complete even if `run` raised. A call that waits for a
            person has none.
        suspended: Calls that wait for a person or have not finished, by call id, in order.
    """

    def __init__(
        self,
        calls: Sequence[ToolCall],
        tools: ToolLookup,
        run: RunContext,
        max_concurrency: int | None = None,
        lenders: Mapping[str, ToolLookup] = NO_LENDERS,
    ) -> None:
        self.calls = calls
        self._tools = tools
        self._lenders = lenders
        self._run = run
        self._max_concurrency = max_concurrency or len(calls)
        self._results: list[ToolMessage | None] = [None] * len(calls)
        self._waiting = list(range(len(calls) - 1, -1, -1))
        self._tasks: dict[asyncio.Task[Fatal], int] = {}
        self._barrier = False
        self._barriers: set[int] = set()
        self._done: asyncio.Future[None] | None = None
        self._fatal: Fatal = None
        self._suspended: dict[int, Suspend] = {}
        self.suspended: dict[str, Suspend] = {}

    @property
    def results(self) -> list[ToolMessage]:
        """The results in call order, without those of calls that wait; an unfinished call's says it was stopped."""
        return [
            interrupted_message(call, call.name) if result is None else result
            for index, (call, result) in enumerate(zip(self.calls, self._results, strict=True))
            if index not in self._suspended
        ]

    def started_calls(self) -> list[tuple[ToolCall, ToolMessage | None]]:
        """Return the started calls in order, each with its result, or None while it runs."""
        started = set(range(len(self.calls))) - set(self._waiting) - set(self._suspended)
        return [(self.calls[index], self._results[index]) for index in sorted(started)]

    async def run(self) -> None:
        """Count a turn, run all calls, then fill `results` and `suspended`. If calls wait, end the turn.

        Raises:
            SetupError: a mistake of the program; raised after the other calls have ended.
            BaseException: cancellation from outside, `KeyboardInterrupt`, the exception of a guard
                that ends the run; likewise. Every call has its end event and its result by then.
        """
        require_event_loop()
        run = self._run
        run.loop_state.turn += 1
        WATCHDOG.watch()
        if len(self.calls) == 1 and not (run.cancel.cancelled or run.loop_state.skip_unstarted):
            self._waiting.clear()
            try:
                self._fatal = await self._run_call(0)
            except BaseException:
                self._results[0] = skip_call(self.calls[0], self._run)
                raise
        else:
            await self._run_together()
        if self._suspended:
            end_turn(self._run)
        if run.cancel.cancelled and not run.scope.is_at_limit:
            self._answer_suspended()
        if self._fatal is not None:
            raise self._fatal

    def _answer_suspended(self) -> None:
        """Give waiting calls a failed result, since the run was cancelled; those of inner runs continue later."""
        for index in [at for at, wait in self._suspended.items() if wait.tickets]:
            if (inner := self._suspended[index].inner) is not None:  # it has not failed
                wait = self._suspended[index] = Suspend(inner=inner)
                self.suspended[self.calls[index].id] = wait
                continue
            error = not_started_error(self.calls[index].name, self._run.cancel.reason)
            self._results[index] = failure_message(self.calls[index], None, error, 0.0)
            del self._suspended[index], self.suspended[self.calls[index].id]

    async def _run_call(self, index: int) -> Fatal:
        """Run one call, store its result or that it waits, and return what must be raised after the turn."""
        call = self.calls[index]
        if self._run.recorder is not None:
            self._run.recorder.enter_call(call)
        tools = self._lenders.get(call.id, self._tools)
        self._results[index], fatal = await run_call(call, tools, self._run)
        if isinstance(fatal, Suspend):
            self._suspended[index] = fatal
            self.suspended = {self.calls[n].id: wait for n, wait in sorted(self._suspended.items())}
            return fatal.__cause__  # what ended an inner run, or an approver, ends this run, too
        return fatal

    async def _run_together(self) -> None:
        """Run all calls in tasks, and skip those not started at the end. If cancelled, stop the tasks first."""
        self._done = asyncio.get_running_loop().create_future()
        if self._tools.has_barriers or self._lenders or any(map(_may_be_large, self.calls)):
            self._barriers = {n for n, c in enumerate(self.calls) if self._is_exclusive(c)}
        self._start_calls()
        try:
            if self._tasks:
                await self._done
        except asyncio.CancelledError as error:
            self._fatal = error
            await self._stop_tasks()
        while self._waiting:
            index = self._waiting.pop()
            self._results[index] = skip_call(self.calls[index], self._run)

    def _start_calls(self) -> None:
        """Start the waiting calls that may run now, in order; none once the run or the batch is stopped."""
        loop, ended = asyncio.get_running_loop(), self._on_task_done
        waiting, tasks, cancel = self._waiting, self._tasks, self._run.cancel
        while waiting and len(tasks) < self._max_concurrency and not self._barrier:
            if cancel.cancelled or self._fatal is not None or self._run.loop_state.skip_unstarted:
                return
            index = waiting[-1]
            if index in self._barriers:
                if tasks:
                    return
                self._barrier = True
            waiting.pop()
            task = loop.create_task(self._run_call(index))
            tasks[task] = index
            task.add_done_callback(ended)

    def _is_exclusive(self, call: ToolCall) -> bool:
        """Return True if no other call may run beside this one; False also for one that cannot be prepared."""
        try:
            tools = self._lenders.get(call.id, self._tools)
            tool = tools.find(call.name, self._run.loop_state.disabled_tools).tool
            is_ordered = bool(tool.effects.resources)
            return tool.sequential or (is_ordered and is_large(argument_text(call, tool)))
        except Exception:  # the call itself reports what is wrong with it
            return False

    def _on_task_done(self, task: asyncio.Task[Fatal]) -> None:
        """Record a call's end, start calls that waited for it, and end the batch after the last.

        After an exception that is no cancellation, no more calls start and `run` raises it; one that is no
        `Exception` also cancels the other calls.
        """
        index = self._tasks.pop(task)
        self._barrier = False
        if self._results[index] is None:  # it was cancelled before its first step
            self._results[index] = skip_call(self.calls[index], self._run)
        fatal = None if task.cancelled() else task.exception() or task.result()
        if fatal is not None and not isinstance(fatal, asyncio.CancelledError):
            self._fatal = self._fatal or fatal
            if not isinstance(fatal, Exception):  # the program ends: do not wait
                self._cancel_tasks()
        if self._waiting:
            self._start_calls()
        if not self._tasks and self._done is not None and not self._done.done():
            self._done.set_result(None)

    def _cancel_tasks(self) -> None:
        """Cancel all running calls, leaving them only their grace period."""
        for task in self._tasks:
            task.cancel(GRACE_ONLY)

    async def _stop_tasks(self) -> None:
        """Cancel the running calls and give them `2 * GRACE` seconds, however often this task is cancelled."""
        loop = asyncio.get_running_loop()
        self._cancel_tasks()
        end = loop.time() + 2 * GRACE
        while self._tasks and (left := end - loop.time()) > 0:
            try:
                await asyncio.wait(list(self._tasks), timeout=left)
            except asyncio.CancelledError as again:
                self._fatal = again


def skip_call(call: ToolCall, run: RunContext) -> ToolMessage:
    """Return the result of a call that was cancelled or skipped before its start, and emit its events."""
    if run.listeners:
        run.emit(ToolStarted(*run.next_event_fields(), call.id, call))
    error: CallError = not_started_error(call.name, run.cancel.reason)
    if run.loop_state.skip_unstarted and not run.cancel.cancelled:
        error = Skipped(
            f"The call of {call.name!r} did not run: the person said something instead."
        )
    message = failure_message(call, None, error, 0.0)
    if run.listeners:
        run.emit(ToolFinished(*run.next_event_fields(), call.id, message))
    return message
