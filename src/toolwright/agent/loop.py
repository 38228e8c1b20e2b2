"""The loop: run what is unanswered, else ask the model; stop when it calls nothing.

Its state is the messages alone, so going on after a stop is calling the same loop again. It
appends events to the run and never waits for who reads them; streaming is a reader beside it, not
another loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from toolwright.agent.assemble import Assembly, settle
from toolwright.agent.correction import Corrections
from toolwright.agent.output import Answers, OutputPlan
from toolwright.agent.transcript import order_results
from toolwright.call.batch import skipped
from toolwright.call.offer import Offer
from toolwright.call.pipeline import start_call
from toolwright.call.toolset import Toolset
from toolwright.context import Run
from toolwright.errors import ModelError, Suspend
from toolwright.events import EndReason, Replied, Retrying, Streamed, TurnStarted
from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage, unanswered
from toolwright.model import Delta, Model, ModelRequest, Retry, Settings
from toolwright.record import record


@record
class Plan:
    """What a loop needs besides its messages.

    Args:
        model: Who answers.
        tools: What it may call.
        settings: How to sample.
        max_turns: How often it may be asked.
        search: Whether it is told of a tool that finds the others, rather than of all.
        output: How answers of a given form are had; None if text will do.
    """

    model: Model
    tools: Toolset
    settings: Settings
    max_turns: int
    search: bool = False
    output: OutputPlan | None = None


class Progression:
    """One run of the loop.

    Args:
        plan: Fixed for the run.
        messages: Grows; nothing in it is ever changed or taken away.
        run: What the calls share; receives the events.

    Attributes:
        corrections: How often the model mended its calls.
        waits: What waits for a person, by the id of its call.
        answers: What it answered, if the answer must have a given form.
    """

    def __init__(self, plan: Plan, messages: list[Message], run: Run[Any]) -> None:
        self._plan = plan
        self._messages = messages
        self._run = run
        self._settings = plan.settings if plan.output is None else plan.output.asked(plan.settings)
        beside = () if plan.output is None else plan.output.tools
        self._offer = Offer(plan.tools, run, plan.search, beside)
        self._offer.tools.cover(run)
        self._request: ModelRequest | None = None
        self.corrections = Corrections()
        self.waits: Mapping[str, Suspend] = {}
        self.answers = None if plan.output is None else Answers(plan.output)

    async def advance(self) -> EndReason:
        """Go on until there is nothing to do.

        Whatever way it ends, every call in the messages has its result, but for those that wait
        for a person.

        Raises:
            ModelError: the model failed, or its reply broke off before it said or called anything.
            OutputError: it did not answer in the form that was asked for.
            BaseException: cancellation from outside, and what else tools may not swallow.
        """
        interrupt = Interrupt(self._run)
        try:
            return await self._advance(interrupt)
        finally:
            interrupt.close()

    async def _advance(self, interrupt: Interrupt) -> EndReason:
        calls = unanswered(self._messages)
        resumed, turns = bool(calls), 0
        while True:
            if calls and (reason := await self._call(calls, resumed)):
                return reason
            resumed = False
            if self._run.cancel.cancelled:
                return "cancelled"
            if turns >= self._plan.max_turns:
                return "max_turns"
            turns += 1
            reply = await self._ask(turns, interrupt)
            if reply is None:
                return "cancelled"
            self._messages.append(reply)
            calls = reply.tool_calls
            if not calls and self._is_answered(reply):
                return "answered"

    def _is_answered(self, reply: AssistantMessage) -> bool:
        """Whether a reply that calls nothing ends the run; if not, the model is told why."""
        correction = self.answers.see_reply(reply) if self.answers is not None else None
        if correction is None:
            return True
        self._messages.append(correction)
        return False

    async def _call(self, calls: Sequence[ToolCall], resumed: bool) -> EndReason | None:
        """Run the calls of a turn; why the run ends with them, if it does."""
        tools = self._offer.tools
        if len(calls) == 1 and not (resumed or tools.has_secrets or self._run.cancel.cancelled):
            results = await self._call_alone(calls[0], tools)
        else:
            results = await self._call_together(calls, tools, resumed)
        self.corrections.note(results)
        if self.waits:
            return "suspended"
        if self.answers is not None:
            self.answers.see_results(results)
            if self.answers.given:
                return "answered"
        return "returned" if tools.has_answers and _is_answer(tools, results) else None

    async def _call_alone(self, call: ToolCall, tools: Toolset) -> list[ToolMessage]:
        run = self._run
        try:
            done = start_call(call, tools, run)
            message, fatal = done if isinstance(done, tuple) else await done
        except BaseException:
            self._messages.append(skipped(call, run))
            raise
        if isinstance(fatal, Suspend):
            self.waits = {call.id: fatal}
            return []
        self.waits = {}
        self._messages.append(message)
        if fatal is not None:
            raise fatal
        return [message]

    async def _call_together(
        self, calls: Sequence[ToolCall], tools: Toolset, resumed: bool
    ) -> list[ToolMessage]:
        batch = tools.batch(calls, self._run)
        try:
            await batch.run()
        finally:
            results = batch.results
            self._messages.extend(results)
            if resumed:
                order_results(self._messages)
        self.waits = batch.waits
        return results

    async def _ask(self, turn: int, interrupt: Interrupt) -> AssistantMessage | None:
        """The model's next reply; None if the run was cancelled meanwhile."""
        run = self._run
        if run.listeners:
            run.emit(TurnStarted(*run.next(), turn))
        fixed = self._offer.fixed
        offered = fixed if fixed is not None else await self._offer.now()
        if self._request is None or self._request.tools is not offered:
            self._request = ModelRequest(self._messages, offered, self._settings)
        stream = self._plan.model.stream(self._request)
        interrupt.arm()
        try:
            reply = await _receive(stream, run)
        except asyncio.CancelledError:
            if not interrupt.ours():
                raise
            return None
        finally:
            interrupt.disarm()
            if (aclose := getattr(stream, "aclose", None)) is not None:
                await aclose()  # now, not when it is collected: it may hold a connection
        run.usage = run.usage + reply.usage
        if run.listeners:
            run.emit(Replied(*run.next(), reply))
        _check(reply)
        return reply


