"""The calls of one turn; most of its contract is in test_contract.py."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.waiting import run as run_async
from toolwright import Run, SetupError, ToolCall, ToolContext, Toolset, tool
from toolwright.call.guard import Stop, input_guard


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"{seconds:g}"


@tool(sequential=True)
async def alone(log: str, context: ToolContext[list[str]]) -> str:
    """Run with nothing beside it."""
    context.context.append(f"+{log}")
    await asyncio.sleep(0.002)
    context.context.append(f"-{log}")
    return log


@tool
async def beside(log: str, context: ToolContext[list[str]]) -> str:
    """Run beside others."""
    context.context.append(f"+{log}")
    await asyncio.sleep(0.002)
    context.context.append(f"-{log}")
    return log


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(str(n), name, {"log": str(n)}) for n, name in enumerate(names)]


def test_results_come_in_call_order_whatever_order_they_end_in():
    given = [ToolCall(str(n), "wait", {"seconds": (5 - n) / 200}) for n in range(5)]
    results = Toolset([wait]).run_sync(given)
    assert [r.tool_call_id for r in results] == ["0", "1", "2", "3", "4"]


def test_a_sequential_call_waits_for_those_before_it_and_holds_back_those_after_it():
    log: list[str] = []
    names = ("beside", "beside", "alone", "beside", "beside")
    Toolset([alone, beside]).run_sync(calls(*names), Run(log))
    assert log.index("+2") > max(log.index("-0"), log.index("-1"))
    assert log.index("-2") < min(log.index("+3"), log.index("+4"))


def test_repeated_and_empty_ids_are_answered_one_by_one():
    given = [ToolCall("", "wait", {"seconds": 0}), ToolCall("", "wait", {"seconds": 0.001})]
    assert [r.content for r in Toolset([wait]).run_sync(given)] == ["0", "0.001"]


def test_a_guard_that_ends_the_run_does_so_after_every_call_has_its_result():
    class Broke(Exception):
        pass

    @input_guard
    def stop(prepared: Any, context: Any) -> Any:
        return Stop(Broke("out of money"))

    stopping = tool("stopping", steps=[stop])(lambda: "never")

    async def main() -> list[str | None]:
        batch = Toolset([wait, stopping]).batch(
            [ToolCall("1", "stopping"), ToolCall("2", "wait", {"seconds": 0.01})], Run()
        )
        with pytest.raises(Broke):
            await batch.run()
        return [result.kind for result in batch.results]

    assert run_async(main) == ["refused", None]


def test_a_missing_injection_is_the_programs_mistake_and_names_the_fix():
    from typing import Annotated

    from toolwright import InjectedToolArg

    @tool
    def whose(user: Annotated[str, InjectedToolArg]) -> str:
        """Tell whose."""
        return user

    with pytest.raises(SetupError, match=r"'whose'.*'user'.*inject="):
        Toolset([whose]).run_sync([ToolCall("1", "whose")])
