"""A lost write of the run's state is reported, whatever runs the two calls; nothing else is."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tests.waiting import run
from toolkeel import Agent, ToolContext, tool
from toolkeel.events import Event, StateOverwritten
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call

TURN = [(call("late", {}), call("soon", {})), "done"]


def _tools(write: Any, *, threads: bool) -> list[Any]:
    """Two tools: `soon` writes once `late` has read, and then `late` writes."""
    read, written = threading.Event(), threading.Event()

    def read_late(context: ToolContext) -> Any:
        before = context.state.get("n", 0)
        read.set()
        return before

    def write_soon(context: ToolContext) -> None:
        context.update("n", lambda n: n + 1, 0)
        written.set()

    if threads:

        @tool
        def late(context: ToolContext) -> str:
            """Write late."""
            before = read_late(context)
            assert written.wait(30)
            write(context, before)
            return "late"

        @tool
        def soon(context: ToolContext) -> str:
            """Write soon."""
            assert read.wait(30)
            write_soon(context)
            return "soon"

        return [late, soon]

    @tool("late")
    async def late_async(context: ToolContext) -> str:
        """Write late."""
        before = read_late(context)
        while not written.is_set():  # noqa: ASYNC110  # set by either kind of tool
            await asyncio.sleep(0)
        write(context, before)
        return "late"

    @tool("soon")
    async def soon_async(context: ToolContext) -> str:
        """Write soon."""
        while not read.is_set():  # noqa: ASYNC110  # set by either kind of tool
            await asyncio.sleep(0)
        write_soon(context)
        return "soon"

    return [late_async, soon_async]


def assign(context: ToolContext, before: Any) -> None:
    context.state["n"] = before + 1


def assign_in_task(context: ToolContext, before: Any) -> None:
    context.state.update({"n": before + 1})


def read_again(context: ToolContext, before: Any) -> None:
    context.state["n"] = context.state["n"] + 1  # type: ignore[operator]


def read_all(context: ToolContext, before: Any) -> None:
    context.state["n"] = dict(context.state.items())["n"] + 1  # type: ignore[operator]


def by_update(context: ToolContext, before: Any) -> None:
    context.update("n", lambda n: n + 1, 0)


def another_key(context: ToolContext, before: Any) -> None:
    context.state["other"] = before


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("route", ["run", "stream", "session"])
@pytest.mark.parametrize("write", [assign, assign_in_task])
def test_an_assignment_that_loses_the_write_of_another_call_is_reported(
    write: Any, route: str, threads: bool
) -> None:
    events: list[Event] = []
    agent = Agent(Scripted(TURN), _tools(write, threads=threads))

    async def streamed() -> None:
        async for event in agent.stream("go"):
            events.append(event)  # noqa: PERF401

    if route == "stream":
        run(streamed)
    else:
        session = Sessions(":memory:")["ada"] if route == "session" else None
        agent.run_sync("go", listeners=[events.append], session=session)
    [found] = [event for event in events if isinstance(event, StateOverwritten)]
    ids = [event.call.id for event in events if event.type == "tool_started"]  # type: ignore[union-attr]
    assert (found.key, found.call_id, found.lost_call_id) == ("n", ids[0], ids[1])


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("write", [read_again, read_all, by_update, another_key])
def test_a_write_that_loses_nothing_is_not_reported(write: Any, threads: bool) -> None:
    events: list[Event] = []
    Agent(Scripted(TURN), _tools(write, threads=threads)).run_sync("go", listeners=[events.append])
    assert [event for event in events if isinstance(event, StateOverwritten)] == []


def test_a_later_turn_may_overwrite_what_an_earlier_one_wrote(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    def put(n: int, context: ToolContext) -> str:
        """Put."""
        context.state["n"] = n
        return "ok"

    lines = [call("put", {"n": 1}), call("put", {"n": 2}), "done"]
    assert Agent(Scripted(lines), [put]).run_sync("go").state.values == {"n": 2}
    assert caplog.messages == []


def test_without_a_listener_it_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    Agent(Scripted(TURN), _tools(assign, threads=False)).run_sync("go")
    [said] = caplog.messages
    assert said.startswith("late assigned state['n']") and "context.update" in said
