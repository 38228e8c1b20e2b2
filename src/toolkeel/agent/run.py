"""`Run`: one run of an agent as a handle, there before it begins and after every end.

Awaiting it gives the result, iterating over it its events; whatever its end, its `state` is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel._common.unread_events import UnreadEvents
from toolkeel._records.entries import RunBegan
from toolkeel._records.record import InNotebooks
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent import resume as resuming
from toolkeel.agent.guardrail import judge_output
from toolkeel.agent.loop import Progression
from toolkeel.agent.plan import Plan
from toolkeel.agent.prompt import Prompt, said_in, transcript_of
from toolkeel.agent.result import NO_OUTPUT, RunResult, plain_output
from toolkeel.agent.run_state import RunState
from toolkeel.agent.session_interface import Conversation, inner_saved
from toolkeel.agent.turn.switch_agent import InCharge
from toolkeel.agent.turn.time_limit import bound_time
from toolkeel.call.arguments.partial import PartialItem
from toolkeel.call.body.coroutine_deadline import GIVE_UP
from toolkeel.call.body.sync_bridge import Pieces
from toolkeel.call.watchdog import WATCHDOG
from toolkeel.context import RunContext
from toolkeel.errors import OutputError, SetupError, describe
from toolkeel.events import EndReason, Event, RunFinished, RunStarted, Streamed
from toolkeel.messages import AssistantMessage, Message, Usage, UserMessage
from toolkeel.model_interface import TextDelta

S = TypeVar("S")
T = TypeVar("T", default=str)


class Run(InNotebooks, Generic[T]):
    """One run of an agent; `Agent.start` and `Agent.stream` make it.

    Args:
        plan: What it needs of its agent.
        context: What its calls share.
        prompt: What it begins with, or goes on from.
        decisions: Answers to the tickets of the saved run it goes on from.
        session: The conversation it belongs to.

    Attributes:
        reason: How it ended; None while it has not.

    Raises:
        SetupError: the prompt is none, or a decision is for no call that waits.
    """

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
        self._charge = InCharge(plan, context)
        self._given = decisions
        self._session = session
        self._left: tuple[Ticket, ...] = ()
        self._from = resuming.found(prompt, context)
        self._decisions = resuming.decided(prompt, decisions) if session is None else {}
        context.loop_state.transcript = (
            transcript_of(self._from) if session is None else said_in(self._from)
        )
        self._progression: Progression | None = None
        self._task: asyncio.Task[RunResult[T]] | None = None
        self._events: UnreadEvents | None = None
        self._wake: asyncio.Future[None] | None = None
        self._result: RunResult[T] | None = None
        if isinstance(self._from, RunState):
            resuming.take_back(context, self._from, own=plan.limits is not None)
            self._charge.resume(self._from, goes_on=True)

    @property
    def _plan(self) -> Plan:
        return self._charge.plan

    @property
    def agent(self) -> object:
        """The agent that has it: the one that began it, or the one it was handed over to."""
        return self.context.agent

    @property
    def messages(self) -> list[Message]:
        """The transcript so far, a copy; without the agent's instructions."""
        return self.context.messages

    @property
    def usage(self) -> Usage:
        """What was spent so far, also by the agents it called."""
        return self.context.usage

    @property
    def pending(self) -> tuple[Ticket, ...]:
        """The calls that wait for a person."""
        if self._progression is None:
            return self._left
        return tuple(t for wait in self._progression.waits.values() for t in wait.tickets)

    @property
    def result(self) -> RunResult[T]:
        """How it ended.

        Raises:
            SetupError: while it has not, or if it failed.
        """
        if self._result is None:
            raise SetupError("the run has not ended: await it, or read its events to the end first")
        return self._result

    @property
    def state(self) -> RunState:
        """Where it stands, to be saved and gone on from: at any time, also in an ``except``.

        While calls run it says of each what is known: its result, or that its outcome is not known.
        One that may be repeated runs again when the run goes on.
        """
        run, progression = self.context, self._progression
        if progression is None:  # it has not begun: what it was given is what there is
            return self._from if isinstance(self._from, RunState) else self._saved((), {}, None)
        instructions = run.transcript[0].text if run.loop_state.instruction_count else ""
        inner = resuming.as_left(run, None, progression.waits).inner
        return self._saved(progression.in_flight(), inner, instructions)

    def _saved(self, flying: Sequence[Message], inner: Any, instructions: str | None) -> RunState:
        run = self.context
        values, left, cost, counts = resuming.kept_of(run, own=self._plan.limits is not None)
        return RunState(
            (*run.messages, *flying),
            self.pending,
            inner,
            values,
            left,
            instructions,
            self._plan.agent,
            self._plan.model.name,
            run.usage,
            cost,
            tuple(plan.agent for plan in self._charge.before),
            tuple(self._charge.sent.cuts),
            tuple(run.loop_state.inbox),
            tuple(run.loop_state.follow_ups),
            counts,
        )

    async def to_end(self) -> RunResult[T]:
        """Run in the caller's task; once, by whoever made it."""
        try:
            return await (self._to_end() if self._session is None else self._within(self._session))
        except BaseException as error:
            with suppress(AttributeError):  # an exception without room for more
                error.run = self  # type: ignore[attr-defined]
            raise

    async def _within(self, session: Conversation) -> RunResult[T]:
        run = self.context
        async with session.going(run, run.transcript, self._given) as going:
            self._from, self._left = going.state, going.pending
            run.loop_state.transcript = [*going.state.messages, *going.said]
            resuming.take_back(run, going.state, own=True)
            self._charge.join(going)
            if going.pending:
                self._result = result = self._result_of(NO_OUTPUT, "waiting")
                if run.listeners:
                    run.tell(RunStarted(*run.next(), self._plan.model.name, self._plan.agent))
                self._tell_end("waiting", "")
                return result
            self._decisions = resuming.decided(going.state, going.decisions)
            return await self._to_end()

    async def _to_end(self) -> RunResult[T]:
        run, problem = self.context, ""
        reason: EndReason = "failed"
        WATCHDOG.watch()  # listeners and predicates are at work before the first call
        if run.listeners:
            run.tell(RunStarted(*run.next(), self._plan.model.name, self._plan.agent))
        expiry = bound_time(run, own=self._plan.limits is not None)
        try:
            progression = await self._set_up()
            reason = await progression.advance()
            ended = self._ended(progression, reason)
            if (guardrails := self._plan.output_guardrails) and ended.has_output:
                await judge_output(guardrails, ended.output_value, run, self._charge.sent)
            self._result = result = ended
        except BaseException as error:
            reason = "cancelled" if isinstance(error, asyncio.CancelledError) else "failed"
            problem = "" if reason == "cancelled" else describe(error)
            raise
        finally:
            if expiry is not None:
                expiry()
            if run.loop_state.cleanups:
                await run.close()
            if run.recorder is not None:
                left = resuming.as_left(run, self._from, getattr(self._progression, "waits", None))
                how = "waiting" if left.pending else reason
                saved = inner_saved(left) if how == "waiting" else None
                run.recorder.ended(how, problem, run.state, saved)
            self._tell_end(reason, problem)
        return result

    def _tell_end(self, reason: EndReason, problem: str) -> None:
        self.reason, run, result = reason, self.context, self._result
        if run.listeners:
            output = result.output_value if result is not None and result.has_output else None
            bound = result.limit if result is not None else ""
            run.tell(RunFinished(*run.next(), reason, problem or bound, run.usage, output))

    async def _set_up(self) -> Progression:
        """All that is done before the model is asked: instructions, tools, decisions.

        Raises:
            SetupError: the program is wired up wrongly; no decision is used up then.
        """
        run, charge, state = self.context, self._charge, self._from
        charge.given = len(run.transcript)
        text = await charge.instruct(state.instructions if isinstance(state, RunState) else None)
        if run.recorder is not None:
            parent, call = run.recorder.within
            names = self._plan.agent, self._plan.model.name
            began = RunBegan(run.id, *names, text, parent=parent, call=call)
            run.recorder.began(began, run.transcript, run.loop_state.instruction_count)
        tools = await charge.tools()
        if isinstance(state, RunState):
            resuming.resume(run, state, self._decisions, tools, self._plan.used_tickets)
        self._progression = Progression(charge, tools, run)
        return self._progression

    def _ended(self, progression: Progression, reason: EndReason) -> RunResult[T]:
        run, attempts = self.context, progression.attempts
        output: object = NO_OUTPUT
        if attempts is not None:
            output = attempts.value if attempts.given else NO_OUTPUT
        elif reason in ("answered", "returned", "refused", "cut_off"):
            output = plain_output(run.transcript, reason)
        if reason in ("refused", "cut_off") and self._plan.on_refusal == "raise":
            raise OutputError(f"there is no answer: the model's reply was {reason}", str(output))
        return self._result_of(output, reason)

    def _result_of(self, output: object, reason: EndReason) -> RunResult[T]:
        run, progression = self.context, self._progression
        last = next((m for m in reversed(run.transcript) if isinstance(m, AssistantMessage)), None)
        return RunResult(
            output,
            run.messages,
            reason,
            run.usage,
            progression.corrections.by_tool() if progression is not None else {},
            run.id,
            self.pending,
            None if last is None else last.finish_reason,
            progression.limit if progression is not None and reason == "limit" else "",
            self,
        )

    # — in a task of its own —

    def begin(self) -> None:
        """Begin now, in a task of the running loop; else it begins when it is first waited for."""
        if self._task is None:
            self._task = asyncio.create_task(self.to_end())
            self._task.add_done_callback(self._awake)

    def __await__(self) -> Generator[Any, None, RunResult[T]]:
        self.begin()
        assert self._task is not None
        return (yield from self._task.__await__())

    def cancel(self, reason: str = "") -> None:
        """Stop: what runs is cancelled, and the run ends with ``cancelled``. Any thread may."""
        self.context.cancel.cancel(reason)

    def say(self, text: str, *, skip: bool = False) -> bool:
        """Say something to the run while it goes on: it comes before the next model request.

        Args:
            text: What is said.
            skip: Leave out the calls that have not begun.

        Returns:
            Whether it reaches this run; False if that has ended. A saved run takes it along.
        """
        loop_state = self.context.loop_state
        skipping = skip or loop_state.skip_unstarted
        loop_state.skip_unstarted = self.reason is None and skipping
        return self._add(self.context.loop_state.inbox, text, "steer")

    def queue(self, text: str) -> bool:
        """Say something when the run would end with an answer: a follow-up; see `say`."""
        return self._add(self.context.loop_state.follow_ups, text, "follow_up")

    def _add(self, queue: list[Message], text: str, when: str) -> bool:
        message, recorder = UserMessage(text), self.context.recorder
        if self.reason is not None and self._session is not None:
            return False
        if recorder is not None:
            recorder.said(message, when)
        queue.append(message)
        return self.reason is None

    def unsay(self) -> list[Message]:
        """Take back what was said and queued and has not reached the model; what that was."""
        run = self.context
        taken = [*run.loop_state.inbox, *run.loop_state.follow_ups]
        del run.loop_state.inbox[:], run.loop_state.follow_ups[:]
        if run.recorder is not None:
            run.recorder.unsaid(taken)
        return taken

    def listen(self) -> None:
        """Keep events from now on, for who iterates later; see `UnreadEvents` for how many."""
        if self._events is None:
            self._events = UnreadEvents()
            self.context.listeners = (*self.context.listeners, self._receive)

    def _receive(self, event: Event) -> None:
        assert self._events is not None
        self._events.put(event)
        self._awake()

    def _awake(self, _: object = None) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        self.listen()
        self.begin()
        assert self._events is not None and self._task is not None
        try:
            while True:
                while (event := self._events.get()) is not None:
                    yield event
                if self._task.done():
                    break
                self._wake = asyncio.get_running_loop().create_future()
                await self._wake
            await self._task
        finally:
            await self.aclose()

    def __iter__(self) -> Generator[Event, None, None]:
        """The same events in sync code, as in a script or a WSGI view."""
        return iter(Pieces(self.__aiter__))

    def outputs(self) -> Pieces[PartialItem]:
        """The answer while it arrives: each time more of it, as far as it has come.

        Nothing of it is validated yet, and a correction begins anew. With ``async for`` or ``for``.

        Raises:
            SetupError: no `output_type` was asked for.
        """
        if self._plan.output is None:
            raise SetupError("outputs() shows answers of an output_type, and none was asked for")
        see = self._plan.output.partial().see
        return Pieces(lambda: self._each(see))

    def text(self) -> Pieces[str]:
        """What the model says, piece by piece, also between its calls; see `outputs`."""
        return Pieces(partial(self._each, _text_of))

    async def _each(self, see: Callable[[Event], S | None]) -> AsyncGenerator[S, None]:
        """What somebody sees in the events, where they see something."""
        async with aclosing(self.__aiter__()) as events:
            async for event in events:
                if (seen := see(event)) is not None:
                    yield seen

    async def aclose(self) -> None:
        """Stop the run if it still goes on, and wait until nothing of it does."""
        if self._task is None:
            return
        if not self._task.done():
            self._task.cancel(GIVE_UP)
            await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # who leaves early does not ask; who reads on was told

    async def __aenter__(self) -> Run[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _text_of(event: Event) -> str | None:
    delta = event.delta if isinstance(event, Streamed) else None
    return delta.text if isinstance(delta, TextDelta) else None
