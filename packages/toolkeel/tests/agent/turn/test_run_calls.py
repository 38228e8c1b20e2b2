"""The calls of a turn: their results reach the transcript in order, also where something fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkeel import RunContext, Toolset, tool
from toolkeel.agent.turn.run_calls import TurnCalls
from toolkeel.effects import Effects
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage


@tool
def act() -> str:
    """Act."""
    return "acted"


@tool(ends_run=True)
def answer() -> str:
    """Answer the person."""
    return "hello"


def calls_of(tools: Toolset) -> tuple[TurnCalls, RunContext[Any]]:
    run: RunContext[Any] = RunContext()
    calls = TurnCalls(run)
    calls.tools = tools
    return calls, run


def test_results_of_a_resumed_turn_are_in_call_order() -> None:
    calls, run = calls_of(Toolset([act]))
    first, second = ToolCall("1", "act"), ToolCall("2", "act")
    run.transcript.extend([AssistantMessage(tool_calls=(first, second)), ToolMessage("b", "2")])
    asyncio.run(calls.run([first], resumed=True))
    assert [m.tool_call_id for m in run.transcript[1:] if isinstance(m, ToolMessage)] == ["1", "2"]


@pytest.mark.parametrize("repeatable", [True, False])
def test_a_call_in_flight_has_an_unknown_outcome_unless_it_may_run_again(repeatable: bool) -> None:
    known: list[ToolMessage] = []

    @tool(effects=Effects(read_only=repeatable))
    async def look() -> str:
        """Look at what is known meanwhile."""
        known.extend(calls.results_so_far())
        return "done"

    calls, run = calls_of(Toolset([look]))
    asyncio.run(calls.run([ToolCall("1", "look")], resumed=False))
    assert [message.kind for message in known] == ([] if repeatable else ["unknown_outcome"])
    assert calls.results_so_far() == []
    assert [message.text for message in run.transcript] == ["done"]


def test_a_turn_ends_the_run_if_each_of_its_calls_answers_the_person() -> None:
    calls, _ = calls_of(Toolset([act, answer]))
    both = [ToolCall("1", "answer"), ToolCall("2", "act")]
    results = asyncio.run(calls.run(both, resumed=False))
    assert (calls.are_final(results), calls.are_final(results[:1])) == (False, True)
