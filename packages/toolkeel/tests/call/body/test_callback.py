"""Callbacks of the program have a bound: sync and async, also those that resist their cancellation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import run as run_async
from toolkeel import Agent, RunState, SetupError, tool
from toolkeel.agent.guardrail import Guardrail, GuardrailTripped
from toolkeel.agent.handoff import Handoff
from toolkeel.agent.history import Cut, HistoryView
from toolkeel.call.body.callback import CallbackTimeout, is_async, run_callback
from toolkeel.call.steps.guard import Allow, input_guard
from toolkeel.messages import ToolMessage
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call

SHORT = 0.05


@pytest.fixture
def release() -> Any:
    """An event that ends the threads which a test has left behind."""
    event = threading.Event()
    yield event
    event.set()


async def never(*_: object) -> Any:
    await asyncio.Event().wait()


def test_a_callback_that_returns_in_time_gives_its_value_wherever_it_runs() -> None:
    async def later(value: int) -> int:
        await asyncio.sleep(0)
        return value

    def sync(value: int) -> tuple[int, int]:
        return value, threading.get_ident()

    async def main() -> None:
        assert await run_callback(later, 1, seconds=60, name="it") == 1
        assert await run_callback(lambda value: later(value), 2, seconds=60, name="it") == 2
        value, thread = await run_callback(sync, 3, seconds=None, name="it")
        assert value == 3 and thread != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await run_callback(lambda: 1 / 0, seconds=60, name="it")

    run_async(main)
    assert is_async(never) and is_async(partial(never, 1)) and not is_async(print)


def test_a_callback_that_takes_longer_is_left_and_named(release: threading.Event) -> None:
    stubborn_ends: list[str] = []

    async def main() -> None:
        goes_on, ended = asyncio.Event(), asyncio.Event()

        async def stubborn() -> None:
            try:
                await goes_on.wait()
            except asyncio.CancelledError:
                stubborn_ends.append("cancelled")
                await goes_on.wait()
            ended.set()

        for function in (never, release.wait, lambda: never(), stubborn):
            with pytest.raises(CallbackTimeout, match="it did not return within"):
                await run_callback(function, seconds=SHORT, name="it")
        goes_on.set()
        await ended.wait()

    run_async(main)
    assert stubborn_ends == ["cancelled"]


def hanging(kind: str, release: threading.Event) -> Any:
    return never if kind == "async" else lambda *_: release.wait() and Allow()


KINDS = pytest.mark.parametrize("kind", ["async", "sync"])


@KINDS
@pytest.mark.parametrize("blocking", [False, True])
def test_an_input_guardrail_without_a_verdict_fails_the_run_which_can_be_resumed(
    kind: str, blocking: bool, release: threading.Event
) -> None:
    check = hanging(kind, release)
    slow = Agent(
        Scripted(["no"]),
        input_guardrails=[Guardrail(check, "slow", blocking)],
        callback_timeout=SHORT,
    )
    run = slow.stream("hello")
    with pytest.raises(TimeoutError, match="slow' did not return"):
        list(run)
    assert run.reason == "failed"
    state = RunState.from_json(run.state.to_json())
    judged: list[str] = []

    def allows(said: Any, run: Any) -> Allow:
        judged.append(said[-1].text)
        return Allow()

    result = Agent(Scripted(["yes"]), input_guardrails=[allows]).run_sync(state)
    assert result.output == "yes" and judged == ["hello"]


@KINDS
def test_an_output_guardrail_without_a_verdict_is_asked_again_about_the_same_answer(
    kind: str, release: threading.Event
) -> None:
    slow = Agent(
        Scripted(["the answer"]),
        output_guardrails=[hanging(kind, release)],
        callback_timeout=SHORT,
    )
    with pytest.raises(TimeoutError) as late:
        slow.run_sync("hello")
    state = late.value.run.state  # type: ignore[attr-defined]
    judged: list[object] = []

    def allows(answer: object, run: Any) -> Allow:
        judged.append(answer)
        return Allow()

    model = Scripted([])
    result = Agent(model, output_guardrails=[allows]).run_sync(state)
    assert result.output == "the answer" and judged == ["the answer"] and model.requests == []


@pytest.mark.parametrize("stage", ["input", "output"])
def test_in_a_session_the_next_run_asks_the_guardrail_again(tmp_path: Path, stage: str) -> None:
    sessions = Sessions(tmp_path / "s.db")
    slow: dict[str, Any] = {f"{stage}_guardrails": [never]}
    with pytest.raises(TimeoutError):
        Agent(Scripted(["one"]), callback_timeout=SHORT, **slow).run_sync(
            "hello", session=sessions["ada"]
        )
    sessions.close()
    sessions = Sessions(tmp_path / "s.db")
    judged: list[object] = []

    def allows(about: object, run: Any) -> Allow:
        judged.append(about)
        return Allow()

    fast: dict[str, Any] = {f"{stage}_guardrails": [allows]}
    result = Agent(Scripted(["two"]), **fast).run_sync(None, session=sessions["ada"])
    assert result.output == ("two" if stage == "input" else "one") and len(judged) == 1
    assert [m.text for m in sessions["ada"].messages] == ["hello", result.output]


def test_a_guardrail_that_fails_by_a_timeout_of_its_own_has_still_rejected() -> None:
    async def check(said: Any, run: Any) -> Allow:
        raise TimeoutError("the service is slow")

    with pytest.raises(GuardrailTripped):
        Agent(Scripted(["x"]), input_guardrails=[check]).run_sync("hello")


@KINDS
def test_a_history_policy_that_takes_too_long_leaves_the_history_untouched(
    kind: str, release: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    class Slow:
        async def cuts(self, view: HistoryView) -> Sequence[Cut]:
            return await never()  # type: ignore[no-any-return]

    class Blocked:
        def cuts(self, view: HistoryView) -> Any:
            release.wait()
            return ()

    policy: Any = Slow() if kind == "async" else Blocked()
    model = Scripted(["answer"])
    result = Agent(model, history=policy, callback_timeout=SHORT).run_sync("hello")
    assert result.output == "answer" and [m.text for m in model.requests[0].messages] == ["hello"]
    assert "the history stays as it is" in caplog.text


@KINDS
def test_a_predicate_that_takes_too_long_refuses_its_call(
    kind: str, release: threading.Event
) -> None:
    ran: list[str] = []

    @tool(approval=hanging(kind, release))
    def pay() -> str:
        """Pay."""
        ran.append("pay")
        return "paid"

    agent = Agent(Scripted([call("pay"), "end"]), [pay], callback_timeout=SHORT)
    result = agent.run_sync("go", approver=lambda ticket: True)
    [refused] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert refused.kind == "refused" and "did not run" in refused.text and ran == []


@KINDS
def test_a_guard_that_takes_too_long_refuses_its_call(kind: str, release: threading.Event) -> None:
    ran: list[str] = []

    @tool(steps=[input_guard(hanging(kind, release))])
    def pay() -> str:
        """Pay."""
        ran.append("pay")
        return "paid"

    agent = Agent(Scripted([call("pay"), "end"]), [pay], callback_timeout=SHORT)
    [refused] = [m for m in agent.run_sync("go").messages if isinstance(m, ToolMessage)]
    assert refused.kind == "refused" and ran == []


@KINDS
def test_a_tool_whose_predicate_takes_too_long_is_not_available(
    kind: str, release: threading.Event
) -> None:
    @tool(enabled=hanging(kind, release))
    def pay() -> str:
        """Pay."""
        return "paid"

    model = Scripted([call("pay"), "end"])
    result = Agent(model, [pay], callback_timeout=SHORT).run_sync("go")
    [refused] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert refused.kind == "disabled" and list(model.requests[0].tools) == []


@KINDS
def test_a_tool_source_that_takes_too_long_is_left_out_unless_it_is_required(
    kind: str, release: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    class Source:
        required = False
        get_tools = staticmethod(hanging(kind, release))

    class Own(Source):
        tools_timeout = SHORT

    agent = Agent(Scripted(["end"]), [Source()], callback_timeout=SHORT)
    assert agent.run_sync("go").output == "end" and "gave no tools" in caplog.text
    assert Agent(Scripted(["end"]), [Own()]).run_sync("go").output == "end"
    required = Source()
    required.required = True
    with pytest.raises(TimeoutError, match="get_tools did not return"):
        Agent(Scripted(["end"]), [required], callback_timeout=SHORT).run_sync("go")


@KINDS
def test_instructions_and_a_filter_that_take_too_long_fail_the_run(
    kind: str, release: threading.Event
) -> None:
    slow: Any = hanging(kind, release)
    with pytest.raises(TimeoutError, match="the function for instructions"):
        Agent(Scripted(["x"]), instructions=slow, callback_timeout=SHORT).run_sync("go")
    other = Agent(Scripted(["x"]), name="other")
    first = Agent(
        Scripted([call("transfer_to_other")]),
        handoffs=[Handoff(other, input_filter=slow)],
        callback_timeout=SHORT,
    )
    with pytest.raises(TimeoutError, match="the input_filter"):
        first.run_sync("go")


def test_a_bound_of_none_is_none_and_others_are_above_zero() -> None:
    async def slow(said: Any, run: Any) -> Allow:
        assert run.scope.callback_timeout is None
        return Allow()

    agent = Agent(Scripted(["end"]), input_guardrails=[slow], callback_timeout=None)
    assert agent.run_sync("go").output == "end"
    with pytest.raises(SetupError, match="callback_timeout"):
        Agent("offline", callback_timeout=0)


def test_an_inner_run_has_the_bound_of_its_own_agent() -> None:
    seen: list[object] = []

    def look(said: Any, run: Any) -> Allow:
        seen.append(run.scope.callback_timeout)
        return Allow()

    clerk = Agent(Scripted(["x"]), name="clerk", input_guardrails=[look], callback_timeout=7)
    boss = Agent(
        Scripted([call("clerk", {"input": "a"}), "end"]),
        [clerk.as_tool()],
        input_guardrails=[look],
        callback_timeout=9,
    )
    boss.run_sync("go")
    assert seen == [9, 7]
