"""Chat Completions answers become deltas, whatever the server makes of the format."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionChunk

from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, FinishReason, Reasoning, Usage
from toolkeel.model_interface import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolkeel.providers.openai_chat import decode
from toolkeel.providers.openai_chat.stream import StreamDecoder
from toolkeel.providers.wire.plain_json import clean_text

Json = dict[str, Any]


def chunk(finish: str | None = None, **delta: Any) -> Json:
    return {"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(index: int = 0, id: str = "", name: str = "", arguments: Any = "") -> Json:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}


def deltas_of(*chunks: object) -> list[Delta]:
    decoder = StreamDecoder()
    deltas = [delta for one in chunks for delta in decoder.feed(one)]
    return [*deltas, *decoder.finish()]


def reply_to(*chunks: object) -> AssistantMessage:
    return assemble(deltas_of(*chunks))


def test_text_comes_as_it_is_said() -> None:
    deltas = deltas_of(chunk(role="assistant", content=""), chunk(content="你"), chunk("stop"))
    assert deltas == [TextDelta("你"), Finish("stop", Usage(1), "m-1")]


def test_text_that_could_be_the_text_so_far_comes_before_a_call() -> None:
    made = chunk(tool_calls=[call(0, "1", "act", "{}")])
    deltas = deltas_of(chunk(content="Ha"), chunk(content="Haha"), made, chunk("tool_calls"))
    assert list(dict.fromkeys(map(type, deltas))) == [TextDelta, CallDelta, Finish]
    assert "".join(one.text for one in deltas if isinstance(one, TextDelta)) == "HaHaha"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("stop", "stop"),
        ("end", "stop"),
        ("length", "length"),
        ("content_filter", "filtered"),
        ("network_error", "error"),
        ("model_context_window_exceeded", "length"),
        ("something_new", "error"),
        (None, "incomplete"),
        ("", "incomplete"),
    ],
)
def test_every_reason_becomes_one_of_ours(said: str | None, reason: FinishReason) -> None:
    reply = reply_to(chunk(content="a"), chunk(said))
    assert reply.finish_reason == reason
    assert reply.content == "a"
    assert reply.provider_options.get("finish_reason") == (said if reason == "error" else None)


@pytest.mark.parametrize("said", ["stop", "tool_calls", "function_call", "tool_use"])
def test_a_reply_with_calls_ends_with_tool_calls(said: str) -> None:
    reply = reply_to(chunk(tool_calls=[call(0, "a", "f", "{}")]), chunk(said))
    assert reply.finish_reason == "tool_calls"
    assert reply.tool_calls[0].complete


@pytest.mark.parametrize("said", ["length", "content_filter", "network_error", None])
def test_calls_of_a_reply_that_ended_badly_never_run(said: str | None) -> None:
    reply = reply_to(chunk(tool_calls=[call(0, "a", "f", "{}")]), chunk(said))
    assert [one.complete for one in reply.tool_calls] == [False]


def test_a_bad_end_is_not_taken_back_by_a_good_one() -> None:
    assert reply_to(chunk("length"), chunk("stop")).finish_reason == "length"
    assert reply_to(chunk("stop"), chunk("tool_calls")).finish_reason == "tool_calls"


def test_empty_and_null_chunks_say_nothing() -> None:
    nothing: list[object] = [
        None,
        "",
        b" ",
        "[DONE]",
        "null",
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [None]},
        {"choices": [{"delta": None}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": None, "content": None}}]},
        {"choices": [{"delta": {"tool_calls": [None, {}, {"index": 0, "function": None}]}}]},
    ]
    assert deltas_of(*nothing) == []
    assert reply_to(*nothing, chunk("stop")).finish_reason == "stop"


def test_other_choices_than_the_first_are_left_out() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "B"}, "finish_reason": "length"}]}
    assert reply_to(chunk(content="A"), second, chunk("stop")).content == "A"


def test_text_between_the_pieces_of_a_call_closes_nothing() -> None:
    reply = reply_to(
        chunk(tool_calls=[call(0, "a", "f", '{"x"')]),
        chunk(content="hm"),
        chunk(content=" ok", tool_calls=[call(0, arguments=": 1}")]),
        chunk("tool_calls"),
    )
    assert (reply.content, reply.tool_calls[0].arguments) == ("hm ok", '{"x": 1}')


def test_the_old_function_call_is_a_call() -> None:
    old = {"name": "f", "arguments": '{"x"'}
    reply = reply_to(
        chunk(function_call=old), chunk(function_call={"arguments": ": 1}"}), chunk("function_call")
    )
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("f", '{"x": 1}')]


USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [], "usage": USAGE},
        {"choices": [{"index": 0, "delta": {}, "usage": USAGE}]},
        {"choices": [], "x_groq": {"usage": USAGE}},
        {"usage": {**USAGE, "prompt_tokens_details": None, "prompt_cache_hit_tokens": 4}},
        {"usage": {**USAGE, "prompt_tokens_details": {}, "cached_tokens": 4}},
    ],
)
def test_usage_is_found_wherever_a_server_puts_it(last: Json) -> None:
    assert reply_to(chunk("stop"), last).usage == Usage(1, 10, 5, 4, 2)


def test_usage_full_of_nulls_counts_one_request() -> None:
    nulls = dict.fromkeys(USAGE)
    assert reply_to(chunk("stop"), {"usage": nulls}).usage == Usage(1)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_is_kept_with_the_name_it_came_by(key: str) -> None:
    deltas = deltas_of(chunk(**{key: "six "}), chunk(**{key: "times"}), chunk("stop", content="42"))
    assert deltas[0] == ReasoningDelta("six ")
    reply = assemble(deltas)
    assert reply.reasoning == (Reasoning("six times", "", "m-1"),)
    assert reply.provider_options["reasoning_key"] == key


def test_reasoning_said_under_two_names_is_said_once() -> None:
    reply = reply_to(chunk(reasoning="a", reasoning_content="a"), chunk("stop"))
    assert reply.reasoning[0].text == "a"


def test_thoughts_among_the_parts_of_content_are_reasoning() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "42"},
    ]
    reply = reply_to(chunk("stop", content=parts))
    assert (reply.content, reply.reasoning[0].text) == ("42", "hm")


def test_reasoning_details_are_collected_piece_by_piece() -> None:
    first = {"type": "reasoning.text", "index": 0, "id": None, "text": "si", "format": "x"}
    reply = reply_to(
        chunk(reasoning_details=[first]),
        chunk(reasoning_details=[{**first, "text": "x", "signature": "s"}]),
        chunk(reasoning_details=[{"type": "reasoning.encrypted", "id": "call_1", "data": "zz"}]),
        chunk(tool_calls=[call(0, "call_1", "f", "{}")]),
        chunk("tool_calls"),
    )
    assert reply.provider_options["reasoning_details"] == [
        {**first, "text": "six", "signature": "s"},
        {"type": "reasoning.encrypted", "id": "call_1", "data": "zz"},
    ]


def test_a_refusal_keeps_its_text() -> None:
    reply = reply_to(chunk(refusal="I can"), chunk(refusal="not."), chunk("stop"))
    assert (reply.finish_reason, reply.content) == ("refusal", "I cannot.")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"error": {"message": "Too many", "code": 429}}, 429),
        ({"error": {"message": "Too many", "code": "503"}}, 503),
        ({"error": {"message": "Too many", "code": "rate_limit"}}, None),
        ({"error": "Too many"}, None),
        ({"object": "error", "message": "Too many", "code": 400}, 400),
    ],
)
def test_an_error_in_place_of_a_chunk_is_raised(error: Json, status: int | None) -> None:
    decoder = StreamDecoder()
    decoder.feed(chunk(content="a"))
    with pytest.raises(ModelError, match="Too many") as raised:
        decoder.feed(error)
    assert raised.value.status == status


@pytest.mark.parametrize("key", ["delta", "message"])
def test_an_error_that_a_router_puts_beside_a_message_is_raised_with_what_was_spent(
    key: str,
) -> None:
    failed = {"index": 0, "finish_reason": "error", key: {"content": ""}}
    error = {"message": "the provider is down", "code": 502}
    decoder = StreamDecoder()
    with pytest.raises(ModelError, match="the provider is down") as raised:
        decoder.feed({"choices": [{**failed, "error": error}], "usage": {"prompt_tokens": 3}})
    assert (raised.value.status, raised.value.retryable) == (502, True)
    assert decoder.reported_usage().input_tokens == 3


@pytest.mark.parametrize("choices", [[None], [{"message": 5}], [{"finish_reason": "stop"}]])
def test_a_whole_answer_without_a_message_is_none(choices: list[Any]) -> None:
    with pytest.raises(ModelError, match="no message"):
        decode({"choices": choices})
    filtered = {"choices": [{"finish_reason": "content_filter", "message": None}]}
    assert decode(filtered).finish_reason == "filtered"


def test_garbage_in_place_of_a_chunk_is_raised() -> None:
    with pytest.raises(ModelError, match="not JSON"):
        StreamDecoder().feed("<html>502")


def test_chunks_may_be_text_bytes_dicts_or_the_sdks_objects() -> None:
    one = {
        "id": "x",
        "created": 1,
        "object": "chat.completion.chunk",
        **chunk("stop", content="東"),
    }
    forms: list[object] = [one, json.dumps(one), json.dumps(one).encode()]
    forms.append(ChatCompletionChunk.model_validate(one))
    assert {reply_to(form).content for form in forms} == {"東"}


def test_a_surrogate_pair_cut_between_chunks_is_one_character() -> None:
    assert (
        reply_to(chunk(content="a\ud83d"), chunk(content="\udc31b"), chunk("stop")).content
        == "a🐱b"
    )


def test_a_whole_completion_sent_as_one_chunk_is_read_whole() -> None:
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call(0, "a", "f", {"x": x}) for x in (1, 2, 1)],
    }
    reply = reply_to({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    assert [(c.id, c.arguments) for c in reply.tool_calls] == [("a", '{"x":1}'), ("a_2", '{"x":2}')]


ODD = st.sampled_from(
    [None, 0, 1, -1, True, 2.5, "", "x", "stop", "{", "\ud83d", [], {}, [None], {"text": 1}, [[]]]
)
KEYS = st.sampled_from(
    [
        "choices",
        "delta",
        "message",
        "index",
        "id",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "usage",
        "model",
        "prompt_tokens",
        "finish_reason",
        "reasoning_details",
        "refusal",
        "function_call",
        "x_groq",
        "type",
        "custom",
        "input",
        "thinking",
        "text",
    ]
)


@st.composite
def damaged(draw: st.DrawFn) -> Json:
    """A good chunk of which some parts were replaced by anything."""
    good = chunk("stop", content="a", tool_calls=[call(0, "a", "f", "{}")], reasoning="r")
    spoilt: Any = copy.deepcopy({**good, "usage": USAGE})
    for _ in range(draw(st.integers(1, 3))):
        place = spoilt
        while isinstance(place, dict | list) and place:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys))
            if draw(st.booleans()):
                place[key] = copy.deepcopy(draw(ODD))  # the next damage may be inside it
                break
            place = place[key]
    return {**spoilt, draw(KEYS): draw(ODD)}


@given(st.lists(damaged(), max_size=4))
def test_no_chunk_however_damaged_makes_the_decoder_fail(chunks: list[Json]):
    reply = reply_to(*chunks)
    assert len({one.id for one in reply.tool_calls}) == len(reply.tool_calls)


# — servers with an accent —


def test_empty_values_are_read_as_nothing() -> None:
    """As servers written in Go send them."""
    message = {"content": "Hi", "function_call": {"name": "", "arguments": ""}, "tool_calls": None}
    decoder = StreamDecoder()
    deltas = decoder.feed({"choices": [{"delta": message, "finish_reason": ""}]})
    deltas += decoder.feed({"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]})
    reply = assemble([*deltas, *decoder.finish()])
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("Hi", (), "stop")


def test_what_a_message_says_besides_is_kept_and_grows() -> None:
    first = {
        "annotations": [{"url": "a"}],
        "executed_tools": None,
        "extra_content": {"g": {"a": 1}},
    }
    second = {"content": "x", "annotations": [{"url": "b"}], "extra_content": {"h": 2}}
    reply = reply_to(chunk(**first), chunk("stop", **second))
    assert reply.provider_options == {
        "annotations": [{"url": "a"}, {"url": "b"}],
        "extra_content": {"g": {"a": 1}, "h": 2},
    }


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"error": "no such model"}, "no such model"),
        ({"error": {"message": {"detail": "too long"}, "code": 400}}, "too long"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
        ({"object": "error", "message": "busy", "code": 503}, "busy"),
    ],
)
def test_an_error_says_the_servers_own_words_however_they_are_wrapped(
    sent: Any, words: str
) -> None:
    for read in (StreamDecoder().feed, StreamDecoder().read_response):
        with pytest.raises(ModelError, match=words):
            read(sent)


@given(
    st.text(min_size=1, max_size=9),
    st.none()
    | st.fixed_dictionaries(
        {}, optional={"role": st.just("assistant"), "content": st.none() | st.text()}
    ),
    st.booleans(),
)
def test_an_answer_that_is_not_streamed_is_its_message_whatever_delta_is_beside_it(
    text: str, beside: Any, has_calls: bool
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": text, "tool_calls": [call] if has_calls else None}
    choice = {"index": 0, "message": message, "delta": beside, "finish_reason": "stop"}
    reply = decode({"object": "chat.completion", "choices": [choice]})
    assert reply.text == clean_text(text)
    assert [one.name for one in reply.tool_calls] == ["f"] * has_calls


@given(st.lists(st.text(max_size=5), min_size=1, max_size=5))
def test_in_a_stream_the_delta_counts_whatever_message_is_beside_it(pieces: list[str]) -> None:
    decoder = StreamDecoder()
    deltas: list[Any] = []
    for end in range(1, len(pieces) + 1):
        so_far = {"role": "assistant", "content": "".join(pieces[:end])}
        delta = {"role": "assistant", "content": pieces[end - 1]}
        choice = {"index": 0, "message": so_far, "delta": delta, "finish_reason": None}
        deltas += decoder.feed({"choices": [choice]})
    deltas += decoder.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert assemble([*deltas, *decoder.finish()]).text == clean_text("".join(pieces))
