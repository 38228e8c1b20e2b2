"""Any turns, of any calls, cancelled or decided at any moment: what must hold holds after each.

A conversation grows turn by turn. Its calls, up to 200 in a turn, go to tools that work, crash, hang,
take their time, break their promises, are guarded, locked, disabled or need approval; with arguments
that are right, nearly right, wrong or cut off. Some turns are cancelled from inside or outside, some
wait for a person and go on from a saved state. Checked after each: the invariants 1, 2, 7, 8 and 10.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from pydantic import BaseModel

from tests.contract import check_result, check_run, check_transcript
from toolkeel import (
    Agent,
    AssistantMessage,
    CancelToken,
    Effects,
    RunState,
    ToolCall,
    ToolContext,
    ToolError,
    ToolMessage,
    Toolset,
    UserMessage,
    tool,
)
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent.run import Run
from toolkeel.call.body import task_cancels
from toolkeel.call.steps.cache import Cache
from toolkeel.call.steps.call_limits import CallLimit, ConcurrencyLimit
from toolkeel.call.steps.guard import Allow, Reject, Stop, input_guard, output_guard
from toolkeel.call.steps.retry import Retry
from toolkeel.call.steps.turn_order import loop_locks
from toolkeel.errors import ToolkeelError
from toolkeel.events import Event, ToolFinished, ToolStarted, ToolSuspended
from toolkeel.messages import Message
from toolkeel.testing.scripted import Scripted

SOON = 0.015
"""Seconds a body may take; what hangs takes longer."""

NAMES = (
    "fine", "fine_sync", "crash", "crash_sync", "say_no", "hang", "hang_sync", "resist", "slow",
    "wrong", "broken_promise", "guarded", "redacted", "locked", "reading", "alone", "cached",
    "retried", "limited", "narrow", "disabled", "asks", "asks_sometimes", "nobody", "",
)  # fmt: skip
RIGHT = (
    '{"n": 1}',
    '{"n": 2}',
    '{"n": 3, "text": "北京"}',
    {"n": 4},
    '{"n": "5"}',
    '```json\n{"n": 6}\n```',
)
WRONG = (
    "", "{}", '{"n": null}', '{"n": "many"}', '{"n": 1, "m": 2}', '{"n": 1', "[1]", "null", "5",
    '{"n": 1, "n": 2}', '{"n": NaN}', '{"n": 1.5}', '{"n": true}', "\ud83d", {"n": []}, {"m": 1},
)  # fmt: skip
CALL = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(RIGHT) | st.sampled_from(RIGHT) | st.sampled_from(WRONG),
    st.integers(0, 19).map(lambda n: n > 0),
)
LARGEST = 200
"""Calls of a turn."""
END = st.sampled_from([None, None, None, "token", "outside", "both", "before"])
DELAY = st.sampled_from([0, 0, 0.001, 0.003, 0.01, 0.03])
ANSWER = st.sampled_from([True, True, False, "deny", "edit", "bad edit", "raise", "think", "odd"])
FATAL = (ToolkeelError, asyncio.CancelledError)


class Promise(BaseModel):
    n: int


class Halt(Exception):
    """What a guard ends a run with."""


class World:
    """Tools of every kind, and what their bodies saw."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.token = CancelToken()
        self.cancelled_at = float("inf")
        self.files: Counter[int] = Counter()
        self.writing: set[int] = set()

    def enter(self, context: Any, n: object) -> None:
        """A body begins."""
        self.ran[context.call.id] += 1
        if type(n) is not int:
            self.wrong.append(f"{context.call} ran with {n!r}")
        if not context.call.complete:
            self.wrong.append(f"{context.call} ran though it was cut off")
        if time.perf_counter() > self.cancelled_at + 0.005:
            self.wrong.append(f"{context.call} began after the cancel")

    def cancel(self) -> None:
        self.cancelled_at = min(self.cancelled_at, time.perf_counter())
        self.token.cancel("over")

    def tools(self) -> Toolset:
        made = [
            tool(name, **options)(self._sync if name.endswith("_sync") else self._async)
            for name, options in self._options().items()
        ]

        @tool
        async def broken_promise(n: int, context: ToolContext[Any], text: str = "") -> Promise:
            """Break a promise."""
            self.enter(context, n)
            return {"m": n}  # type: ignore[return-value]

        return Toolset([*made, broken_promise])

    def _options(self) -> dict[str, dict[str, Any]]:
        writes = Effects(resources=("file:{n}",))
        reads = Effects(read_only=True, resources=("file:{n}",))
        plain: dict[str, Any] = {
            name: {}
            for name in ("fine", "fine_sync", "crash", "crash_sync", "say_no", "slow", "wrong")
        }
        return plain | {
            "hang": {"timeout": SOON},
            "hang_sync": {"timeout": SOON / 3},
            "resist": {"timeout": SOON},
            "guarded": {"steps": [input_guard(self._guard)]},
            "redacted": {"steps": [output_guard(lambda p, o, c: Allow("redacted"))]},
            "locked": {"effects": writes},
            "reading": {"effects": reads},
            "alone": {"sequential": True},
            "cached": {"effects": reads, "steps": [Cache()]},
            "retried": {"effects": Effects(idempotent=True), "steps": [Retry(2, wait=0.0001)]},
            "limited": {"steps": [CallLimit(5)]},
            "narrow": {"steps": [ConcurrencyLimit(2)]},
            "disabled": {"enabled": lambda context: False},
            "asks": {"approval": True},
            "asks_sometimes": {"approval": lambda arguments: arguments["n"] % 2 == 0},
        }

    def _guard(self, prepared: Any, context: Any) -> Any:
        n = prepared.arguments["n"]
        if n == 1:
            return Allow()
        if n == 2:
            return Reject("not two")
        if n == 3:
            return Allow({"n": 30})
        if n == 4:
            raise KeyError("a guard that fails")
        return Stop(Halt("enough")) if n == 5 else "nothing clear"

    @property
    def _async(self) -> Any:
        async def body(n: int, context: ToolContext[Any], text: str = "") -> object:
            """Do something."""
            self.enter(context, n)
            context.progress(f"{n} {text}")
            return await self._do(context.tool_name, n, context)

        return body

    @property
    def _sync(self) -> Any:
        def body(n: int, context: ToolContext[Any], text: str = "") -> object:
            """Do something in a thread."""
            self.enter(context, n)
            context.progress(f"{n} {text}")
            if context.tool_name == "hang_sync":
                time.sleep(SOON)
            if context.tool_name == "crash_sync":
                raise RuntimeError("crashed in a thread")
            return n

        return body

    async def _do(self, name: str, n: int, context: Any) -> object:
        if name in ("crash", "retried") and (name == "crash" or self.ran[context.call.id] < 2):
            raise ZeroDivisionError(n)
        if name == "say_no":
            raise ToolError(f"不行 {n}")
        if name == "hang":
            await asyncio.sleep(60)
        if name == "resist":
            await self._resist()
        if name == "wrong":
            return object()
        if name == "locked":
            await self._write(n)
        if name in ("slow", "narrow", "reading", "cached"):
            await asyncio.sleep(0.001 * n)
        return {"n": n}

    async def _resist(self) -> None:
        end = time.perf_counter() + 3 * SOON
        while time.perf_counter() < end:
            try:
                await asyncio.sleep(SOON)
            except asyncio.CancelledError:
                continue

    async def _write(self, n: int) -> None:
        if n in self.writing:
            self.wrong.append(f"two calls write {n} at once")
        self.writing.add(n)
        try:
            before = self.files[n]
            await asyncio.sleep(0.0005)
            self.files[n] = before + 1
        finally:
            self.writing.discard(n)