def _is_answer(tools: Toolset, results: list[ToolMessage]) -> bool:
    """Whether every tool just run succeeded and answers the person itself."""
    for result in results:
        if result.failed or not tools.find(result.name).tool.return_direct:
            return False
    return True


def _check(reply: AssistantMessage) -> None:
    if reply.tool_calls:
        return
    if reply.finish_reason == "error" or (
        reply.finish_reason == "incomplete" and not reply.content
    ):
        raise ModelError(f"the model's reply broke off: {reply.text or 'nothing arrived'}")


async def _receive(
    stream: AsyncIterator[Delta | AssistantMessage], run: Run[Any]
) -> AssistantMessage:
    assembly: Assembly | None = None
    async for delta in stream:
        if isinstance(delta, AssistantMessage):
            return settle(delta)
        if assembly is None:
            assembly = Assembly()
        assembly.add(delta)
        if run.listeners:
            run.emit(_told(run, delta))
    return (assembly or Assembly()).reply()


def _told(run: Run[Any], delta: Delta) -> Streamed | Retrying:
    if isinstance(delta, Retry):
        seq, at, run_id = run.next()
        return Retrying(seq, at, run_id, delta.attempt, delta.wait, delta.error, delta.status)
    return Streamed(*run.next(), delta)


class Interrupt:
    """Cancels the current task when the run is cancelled while armed, and knows that it did.

    One watches a whole run: to watch anew in every turn costs as much as a call.
    """

    __slots__ = ("_armed", "_before", "_cancel", "_forget", "_loop", "_struck", "_task")

    def __init__(self, run: Run[Any]) -> None:
        self._task = asyncio.current_task()
        self._before = 0
        self._loop = asyncio.get_running_loop()
        self._armed = self._struck = False
        self._cancel = run.cancel
        self._forget = run.cancel.watch(self._cancelled)

    def arm(self) -> None:
        """From now on a cancel of the run, or one that has been, cancels the task."""
        if self._task is not None:
            self._before = self._task.cancelling()
        self._armed = True
        if self._cancel.cancelled:
            self._cancelled()

    def _cancelled(self) -> None:
        with suppress(RuntimeError):  # the loop has closed: there is nothing left to cancel
            self._loop.call_soon_threadsafe(self._strike)

    def _strike(self) -> None:
        if self._task is not None and self._armed and not self._struck:
            self._struck = True
            self._task.cancel()

    def ours(self) -> bool:
        """Whether the cancellation just caught is this one alone; takes it back if it came."""
        if not self._struck or self._task is None:
            return False
        self._struck = False
        return self._task.uncancel() <= self._before

    def disarm(self) -> None:
        self._armed = False
        if self._struck and self._task is not None:
            self._struck = False
            self._task.uncancel()

    def close(self) -> None:
        self._forget()
        self.disarm()
        self._task = None
