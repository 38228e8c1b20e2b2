"""Anthropic's events become deltas, however the server tells them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, Reasoning, ToolMessage, Usage
from toolkeel.model_interface import ReasoningDelta
from toolkeel.providers import anthropic
from toolkeel.providers.anthropic.stream import StreamDecoder

Event = dict[str, Any]


def start(index: int, kind: str, **more: Any) -> Event:
    block = {"type": kind, **more}
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, kind: str, **more: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def stop(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def begin(**message: Any) -> Event:
    usage = {"input_tokens": 5, "output_tokens": 1}
    return {"type": "message_start", "message": {"model": "claude-x", "usage": usage, **message}}


def end(reason: str | None = "end_turn", usage: Any = None, **delta: Any) -> list[Event]:
    told = {"stop_reason": reason, **delta}
    return [{"type": "message_delta", "delta": told, "usage": usage}, {"type": "message_stop"}]


def use(index: int, id: str, name: str, *pieces: str, input: Any = None) -> list[Event]:
    told = [piece(index, "input_json_delta", partial_json=text) for text in pieces]
    return [start(index, "tool_use", id=id, name=name, input=input or {}), *told, stop(index)]


def reply_of(*events: Event) -> AssistantMessage:
    return assemble(anthropic.decode_stream(events))


# — calls —


def test_arguments_come_in_pieces() -> None:
    [call] = reply_of(begin(), *use(0, "t", "f", '{"a"', ": 1}"), *end("tool_use")).tool_calls
    assert (call.id, call.name, call.arguments, call.complete) == ("t", "f", '{"a": 1}', True)


@pytest.mark.parametrize("pieces", [(), ("",), ("", " ")])
def test_a_call_without_arguments_has_an_empty_object(pieces: tuple[str, ...]) -> None:
    [call] = reply_of(*use(0, "t", "f", *pieces), *end("tool_use")).tool_calls
    assert str(call.arguments).strip() == "{}"


@pytest.mark.parametrize("input", [{"a": 1}, '{"a":1}'])
def test_arguments_may_come_whole_at_the_start(input: Any) -> None:
    [call] = reply_of(*use(0, "t", "f", input=input), *end("tool_use")).tool_calls
    assert call.arguments == '{"a":1}'


def test_a_call_whose_block_never_stopped_is_whole_if_the_message_is() -> None:
    [call] = reply_of(start(0, "tool_use", id="t", name="f", input={}), *end("tool_use")).tool_calls
    assert (call.arguments, call.complete) == ("{}", True)


def test_calls_told_in_turns_do_not_mix() -> None:
    reply = reply_of(
        start(1, "tool_use", id="a", name="f", input={}),
        start(2, "tool_use", id="b", name="g", input={}),
        piece(1, "input_json_delta", partial_json='{"x":'),
        piece(2, "input_json_delta", partial_json='{"y":'),
        piece(1, "input_json_delta", partial_json="1}"),
        piece(2, "input_json_delta", partial_json="2}"),
        stop(2),
        stop(1),
        *end("tool_use"),
    )
    assert [(call.id, call.arguments) for call in reply.tool_calls] == [
        ("a", '{"x":1}'),
        ("b", '{"y":2}'),
    ]


def test_blocks_that_all_have_one_index_are_told_apart_by_their_starts() -> None:
    reply = reply_of(*use(0, "a", "f", '{"x":1}'), *use(0, "b", "g", '{"y":2}'), *end("tool_use"))
    assert [(call.id, call.arguments) for call in reply.tool_calls] == [
        ("a", '{"x":1}'),
        ("b", '{"y":2}'),
    ]


def test_missing_and_repeated_ids_become_unique() -> None:
    reply = reply_of(*use(0, "", "f"), *use(1, "t", "f"), *use(2, "t", "f"), *end("tool_use"))
    ids = [call.id for call in reply.tool_calls]
    assert ids[1:] == ["t", "t_2"]
    assert ids[0].startswith("call_")


def test_what_else_a_call_carries_is_kept_and_goes_back() -> None:
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    head = start(
        0, "tool_use", id="t", name="click", input={}, caller=caller, toolset_name="computer"
    )
    reply = reply_of(begin(), head, stop(0), *end("tool_use", container={"id": "c_1"}))
    assert reply.tool_calls[0].provider_options == {
        "anthropic": {"caller": caller, "toolset_name": "computer"}
    }
    [back] = anthropic.encode_turn(reply, [result("t")])[:1]
    assert back["content"][0]["caller"] == caller  # type: ignore[index]
    answer: Any = anthropic.encode_turn(reply, [result("t")])[1]
    assert answer["content"][0]["toolset_name"] == "computer"


@pytest.mark.parametrize("signature", ["", "c2ln"])
def test_a_complete_reply_shows_if_its_server_signs(signature: str) -> None:
    thought = [start(0, "thinking", thinking=""), piece(0, "thinking_delta", thinking="hm")]
    signed = [piece(0, "signature_delta", signature=signature)] if signature else []
    events = [begin(), *thought, *signed, stop(0), *use(1, "t", "f"), *end("tool_use")]
    extra: Any = reply_of(*events).provider_options.get("anthropic", {})
    assert extra.get("unsigned_thinking") is (None if signature else True)
    cut: Any = reply_of(*events[:-2]).provider_options.get("anthropic", {})
    assert "unsigned_thinking" not in cut  # the signature may have been lost


def result(id: str) -> ToolMessage:
    return ToolMessage("ok", id)


def test_half_a_surrogate_pair_waits_for_the_other() -> None:
    reply = reply_of(
        start(0, "text", text=""),
        piece(0, "text_delta", text="a\ud83d"),
        piece(0, "text_delta", text="\udc31b"),
        stop(0),
        *use(1, "t", "f", '{"a": "\ud83d', '\udc31"}'),
        *end("tool_use"),
    )
    assert (reply.text, reply.tool_calls[0].arguments) == ("a🐱b", '{"a": "🐱"}')


# — how it ends —


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("sensitive", "error"),
        ("pause_turn", "stop"),
        ("something_new", "error"),
    ],
)
def test_every_stop_reason_has_a_word(reason: str, finish: str) -> None:
    reply = reply_of(begin(), start(0, "text", text="a"), stop(0), *end(reason))
    assert reply.finish_reason == finish
    told = reply.provider_options.get("anthropic", {})
    unknown = reason in ("something_new", "pause_turn")
    assert told == ({"stop_reason": reason} if unknown else {})


def test_calls_of_a_turn_that_did_not_end_well_are_incomplete() -> None:
    for reason in ("max_tokens", "refusal", "something_new"):
        reply = reply_of(*use(0, "t", "f", "{}"), *end(reason))
        assert [call.complete for call in reply.tool_calls] == [False]
    for cut in (2, 3):
        events = [*use(0, "t", "f", "{}"), *end("tool_use")][:-cut]
        reply = reply_of(*events)
        assert reply.finish_reason == "incomplete"
        assert [call.complete for call in reply.tool_calls] == [False]


@pytest.mark.parametrize("mark", [None, "[DONE]", {"type": "ping"}])
def test_a_message_that_says_why_it_ended_is_whole_without_its_last_event(mark: Any) -> None:
    events = [begin(), *use(0, "t", "f", '{"a": 1}'), *end("tool_use")]
    assert reply_of(*events[:-1], mark) == reply_of(*events)
    reply = reply_of(*events[:-2], mark)
    assert (reply.finish_reason, reply.tool_calls[0].complete) == ("incomplete", False)


def test_a_message_that_ends_without_a_reason_is_whole() -> None:
    reply = reply_of(*use(0, "t", "f", "{}"), {"type": "message_stop"})
    assert (reply.finish_reason, reply.tool_calls[0].complete) == ("tool_calls", True)


def test_a_snapshot_of_a_message_is_not_whole() -> None:
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    assert anthropic.decode({"content": [block]}).finish_reason == "tool_calls"
    partial = anthropic.decode({"content": [block], "stop_reason": None})
    assert (partial.finish_reason, partial.tool_calls[0].complete) == ("incomplete", False)


def test_a_refusal_keeps_its_explanation() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "no"}
    reply = reply_of(begin(), *end("refusal", stop_details=details))
    assert reply.provider_options == {"anthropic": {"stop_details": details}}


@pytest.mark.parametrize(
    ("kind", "status"), [("overloaded_error", 529), ("rate_limit_error", 429), ("new_error", None)]
)
def test_an_error_inside_a_stream_is_raised_with_its_status(kind: str, status: int | None) -> None:
    event = {"type": "error", "error": {"type": kind, "message": "busy"}}
    with pytest.raises(ModelError, match="busy") as raised:
        reply_of(begin(), event)
    assert raised.value.status == status


def test_what_is_unknown_holds_nothing() -> None:
    decoder = StreamDecoder()
    for event in ({"type": "ping"}, {"type": "new"}, {}, "", "[DONE]", None, piece(7, "odd", a=1)):
        assert decoder.feed(event) == []
    assert decoder.feed(stop(9)) == decoder.finish() == []


# — usage —


def test_usage_is_cumulative_and_may_be_null() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    last = {
        "input_tokens": None,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    reply = reply_of(begin(usage={**usage, "output_tokens": 1}), *end(usage=last))
    assert reply.usage == Usage(1, 125, 9, 100, 4, 20)
    assert reply_of(begin(usage=None), *end(usage=None)).usage == Usage(1)
    assert reply.model == "claude-x"


# — reasoning and what only the server knows —

THOUGHT = [
    start(0, "thinking", thinking="", signature=""),
    piece(0, "thinking_delta", thinking="h"),
    piece(0, "thinking_delta", thinking="m"),
    piece(0, "signature_delta", signature="c2ln"),
    stop(0),
]


def test_thinking_keeps_its_signature() -> None:
    decoder = StreamDecoder()
    deltas = [delta for event in THOUGHT for delta in decoder.feed(event)]
    assert deltas == [ReasoningDelta("h"), ReasoningDelta("m"), ReasoningDelta("", "c2ln")]
    reply = reply_of(begin(), *THOUGHT, start(1, "text", text="42"), *end())
    assert reply.reasoning == (Reasoning("hm", "c2ln", "claude-x"),)
    assert (reply.text, reply.provider_options) == ("42", {})


def test_a_signature_without_a_thought_is_kept() -> None:
    reply = reply_of(begin(), start(0, "thinking", thinking="", signature="c2ln"), *end())
    assert reply.reasoning == (Reasoning("", "c2ln", "claude-x"),)


WHOLE = {
    "model": "claude-x",
    "role": "assistant",
    "stop_reason": "tool_use",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "Let me see."},
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"q": "東京"},
        },
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"a": None}]},
        {"type": "text", "text": "It says", "citations": [{"type": "x", "title": None}]},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1.0, None, "é"]}},
        {"type": "thinking", "thinking": "more", "signature": "bW9yZQ"},
        {"type": "tool_use", "id": "u", "name": "f", "input": {}},
        {"type": "something_new", "payload": {"deep": [1]}},
    ],
}


def as_stream(message: Any) -> list[Event]:
    """A whole message, told in pieces as the server does."""
    events: list[Event] = [begin(model=message["model"])]
    for index, block in enumerate(message["content"]):
        kind = block["type"]
        if kind == "text":
            head = {**block, "text": ""}
            head.pop("citations", None)
            told = [piece(index, "text_delta", text=char) for char in block["text"]]
            told += [
                piece(index, "citations_delta", citation=c) for c in block.get("citations", ())
            ]
        elif kind == "thinking":
            head = {**block, "thinking": "", "signature": ""}
            told = [piece(index, "thinking_delta", thinking=char) for char in block["thinking"]]
            told.append(piece(index, "signature_delta", signature=block["signature"]))
        elif kind in ("tool_use", "server_tool_use"):
            head = {**block, "input": {}}
            arguments = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
            told = [piece(index, "input_json_delta", partial_json=char) for char in arguments]
        else:
            head, told = block, []
        events += [{**start(index, kind), "content_block": head}, *told, stop(index)]
    return [*events, *end(message["stop_reason"])]


def test_every_block_goes_back_where_it_stood() -> None:
    for reply in (anthropic.decode(WHOLE), reply_of(*as_stream(WHOLE))):
        assert reply.text == "Let me see.It says"
        assert [one.text for one in reply.reasoning] == ["hm", "more"]
        assert [call.id for call in reply.tool_calls] == ["t", "u"]
        results = [result("t"), result("u")]
        assert anthropic.encode_turn(reply, results)[0]["content"] == WHOLE["content"]
        json.dumps(dict(reply.provider_options))


def test_a_block_nobody_knows_grows_by_its_pieces() -> None:
    reply = reply_of(
        start(0, "compaction", content=""),
        piece(0, "compaction_delta", content="ab", parts=[1]),
        piece(0, "compaction_delta", content="cd", parts=[2], none=None),
        stop(0),
        *end(),
    )
    block = {"type": "compaction", "content": "abcd", "parts": [1, 2]}
    assert reply.provider_options == {"anthropic": {"content": [block]}}


def test_a_piece_whose_start_never_came_is_still_said() -> None:
    reply = reply_of(
        piece(0, "thinking_delta", thinking="hm"), piece(1, "text_delta", text="a"), *end()
    )
    assert (reply.text, reply.reasoning) == ("a", (Reasoning("hm"),))


def test_a_pause_goes_on_in_the_next_message() -> None:
    decoder = StreamDecoder()
    search = start(1, "server_tool_use", id="srvtoolu_1", name="web_search", input={})
    first = [begin(), start(0, "text", text="One."), stop(0), search, stop(1), *end("pause_turn")]
    deltas = [delta for event in first for delta in decoder.feed(event)]
    content = [
        {"type": "text", "text": "One."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    ]
    assert decoder.continuation() == [{"role": "assistant", "content": content}]
    lost = piece(0, "thinking_delta", thinking="hm")  # its start never came
    second = [begin(), lost, *use(1, "t", "f", "{}"), *end("tool_use", {"output_tokens": 7})]
    deltas += [delta for event in second for delta in decoder.feed(event)]
    assert not decoder.continuation()
    reply = assemble([*deltas, *decoder.finish()])
    assert (reply.text, reply.tool_calls[0].id) == ("One.", "t")
    assert [one.text for one in reply.reasoning] == ["hm"]
    assert (reply.finish_reason, reply.usage) == ("tool_calls", Usage(2, 10, 8))


# — any reply —

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
inputs = st.dictionaries(
    words, st.integers() | words | st.none() | st.lists(words, max_size=2), max_size=3
)
parts = st.one_of(
    st.builds(lambda t: {"type": "text", "text": t + "."}, words),
    st.builds(lambda t, s: {"type": "thinking", "thinking": t, "signature": s + "="}, words, words),
    st.builds(lambda i: {"type": "tool_use", "name": "f", "input": i}, inputs),
    st.builds(lambda i: {"type": "server_tool_use", "id": "s", "name": "g", "input": i}, inputs),
    st.builds(lambda d: {"type": "redacted_thinking", "data": d}, words),
)
messages = st.lists(parts, max_size=6).map(
    lambda blocks: {
        "model": "m",
        "role": "assistant",
        "stop_reason": "end_turn",
        "content": [
            {**block, "id": f"t{index}"} if block["type"] == "tool_use" else block
            for index, block in enumerate(blocks)
        ],
    }
)


@given(messages)
def test_any_reply_is_the_same_whole_and_streamed_and_goes_back_unchanged(message: Any):
    whole, streamed = anthropic.decode(message), reply_of(*as_stream(message))
    assert [json.loads(str(call.arguments)) for call in whole.tool_calls] == [
        json.loads(str(call.arguments)) for call in streamed.tool_calls
    ]
    for reply in (whole, streamed):
        results = [result(call.id) for call in reply.tool_calls]
        turn = anthropic.encode_turn(reply, results)
        sent = [*message["content"]]
        while sent and sent[-1]["type"] in ("thinking", "redacted_thinking"):
            sent.pop()  # the service refuses it at the end
        assert [one["content"] for one in turn[:1]] == [sent][: bool(sent)]


events = st.lists(
    st.one_of(
        st.builds(
            start, st.integers(0, 2), st.sampled_from(["text", "tool_use", "thinking", "odd"])
        ),
        st.builds(stop, st.integers(0, 3)),
        st.builds(
            lambda i, kind, value: piece(i, kind, text=value, partial_json=value, thinking=value),
            st.integers(0, 3),
            st.sampled_from(["text_delta", "input_json_delta", "thinking_delta", "odd", None]),
            st.sampled_from(["", "{", "}", "a", None, 5]),
        ),
        st.sampled_from([begin(), begin(content=None, usage=5), *end(), {"type": "message_delta"}]),
    ),
    max_size=10,
)


@given(events)
def test_nothing_that_a_server_sends_makes_it_fail(told: list[Event]):
    decoder = StreamDecoder()
    deltas = [delta for event in told for delta in decoder.feed(event)]
    reply = assemble([*deltas, *decoder.finish()])
    starts = [one for one in told if one.get("content_block", {}).get("type") == "tool_use"]
    assert len(reply.tool_calls) == len(starts)
    is_ended = False
    for one in told:
        ends = one["type"] == "message_stop" or one.get("delta", {}).get("stop_reason")
        is_ended = bool(ends) or (is_ended and one["type"] != "message_start")
    assert (reply.finish_reason == "incomplete") != is_ended
    turn = anthropic.encode_turn(reply, [result("")] * len(starts))
    assert len(turn) == (2 if starts else len(turn))
