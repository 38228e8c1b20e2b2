"""Gemini's answers as servers send them, complete or not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import TextDelta
from toolkeel.providers.gemini import decode
from toolkeel.providers.gemini.stream import REASONS, StreamDecoder

Json = dict[str, Any]
WIRE = "gemini"


def chunk(*parts: Json, end: str = "", **keys: Any) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": [*parts]}, "index": 0}
    if end:
        candidate["finishReason"] = end
    return {"candidates": [candidate], "modelVersion": "gemini-3-pro", **keys}


def call(name: str = "f", **keys: Any) -> Json:
    return {"functionCall": {"name": name, **keys}}


def reply_of(*chunks: Json) -> AssistantMessage:
    decoder = StreamDecoder()
    deltas = [delta for one in chunks for delta in decoder.feed(one)]
    return assemble([*deltas, *decoder.finish()])


def test_a_call_without_arguments_has_an_empty_object_and_an_id_of_ours() -> None:
    first, second = reply_of(chunk(call(), call(args={"城": "北京"}), end="STOP")).tool_calls
    assert (first.arguments, second.arguments) == ("{}", '{"城":"北京"}')
    assert first.id.startswith("call_")
    assert first.id != second.id


def test_the_servers_id_and_signature_are_kept_with_the_call() -> None:
    part = {**call(id="c1"), "thoughtSignature": "QUJD"}
    [one] = reply_of(chunk(part, end="STOP")).tool_calls
    assert one.id == "c1"
    assert one.provider_options == {WIRE: {"id": "c1", "thoughtSignature": "QUJD"}}


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "new"]
)
def test_a_broken_answer_is_an_error_and_its_calls_do_not_run(reason: str) -> None:
    reply = reply_of(chunk(call(), end=reason))
    assert (reply.finish_reason, reply.tool_calls[0].complete) == ("error", False)
    assert reply.provider_options[WIRE]["finish_reason"] == reason  # type: ignore[index]


@pytest.mark.parametrize("reason", sorted({*REASONS} - {"STOP", "FUNCTION_CALL"}))
def test_a_call_does_not_hide_why_the_answer_ended(reason: str) -> None:
    reply = reply_of(chunk(call(), end=reason))
    assert reply.finish_reason == REASONS[reason] in ("length", "refusal", "filtered")
    assert not reply.tool_calls[0].complete


def test_a_later_stop_does_not_hide_an_earlier_reason() -> None:
    reply = reply_of(chunk({"text": "a"}, end="MAX_TOKENS"), chunk(end="STOP"))
    assert reply.finish_reason == "length"


def test_an_answer_without_a_reason_was_cut_off() -> None:
    reply = reply_of(chunk({"text": "a"}), chunk(call()))
    assert (reply.finish_reason, reply.tool_calls[0].complete) == ("incomplete", False)


def test_a_blocked_prompt_is_filtered() -> None:
    reply = reply_of({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    assert reply.finish_reason == "filtered"
    assert reply.provider_options[WIRE]["finish_message"] == "PROHIBITED_CONTENT"  # type: ignore[index]


@pytest.mark.parametrize(
    ("number", "reason"),
    [(1, "stop"), (2, "length"), (3, "filtered"), (5, "error"), (8, "filtered"), (99, "error")],
)
def test_reasons_that_are_numbers_are_known_and_end_the_answer(number: int, reason: str) -> None:
    ended = chunk({"text": "a"})
    ended["candidates"][0]["finishReason"] = number
    assert reply_of(ended).finish_reason == reason


def test_a_prompt_that_is_blocked_by_a_number_is_not_asked_about_again() -> None:
    decoder = StreamDecoder()
    decoder.feed({"promptFeedback": {"blockReason": 1}})
    assert not decoder.is_empty
    assert reply_of({"promptFeedback": {"blockReason": 1}}).finish_reason == "filtered"


def test_an_empty_answer_is_known() -> None:
    decoder = StreamDecoder()
    assert decoder.feed({"usageMetadata": {"promptTokenCount": 1}}) == []
    assert decoder.is_empty
    decoder.feed(chunk(end="STOP"))
    assert not decoder.is_empty


def test_usage_is_what_was_last_said() -> None:
    reply = reply_of(
        chunk({"text": "a"}, usageMetadata={"promptTokenCount": 3, "candidatesTokenCount": 1}),
        chunk({"text": "b"}, end="STOP", usageMetadata={"candidatesTokenCount": 2}),
    )
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 2)


def test_thoughts_are_apart_and_go_back_with_their_signatures() -> None:
    reply = reply_of(
        chunk({"text": "hm", "thought": True}),
        chunk({"text": "m", "thought": True}),
        chunk({"text": "Hi"}),
        chunk({"text": "", "thoughtSignature": "QUJD"}, end="STOP"),
    )
    assert (reply.reasoning[0].text, reply.text) == ("hmm", "Hi")
    assert reply.provider_options[WIRE]["parts"] == [  # type: ignore[index]
        {"text": "hmm", "thought": True},
        {"text": "Hi"},
        {"text": "", "thoughtSignature": "QUJD"},
    ]


def test_an_answer_under_pythons_names_is_read_as_the_servers() -> None:
    told = chunk(
        {"text": "hm", "thought": True}, {**call(id="c1"), "thoughtSignature": "QUJD"}, end="STOP",
        modelVersion="gemini-3-pro", usageMetadata={"promptTokenCount": 3},
    )  # fmt: skip
    google = types.GenerateContentResponse.model_validate(told)
    expected = decode(told)
    assert expected.tool_calls and expected.usage.input_tokens == 3
    bare = {"candidates": google.model_dump(exclude_none=True)["candidates"]}
    assert decode(bare).tool_calls == expected.tool_calls
    for told_so in (google, google.model_dump(), google.model_dump_json(exclude_none=True)):
        assert decode(told_so) == expected


def test_parts_that_nobody_knows_are_kept_in_their_places() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    reply = reply_of(chunk(code, {"text": "1"}, call(), end="STOP"))
    assert reply.provider_options[WIRE]["parts"] == [code, {"text": "1"}, "call"]  # type: ignore[index]


def test_a_plain_answer_keeps_nothing_beside() -> None:
    assert (
        reply_of(chunk({"text": "a"}), chunk({"text": "b"}, call(), end="STOP")).provider_options
        == {}
    )


@given(st.text(max_size=20), st.integers(1, 4))
def test_pieces_of_any_size_make_the_whole(text: str, size: int) -> None:
    chunks = [chunk({"text": text[at : at + size]}) for at in range(0, len(text), size)]
    assert reply_of(*chunks, chunk(end="STOP")) == reply_of(chunk({"text": text}, end="STOP"))


def test_a_stream_without_sse_is_one_list() -> None:
    decoder = StreamDecoder()
    text = json.dumps([chunk({"text": "a"}), chunk({"text": "b"}, end="STOP")])
    assert decoder.feed(text) == [TextDelta("a"), TextDelta("b")]


def test_an_error_among_the_chunks_is_raised() -> None:
    with pytest.raises(ModelError, match="overloaded") as raised:
        reply_of(chunk({"text": "a"}), {"error": {"code": 503, "message": "overloaded"}})
    assert raised.value.status == 503


def test_only_the_first_candidate_counts() -> None:
    two = {"candidates": [{"index": 1, "content": {"parts": [{"text": "b"}]}}]}
    assert reply_of(two, chunk({"text": "a"}, end="STOP")).text == "a"


def test_empty_chunks_hold_nothing() -> None:
    decoder = StreamDecoder()
    for one in ("", "[DONE]", {}, {"candidates": []}, {"candidates": None}, {"candidates": [{}]}):
        assert decoder.feed(one) == []
