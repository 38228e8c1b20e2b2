"""Converse events become deltas, however the service tells them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, Reasoning, ToolMessage, Usage
from toolkeel.model_interface import ReasoningDelta, TextDelta
from toolkeel.providers import bedrock
from toolkeel.providers.bedrock.stream import StreamDecoder

Event = dict[str, Any]


def start(index: int, **block: Any) -> Event:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": block}}


def piece(index: int, **delta: Any) -> Event:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}


def stop(index: int) -> Event:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def end(reason: str = "end_turn", **usage: int) -> list[Event]:
    return [{"messageStop": {"stopReason": reason}}, {"metadata": {"usage": usage}}]


def use(index: int, id: str, name: str, *pieces: str, **more: Any) -> list[Event]:
    told = [piece(index, toolUse={"input": text}) for text in pieces]
    return [start(index, toolUse={"toolUseId": id, "name": name, **more}), *told, stop(index)]


def reply_of(*events: Event, model: str = "") -> AssistantMessage:
    return assemble(bedrock.decode_stream(events, model=model))


def result(id: str) -> ToolMessage:
    return ToolMessage("ok", id)


def test_text_has_no_start() -> None:
    decoder = StreamDecoder()
    assert decoder.feed({"messageStart": {"role": "assistant"}}) == []
    assert decoder.feed(piece(0, text="H")) == [TextDelta("H")]
    assert decoder.feed(json.dumps(piece(0, text="i"))) == [TextDelta("i")]


def test_arguments_come_in_pieces() -> None:
    reply = reply_of(*use(0, "t", "f", '{"a"', ": 1}"), *use(1, "u", "g"), *end("tool_use"))
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("t", "f", '{"a": 1}'),
        ("u", "g", "{}"),
    ]
    assert reply.finish_reason == "tool_calls"


def test_half_a_surrogate_pair_waits_for_the_other() -> None:
    reply = reply_of(
        piece(0, text="a\ud83d"),
        piece(0, text="\udc31"),
        *use(1, "t", "f", '{"a": "\ud83d', '\udc31"}'),
        *end("tool_use"),
    )
    assert (reply.text, reply.tool_calls[0].arguments) == ("a🐱", '{"a": "🐱"}')


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "filtered"),
        ("content_filtered", "filtered"),
        ("malformed_tool_use", "error"),
        ("malformed_model_output", "error"),
        ("something_new", "error"),
    ],
)
def test_every_stop_reason_has_a_word(reason: str, finish: str) -> None:
    reply = reply_of(*use(0, "t", "f", "{}"), *end(reason))
    whole = finish == "stop"
    assert reply.finish_reason == ("tool_calls" if whole else finish)
    assert [call.complete for call in reply.tool_calls] == [whole]
    odd = finish in ("filtered", "error")
    assert reply.provider_options == ({"bedrock": {"stopReason": reason}} if odd else {})


def test_a_stream_without_its_last_word_was_cut_off() -> None:
    events = [*use(0, "t", "f", "{}"), *end("tool_use")]
    assert reply_of(*events[:-1]).finish_reason == "tool_calls"  # only the usage is missing
    for cut in range(1, len(events) - 1):
        reply = reply_of(*events[:cut])
        assert reply.finish_reason == "incomplete"
        assert not any(call.complete for call in reply.tool_calls)


def test_usage_counts_cached_tokens_as_input() -> None:
    told = {"inputTokens": 2, "outputTokens": 3, "cacheReadInputTokens": 10}
    reply = reply_of(piece(0, text="a"), *end(**told, cacheWriteInputTokens=5), model="m")
    assert (reply.usage, reply.model) == (Usage(1, 17, 3, 10, 0, 5), "m")


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("throttlingException", {"message": "slow"}, 429),
        ("validationException", {"message": "bad"}, 400),
        ("modelStreamErrorException", {"message": "x", "originalStatusCode": 408}, 408),
        ("internalServerException", {}, 500),
    ],
)
def test_an_error_inside_a_stream_is_raised_with_its_status(
    name: str, body: Any, status: int
) -> None:
    with pytest.raises(ModelError, match=body.get("message", name)) as raised:
        reply_of(piece(0, text="a"), {name: body})
    assert raised.value.status == status


def test_reasoning_keeps_its_signature() -> None:
    decoder = StreamDecoder(model="claude-x")
    thought: list[Any] = [{"text": "h"}, {"text": "m"}, {"signature": "c2ln"}]
    deltas = [d for one in thought for d in decoder.feed(piece(0, reasoningContent=one))]
    assert deltas == [ReasoningDelta("h"), ReasoningDelta("m"), ReasoningDelta("", "c2ln")]
    deltas += [d for event in [piece(1, text="42"), *end()] for d in decoder.feed(event)]
    reply = assemble([*deltas, *decoder.finish()])
    assert reply.reasoning == (Reasoning("hm", "c2ln", "claude-x"),)
    assert (reply.text, reply.provider_options) == ("42", {})


CONTENT: list[Any] = [
    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
    {"reasoningContent": {"redactedContent": b"opaque"}},
    {"text": "Let me see."},
    {"toolUse": {"toolUseId": "s", "name": "code", "input": {"x": 1}, "type": "server_tool_use"}},
    {"toolResult": {"toolUseId": "s", "type": "code_result", "content": [{"json": {"out": 2.0}}]}},
    {
        "citationsContent": {
            "content": [{"text": "It says"}],
            "citations": [{"title": "t", "location": {"web": {"url": "u"}}}],
        }
    },
    {"citationsContent": {"citations": [{"location": {"web": {"url": "v"}}}]}},
    {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": [1.0, None, "é"]}}},
    {"toolUse": {"toolUseId": "u", "name": "f", "input": {}}},
]


def as_stream(content: list[Any], reason: str) -> list[Event]:
    """Whole blocks, told in pieces as the service does."""
    events: list[Event] = [{"messageStart": {"role": "assistant"}}]
    for index, block in enumerate(content):
        [(key, body)] = block.items()
        if key == "text":
            events += [piece(index, text=char) for char in body]
        elif key == "reasoningContent":
            thought = body.get("reasoningText", {})
            events += [piece(index, reasoningContent={"text": c}) for c in thought.get("text", "")]
            rest = {k: v for k, v in {**body, **thought}.items() if not k.endswith(("ext", "Text"))}
            events += [piece(index, reasoningContent={k: v}) for k, v in rest.items() if v]
            if "redactedContent" in rest:
                half = len(rest["redactedContent"]) // 2
                events.pop()
                for part in (slice(0, half), slice(half, None)):
                    told = {"redactedContent": rest["redactedContent"][part]}
                    events.append(piece(index, reasoningContent=told))
        elif key == "citationsContent":
            events += [
                piece(index, text=char) for one in body.get("content", ()) for char in one["text"]
            ]
            events += [piece(index, citation=one) for one in body["citations"]]
        elif key == "toolUse":
            head = {k: v for k, v in body.items() if k != "input"}
            arguments = json.dumps(body["input"], ensure_ascii=False) if body["input"] else ""
            events.append(start(index, toolUse=head))
            events += [piece(index, toolUse={"input": char}) for char in arguments]
        else:
            head = {k: v for k, v in body.items() if k != "content"}
            events.append(start(index, **{key: head}))
            events += [piece(index, **{key: [one]}) for one in body["content"]]
        events.append(stop(index))
    return [*events, *end(reason)]


def whole(content: list[Any], reason: str) -> Any:
    return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason}


def test_every_block_goes_back_where_it_stood() -> None:
    for reply in (
        bedrock.decode(whole(CONTENT, "tool_use")),
        reply_of(*as_stream(CONTENT, "tool_use")),
    ):
        assert reply.text == "Let me see.It says"
        assert [call.id for call in reply.tool_calls] == ["t", "u"]
        turn = bedrock.encode_turn(reply, [result("t"), result("u")])
        assert turn[0]["content"] == CONTENT
        json.dumps(dict(reply.provider_options))


def test_redacted_reasoning_in_json_text_is_read() -> None:
    block = {"reasoningContent": {"redactedContent": "b3BhcXVl"}}
    reply = bedrock.decode(json.dumps(whole([block, {"text": "a"}], "end_turn")))
    back: Any = bedrock.encode_turn(reply, [])[0]["content"]
    assert back[0] == {"reasoningContent": {"redactedContent": b"opaque"}}


def test_what_is_unknown_holds_nothing() -> None:
    decoder = StreamDecoder()
    for event in ({"new": {}}, {}, None, stop(7), piece(7, toolUse={"input": "{"}), start(3)):
        assert decoder.feed(event) == []
    assert decoder.finish() == []


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
values = st.integers() | words | st.none() | st.lists(words, max_size=2)
inputs = st.dictionaries(words, values, max_size=3)
parts = st.one_of(
    st.builds(lambda t: {"text": t + "."}, words),
    st.builds(
        lambda t, s: {"reasoningContent": {"reasoningText": {"text": t, "signature": s + "="}}},
        words,
        words,
    ),
    st.builds(lambda i: {"toolUse": {"name": "f", "input": i}}, inputs),
    st.builds(
        lambda i: {
            "toolUse": {"toolUseId": "s", "name": "g", "input": i, "type": "server_tool_use"}
        },
        inputs,
    ),
)


def numbered(blocks: list[Any]) -> list[Any]:
    return [
        {"toolUse": {**block["toolUse"], "toolUseId": f"t{index}"}}
        if "toolUse" in block and "type" not in block["toolUse"]
        else block
        for index, block in enumerate(blocks)
    ]


@given(st.lists(parts, max_size=6).map(numbered))
def test_any_reply_is_the_same_whole_and_streamed_and_goes_back_unchanged(content: list[Any]):
    for reply in (
        bedrock.decode(whole(content, "end_turn")),
        reply_of(*as_stream(content, "end_turn")),
    ):
        turn = bedrock.encode_turn(reply, [result(call.id) for call in reply.tool_calls])
        sent = [*content]
        while sent and "reasoningContent" in sent[-1]:
            sent.pop()  # the service refuses it at the end
        assert [one["content"] for one in turn[:1]] == [sent][: bool(sent)]


pairs = st.one_of(
    st.builds(piece, st.integers(0, 2), text=st.sampled_from(["", "a", None])),
    st.builds(
        lambda index, text: piece(index, toolUse={"input": text}),
        st.integers(0, 2),
        st.sampled_from(["", "{", "}", None]),
    ),
    st.builds(
        lambda index, told: piece(index, reasoningContent=told),
        st.integers(0, 2),
        st.sampled_from([{"text": "a"}, {"signature": "s"}, {}, None, {"redactedContent": b"x"}]),
    ),
    st.builds(lambda i: start(i, toolUse={"toolUseId": "t", "name": "f"}), st.integers(0, 2)),
    st.builds(lambda i: start(i, toolResult={"toolUseId": "t"}), st.integers(0, 2)),
    st.builds(lambda i: piece(i, toolResult=[{"text": "x"}]), st.integers(0, 2)),
    st.builds(lambda i: piece(i, citation={"title": "t"}), st.integers(0, 2)),
    st.builds(stop, st.integers(0, 2)),
    st.sampled_from([*end(), *end("max_tokens")]),
)


@given(st.lists(pairs, max_size=10))
def test_nothing_that_the_service_sends_makes_it_fail(told: list[Event]):
    reply = reply_of(*told)
    starts = [one for one in told if "toolUse" in one.get("contentBlockStart", {}).get("start", {})]
    assert len(reply.tool_calls) == len(starts)
    stopped = any("messageStop" in one for one in told)
    assert (reply.finish_reason == "incomplete") != stopped
    bedrock.encode_turn(reply, [result("")] * len(starts))


def test_an_answer_that_a_guardrail_masked_is_an_answer() -> None:
    def ended(action: str, *calls: Event) -> str:
        assessed = {"g": [{"sensitiveInformationPolicy": {"piiEntities": [{"action": action}]}}]}
        trace = {"guardrail": {"outputAssessments": assessed}}
        events = [
            piece(0, text="{NAME} is here."),
            *calls,
            {"messageStop": {"stopReason": "guardrail_intervened"}},
        ]
        return reply_of(*events, {"metadata": {"trace": trace}}).finish_reason

    assert (ended("ANONYMIZED"), ended("BLOCKED")) == ("stop", "filtered")
    assert ended("ANONYMIZED", *use(1, "t", "f")) == "tool_calls"
