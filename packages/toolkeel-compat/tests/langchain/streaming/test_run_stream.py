"""`stream_events(version="v3")`: values, messages and calls are read on demand."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkeel.errors import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    create_agent,
    tool,
)

GO = {"messages": "1 + 2?"}
THREAD = {"configurable": {"thread_id": "1"}}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def made(**options: Any) -> Any:
    model = Scripted([[call("add", {"a": 1, "b": 2}), call("add", {"a": 2, "b": 2})], "3 and 4"])
    return create_agent(model, [add], **options)


def test_values_are_the_states_after_each_step_with_results_in_the_order_of_calls() -> None:
    stream = made().stream_events(GO, version="v3")
    states = [[m.text for m in state["messages"]] for state in stream.values]
    assert states == [
        ["1 + 2?"],
        ["1 + 2?", ""],
        ["1 + 2?", "", "3", "4"],
        ["1 + 2?", "", "3", "4", "3 and 4"],
    ]
    assert stream.output["messages"][-1].text == "3 and 4"
    assert not stream.interrupted and stream.interrupts == []


def test_streams_are_interleaved_in_the_order_things_happen() -> None:
    stream = made().stream_events(GO, version="v3")
    seen = []
    for name, item in stream.interleave("messages", "tool_calls"):
        seen.append((name, str(item.text) if name == "messages" else item.input))
    assert seen == [
        ("messages", ""),
        ("tool_calls", {"a": 1, "b": 2}),
        ("tool_calls", {"a": 2, "b": 2}),
        ("messages", "3 and 4"),
    ]


def test_a_call_has_its_result_once_the_run_has_it() -> None:
    stream = made().stream_events(GO, version="v3")
    calls = list(stream.tool_calls)
    assert [(one.tool_name, one.output.text, one.error) for one in calls] == [
        ("add", "3", None),
        ("add", "4", None),
    ]


def test_a_run_that_waits_is_interrupted_and_goes_on() -> None:
    review = HumanInTheLoopMiddleware({"add": True})
    agent = made(middleware=[review], checkpointer=InMemorySaver())
    stream = agent.stream_events(GO, THREAD, version="v3")
    assert [len(state["messages"]) for state in stream.values] == [1, 2, 2]
    [waits] = stream.interrupts
    assert stream.interrupted and len(waits.value["action_requests"]) == 2
    resume = Command(resume={"decisions": [{"type": "approve"}] * 2})
    stream = agent.stream_events(resume, THREAD, version="v3")
    assert [len(state["messages"]) for state in stream.values] == [2, 2, 4, 5]
    assert not stream.interrupted


def test_async_code_awaits_the_same() -> None:
    async def run() -> tuple[list[str], Any]:
        async with await made().astream_events(GO, version="v3") as stream:
            texts = [await message.text async for message in stream.messages]
            return texts, await stream.output()

    texts, state = asyncio.run(run())
    assert texts == ["", "3 and 4"] and len(state["messages"]) == 5


def test_other_versions_and_streams_are_refused_with_what_to_write() -> None:
    with pytest.raises(SetupError, match="write version='v3'"):
        made().stream_events(GO, version="v2")
    with pytest.raises(SetupError, match="there is no 'subgraphs'"):
        made().stream_events(GO, version="v3").subgraphs
    with pytest.raises(KeyError, match="no stream 'custom'"):
        list(made().stream_events(GO, version="v3").interleave("custom"))


def test_leaving_early_stops_the_run() -> None:
    with made().stream_events(GO, version="v3") as stream:
        next(iter(stream.values))
    assert list(stream.values) == []


def test_what_fails_is_raised_to_the_reader() -> None:
    stream = create_agent(Scripted([ValueError("broken")])).stream_events(GO, version="v3")
    with pytest.raises(ValueError, match="broken"):
        list(stream.messages)
