"""What the readers of all wires share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import TextDelta
from toolkeel.providers import anthropic
from toolkeel.providers.wire.plain_json import as_list
from toolkeel.streaming import assemble

SAYING: dict[str, Any] = {
    "anthropic": {
        "type": "message",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Hi"}],
    },
    "bedrock": {"output": {"message": {"content": [{"text": "Hi"}]}}, "stopReason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},
    "openai_chat": {
        "object": "chat.completion",
        "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
    },
    "openai_responses": {
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
    },
}
"""One whole answer of each wire."""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"error": {"message": "broke", "code": 503}}, 503),
        ({"error": "broke"}, None),
        ({"error": {"code": 503}}, 503),
        ({"detail": "broke"}, None),
        ({"message": "broke", "status": 429}, 429),
        ({"object": "error", "message": "broke", "code": 400}, 400),
        ({"type": "error", "message": "broke", "code": "server_error"}, 500),
    ],
)
@pytest.mark.parametrize("wire", SAYING)
def test_what_a_proxy_sends_in_place_of_an_event_is_an_error_on_every_wire(
    wire: str, error: dict[str, Any], status: int | None
) -> None:
    read = import_module(f"toolkeel.providers.{wire}").decode_stream([SAYING[wire], error])
    with pytest.raises(ModelError, match=r"broke|503|error") as raised:
        list(read)
    assert raised.value.status == status


@pytest.mark.parametrize("wire", SAYING)
def test_a_whole_answer_of_each_wire_is_one_message(wire: str) -> None:
    door = import_module(f"toolkeel.providers.{wire}")
    reply = door.decode(SAYING[wire])
    assert (reply.text, reply.finish_reason, door.decode_calls(reply)) == ("Hi", "stop", [])


@pytest.mark.parametrize("wire", SAYING)
def test_a_message_of_ours_is_only_given_proper_ids(wire: str) -> None:
    twins = AssistantMessage("", (ToolCall("a", "f"), ToolCall("a", "f")), "tool_calls")
    calls = import_module(f"toolkeel.providers.{wire}").decode_calls(twins)
    assert [call.id for call in calls] == ["a", "a_2"]


@pytest.mark.parametrize("wire", SAYING)
def test_blank_events_and_the_mark_of_the_end_hold_nothing(wire: str) -> None:
    decoder = import_module(f"toolkeel.providers.{wire}").StreamDecoder()
    for nothing in ("", " \n", b"", "[DONE]", b" [DONE]\n"):
        assert decoder.feed(nothing) == []


@pytest.mark.parametrize("wire", ["anthropic", "gemini", "openai_chat", "openai_responses"])
def test_a_whole_answer_is_one_event_of_a_stream_too(wire: str) -> None:
    door = import_module(f"toolkeel.providers.{wire}")

    async def events() -> AsyncIterator[object]:
        yield SAYING[wire]

    async def read() -> list[Any]:
        return [delta async for delta in door.adecode_stream(events())]

    deltas = asyncio.run(read())
    assert deltas[0] == TextDelta("Hi")
    assert deltas == list(door.decode_stream([SAYING[wire]]))


@pytest.mark.parametrize("wire", SAYING)
@pytest.mark.parametrize("other", SAYING)
def test_the_answer_of_another_wire_is_an_error_that_names_its_reader(
    wire: str, other: str
) -> None:
    door = import_module(f"toolkeel.providers.{wire}")
    if wire == other:
        assert door.decode(SAYING[other]).text == "Hi"
        return
    with pytest.raises(ModelError, match=rf"toolkeel\.providers\.{other}"):
        door.decode(SAYING[other])


WORDS = st.sampled_from(
    ["type", "message", "content", "text", "choices", "delta", "tool_calls", "function", "error"]
    + [
        "output",
        "item",
        "output_index",
        "candidates",
        "parts",
        "functionCall",
        "args",
        "name",
        "id",
    ]
    + ["content_block", "index", "contentBlockDelta", "toolUse", "stopReason", "usage", "role"]
    + ["detail", "finish_reason", "finishReason", "content_block_start", "response.completed"]
    + ["response.output_item.done", "assistant", "model", "user", "function_call", "tool_use"]
    + ["functionResponse", "toolResult", "tool_result", "messages", "input", "contents", "image"]
    + [
        "images",
        "audio",
        "data",
        "url",
        "image_url",
        "inlineData",
        "mimeType",
        "transcript",
        "result",
    ]
)
ANYTHING: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats()
    | WORDS
    | st.sampled_from(["", "\ud83d", "\x00", "[DONE]", "{", "null", 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)
"""Any JSON at all, most of it made of words that wires have."""


DOORS = [import_module(f"toolkeel.providers.{wire}") for wire in SAYING]


@given(events=st.lists(ANYTHING, max_size=4))
def test_whatever_a_server_sends_nothing_but_our_error_escapes(events: list[Any]) -> None:
    for door in DOORS:
        with suppress(ModelError):
            list(door.decode_stream(events))
        with suppress(ModelError):
            list(map(door.decode, events))


@given(body=ANYTHING)
def test_whatever_is_stored_is_read_or_refused_as_our_error(body: Any) -> None:
    for door in DOORS:
        with suppress(ModelError):
            assert isinstance(door.decode_messages(body), list), door


def test_a_reply_under_another_name_belongs_to_the_model_that_was_requested() -> None:
    """A deployment or a router answers under another name; plain functions know it as agents do."""
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    use = {"type": "tool_use", "id": "t1", "name": "add", "input": {}}
    answer = {
        "type": "message", "role": "assistant", "model": "router-7", "stop_reason": "tool_use",
        "content": [thinking, use], "usage": {},
    }  # fmt: skip
    events: list[Any] = [
        {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": thinking},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": use},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    for reply in (
        anthropic.decode(answer, model="best"),
        assemble(anthropic.decode_stream(events, model="best")),
    ):
        sent = {
            model: anthropic.encode_messages([UserMessage("?"), reply, ToolMessage("1", "t1")], model=model)
            for model in ("best", "other")
        }  # fmt: skip
        assert as_list(sent["best"][1]["content"])[0] == thinking
        assert thinking not in as_list(sent["other"][1]["content"])
    assert anthropic.decode(answer, model="router-7").provider_options == {}
