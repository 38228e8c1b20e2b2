"""The loop: run what is unanswered, else ask the model; stop when it calls nothing.

Its state is the messages alone, so going on after a stop is calling the same loop again. It
appends events to the run and never waits for who reads them; streaming is a reader beside it, not
another loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from toolwright.agent.assemble import Assembly
from toolwright.agent.correction import Corrections
from toolwright.agent.transcript import order_results
from toolwright.approval import Ticket
from toolwright.call.offer import Offer
from toolwright.call.toolset import Toolset
from toolwright.context import Run
from toolwright.errors import ModelError
from toolwright.events import EndReason, Replied, Streamed, TurnStarted
from toolwright.messages import AssistantMessage, Message, ToolMessage, unanswered
from toolwright.model import Delta, Model, ModelRequest, Settings
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
    """

    model: Model
    tools: Toolset
    settings: Settings
    max_turns: int
    search: bool = False


async def advance(
    plan: Plan,
    messages: list[Message],
    run: Run[Any],
    corrections: Corrections,
    tickets: list[Ticket],
) -> EndReason:
    """Go on until there is nothing to do.

    Whatever way it ends, every call in `messages` has its result, but for those in `tickets`.

    Args:
        plan: Fixed for the run.
        messages: Grows; nothing in it is ever changed or taken away.
        run: What the calls share; receives the events.
        corrections: Counts how often the model mends its calls.
        tickets: Receives what waits for a person.

    Raises:
        ModelError: the model failed, or its reply broke off before it said or called anything.
        BaseException: cancellation from outside, and what else tools may not swallow.
    """
    offer = Offer(plan.tools, run, plan.search)
    tools = offer.tools
    request: ModelRequest | None = None
    calls = unanswered(messages)
    resumed = bool(calls)
    turns = 0
    while True:
        if calls:
            batch = tools.batch(calls, run)
            try:
                await batch.run()
            finally:
                results = batch.results
                messages.extend(results)
                if resumed:
                    order_results(messages)
                    resumed = False
            corrections.note(results)
            if batch.tickets:
                tickets.extend(batch.tickets)
                return "suspended"
            if _is_answer(tools, results):
                return "returned"
        if run.cancel.cancelled:
            return "cancelled"
        if turns == plan.max_turns:
            return "max_turns"
        turns += 1
        if run.listeners:
            run.emit(TurnStarted(*run.next(), turns))
        offered = await offer.now()
        if request is None or request.tools is not offered:
            request = ModelRequest(messages, offered, plan.settings)
        reply = await _ask(plan.model, request, run)
        if reply is None:
            return "cancelled"
        _check(reply)
        messages.append(reply)
        calls = reply.tool_calls
        if not calls:
            return "answered"


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


async def _ask(model: Model, request: ModelRequest, run: Run[Any]) -> AssistantMessage | None:
    """One reply; None if the run was cancelled meanwhile."""
    stream = model.stream(request)
    interrupt = Interrupt(run)
    try:
        reply = await _receive(stream, run)
    except asyncio.CancelledError:
        if not interrupt.ours():
            raise
        return None
    finally:
        interrupt.close()
    run.usage = run.usage + reply.usage
    if run.listeners:
        run.emit(Replied(*run.next(), reply))
    return reply


async def _receive(
    stream: AsyncIterator[Delta | AssistantMessage], run: Run[Any]
) -> AssistantMessage:
    assembly: Assembly | None = None
    async for delta in stream:
        if isinstance(delta, AssistantMessage):
            return delta
        if assembly is None:
            assembly = Assembly()
        assembly.add(delta)
        if run.listeners:
            run.emit(Streamed(*run.next(), delta))
    return (assembly or Assembly()).reply()


class Interrupt:
    """Cancels the current task when the run is cancelled, and knows that it did."""

    __slots__ = ("_forget", "_loop", "_struck", "_task")

    def __init__(self, run: Run[Any]) -> None:
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._struck = False
        self._forget = run.cancel.watch(self._cancelled)

    def _cancelled(self) -> None:
        self._loop.call_soon_threadsafe(self._strike)

    def _strike(self) -> None:
        if self._task is not None and not self._struck:
            self._struck = True
            self._task.cancel()

    def ours(self) -> bool:
        """Whether the cancellation just caught is this one; takes it back if so."""
        if not self._struck or self._task is None:
            return False
        self._struck = False
        return self._task.uncancel() == 0

    def close(self) -> None:
        self._forget()
        if self._struck and self._task is not None:
            self._struck = False
            self._task.uncancel()
        self._task = None
