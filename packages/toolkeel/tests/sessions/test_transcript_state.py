"""A transcript is computed from entries: results in the order of the calls, cuts only in requests."""

from __future__ import annotations

from itertools import permutations

import pytest

from toolkeel._records.entries import CallEnded
from toolkeel.agent.history import Cut
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.sessions.transcript_state import TranscriptState

CALLS = tuple(ToolCall(id, "f") for id in "abc")


def begun(*, is_nested: bool = False) -> TranscriptState:
    state = TranscriptState(is_nested=is_nested)
    state.add_message(1, UserMessage("go"))
    state.begin_turn()
    state.add_message(2, AssistantMessage(tool_calls=CALLS))
    return state


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_results_are_in_the_order_of_the_calls_however_they_come(order: tuple[int, ...]) -> None:
    state = begun()
    for seq, place in enumerate(order, start=3):
        state.insert_result(seq, CallEnded("r", 1, place, ToolMessage("", CALLS[place].id)))
    results = state.view.messages[2:]
    assert [m.tool_call_id for m in results if isinstance(m, ToolMessage)] == ["a", "b", "c"]
    assert state.entry_numbers == [1, 2, *(3 + order.index(place) for place in range(3))]


def test_a_call_without_a_result_has_its_place_in_the_reply() -> None:
    assert [begun().position_of(call) for call in CALLS] == [0, 1, 2]


@pytest.mark.parametrize("is_nested", [True, False])
def test_a_cut_replaces_what_requests_show_but_not_of_a_nested_run(is_nested: bool) -> None:
    state = begun(is_nested=is_nested)
    inside, around = Cut(0, 1, (), "first"), Cut(0, 2, (UserMessage("short"),), "both")
    state.cut(inside)
    state.cut(around)
    assert state.cuts == [around]
    assert state.entry_numbers == ([1, 2] if is_nested else [0])
