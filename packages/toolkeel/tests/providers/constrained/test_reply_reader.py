"""A constrained reply is a call, or an answer that is passed on as it arrives."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkeel import tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Finish, OutputFormat, ReasoningDelta, TextDelta
from toolkeel.providers.constrained.reply_reader import ConstrainedReply, read_constrained
from toolkeel.providers.constrained.reply_schema import MAX_CHARS


@tool(name="note.add")
def note(text: str, count: int = 0) -> str:
    """Add a note."""
    return text


def read(
    text: str,
    cuts: list[int] | None = None,
    reason: Any = "stop",
    output: OutputFormat | None = None,
) -> AssistantMessage:
    reader = ConstrainedReply([note], output)
    places = [0, *sorted({cut for cut in cuts or [] if 0 < cut < len(text)}), len(text)]
    pieces = [TextDelta(text[a:b]) for a, b in itertools.pairwise(places)]
    return assemble([one for piece in [*pieces, Finish(reason)] for one in reader.feed(piece)])


def answer(value: object, key: str = "text", *, escaped: bool = False) -> str:
    written = {"name": "answer", "arguments": {key: value}}
    return json.dumps(written, ensure_ascii=escaped)


CUTS = st.lists(st.integers(1, 80), max_size=6)


@given(st.text(max_size=30), st.booleans(), CUTS)
@example("\U0001f600", True, list(range(1, 40)))
@example('a\\"b\n', False, list(range(1, 40)))
def test_an_answer_arrives_unchanged_however_it_is_cut(
    text: str, escaped: bool, cuts: list[int]
) -> None:
    written = answer(text, escaped=escaped)
    assert read(written, cuts).text == text
    assert read_constrained(AssistantMessage(written), [note]).text == text


@given(st.text(max_size=30), st.integers(), CUTS)
def test_a_call_is_one_however_it_is_cut(text: str, count: int, cuts: list[int]) -> None:
    arguments = {"text": text, "count": count}

    reply = read(json.dumps({"name": "note_add", "arguments": arguments}), cuts)
    [call] = reply.tool_calls
    assert (call.name, reply.text, reply.finish_reason) == ("note.add", "", "tool_calls")
    cleaned = {"text": text.replace("\0", ""), "count": count}
    assert json.loads(str(call.arguments)) in (arguments, cleaned)


def test_an_answer_is_shown_while_it_arrives() -> None:
    reader = ConstrainedReply([note])
    shown = [reader.feed(TextDelta(letter)) for letter in answer("Hi é", escaped=True) + " "]
    texts = ["".join(one.text for one in deltas if isinstance(one, TextDelta)) for deltas in shown]
    assert [text for text in texts if text] == ["H", "i", " ", "é"]


@pytest.mark.parametrize("wrong", ["\\ud83d", "\\ud83dx", "\\ud83d\\n", "\\ud83d\\u0041"])
def test_half_a_surrogate_pair_is_replaced(wrong: str) -> None:
    text = read(answer("a? b c d e f").replace("?", wrong), list(range(1, 90))).text
    assert text.startswith("a\ufffd")
    assert text.endswith("b c d e f")


def test_an_answer_with_a_form_is_its_json() -> None:
    value = {"city": "Paris", "note": 'a "}" b', "more": [1, {"x": []}]}
    output = OutputFormat("report", {"type": "object"})
    for cuts in ([], [1, 5, 12, 13, 20, 40, 41, 42], list(range(1, 120))):
        reply = read(answer(value, "value") + "  ", cuts, output=output)
        assert json.loads(reply.text) == value


@tool(name="answer")
def answering_machine(text: str) -> str:
    """Say something to whoever calls."""
    return text


def test_a_tool_with_the_name_of_an_answer_is_called() -> None:
    said = read_constrained(AssistantMessage(answer("hi")), [answering_machine])
    assert [call.name for call in said.tool_calls] == ["answer"]
    other = AssistantMessage(answer("hi").replace("answer", "answer_"))
    assert read_constrained(other, [answering_machine]).text == "hi"


def test_a_call_that_was_cut_off_never_runs() -> None:
    for text in ('{"name": "note_add", "arguments": {"text": "ab', '{"name": "note_add"'):
        reply = read(text, reason="length")
        assert [(call.name, call.complete) for call in reply.tool_calls] == [("note.add", False)]
        assert reply.text == ""


def test_a_text_as_long_as_the_schema_allows_counts_as_cut_off() -> None:
    for size, complete in ((MAX_CHARS, False), (MAX_CHARS - 1, True)):
        call = {"name": "note_add", "arguments": {"text": "x" * size}}
        reply = read(json.dumps(call))
        assert [call.complete for call in reply.tool_calls] == [complete]
        whole = read_constrained(AssistantMessage(json.dumps(call)), [note])
        assert [call.complete for call in whole.tool_calls] == [complete]


def test_a_reply_of_a_server_that_ignores_the_schema_stays_text() -> None:
    assert read("It is noon.").text == "It is noon."
    assert read('{"name": "ans').text == '{"name": "ans'
    reader = ConstrainedReply([note])
    assert reader.feed(ReasoningDelta("Hm.")) == [ReasoningDelta("Hm.")]
