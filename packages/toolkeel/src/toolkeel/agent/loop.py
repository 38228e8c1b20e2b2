"""The run loop: run the calls without a result, else ask the model; stop when it calls nothing.

A run continues from its transcript and `LoopState`, so resuming is running the same loop again. The
loop never waits for readers of events. A run has four owners, with one arrow between each::

    RunLoop ──> ModelCaller   what a request sends: window, offered tools, settings, budget
       │  └───> Plan          what the agent says, through `ActiveAgent`
       └──────> RunContext    what its calls share; `LoopState` is the loop's part of it
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent import resume as resuming
from toolkeel.agent.guardrail import check_output
from toolkeel.agent.output import OutputAttempts
from toolkeel.agent.plan import Plan
from toolkeel.agent.prompt import Prompt, prompt_to_messages, session_prompt_to_messages
from toolkeel.agent.result import END_REASONS, RunResult, find_end, output_of, repeat_output
from toolkeel.agent.run_state import RunState
from toolkeel.agent.session_interface import Conversation, Place, SessionStart, dump_inner_runs
from toolkeel.agent.turn.active_agent import ActiveAgent
from toolkeel.agent.turn.model_caller import ModelCaller, unanswered_messages
from toolkeel.agent.turn.run_calls import TurnCalls
from toolkeel.agent.turn.time_limit import start_time_limit
from toolkeel.call.body.model_interrupt import Interrupt
from toolkeel.call.enclosing_run import enclose, stop_enclosing_call
from toolkeel.call.steps.label_sources import restore_labels
from toolkeel.call.toolset import Toolset
from toolkeel.call.watchdog import WATCHDOG
from toolkeel.context import RunContext, ToolContext
from toolkeel.errors import SetupError, describe_error
from toolkeel.events import EndReason, RunFinished, RunStarted
from toolkeel.messages import AssistantMessage, Message, ToolCall, unanswered

T = TypeVar("T", default=str)


class RunLoop(Generic[T]):
    """One run of an agent, from its prompt to its end. `Run` is its public handle.

    Args:
        plan: Model, tools and options of the agent.
        context: State that the run's calls share.
        prompt: The prompt, or a saved run to resume.
        decisions: Decisions on the tickets of the saved run.
        session: The session that the run continues; None for a run without one.

    Attributes:
        enclosing_call: The call whose body started the run; None if no body did.
        reason: Why the run ended; None before that.

    Raises:
        SetupError: the prompt is invalid, or a decision matches no waiting call.
    """

    enclosing_call: ToolContext | None = None
    _place: Place | None = None

    def __init__(
        self,
        plan: Plan,
        context: RunContext,
        prompt: Prompt | resuming.Resumed,
        decisions: Sequence[Decision] = (),
        session: Conversation | None = None,
    ) -> None:
        self.context = context
        self.reason: EndReason | None = None
        self._active = ActiveAgent(plan, context)
        self._caller = ModelCaller(self._active, context)
        self._calls = TurnCalls(context)
        self._attempts: OutputAttempts | None = None
        self._turn_limit, self._has_begun, self._is_set_up = "", False, False
        self._result: RunResult[T] | None = None
        self._session, self._new_decisions = session, decisions
        self._is_continued = isinstance(prompt, resuming.Resumed)
        self._undecided: tuple[Ticket, ...] = ()
        start = self._start = resuming.load_start(prompt, context)
        self._decisions = resuming.collect_decisions(prompt, decisions) if session is None else {}
        to_messages = session_prompt_to_messages if session else prompt_to_messages
        context.loop_state.transcript = to_messages(start)
        if isinstance(start, RunState):
            resuming.restore_context(context, start)
            self._caller.window.restore(start.cuts)
            self._active.restore(start, resumed=True)

    @property
    def agent(self) -> object:
        """The agent that owns the run now."""
        return self.context.agent

    @property
    def pending(self) -> tuple[Ticket, ...]:
        """Tickets of the calls that wait for a person."""
        waits = self._calls.waits.values()
        return (*self._undecided, *(ticket for wait in waits for ticket in wait.tickets))

    @property
    def state(self) -> RunState:
        """The run's state to resume, at any time; a call that still runs is noted as of unknown outcome."""
        run = self.context
        if not self._is_set_up:
            return resuming.detach_start(self._start) or self._saved((), {}, None)
        instructions = run.transcript[0].text if run.loop_state.instruction_count else ""
        inner = resuming.collect_inner_runs(run, self._calls.waits)
        return self._saved(self._calls.results_so_far(), inner, instructions)

    def _saved(self, known: Sequence[Message], inner: Any, instructions: str | None) -> RunState:
        """Build the `RunState` to save: the run's messages and `known`, what waits, counters and cuts."""
        run, plan = self.context, self._active.plan
        values, left, cost, counts = resuming.collect_saved_values(run)
        return RunState(
            (*run.messages, *known),
            self.pending,
            inner,
            values,
            left,
            instructions,
            plan.agent,
            plan.model.name,
            run.usage,
            cost,
            tuple(before.agent for before in self._active.before),
            tuple(self._caller.window.cuts),
            tuple(run.loop_state.inbox),
            tuple(run.loop_state.follow_ups),
            counts,
            resuming.list_permits(run),
            resuming.collect_labels(run),
            resuming.collect_callers(self._start, self._calls.lenders),
        )

    async def run(self) -> RunResult[T]:
        """Run to the end in the caller's task, and return the result. May be called once.

        A run that was stopped by a limit also stops the call whose body started it. Exceptions have it as `run`.

        Raises:
            ModelError: the model failed, or its reply broke off before any content.
            OutputError: the model gave no answer of the required type.
            BaseException: a mistake of the program, cancellation from outside, or what tools may not swallow.
        """
        if self._has_begun:
            raise SetupError("this run has begun already: await it, or read its events")
        self._has_begun = True
        try:
            with enclose(self.context):
                running = self._run() if self._session is None else self._run_in(self._session)
                result = await running
            if self.enclosing_call is not None and result.reason == "limit":
                await stop_enclosing_call(self.enclosing_call)
            return result
        except BaseException as error:
            with suppress(AttributeError):  # an exception without room for more
                error.run = self  # type: ignore[attr-defined]
            raise

    async def _run_in(self, session: Conversation) -> RunResult[T]:
        """Run within a locked session; if its last run has ended or waits undecided, repeat its result instead."""
        run = self.context
        async with session.open_run(run, run.transcript, self._new_decisions, self._place) as going:
            self._join(going)
            ended = going.ended or ("waiting" if going.pending else None)
            if ended is not None:  # there is nothing to do
                output = repeat_output(run.transcript, ended, self._active.plan.output)
                self._result = result = self._make_result(output, ended)
                self._emit_start()
                self._emit_end(ended, "")
                return result
            self._decisions = resuming.collect_decisions(
                going.state, going.decisions, in_session=True
            )
            return await self._run()

    def _join(self, going: SessionStart) -> None:
        """Replace the run's transcript, context, history policy and active agent by the session's."""
        run, caller, state = self.context, self._caller, going.state
        self._start, self._undecided = state, going.pending
        run.loop_state.transcript = [*state.messages, *going.new_messages]
        resuming.restore_context(run, state)
        caller.session_history, caller.full_transcript = going.history, going.full_transcript
        caller.window.restore(state.cuts)
        self._active.restore(state, resumed=state.instructions is not None)

    async def _run(self) -> RunResult[T]:
        """Set up, run all turns, check the answer, and record and emit the end, however it comes."""
        run, problem = self.context, ""
        reason: EndReason = "failed"
        WATCHDOG.watch()  # listeners and predicates are at work before the first call
        self._emit_start()
        expiry = start_time_limit(run)
        try:
            await self._set_up()
            reason = await self._run_turns()
            output = output_of(run.transcript, reason, self._attempts, self._active.plan.on_refusal)
            result = self._make_result(output, reason)
            guardrails = self._active.plan.output_guardrails
            if guardrails and result.has_output:
                await check_output(guardrails, result.output_value, run, self._caller.window)
                result = replace(result, usage=run.usage)  # what guardrails asked counts, too
            self._result = result
        except BaseException as error:
            reason = "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"
            problem = "" if reason == "cancelled" else run.mask_value(describe_error(error))
            raise
        finally:
            if expiry is not None:
                expiry()
            if run.loop_state.cleanups:
                await run.close()
            self._record_end(reason, problem)
            self._emit_end(reason, problem)
        return result

    async def _set_up(self) -> None:
        """Evaluate instructions, gather tools, apply decisions; on `SetupError` no decision is used up."""
        run, active, start = self.context, self._active, self._start
        self._caller.window.initial_count = len(run.transcript)
        text = await active.instruct(start.instructions if isinstance(start, RunState) else None)
        if run.recorder is not None:
            began = run.recorder.make_start(active.plan.agent, active.plan.model.name, text)
            run.recorder.start(began, run.transcript, run.loop_state.instruction_count)
            run.recorder.exclude_unsavable(run.state)
        tools = await active.gather_tools()
        lenders = await active.find_lenders(start, tools)
        if isinstance(start, RunState):
            done, folder = self._is_continued, active.plan.used_tickets
            known = tools, lenders
            resuming.resume(run, start, self._decisions, known, folder, is_accepted=done)
        self._use_tools(tools)
        self._calls.lenders = lenders
        restore_labels(run, run.transcript, self._calls.tools)
        resuming.restore_permits(run, start)
        self._caller.unchecked_messages = unanswered_messages(run.transcript)
        run.loop_state.pending_handoff = active.find_pending_handoff(start)
        self._is_set_up = True

    def _use_tools(self, tools: Toolset) -> None:
        """Use these tools in requests and calls from now on, and start the output attempts anew."""
        output = self._active.plan.output
        self._calls.tools = self._caller.use_tools(tools)
        self._attempts = None if output is None else OutputAttempts(output)

    def _record_end(self, reason: EndReason, problem: str) -> None:
        """Journal why the run ended, with its inner runs if calls wait or go on later; do nothing without a recorder."""
        run = self.context
        if run.recorder is None:
            return
        waits = self._calls.waits if self._is_set_up else None
        left = resuming.waiting_state(run, self._start, waits)
        how = "waiting" if left.pending or self.pending else reason
        saved = dump_inner_runs(left) if how == "waiting" or self._calls.waits else None
        run.recorder.record_end(how, problem, run.state, saved)

    def _emit_start(self) -> None:
        """Emit `RunStarted` if there are listeners."""
        run, plan = self.context, self._active.plan
        if run.listeners:
            run.emit(RunStarted(*run.next_event_fields(), plan.model.name, plan.agent))

    def _emit_end(self, reason: EndReason, problem: str) -> None:
        """Store the end's reason, and emit `RunFinished` if there are listeners."""
        self.reason, run, result = reason, self.context, self._result
        if run.listeners:
            output = result.output_value if result is not None and result.has_output else None
            limit = result.limit if result is not None else ""
            run.emit(
                RunFinished(*run.next_event_fields(), reason, problem or limit, run.usage, output)
            )

    def _make_result(self, output: object, reason: EndReason) -> RunResult[T]:
        """Build the run's result from its output, the reason it ended, and its messages and usage so far."""
        run = self.context
        last = next((m for m in reversed(run.transcript) if isinstance(m, AssistantMessage)), None)
        return RunResult(
            output,
            run.messages,
            reason,
            run.usage,
            self._calls.corrections.by_tool(),
            run.id,
            self.pending,
            None if last is None else last.finish_reason,
            self._limit if reason == "limit" else "",
            self,
        )

    async def _run_turns(self) -> EndReason:
        """Alternate calls and requests until the run ends, and return why. The transcript grows. Raises as `run`."""
        run, state = self.context, self.context.loop_state
        if (ended := self._had_ended()) is not None and not self._has_more_input(ended):
            return ended
        calls = unanswered(run.transcript)
        resumed, turns, interrupt = bool(calls), 0, Interrupt(run)
        try:
            while True:
                reason = await self._run_calls(calls, resumed) if calls else None
                if reason is not None and not self._has_more_input(reason):
                    return reason
                if state.pending_handoff is not None or state.inbox:
                    await self._apply_changes()
                resumed = False
                if run.cancel.cancelled:
                    return self._stopped()
                if turns >= self._active.max_turns:
                    self._turn_limit = f"turns: {turns} of {turns}"
                    return "limit"
                turns += 1
                await self._refresh_tools(is_first=turns == 1 and not calls)
                reply = await self._caller.ask(turns, interrupt)
                if reply is None:
                    return self._stopped()
                run.transcript.append(reply)
                calls = reply.tool_calls
                if not calls and self._is_answer(reply):
                    reason = END_REASONS.get(reply.finish_reason, "answered")
                    if not self._has_more_input(reason):
                        return reason
        finally:
            interrupt.close()

    async def _run_calls(self, calls: Sequence[ToolCall], resumed: bool) -> EndReason | None:
        """Run the calls of a turn. Return why they end the run, or None; raise `OutputError` after too many tries."""
        results = await self._calls.run(calls, resumed=resumed)
        if self._calls.waits:
            return "waiting" if self.pending else self._stopped()
        if self._caller.forced:
            self._caller.stop_forcing()
        if self._attempts is not None:
            self._attempts.take_results(self.context.transcript)
            if self._attempts.has_value:
                return "answered"
        return "returned" if self._calls.are_final(results) else None

    async def _apply_changes(self) -> None:
        """Make a pending handoff, and move the inbox to the transcript, to be checked by guardrails."""
        run, state, caller = self.context, self.context.loop_state, self._caller
        if state.pending_handoff is not None:
            handoff, state.pending_handoff = state.pending_handoff, None
            self._use_tools(await self._active.hand_over(handoff, caller.window))
        messages, state.skip_unstarted = list(state.inbox), False
        del state.inbox[: len(messages)]  # any thread may add more meanwhile
        run.transcript.extend(messages)
        restore_labels(run, messages, self._calls.tools)
        caller.unchecked_messages.extend(messages)

    async def _refresh_tools(self, *, is_first: bool) -> None:
        """Apply changes of the agent, and read changed tool sources again; raise `SetupError` for unusable tools."""
        if (tools := await self._active.refresh()) is not None:
            self._use_tools(tools)
        elif not is_first and (tools := await self._active.update_tools()) is not None:
            self._calls.tools = self._caller.use_tools(tools)

    def _has_more_input(self, reason: EndReason) -> bool:
        """Return True, and restart output attempts, if a message or the next follow-up continues an answered run."""
        state = self.context.loop_state
        if reason not in ("answered", "returned") or not (state.inbox or state.follow_ups):
            return False
        if not state.inbox:
            state.inbox.append(state.follow_ups.pop(0))
        if self._attempts is not None:
            self._attempts = self._attempts.restart()
        return True

    def _is_answer(self, reply: AssistantMessage) -> bool:
        """Return True if a reply without calls ends the run. Otherwise append a correction for the model."""
        check = self._caller.require_call if self._attempts is None else self._attempts.check_reply
        if (correction := check(reply)) is not None:
            self.context.transcript.append(correction)
        return correction is None

    def _had_ended(self) -> EndReason | None:
        """Return how the saved run that this run resumes had ended; None if it goes on."""
        count = len(self.context.messages)
        is_refused = any(cut.stop >= count for cut in self._caller.window.cuts)
        if is_refused or not isinstance(self._start, RunState):
            return None
        is_final = self._is_answer, self._calls.are_final
        recorder = self.context.recorder
        killed = recorder is not None and recorder.is_resumed
        return find_end(self.context.transcript, self._attempts, is_final, was_killed=killed)

    @property
    def _limit(self) -> str:
        """The limit that was reached; empty for none."""
        return self._turn_limit or self._caller.limit

    def _stopped(self) -> EndReason:
        """Return "limit" if a limit was reached, else "cancelled"."""
        return "limit" if self._limit else "cancelled"
