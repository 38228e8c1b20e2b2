"""What a model may not do again and again."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract import check_results
from tests.waiting import run, until
from toolkeel import (
    Agent,
    Rules,
    RunContext,
    SetupError,
    ToolCall,
    ToolMessage,
    Toolset,
    UserMessage,
    tool,
)
from toolkeel.call.steps.call_limits import (
    MAX_COMPARED,
    MAX_REPEATS,
    CallLimit,
    ConcurrencyLimit,
    RateLimit,
    record_result,
    refuse_failing,
)
from toolkeel.define.tool import AnyTool
from toolkeel.errors import LimitReached
from toolkeel.spending import RunLimits
from toolkeel.testing import Scripted, call


def ping(count: int) -> list[ToolCall]:
    return [ToolCall(str(n), "ping") for n in range(count)]


def kinds(messages: list[ToolMessage]) -> list[str | None]:
    return [m.kind for m in messages]


class Server:
    """A tool that takes a moment, and how many were at it at once."""

    def __init__(self, moment: float = 0.005) -> None:
        self.moment = moment
        self.now = self.most = 0
        self.starts: list[float] = []

    def tools(self, *steps: Any, **options: Any) -> Toolset:
        @tool(steps=steps)
        async def ping() -> str:
            """Ping."""
            self.starts.append(time.monotonic())
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                await asyncio.sleep(self.moment)
            finally:
                self.now -= 1
            return "pong"

        return Toolset([ping], **options)


# — the same call failing again —


def failing() -> tuple[Toolset, list[str]]:
    ran: list[str] = []

    @tool
    def find(name: str) -> str:
        """Find somebody."""
        ran.append(name)
        if name == "Ada":
            return "found"
        raise RuntimeError("nobody")

    return Toolset([find]), ran


def one(
    tools: Toolset, state: RunContext[Any], arguments: str | Mapping[str, object]
) -> str | None:
    [message] = tools.run_sync([ToolCall("1", "find", arguments)], state)
    return message.kind


def test_the_same_call_that_fails_three_times_in_the_same_way_is_not_run_again() -> None:
    tools, ran = failing()
    state = RunContext()
    said = [one(tools, state, '{"name": "Bob"}') for _ in range(6)]
    assert said == ["crashed"] * MAX_REPEATS + ["limit_reached"] * 3
    assert len(ran) == MAX_REPEATS


def test_other_arguments_other_runs_and_successes_count_for_themselves() -> None:
    tools, _ = failing()
    state = RunContext()
    for _ in range(MAX_REPEATS):
        one(tools, state, '{"name": "Bob"}')
    assert one(tools, state, '{"name": "Eve"}') == "crashed"
    assert one(tools, RunContext(), '{"name": "Bob"}') == "crashed"
    for _ in range(5):
        assert one(tools, state, '{"name": "Ada"}') is None


def ends(tool: AnyTool, written: list[Any]) -> list[str | None]:
    """How calls end that are written so, one after the other."""
    tools, run = Toolset([tool]), RunContext[Any]()
    return [tools.run_sync([ToolCall("1", tool.name, text)], run)[0].kind for text in written]


@tool
def divide(a: int, b: int) -> float:
    """Divide."""
    return a / b


def test_the_same_call_written_in_another_way_is_the_same() -> None:
    written = ['{"a": 1, "b": 0}', '{"b":0,"a":1}', {"a": 1, "b": 0}, ' {"a": 1,\n"b": 0}']
    assert ends(divide, written) == ["crashed"] * 3 + ["limit_reached"]


def test_large_calls_are_the_same_if_they_are_written_alike() -> None:
    """To read them would hold up the loop, for the calls of a turn that are right as well."""
    first, other = (
        '{"a": 1, "b": 0' + " " * MAX_COMPARED + "}",
        '{"b": 0, "a": 1' + " " * MAX_COMPARED + "}",
    )
    assert ends(divide, [first, first, other, first, first]) == ["crashed"] * 4 + ["limit_reached"]


def test_a_call_that_is_mended_is_another() -> None:
    @tool
    def double(a: int) -> int:
        """Double."""
        return 2 * a

    kinds = ends(double, ['{"a": 1, "a": 2}'] * 4 + ['{"a": 2}'])
    assert kinds == ["malformed_arguments"] * 3 + ["limit_reached", None]


def test_calls_that_never_reach_a_body_are_counted_too() -> None:
    tools, ran = failing()
    for arguments in ("{", '{"nam": "x"}', {"nam": 1}):
        state = RunContext()
        said = [one(tools, state, arguments) for _ in range(MAX_REPEATS + 1)]
        assert said[-1] == "limit_reached"
        assert len(set(said)) == 2
    assert not ran


@pytest.mark.parametrize("kind", ["cancelled", "skipped", "limit_reached"])
def test_what_is_no_failure_of_the_call_itself_is_not_counted(kind: Any) -> None:
    state: RunContext[Any] = RunContext()
    call = ToolCall("1", "find")
    for _ in range(MAX_REPEATS + 1):
        record_result(state, call, ToolMessage("x", status="error", kind=kind))
    refuse_failing(state, call, call.name)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", None])), max_size=30))
def test_a_call_is_refused_exactly_when_its_last_three_ends_were_the_same_failure(
    ends: list[tuple[str, str | None]],
) -> None:
    state: RunContext[Any] = RunContext()
    seen: dict[str, list[str | None]] = {"a": [], "b": []}
    for arguments, error in ends:
        call = ToolCall("1", "find", arguments)
        state.loop_state.turn += 1
        last = seen[arguments][-MAX_REPEATS:]
        expected = len(last) == MAX_REPEATS and len(set(last)) == 1 and last[0] is not None
        try:
            refuse_failing(state, call, call.name)
        except LimitReached:
            assert expected
            continue
        assert not expected
        seen[arguments].append(error)
        if error is None:
            record_result(state, call, ToolMessage("fine"))
        else:
            record_result(state, call, ToolMessage(error, status="error", kind="tool_error"))


def test_a_failure_that_changes_begins_the_count_anew() -> None:
    errors = iter(range(100))

    @tool(on_crash=True)
    def find(name: str) -> str:
        """Find somebody."""
        raise RuntimeError(f"error {next(errors) // 2}")

    state = RunContext()
    assert {one(Toolset([find]), state, {"name": "x"}) for _ in range(12)} == {"crashed"}


# — budgets —


@given(st.integers(0, 6), st.lists(st.integers(1, 4), max_size=4))
def test_a_budget_lets_so_many_calls_of_a_run_pass(budget: int, turns: list[int]) -> None:
    server = Server(0)
    tools = server.tools(CallLimit(budget))

    async def main() -> list[str | None]:
        state = RunContext()
        return [kind for turn in turns for kind in kinds(await tools.run(ping(turn), state))]

    said = run(main)
    total = sum(turns)
    assert said.count(None) == min(budget, total) == len(server.starts)
    assert said.count("limit_reached") == max(0, total - budget)


def test_a_budget_of_a_set_counts_all_its_tools_together_and_each_run_anew() -> None:
    @tool
    def a() -> None:
        """A."""

    @tool
    def b() -> None:
        """B."""

    tools = Toolset([a, b], steps=[CallLimit(3)])
    calls = [ToolCall(str(n), "ab"[n % 2]) for n in range(5)]
    for _ in range(2):
        assert kinds(tools.run_sync(calls)) == [None] * 3 + ["limit_reached"] * 2


def test_what_a_budget_refuses_tells_the_model_to_stop() -> None:
    [message] = Server().tools(CallLimit(0)).run_sync(ping(1))
    assert "Answer with what you have" in message.text


# — at once —


@pytest.mark.parametrize("limit", [1, 3])
def test_at_most_so_many_calls_of_a_run_are_at_work_at_once(limit: int) -> None:
    server = Server()
    calls = ping(20)
    check_results(calls, run(lambda: server.tools(ConcurrencyLimit(limit)).run(calls)))
    assert server.most == limit


def test_waiting_calls_go_in_order_and_a_cancelled_one_takes_no_place() -> None:
    server = Server(0.02)

    async def main() -> list[str | None]:
        state = RunContext()
        tools = server.tools(ConcurrencyLimit(1))
        tasks = [asyncio.create_task(tools.run([call], state)) for call in ping(4)]
        await until(lambda: server.now == 1)
        tasks[1].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        return ["gone" if isinstance(d, BaseException) else d[0].kind for d in done]

    assert run(main) == [None, "gone", None, None]
    assert server.most == 1


def test_a_run_that_is_cancelled_answers_those_who_wait() -> None:
    server = Server(10)

    async def main() -> list[str | None]:
        state = RunContext()
        task = asyncio.create_task(server.tools(ConcurrencyLimit(2)).run(ping(6), state))
        await until(lambda: server.now == 2)
        state.cancel.cancel()
        return kinds(await task)

    assert run(main) == ["cancelled"] * 6
    assert len(server.starts) == 2


# — in a stretch of time —


def test_calls_over_the_rate_wait_for_their_turn() -> None:
    server = Server(0)
    calls = ping(9)
    begun = time.monotonic()
    run(lambda: server.tools(RateLimit(3, 0.05)).run(calls))
    starts = sorted(server.starts)
    assert len(starts) == 9
    for place, start in enumerate(starts):  # a busy machine makes a body late, never early
        assert start - begun >= place // 3 * 0.05 - 0.001


def test_a_wait_longer_than_ones_patience_is_refused_at_once_and_takes_no_place() -> None:
    server = Server(0)
    start = time.monotonic()
    limit = RateLimit(2, 60, max_wait=1)
    said = kinds(run(lambda: server.tools(limit).run(ping(5))))
    assert said == [None, None] + ["limit_reached"] * 3
    assert time.monotonic() - start < 20


def test_a_rate_holds_over_runs_loops_and_threads() -> None:
    server = Server(0)
    tools = server.tools(RateLimit(4, 60, max_wait=0))
    said: list[str | None] = []
    threads = [
        threading.Thread(target=lambda: said.extend(kinds(asyncio.run(tools.run(ping(2))))))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (said.count(None), said.count("limit_reached")) == (4, 8)


@given(
    st.integers(1, 4),
    st.floats(0.5, 20),
    st.lists(st.floats(0, 10), min_size=1, max_size=30),
)
def test_no_stretch_of_time_ever_holds_more_starts_than_allowed(
    calls: int, seconds: float, gaps: list[float]
) -> None:
    limit = RateLimit(calls, seconds, max_wait=seconds * 3)
    now, starts = 0.0, []
    for gap in gaps:
        now += gap
        wait = limit._reserve(now)
        assert wait >= 0
        if wait <= limit.max_wait:
            starts.append(now + wait)
    # `now + (at - now)` may miss `at` by a rounding.
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(starts))
    for first, beyond in zip(starts, starts[calls:], strict=False):
        assert beyond - first >= seconds * (1 - 1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CallLimit(-1),
        lambda: ConcurrencyLimit(0),
        lambda: RateLimit(0, 1),
        lambda: RateLimit(1, 0),
    ],
)
def test_limits_that_make_no_sense_are_refused_when_they_are_made(make: Any) -> None:
    with pytest.raises(SetupError, match="give"):
        make()


def test_a_call_that_is_denied_spends_nothing_of_a_budget() -> None:
    server = Server(0)
    answers = iter([False, True, True])

    async def main() -> list[str | None]:
        [ping_tool] = server.tools(CallLimit(1))
        tools = Toolset([ping_tool], rules=Rules(ask=["ping"]))
        return kinds(await tools.run(ping(3), RunContext(approver=lambda ticket: next(answers))))

    assert run(main) == ["denied", None, "limit_reached"]


def test_a_tool_that_fails_too_often_is_refused_also_by_its_arguments() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    bad = [call("add", {"a": n}) for n in range(8)]
    limits = RunLimits(failures={"add": 3})
    result = Agent(Scripted([*bad, "done"]), [add]).run_sync("go", limits=limits)
    kinds = [m.kind for m in result.messages if isinstance(m, ToolMessage)]
    assert kinds == ["invalid_arguments"] * 3 + ["limit_reached"] * 5
    again = Agent(Scripted([bad[0], "done"]), [add]).run_sync(
        [*result.messages, UserMessage("again")], limits=limits
    )
    assert again.reason == "answered"


@pytest.mark.parametrize("route", ["agent", "calls alone"])
def test_failures_of_one_turn_count_once_since_the_model_has_read_none_of_them(route: str) -> None:
    @tool
    def halve(number: int) -> int:
        """Halve."""
        return number // 2

    bad = [ToolCall(str(n), "halve", '{"number": "x"}') for n in range(5)]
    if route == "agent":
        turns = [[call("halve", '{"number": "x"}') for _ in bad] for _ in range(4)]
        result = Agent(Scripted([*turns, "end"]), [halve]).run_sync("go")
        kinds = [m.kind for m in result.messages if isinstance(m, ToolMessage)]
    else:
        run: RunContext[None] = RunContext()
        tools = Toolset([halve])
        kinds = [m.kind for _ in range(4) for m in tools.run_sync(bad, run)]
    assert kinds == ["invalid_arguments"] * 15 + ["limit_reached"] * 5
