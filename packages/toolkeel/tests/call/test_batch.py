"""The calls of one turn; most of its contract is in test_contract.py."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator

from tests.waiting import run as run_async
from toolkeel import Effects, RunContext, SetupError, ToolCall, ToolContext, Toolset, tool
from toolkeel.call.steps.guard import Stop, input_guard


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"{seconds:g}"


@tool(sequential=True)
async def alone(log: str, context: ToolContext[list[str]]) -> str:
    """Run with nothing beside it."""
    context.deps.append(f"+{log}")
    await asyncio.sleep(0.002)
    context.deps.append(f"-{log}")
    return log


@tool
async def beside(log: str, context: ToolContext[list[str]]) -> str:
    """Run beside others."""
    context.deps.append(f"+{log}")
    await asyncio.sleep(0.002)
    context.deps.append(f"-{log}")
    return log


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(str(n), name, {"log": str(n)}) for n, name in enumerate(names)]


def test_results_come_in_call_order_whatever_order_they_end_in():
    asked = [ToolCall(str(n), "wait", {"seconds": (5 - n) / 200}) for n in range(5)]
    results = Toolset([wait]).run_sync(asked)
    assert [r.tool_call_id for r in results] == ["0", "1", "2", "3", "4"]


def test_a_sequential_call_waits_for_those_before_it_and_holds_back_those_after_it():
    log: list[str] = []
    names = ("beside", "beside", "alone", "beside", "beside")
    Toolset([alone, beside]).run_sync(calls(*names), RunContext(log))
    assert log.index("+2") > max(log.index("-0"), log.index("-1"))
    assert log.index("-2") < min(log.index("+3"), log.index("+4"))


def test_repeated_and_empty_ids_are_answered_one_by_one():
    asked = [ToolCall("", "wait", {"seconds": 0}), ToolCall("", "wait", {"seconds": 0.001})]
    assert [r.content for r in Toolset([wait]).run_sync(asked)] == ["0", "0.001"]


def test_a_guard_that_ends_the_run_does_so_after_every_call_has_its_result():
    class Broke(Exception):
        pass

    @input_guard
    def stop(prepared: Any, context: Any) -> Any:
        return Stop(Broke("out of money"))

    stopping = tool("stopping", steps=[stop])(lambda: "never")

    async def main() -> list[str | None]:
        batch = Toolset([wait, stopping]).batch(
            [ToolCall("1", "stopping"), ToolCall("2", "wait", {"seconds": 0.01})], RunContext()
        )
        with pytest.raises(Broke):
            await batch.run()
        return [result.kind for result in batch.results]

    assert run_async(main) == ["refused", None]


def test_a_missing_injection_is_the_programs_mistake_and_names_the_fix():
    from toolkeel import Injected

    @tool
    def whose(user: Annotated[str, Injected]) -> str:
        """Tell whose."""
        return user

    with pytest.raises(SetupError, match=r"'whose'.*'user'.*inject="):
        Toolset([whose]).run_sync([ToolCall("1", "whose")])


# — any turn —

turns = st.integers(0, 25).flatmap(
    lambda count: st.lists(
        st.tuples(st.sampled_from(["alone", "beside", "threaded"]), st.integers(0, 3)),
        min_size=count,
        max_size=count,
    )
)


@given(turns, st.sampled_from([None, 1, 2, 5]), st.booleans())
@settings(max_examples=80)
def test_any_turn_keeps_its_width_its_barriers_and_the_order_of_its_starts(
    turn: list[tuple[str, int]], width: int | None, parallel: bool
) -> None:
    running: dict[int, bool] = {}
    most = 0
    starts: list[int] = []
    lock = threading.Lock()

    def enter(number: int, is_alone: bool) -> None:
        nonlocal most
        with lock:
            assert not any(running.values()), f"{number} overlaps a call that wants to be alone"
            assert not (is_alone and running), f"{number} wants to be alone"
            running[number] = is_alone
            most = max(most, len(running))
            starts.append(number)

    def leave(number: int) -> None:
        with lock:
            del running[number]

    async def body(number: int, is_alone: bool, ticks: int) -> int:
        enter(number, is_alone)
        await asyncio.sleep(ticks / 1000)
        leave(number)
        return number

    @tool("alone", sequential=True)
    async def alone_(n: int, ticks: int) -> int:
        """Run alone."""
        return await body(n, True, ticks)

    @tool("beside")
    async def beside_(n: int, ticks: int) -> int:
        """Run beside others."""
        return await body(n, False, ticks)

    @tool
    def threaded(n: int, ticks: int) -> int:
        """Run beside others, in a thread."""
        enter(n, False)
        time.sleep(ticks / 1000)
        leave(n)
        return n

    given_ = [
        ToolCall(str(n), name, {"n": n, "ticks": ticks}) for n, (name, ticks) in enumerate(turn)
    ]
    tools = Toolset([alone_, beside_, threaded], max_concurrency=width, parallel=parallel)
    results = run_async(lambda: tools.run(given_))
    assert [r.content for r in results] == [str(n) for n in range(len(turn))]
    room = 1 if not parallel else width or len(turn)
    assert most <= room
    if room == 1:
        assert starts == list(range(len(turn)))
    barriers = [n for n, (name, _) in enumerate(turn) if name == "alone"]
    for barrier in barriers:
        place = starts.index(barrier)
        assert sorted(starts[:place]) == list(range(barrier))


def test_unknown_and_broken_calls_do_not_stop_a_turn_of_barriers() -> None:
    given_ = [
        ToolCall("0", "nobody"),
        ToolCall("1", "alone", "{"),
        ToolCall("2", "nobody"),
        ToolCall("3", "alone", {"log": "3"}),
        ToolCall("4", "beside", {}),
    ]
    results = Toolset([alone, beside], max_concurrency=2).run_sync(given_, RunContext([]))
    assert [r.kind for r in results] == [
        "unknown_tool",
        "malformed_arguments",
        "unknown_tool",
        None,
        "invalid_arguments",
    ]


def test_a_thousand_calls_overlap() -> None:
    here = 0
    everybody = asyncio.Event()

    @tool
    async def meet() -> str:
        """Wait until all are here."""
        nonlocal here
        here += 1
        if here == 1000:
            everybody.set()
        await everybody.wait()
        return "met"

    results = Toolset([meet]).run_sync([ToolCall(str(n), "meet", {}) for n in range(1000)])
    assert {result.content for result in results} == {"met"}


def test_large_arguments_whose_resources_give_their_place_are_validated_once() -> None:
    seen: list[int] = []

    def see(numbers: list[int]) -> list[int]:
        seen.append(len(numbers))
        return numbers

    @tool(effects=Effects(resources=("file:{path}",)))
    async def keep(path: str, numbers: Annotated[list[int], AfterValidator(see)]) -> int:
        """Keep."""
        return len(numbers)

    text = json.dumps({"path": "a", "numbers": list(range(10_000))})
    calls = [ToolCall(str(n), "keep", text) for n in range(3)]
    results = Toolset([keep]).run_sync(calls)
    assert [result.text for result in results] == ["10000"] * 3 and seen == [10_000] * 3
