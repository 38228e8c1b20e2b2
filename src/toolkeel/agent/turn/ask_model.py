"""Asking the model of the agent in charge: what it is sent, limits, steps, guardrails beside it.

All that is fixed while one agent has the run. Deltas are told as they come; while guardrails look at
what a person said they are kept back, and nobody is told of a reply that these refuse.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from toolkeel.agent.guardrail import judge_said
from toolkeel.agent.reply_assembly import Assembly, reliable
from toolkeel.agent.transcript import was_called
from toolkeel.agent.turn.reserve_cost import RequestCost
from toolkeel.agent.turn.steps import around
from toolkeel.agent.turn.switch_agent import InCharge
from toolkeel.call.body.model_interrupt import Interrupt
from toolkeel.call.enabled_tools import Offer
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.errors import ModelError, describe
from toolkeel.events import Replied, Retrying, Streamed, TurnStarted
from toolkeel.messages import AssistantMessage, Message, Usage
from toolkeel.model_interface import Delta, ModelRequest, RetryDelta, Settings, provider_of


class AtLimit(BaseException):
    """A request may not be sent: a bound is reached. No step can catch it by mistake."""


class Asking:
    """Asks the model of one agent.

    Args:
        charge: Who has the run.
        tools: What may be called.
        run: The run; its transcript grows.

    Attributes:
        offer: What the model is told it may call.
        forced: Whether the settings force a call as long as none was made.
        unjudged: What people have said that the input guardrails have not seen.
    """

    def __init__(self, charge: InCharge, tools: Toolset, run: RunContext) -> None:
        plan = charge.plan
        self._charge = charge
        self._model = plan.model
        self._run = run
        self._settings, self._later = _asked(plan.settings, charge)
        given_by = [
            name
            for before in charge.before
            for name, handoff in before.handoffs.items()
            if handoff.agent.name == plan.agent
        ]
        if was_called(run.transcript, given_by):
            self._settings = self._later
        self.forced = self._settings is not self._later
        beside = (*(() if plan.output is None else plan.output.tools), *charge.reading(tools))
        self.offer = Offer(tools, run, plan.search, beside, plan.handoffs)
        self.offer.tools.cover(run)
        self.unjudged: list[Message] = []
        self._request: ModelRequest | None = None
        askers = (*plan.model_steps, charge.history)
        others = [model.name for asker in askers for model in getattr(asker, "models", ())]
        self._cost = RequestCost(run, plan.model.name, *others)
        self._send = around(plan.model_steps, run, self.send)
        self._turn = self._sent = 0
        self._shortens = charge.history is not None
        self._delayed: list[Delta] | None = None

    @property
    def over(self) -> str:
        """The bound at which the run ended; empty if at none."""
        pool = self._run.scope.spending
        return self._cost.over or (pool.over if pool is not None else "")

    def called(self) -> None:
        """A call was made: one that the settings force is no longer."""
        self._settings, self._request, self.forced = self._later, None, False

    async def ask(self, turn: int, interrupt: Interrupt) -> AssistantMessage | None:
        """The model's next reply; None if the run was stopped meanwhile, or may not be asked.

        Raises:
            ModelError: it failed, or its reply broke off before it said or called anything.
            Exception: a guardrail refused what a person said.
        """
        run, sent, messages = self._run, self._charge.sent, self._run.transcript
        self._turn, self._sent = turn, 0
        interrupt.arm()
        try:
            if self._shortens or sent.cuts:
                messages = await self._shorter()
            fixed = self.offer.fixed
            offered = fixed if fixed is not None else await self.offer.now()
            request = self._request
            if request is None or request.tools is not offered or request.messages is not messages:
                request = ModelRequest(messages, offered, self._settings, self._model)
                self._request = request
            # The reply's calls are judged by what it has seen.
            run.loop_state.visible_taint = 0 if run.taint is None else len(run.taint.sources)
            reply = await (self._judged if self.unjudged else self._send)(request)
        except asyncio.CancelledError:
            if not interrupt.ours():
                raise
            return None
        except AtLimit:
            return None
        finally:
            interrupt.disarm()
        if run.listeners:
            if not self._sent:
                run.tell(TurnStarted(*run.next(), turn, self._model.name, provider_of(self._model)))
            run.tell(Replied(*run.next(), reply))
        if not reply.tool_calls and reply.finish_reason in ("error", "incomplete"):
            _check(reply)
        return reply

    async def _shorter(self) -> list[Message]:
        """What is sent of the transcript, after the history policy has looked at it."""
        charge, run = self._charge, self._run
        used = await charge.shorten()
        if used != Usage():
            run.usage = run.usage + used
            self._cost.add(used, *(model.name for model in getattr(charge.history, "models", ())))
        return charge.sent.now(run)

    async def send(self, request: ModelRequest) -> AssistantMessage:
        """Send one request, within all steps around it.

        Raises:
            AtLimit: it may not be sent.
            ModelError: the model failed.
        """
        run, model = self._run, request.model or self._model
        pool = run.scope.spending
        if pool is not None and pool.plain and not pool.over and pool.requests < pool.most:
            pool.requests += 1  # here, since a function more in every turn is counted
        elif not self._cost.reserve(request, model.name):
            raise AtLimit
        self._sent += 1
        if run.recorder is not None:
            await run.recorder.asks(self._turn, model.name, request)
        if run.listeners:
            run.tell(TurnStarted(*run.next(), self._turn, model.name, provider_of(model)))
        stream = model.stream(request)
        assembly: Assembly | None = None
        reply: AssistantMessage | None = None
        try:
            async for delta in stream:
                if isinstance(delta, AssistantMessage):
                    reply = reliable(delta)
                    break
                if assembly is None:
                    assembly = Assembly()
                assembly.add(delta)
                if run.listeners:
                    self._tell(delta)
            whole = reply = reply or (assembly or Assembly()).reply()
        except Exception as error:
            reply = self._broken(error, assembly, model.name)
            raise
        finally:
            await self._close(stream, reply, model.name)
        run.usage = run.usage + whole.usage
        return whole

    async def _close(self, stream: object, reply: AssistantMessage | None, model: str) -> None:
        """Settle what a request has cost, and let go of its connection."""
        pool = self._run.scope.spending
        if pool is not None and pool.weighs:
            self._cost.settle(reply, model)
        if (aclose := getattr(stream, "aclose", None)) is not None:
            await aclose()  # now, not when it is collected: it may hold a connection

    def _broken(
        self, error: Exception, assembly: Assembly | None, model: str
    ) -> AssistantMessage | None:
        """Note that a request failed: what it gave before, what it cost, and who was told."""
        run, reply = self._run, None
        usage = error.usage if isinstance(error, ModelError) else Usage()
        if isinstance(error, ModelError) and (assembly is not None or usage != Usage()):
            reply = dataclasses.replace((assembly or Assembly()).reply(), usage=usage)
            error.text = error.text or reply.text
            error.told = assembly is not None and bool(run.listeners) and self._delayed is None
            run.usage = run.usage + usage
        if run.recorder is not None:
            run.recorder.failed(self._sent, describe(error), model, usage)
        return reply

    def _tell(self, delta: Delta) -> None:
        run = self._run
        if self._delayed is not None:
            self._delayed.append(delta)
        elif isinstance(delta, RetryDelta):
            seq, at, run_id = run.next()
            retry = (delta.attempt, delta.wait, delta.error, delta.status)
            run.tell(Retrying(seq, at, run_id, *retry))
        else:
            run.tell(Streamed(*run.next(), delta))

    # — guardrails beside it —

    async def _judged(self, request: ModelRequest) -> AssistantMessage:
        """Ask while guardrails look at what was said; nothing comes out before they allow it."""
        guardrails, said = self._charge.guardrails, tuple(self.unjudged)
        if not guardrails or any(each.first for each in guardrails) or _runs_elsewhere(request):
            await judge_said(guardrails, said, self._run)
            self.unjudged.clear()
            return await self._send(request)
        self._delayed = []
        judging = asyncio.ensure_future(judge_said(guardrails, said, self._run))
        sending = asyncio.ensure_future(self._send(request))
        try:
            await asyncio.wait((judging, sending), return_when=asyncio.FIRST_COMPLETED)
            await judging
            self.unjudged.clear()
            delayed, self._delayed = self._delayed, None
            for delta in delayed:
                self._tell(delta)
            return await sending
        finally:
            self._delayed = None
            await self._give_up(judging, sending)

    async def _give_up(self, *tasks: asyncio.Future[Any]) -> None:
        """End what still runs, and wait for it; a reply that nobody is told of is noted."""
        judging, sending = tasks
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        recorder = self._run.recorder
        if recorder is None or judging.cancelled() or judging.exception() is None:
            return
        if sending.cancelled() or sending.exception() is None:
            usage = Usage() if sending.cancelled() else sending.result().usage
            recorder.failed(self._sent, "a guardrail refused it", self._model.name, usage)


def _runs_elsewhere(request: ModelRequest) -> bool:
    """Whether the model may do something by itself: no body waits here for a verdict then."""
    return any(getattr(item, "hosted", None) for item in request.tools) or bool(
        request.settings.provider_options.get("tools")
    )


def _asked(first: Settings, charge: InCharge) -> tuple[Settings, Settings]:
    """The settings of the first requests, and those after a call that they force was made."""
    later, output = first, charge.plan.output
    if first.tool_choice not in (None, "auto", "none") and not first.keep_tool_choice:
        later = dataclasses.replace(first, tool_choice=None)
    if output is None:
        return first, later
    asked = output.asked(first)
    return asked, asked if later is first else output.asked(later)


def _check(reply: AssistantMessage) -> None:
    if reply.finish_reason == "error" or not reply.content:
        error = ModelError(f"the model's reply broke off: {reply.text or 'nothing arrived'}")
        error.text, error.usage = reply.text, reply.usage
        raise error
