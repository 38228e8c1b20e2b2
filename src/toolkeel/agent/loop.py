"""The loop: run what is unanswered, else ask the model; stop when it calls nothing.

Its state is the messages alone, so going on after a stop is calling the same loop again. It
appends events to the run and never waits for who reads them; streaming is a reader beside it, not
another loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from toolkeel._records.recorder import GOES_ON, RunRecorder
from toolkeel.agent.handoff import handed
from toolkeel.agent.output import OutputAttempts
from toolkeel.agent.transcript import order_results
from toolkeel.agent.turn.ask_model import Asking
from toolkeel.agent.turn.switch_agent import InCharge, said_last
from toolkeel.call.batch import Batch, skipped
from toolkeel.call.body.model_interrupt import Interrupt
from toolkeel.call.correction_counts import Corrections
from toolkeel.call.failure_message import unknown_outcome
from toolkeel.call.steps.taint import carry, relearn
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.options import external
from toolkeel.errors import Suspend
from toolkeel.events import EndReason
from toolkeel.messages import AssistantMessage, FinishReason, ToolCall, ToolMessage, unanswered

ENDS: Mapping[FinishReason, EndReason] = {
    "refusal": "refused",
    "length": "cut_off",
    "incomplete": "cut_off",
}
"""How a run ends whose last reply ended like this; it is answered otherwise."""


class Progression:
    """One run of the loop.

    Args:
        charge: Which agent has the run.
        tools: What may be called: those of its plan, and what their sources have brought.
        run: What the calls share; holds the transcript, which grows: nothing in it is ever changed
            or taken away; receives the events.

    Attributes:
        corrections: How often the model mended its calls.
        waits: What waits for a person, by the id of its call.
        attempts: What it answered, if the answer must have a given form.
    """

    def __init__(self, charge: InCharge, tools: Toolset, run: RunContext) -> None:
        self._charge = charge
        self._messages = run.transcript
        self._run = run
        self._running: Batch | None = None
        self._over = ""
        self.corrections = Corrections()
        self.waits: Mapping[str, Suspend] = {}
        self._adopt(tools)
        relearn(run, run.transcript, self._tools)
        self._asking.unjudged = said_last(run.transcript)

    def _adopt(self, tools: Toolset) -> None:
        """Be the loop of the agent in charge."""
        plan = self._charge.plan
        self._asking = Asking(self._charge, tools, self._run)
        self._tools = self._asking.offer.tools
        self._handoffs = plan.handoffs
        self.attempts = None if plan.output is None else OutputAttempts(plan.output)

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
            return self._had_ended() or await self._advance(interrupt)
        finally:
            interrupt.close()

    async def _advance(self, interrupt: Interrupt) -> EndReason:
        calls = unanswered(self._messages)
        resumed, turns = bool(calls), 0
        if self._handoffs:  # the run may have stopped between a handoff and the next request
            self._run.loop_state.pending_handoff = handed(self._messages, self._handoffs)
        while True:
            reason = await self._call(calls, resumed) if calls else None
            if reason is not None and not self._follows(reason):
                return reason
            if self._run.loop_state.pending_handoff is not None or self._run.loop_state.inbox:
                await self._change()
            resumed = False
            if self._run.cancel.cancelled:
                return self._stopped()
            if turns >= self._charge.most:
                self._over = f"turns: {turns} of {turns}"
                return "limit"
            turns += 1
            reply = await self._asking.ask(turns, interrupt)
            if reply is None:
                return self._stopped()
            self._messages.append(reply)
            calls = reply.tool_calls
            if not calls and self._is_answered(reply):
                reason = ENDS.get(reply.finish_reason, "answered")
                if not self._follows(reason):
                    return reason

    def _had_ended(self) -> EndReason | None:
        """How a run within had ended already when the program was killed, if it had."""
        results: list[ToolMessage] = []
        recorder = self._run.recorder
        if recorder is None or not recorder.regained or unanswered(self._messages):
            return None
        for message in reversed(self._messages):
            if isinstance(message, ToolMessage):
                results.append(message)
                continue
            if not isinstance(message, AssistantMessage):
                return None
            if not message.tool_calls and self._is_answered(message):
                return ENDS.get(message.finish_reason, "answered")
            ends = results and self._tools.has_ends_run and _all_end_run(self._tools, results)
            return "returned" if ends else None
        return None

    async def _change(self) -> None:
        """Let the agent go on that the run was handed to; what people have said joins it."""
        run = self._run
        if run.loop_state.pending_handoff is not None:
            handoff, run.loop_state.pending_handoff = run.loop_state.pending_handoff, None
            unjudged = self._asking.unjudged
            self._adopt(await self._charge.hand_over(handoff))
            self._asking.unjudged = unjudged
        said, run.loop_state.skip_unstarted = list(run.loop_state.inbox), False
        del run.loop_state.inbox[: len(said)]  # any thread may add more meanwhile
        self._messages.extend(said)
        relearn(run, said, self._tools)
        self._asking.unjudged.extend(said)

    def _follows(self, reason: EndReason) -> bool:
        """Whether a run that would end like this goes on: somebody has said more meanwhile."""
        run = self._run
        if reason not in ("answered", "returned") or not (
            run.loop_state.inbox or run.loop_state.follow_ups
        ):
            return False
        if not run.loop_state.inbox:
            run.loop_state.inbox.append(run.loop_state.follow_ups.pop(0))
        if self.attempts is not None:
            self.attempts = self.attempts.anew()
        return True

    @property
    def limit(self) -> str:
        """The bound at which the run ended; empty if at none."""
        return self._over or self._asking.over

    def _stopped(self) -> EndReason:
        return "limit" if self.limit else "cancelled"

    def _is_answered(self, reply: AssistantMessage) -> bool:
        """Whether a reply that calls nothing ends the run; if not, the model is told why."""
        correction = self.attempts.see_reply(reply) if self.attempts is not None else None
        if correction is None:
            return True
        self._messages.append(correction)
        return False

    async def _call(self, calls: Sequence[ToolCall], resumed: bool) -> EndReason | None:
        """Run the calls of a turn; why the run ends with them, if it does."""
        tools, recorder = self._tools, self._run.recorder
        if recorder is not None:
            await self._intend(recorder, calls, resumed)
        results = await self._run_batch(calls, tools, resumed)
        if recorder is not None:
            tickets = [ticket for wait in self.waits.values() for ticket in wait.tickets]
            recorder.calls_ended(tickets, self._run.state)
        if self.waits:
            return "waiting"
        if self._asking.forced:
            self._asking.called()
        if self.attempts is not None:
            self.attempts.see_results(calls, results)
            if self.attempts.given:
                return "answered"
        return "returned" if tools.has_ends_run and _all_end_run(tools, results) else None

    async def _intend(
        self, recorder: RunRecorder, calls: Sequence[ToolCall], resumed: bool
    ) -> None:
        """Write down what is about to run; where that fails or is cancelled, nothing has begun."""
        try:
            await recorder.intends(calls, partial(_goes_on, self._tools))
        except BaseException:
            self._messages.extend(skipped(call, self._run) for call in calls)
            if resumed:
                order_results(self._messages)
            raise

    async def _run_batch(
        self, calls: Sequence[ToolCall], tools: Toolset, resumed: bool
    ) -> list[ToolMessage]:
        batch = self._running = tools.batch(calls, self._run)
        try:
            await batch.run()
        finally:
            self._running = None
            results = batch.results
            if self._run.taint is not None and self._run.recorder is None:
                results = carry(self._run, results)
            self._messages.extend(results)
            if resumed:
                order_results(self._messages)
        self.waits = batch.waits
        self.corrections.note(results)
        return results

    def in_flight(self) -> list[ToolMessage]:
        """What can be said, while calls run, of those that have no result in the transcript yet.

        Of a call that has begun and may not run twice it is not known what becomes of it; one that
        has not begun, or may run again, has nothing here and runs when the run goes on.
        """
        known = () if self._running is None else self._running.so_far()
        return [
            unknown_outcome(call) if message is None else message
            for call, message in known
            if message is not None or not _repeatable(self._tools, call)
        ]


def _repeatable(tools: Toolset, call: ToolCall) -> bool:
    """Whether a call may run again, if nobody knows what became of it."""
    try:
        tool = tools.find(call.name).tool
        return tool.effects.repeatable or tool.executor is external
    except Exception:  # nobody knows such a tool, so nothing has run
        return True


def _goes_on(tools: Toolset, call: ToolCall) -> bool:
    """The same, if the run is written to a journal."""
    return _repeatable(tools, call) or GOES_ON in tools.find(call.name).tool.metadata


def _all_end_run(tools: Toolset, results: list[ToolMessage]) -> bool:
    """Whether every tool just run succeeded and answers the person itself."""
    for result in results:
        if result.failed or not tools.find(result.name).tool.ends_run:
            return False
    return True
