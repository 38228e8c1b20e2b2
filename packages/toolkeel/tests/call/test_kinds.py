"""Whatever kind of tool: one deadline, one approval, one guard and one form of events for all.

A new kind of tool adds a row to `KINDS`; then it is held to what holds for functions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract import check_events, check_results
from toolkeel import (
    Agent,
    BaseTool,
    Effects,
    Rules,
    RunContext,
    ToolCall,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel.call.steps.guard import Allow, Reject, input_guard, output_guard
from toolkeel.call.steps.turn_order import loop_locks
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import CallError
from toolkeel.events import Event
from toolkeel.testing.scripted import Scripted, call

RAN: list[str] = []
SCHEMA = {
    "type": "object",
    "properties": {"seconds": {"type": "number"}},
    "required": ["seconds"],
    "additionalProperties": False,
}


def function(**options: Any) -> AnyTool:
    @tool("work", **options)
    async def work(seconds: float) -> str:
        """Work."""
        RAN.append("function")
        await asyncio.sleep(seconds)
        return "secret word"

    return work


def in_thread(**options: Any) -> AnyTool:
    @tool("work", **options)
    def work(seconds: float) -> str:
        """Work."""
        RAN.append("thread")
        time.sleep(seconds)
        return "secret word"

    return work


def generator(**options: Any) -> AnyTool:
    @tool("work", **options)
    async def work(seconds: float) -> Any:
        """Work."""
        RAN.append("generator")
        yield "secret "
        await asyncio.sleep(seconds)
        yield "word"

    return work


def from_class(**options: Any) -> AnyTool:
    class Work(BaseTool):
        """Work."""

        name = "work"

        async def _arun(self, seconds: float) -> str:
            RAN.append("class")
            await asyncio.sleep(seconds)
            return "secret word"

    return Work(**options).tool


def from_schema(**options: Any) -> AnyTool:
    async def work(context: object, arguments: dict[str, Any]) -> str:
        RAN.append("schema")
        await asyncio.sleep(arguments["seconds"])
        return "secret word"

    return Tool.from_schema("work", "Work.", SCHEMA, work, **options)


def method(**options: Any) -> AnyTool:
    class Worker:
        async def work(self, seconds: float) -> str:
            """Work."""
            RAN.append("method")
            await asyncio.sleep(seconds)
            return "secret word"

    return tool("work", **options)(Worker().work)


def agent_as_tool(**options: Any) -> AnyTool:
    """An agent that another one calls."""

    @tool("work", **options)
    async def work(seconds: float) -> str:
        """Let another agent work."""
        RAN.append("agent")
        inner = Agent(Scripted([call("pause", {"seconds": seconds}), "secret word"]), [pause])
        return (await inner.run("go")).output

    return work


@tool
async def pause(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"


KINDS: dict[str, Callable[..., AnyTool]] = {
    "function": function,
    "in thread": in_thread,
    "generator": generator,
    "class": from_class,
    "schema": from_schema,
    "method": method,
    "agent": agent_as_tool,
}


@pytest.fixture(autouse=True)
def nothing_ran_yet() -> None:
    RAN.clear()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Callable[..., AnyTool]:
    """A maker of tools, of each kind there is."""
    return KINDS[request.param]


def run(tools: Toolset, *seconds: object, **more: Any) -> tuple[list[ToolMessage], list[str]]:
    events: list[Event] = []
    calls = [ToolCall(str(n), "work", {"seconds": s}) for n, s in enumerate(seconds)]
    results = tools.run_sync(calls, RunContext(listeners=(events.append,), **more))
    check_results(calls, results)
    check_events(events, calls)
    return results, [e.type for e in events if e.type not in ("progress", "nested")]


def test_each_kind_gives_its_result_between_the_same_two_events(
    kind: Callable[..., AnyTool],
) -> None:
    [message], types = run(Toolset([kind()]), 0)
    assert (message.content, types) == ("secret word", ["tool_started", "tool_finished"])
    assert len(RAN) == 1


def test_each_kind_is_stopped_at_its_deadline(kind: Callable[..., AnyTool]) -> None:
    started = time.perf_counter()
    [message], _ = run(Toolset([kind(timeout=0.03)]), 5)
    assert message.kind == "timeout"
    assert isinstance(message.details["may_still_be_running"], bool)
    assert time.perf_counter() - started < 4


def test_each_kind_is_validated_before_it_runs(kind: Callable[..., AnyTool]) -> None:
    results, _ = run(Toolset([kind()]), "long", None, [1])
    assert [r.kind for r in results] == ["invalid_arguments"] * 3
    assert not RAN


def test_each_kind_asks_for_approval_and_is_bound_to_it(kind: Callable[..., AnyTool]) -> None:
    answers = iter([True, False])
    results, types = run(Toolset([kind(approval=True)]), 0, 0, approver=lambda t: next(answers))
    assert [r.kind for r in results] == [None, "denied"]
    assert types.count("approval_requested") == types.count("approval_decided") == 2
    denied, _ = run(Toolset([kind()], rules=Rules(deny=["work(seconds=0.0)"])), 0)
    assert denied[0].kind == "denied"
    assert len(RAN) == 1


def test_each_kind_is_guarded_on_its_way_in_and_out(kind: Callable[..., AnyTool]) -> None:
    def short(prepared: Any, context: Any) -> Any:
        return Allow() if prepared.arguments["seconds"] < 1 else Reject("too long")

    def redact(prepared: Any, outcome: Any, context: Any) -> Any:
        return Allow(outcome.text.replace("secret", "***"))

    steps = [input_guard(short), output_guard(redact)]
    results, _ = run(Toolset([kind(steps=steps)]), 0, 5)
    assert [r.text for r in results] == ["*** word", "too long"]
    assert len(RAN) == 1


def test_each_kind_takes_its_resources_and_gives_them_back(kind: Callable[..., AnyTool]) -> None:
    async def main() -> int:
        work = Toolset([kind(effects=Effects(resources=("desk",)))])
        calls = [ToolCall(str(n), "work", {"seconds": 0.02}) for n in range(3)]
        started = time.perf_counter()
        check_results(calls, await work.run(calls))
        assert time.perf_counter() - started >= 0.06
        return len(loop_locks())

    assert asyncio.run(main()) == 0


def test_each_kind_ends_with_a_cancelled_run(kind: Callable[..., AnyTool]) -> None:
    state = RunContext[None](listeners=(lambda event: state.cancel.cancel("enough"),))
    calls = [ToolCall("1", "work", {"seconds": 0.3}), ToolCall("2", "work", {"seconds": 0.3})]
    results = Toolset([kind()]).run_sync(calls, state)
    assert {r.kind for r in results} == {"cancelled"}


def test_each_kind_by_itself_keeps_to_the_same_rules(kind: Callable[..., AnyTool]) -> None:
    assert kind().invoke({"seconds": 0}) == "secret word"
    with pytest.raises(CallError, match=r"0\.03"):
        kind(timeout=0.03).invoke({"seconds": 0.3})
    with pytest.raises(CallError, match="approval"):
        kind(approval=True).invoke({"seconds": 0})
    with pytest.raises(CallError, match="seconds"):
        kind().invoke({"seconds": "long"})
