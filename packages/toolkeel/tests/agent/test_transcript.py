"""A transcript is put in the form every provider accepts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.agent.valid import problems
from tests.providers.transcripts import transcripts
from toolkeel.agent.transcript import (
    has_called_since_person,
    make_missing_result,
    order_last_results,
    repair,
)
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)


def calling(*ids: str) -> AssistantMessage:
    return AssistantMessage(tool_calls=tuple(ToolCall(id, "f") for id in ids))


def result(id: str, text: str = "ok") -> ToolMessage:
    return ToolMessage(text, id)


def missing(id: str) -> ToolMessage:
    return make_missing_result(ToolCall(id, "f"))


def test_what_is_in_order_stays_as_it_is() -> None:
    messages: list[Message] = [
        SystemMessage("s"),
        UserMessage("u"),
        calling("a", "b"),
        result("a"),
        result("b"),
        AssistantMessage("done"),
    ]
    assert repair(messages) == messages


def test_a_call_nobody_answered_gets_a_result_that_says_so() -> None:
    assert repair([calling("a", "b"), result("b"), UserMessage("u")])[1:3] == [
        missing("a"),
        result("b"),
    ]


def test_calls_at_the_end_may_still_run() -> None:
    assert repair([calling("a", "b"), result("a")]) == [calling("a", "b"), result("a")]


def test_results_come_into_call_order() -> None:
    assert repair([calling("a", "b"), result("b"), result("a")])[1:] == [result("a"), result("b")]


def test_a_late_result_moves_to_its_call() -> None:
    messages = [calling("a"), UserMessage("u"), result("a"), AssistantMessage("x")]
    assert repair(messages) == [calling("a"), result("a"), UserMessage("u"), AssistantMessage("x")]


def test_results_before_their_call_and_without_one_and_twice_are_dropped() -> None:
    messages = [result("a"), calling("a"), result("a", "1"), result("a", "2"), result("z")]
    assert repair(messages) == [calling("a"), result("a", "1")]


def test_a_result_answers_the_call_of_its_own_turn_first() -> None:
    messages = [calling("a"), UserMessage("u"), calling("a"), result("a", "2")]
    assert repair(messages) == [
        calling("a"),
        missing("a"),
        UserMessage("u"),
        calling("a"),
        result("a", "2"),
    ]
    late = [*messages, result("a", "1")]
    assert repair(late)[1] == result("a", "1")


def test_equal_ids_in_one_reply_are_paired_by_position() -> None:
    messages = [calling("a", "a"), result("a", "1"), result("a", "2")]
    assert repair(messages) == messages


def test_a_result_without_an_id_answers_the_first_call_without_a_result() -> None:
    messages = [calling("a", "b"), result("a"), result("")]
    assert repair(messages)[1:] == [result("a"), result("b")]


def test_a_reply_that_said_nothing_is_dropped_unless_its_provider_did() -> None:
    hidden = AssistantMessage(provider_options={"anthropic": {"content": [{"type": "x"}]}})
    assert repair([AssistantMessage(), hidden]) == [hidden]


@given(transcripts)
def test_every_call_but_the_last_has_one_result_and_again_changes_nothing(messages: list[Message]):
    repaired = repair(messages)
    assert repair(repaired) == repaired
    open_calls: list[ToolCall] = []
    for message in repaired:
        if isinstance(message, ToolMessage):
            assert open_calls
            open_calls.pop(0)
            continue
        if not isinstance(message, SystemMessage):
            assert not open_calls
        if isinstance(message, AssistantMessage):
            open_calls = list(message.tool_calls)


def test_results_of_a_resumed_turn_are_put_in_call_order() -> None:
    messages: list[Message] = [calling("a", "b"), result("b"), result("a")]
    order_last_results(messages)
    assert messages == [calling("a", "b"), result("a"), result("b")]


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
    texts = [m.text for m in given_ if isinstance(m, ToolMessage)]
    assert all(result.text in texts for result in results) and len(results) <= len(texts)
    assert [m for m in repaired if isinstance(m, UserMessage)] == [
        m for m in given_ if isinstance(m, UserMessage)
    ]


def test_whether_the_model_has_called_something_is_asked_since_a_person_spoke() -> None:
    said, answer = UserMessage("go"), AssistantMessage("done")
    assert has_called_since_person([said, calling("a"), result("a")])
    assert has_called_since_person([said, calling("a"), result("a"), answer])
    assert not has_called_since_person([calling("a"), result("a"), said])
    assert not has_called_since_person([said, answer]) and not has_called_since_person([])
