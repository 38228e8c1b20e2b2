"""Transcripts read by the offline model."""

from __future__ import annotations

import pytest

from toolkeel.content import Image, Text
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.providers.offline.read_transcript import arguments_of, is_same, read_turn


def called(*calls: ToolCall) -> AssistantMessage:
    return AssistantMessage(tool_calls=calls, finish_reason="tool_calls")


def test_calls_are_paired_with_results_by_id_whatever_their_order() -> None:
    turn = read_turn(
        [
            UserMessage("go"),
            called(ToolCall("1", "a", "{}"), ToolCall("2", "b", '{"x": 1}')),
            ToolMessage("two", "2", "b", "error", "tool_error"),
            ToolMessage("one", "1", "a"),
        ]
    )
    assert [(d.name, d.text, d.failed) for d in turn.finished] == [("a", "one", False), ("b", "two", True)]  # fmt: skip
    assert turn.finished[1].arguments == {"x": 1}


def test_calls_with_one_id_are_paired_by_position() -> None:
    calls = called(ToolCall("", "a"), ToolCall("", "b"))
    turn = read_turn([UserMessage("go"), calls, ToolMessage("one"), ToolMessage("two")])
    assert [done.text for done in turn.finished] == ["one", "two"]


def test_only_what_follows_the_last_user_message_counts() -> None:
    messages: list[Message] = [
        UserMessage("first"),
        called(ToolCall("1", "a")),
        ToolMessage("one", "1", "a"),
        AssistantMessage("done"),
        UserMessage("second"),
    ]
    turn = read_turn(messages)
    assert (turn.prompt, turn.finished, turn.question, turn.call_count) == ("second", (), "", 1)


def test_a_question_without_a_call_is_remembered() -> None:
    messages: list[Message] = [
        UserMessage("zero"),
        ToolMessage("x", "1"),
        UserMessage("one"),
        AssistantMessage("what?"),
        UserMessage("two"),
        AssistantMessage("what?"),
        UserMessage("three"),
    ]
    assert read_turn(messages).question == "two"


def test_a_prompt_of_blocks_is_read_as_its_text() -> None:
    assert read_turn([UserMessage((Text("look"), Image(b"")))]).prompt.startswith("look")


def test_an_empty_transcript_has_an_empty_prompt() -> None:
    assert read_turn([]).prompt == ""


@pytest.mark.parametrize("raw", ["", "null", "[1]", "{", "NaN" + "[" * 5000])
def test_arguments_that_are_no_object_are_read_as_none(raw: str) -> None:
    assert arguments_of(ToolCall("1", "a", raw)) == {}


def test_a_call_is_the_same_whatever_the_order_of_its_keys() -> None:
    [done] = read_turn(
        [UserMessage(""), called(ToolCall("1", "a", {"x": 1, "y": 2})), ToolMessage("", "1")]
    ).finished
    assert is_same("a", {"y": 2, "x": 1}, done)
    assert not is_same("a", {"y": 2}, done)