class Conversation(RuleBasedStateMachine):
    """One transcript, and everything that can happen to it."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = [UserMessage("你好")]
        self.pending: tuple[Ticket, ...] = ()
        self.events: list[Event] = []
        self.calls: dict[str, ToolCall] = {}
        self.world = World()
        self.ended_at = 0.0
        self.took = 0.0

    # — what can happen —

    @rule(calls=st.lists(CALL, min_size=1, max_size=20), answer=ANSWER, end=END, after=DELAY)
    def a_turn_with_an_approver(
        self, calls: list[Any], answer: Any, end: str | None, after: float
    ) -> None:
        self._turn(calls, end, after, approver=_approver(answer))

    @rule(
        seed=st.integers(0, 2**32),
        size=st.integers(100, LARGEST),
        answer=ANSWER,
        end=END,
        after=DELAY,
    )
    def a_large_turn(
        self, seed: int, size: int, answer: Any, end: str | None, after: float
    ) -> None:
        self._turn(_many(seed, size), end, after, approver=_approver(answer))

    @rule(calls=st.lists(CALL, min_size=1, max_size=40), end=END, after=DELAY)
    def a_turn_that_may_wait_for_a_person(
        self, calls: list[Any], end: str | None, after: float
    ) -> None:
        if not self.pending:
            self._turn(calls, end, after)

    @rule(
        verdicts=st.lists(st.sampled_from(["approve", "deny", "edit", "later"]), max_size=40),
        end=END,
        after=DELAY,
    )
    def a_person_decides_and_the_saved_run_goes_on(
        self, verdicts: list[str], end: str | None, after: float
    ) -> None:
        if not self.pending:
            return  # no precondition: whether somebody waits is a matter of time
        saved = RunState.from_json(RunState(tuple(self.messages), self.pending).to_json())
        decisions = [
            made
            for ticket, verdict in zip(saved.pending, verdicts, strict=False)
            if (made := _decide(ticket, verdict)) is not None
        ]
        self._run(saved, [], end, after, decisions=decisions)

    def _turn(self, calls: list[Any], end: str | None, after: float, **options: Any) -> None:
        number = len(self.messages)
        made = [
            ToolCall(f"{number}.{index}", name, arguments, complete)
            for index, (name, arguments, complete) in enumerate(calls)
        ]
        self.calls.update((call.id, call) for call in made)
        prompt = [*self.messages, UserMessage("and now?")]
        self._run(prompt, [AssistantMessage("", tuple(made), "tool_calls")], end, after, **options)

    def _run(
        self, prompt: Any, script: list[Any], end: str | None, after: float, **options: Any
    ) -> None:
        world = self.world = World()
        self.events = []
        runs: list[Run] = []
        agent = Agent(Scripted([*script, "好的。"]), world.tools())

        async def main() -> Any:
            runs.append(
                agent.stream(prompt, listeners=[self.events.append], cancel=world.token, **options)
            )
            task = asyncio.create_task(runs[0].run())
            loop = asyncio.get_running_loop()
            if end == "before":
                world.cancel()
            if end in ("token", "both"):
                loop.call_later(after, world.cancel)
            if end in ("outside", "both"):
                loop.call_later(after, task.cancel)
            done, _ = await asyncio.wait([task], timeout=60)
            assert done, "a run hangs"
            assert len(loop_locks()) == 0, "a resource is still held"
            return task

        started = time.perf_counter()
        task = asyncio.run(main())
        self.took = time.perf_counter() - started
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            assert end in ("outside", "both")
        elif error is not None:
            assert isinstance(error, Halt), error
        # However it ended: it may have begun to wait for a person just before.
        self.pending = runs[0].state.pending if error or task.cancelled() else task.result().pending
        self.messages = runs[0].messages

    # — what must hold —

    @invariant()
    def every_call_has_its_one_result_in_order_and_the_transcript_is_valid(self) -> None:
        waiting = {ticket.call_id for ticket in self.pending}
        settled = _without(self.messages, waiting)
        check_transcript(settled)
        for message in self.messages:
            if isinstance(message, ToolMessage):
                assert message.tool_call_id in self.calls
                check_result(message)

    @invariant()
    def a_body_runs_only_on_whole_and_valid_arguments_and_never_after_a_cancel(self) -> None:
        assert not self.world.wrong
        for call_id, times in self.world.ran.items():
            call = self.calls[call_id]
            assert call.complete
            assert call.arguments not in WRONG or _was_edited(self.events, call_id), call
            assert times == 1 or call.name == "retried", call

    @invariant()
    def each_call_has_one_start_and_one_end_and_nothing_after_it(self) -> None:
        if not self.events:
            return
        check_run(self.events)
        assert [event.seq for event in self.events] == list(range(1, len(self.events) + 1))
        started: set[str] = set()
        ended: set[str] = set()
        for event in self.events:
            call_id = getattr(event, "call_id", None)
            if call_id is None:
                continue
            if isinstance(event, ToolStarted):
                assert call_id not in started
                started.add(call_id)
            assert call_id in started and call_id not in ended, event
            if isinstance(event, ToolFinished | ToolSuspended):
                ended.add(call_id)
        assert started == ended

    @invariant()
    def what_was_stopped_is_stopped_or_its_result_says_that_it_may_go_on(self) -> None:
        assert self.took < 30
        for event in self.events:
            if isinstance(event, ToolFinished) and event.message.kind in ("timeout", "cancelled"):
                assert isinstance(event.message.details.get("may_still_be_running"), bool) or (
                    "cancelled itself" in event.message.text
                )


def _many(seed: int, size: int) -> list[Any]:
    """Calls as `CALL` draws them; drawn one by one, a turn of 200 would use up an example."""
    chance = random.Random(seed)
    return [
        (
            chance.choice(NAMES),
            chance.choice(WRONG if chance.random() < 0.3 else RIGHT),
            chance.random() < 0.95,
        )
        for _ in range(size)
    ]


def _without(messages: list[Message], waiting: set[str]) -> list[Message]:
    """The transcript as if the calls that wait for a person had not been made."""
    kept: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and waiting:
            calls = tuple(call for call in message.tool_calls if call.id not in waiting)
            message = AssistantMessage(message.content or "…", calls, message.finish_reason)
        kept.append(message)
    return kept


def _approver(answer: Any) -> Any:
    async def approve(ticket: Ticket) -> Any:
        if answer == "think":
            await asyncio.sleep(SOON)
            return True
        if answer == "raise":
            raise RuntimeError("who are you?")
        if answer == "odd":
            return "yes"
        return _decide(ticket, answer) if isinstance(answer, str) else answer

    return approve


def _decide(ticket: Ticket, verdict: str) -> Decision | None:
    match verdict:
        case "approve":
            return ticket.approve()
        case "deny":
            return ticket.deny("不")
        case "edit":
            return ticket.edit({"n": 7})
        case "bad edit":
            return ticket.edit({"n": "many"})
    return None


def _was_edited(events: list[Event], call_id: str) -> bool:
    return any(getattr(e, "verdict", "") == "edit" and e.call_id == call_id for e in events)  # type: ignore[union-attr]


@pytest.fixture(autouse=True)
def hurry() -> Iterator[None]:
    """Bodies that resist get little time."""
    usual, task_cancels.GRACE = task_cancels.GRACE, 0.02
    yield
    task_cancels.GRACE = usual


def play(examples: int, steps: int) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Conversation,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            phases=[Phase.reuse, Phase.generate],  # shrinking what takes time takes for ever
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_whatever_happens_in_a_conversation_what_must_hold_holds_after_each_step() -> None:
    play(12, 6)


@pytest.mark.slow
def test_whatever_happens_in_many_long_conversations_what_must_hold_holds() -> None:
    play(100, 25)
