"""What a model may not do again and again."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import run
from toolwright import Run, ToolCall, ToolError, Toolset, tool
from toolwright.call.limit import REPEATS, AtOnce, Budget, RateLimit, note, repeats
from toolwright.errors import LimitReached
from toolwright.messages import ToolMessage


@tool
def moody(n: int = 0) -> str:
    """Fail on odd numbers."""
    if n % 2:
        raise ToolError(f"{n} is odd")
    return str(n)


TOOLS = Toolset([moody])


def kinds(shared: Run[Any], *calls: ToolCall) -> list[str | None]:
    return [TOOLS.run_sync([call], shared)[0].kind for call in calls]


def test_the_same_call_with_the_same_failure_runs_three_times_and_no_more() -> None:
    shared: Run[Any] = Run()
    odd = ToolCall("1", "moody", {"n": 1})
    assert kinds(shared, *[odd] * 5) == ["tool_error"] * REPEATS + ["limit_reached"] * 2
    [told] = TOOLS.run_sync([odd], shared)
    assert "has failed 3 times" in told.text and "1 is odd" in told.text


def test_other_arguments_other_tools_and_other_runs_are_counted_apart() -> None:
    shared: Run[Any] = Run()
    odd, other = ToolCall("1", "moody", '{"n": 1}'), ToolCall("2", "moody", '{"n": 3}')
    assert kinds(shared, odd, other, odd, other, odd, other) == ["tool_error"] * 6
    assert kinds(shared, odd, other) == ["limit_reached"] * 2
    assert kinds(Run(), odd) == ["tool_error"]


def test_a_name_that_is_unknown_is_told_so_every_time() -> None:
    assert kinds(Run(), *[ToolCall("1", "nobody")] * 5) == ["unknown_tool"] * 5


def test_another_error_or_a_success_begins_the_count_anew() -> None:
    shared: Run[Any] = Run()
    call = ToolCall("1", "moody")
    for text in ("a", "a", "b", "b", "a", "a"):
        note(shared, call, ToolMessage(text, status="error", kind="tool_error"))
        repeats(shared, call)
    note(shared, call, ToolMessage("fine"))
    assert not shared.failures


@pytest.mark.parametrize("kind", ["cancelled", "skipped", "limit_reached"])
def test_what_is_no_failure_of_the_call_itself_is_not_counted(kind: Any) -> None:
    shared: Run[Any] = Run()
    for _ in range(REPEATS + 1):
        note(shared, ToolCall("1", "moody"), ToolMessage("x", status="error", kind=kind))
    repeats(shared, ToolCall("1", "moody"))


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", None])), max_size=30))
def test_a_call_is_refused_exactly_when_its_last_three_ends_were_the_same_failure(
    ends: list[tuple[str, str | None]],
) -> None:
    shared: Run[Any] = Run()
    seen: dict[str, list[str | None]] = {"a": [], "b": []}
    for arguments, error in ends:
        call = ToolCall("1", "moody", arguments)
        last = seen[arguments][-REPEATS:]
        expected = len(last) == REPEATS and len(set(last)) == 1 and last[0] is not None
        try:
            repeats(shared, call)
        except LimitReached:
            assert expected
            continue
        assert not expected
        seen[arguments].append(error)
        failed = error is not None
        note(shared, call, ToolMessage(error or "", status="error" if failed else "success",
                                       kind="tool_error" if failed else None))  # fmt: skip


# — steps —


def test_a_budget_is_spent_by_the_calls_of_one_run() -> None:
    tools = Toolset([moody], steps=[Budget(2)])
    calls = [ToolCall(str(n), "moody", {"n": 0}) for n in range(4)]
    shared: Run[Any] = Run()
    assert [r.kind for r in tools.run_sync(calls, shared)].count("limit_reached") == 2
    assert [r.kind for r in tools.run_sync(calls[:1], shared)] == ["limit_reached"]
    assert [r.kind for r in tools.run_sync(calls[:2])] == [None, None]


def test_only_so_many_calls_of_a_run_work_at_once() -> None:
    running, most = 0, 0

    @tool
    async def work() -> None:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    calls = [ToolCall(str(n), "work") for n in range(20)]
    results = Toolset([work], steps=[AtOnce(3)]).run_sync(calls)
    assert most == 3 and not any(r.failed for r in results)


def test_a_rate_is_kept_by_waiting_and_a_long_wait_is_refused() -> None:
    async def main() -> tuple[float, list[str | None]]:
        begun = time.monotonic()
        steps = [RateLimit(2, 0.1, patience=0.15)]
        calls = [ToolCall(str(n), "moody", {"n": 0}) for n in range(6)]
        results = await Toolset([moody], steps=steps).run(calls)
        return time.monotonic() - begun, [r.kind for r in results]

    took, ends = run(main)
    assert 0.1 <= took < 1
    assert ends == [None] * 4 + ["limit_reached"] * 2
