"""Repair makes any transcript valid and leaves a valid one as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.agent.valid import problems
from toolwright.agent.transcript import order_results, repair
from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

IDS = st.sampled_from(["1", "2", "3", ""])
REPLIES = st.builds(
    lambda text, ids: AssistantMessage(text, tuple(ToolCall(i, "f") for i in ids)),
    st.sampled_from(["", "text"]),
    st.lists(IDS, max_size=3),
)
RESULTS = st.builds(lambda id, text: ToolMessage(text, id, "f"), IDS, st.text(max_size=3))
MESSAGES = st.one_of(REPLIES, RESULTS, st.builds(UserMessage, st.text(max_size=3)))


@given(st.lists(MESSAGES, max_size=12))
def test_any_transcript_becomes_valid_but_for_calls_at_its_very_end(given_: list[Message]) -> None:
    repaired = repair([*given_, UserMessage("end")])
    assert problems(repaired) == []
    assert repair(repaired) == repaired


@given(st.lists(MESSAGES, max_size=12))
def test_repair_invents_no_results_and_loses_no_words_of_a_person(given_: list[Message]) -> None:
    repaired = repair(given_)
    results = [m for m in repaired if isinstance(m, ToolMessage) and m.kind != "skipped"]
    assert all(any(result is message for message in given_) for result in results)
    assert [m for m in repaired if isinstance(m, UserMessage)] == [
        m for m in given_ if isinstance(m, UserMessage)
    ]


def test_a_late_result_moves_to_its_call_and_takes_the_place_of_none() -> None:
    call, result = ToolCall("1", "f"), ToolMessage("late", "1", "f")
    reply = AssistantMessage(tool_calls=(call,))
    assert repair([reply, UserMessage("hm"), result]) == [reply, result, UserMessage("hm")]


def test_an_unanswered_call_at_the_end_may_still_run_and_is_left_alone() -> None:
    reply = AssistantMessage(tool_calls=(ToolCall("1", "f"),))
    assert repair([UserMessage("go"), reply]) == [UserMessage("go"), reply]


def test_results_that_came_late_in_a_resumed_turn_are_put_in_call_order() -> None:
    calls = tuple(ToolCall(str(n), "f") for n in range(3))
    first, second, third = (ToolMessage(str(n), str(n), "f") for n in range(3))
    messages: list[Message] = [AssistantMessage(tool_calls=calls), first, third, second]
    order_results(messages)
    assert messages[1:] == [first, second, third]
