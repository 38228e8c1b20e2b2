"""Pictures and sounds that a model makes are content: seen, saved, and sent back where they belong."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.loopback import Json, answer, events, saying
from tests.providers.models import (
    MODELS,
    chat,
    gemini,
    responses,
)
from tests.providers.test_every_wire import PNG, SEEN
from toolkeel import Agent
from toolkeel._records.messages_json import dump_message, load_message
from toolkeel.agent.reply_assembly import assemble
from toolkeel.content import Audio, Image, Text
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, Message, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import openai_chat

URL = f"data:image/png;base64,{SEEN}"
SHOWN: Json = {"type": "image_url", "image_url": {"url": URL}}
PART: Json = {"inlineData": {"mimeType": "image/png", "data": SEEN}, "thoughtSignature": "c2ln"}
ITEM: Json = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": SEEN}
SAID: Json = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "A cat."}],
}
WHOLE: dict[Callable[..., Any], Json] = {
    chat: {"choices": [{"message": {"content": "A cat.", "images": [SHOWN]}}]},
    gemini: {
        "modelVersion": "m",
        "candidates": [{"content": {"parts": [{"text": "A cat."}, PART]}, "finishReason": "STOP"}],
    },
    responses: {"model": "m", "output": [ITEM, SAID]},
}
STREAMED: dict[Callable[..., Any], bytes] = {
    chat: events(
        {"choices": [{"delta": {"content": "A "}}]},
        {"choices": [{"delta": {"content": "cat.", "images": [SHOWN]}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    ),
    gemini: events(
        {"candidates": [{"content": {"parts": [{"text": "A cat."}]}}]},
        {"candidates": [{"content": {"parts": [PART]}, "finishReason": "STOP"}]},
        done=False,
    ),
    responses: events(
        {"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, "result": None}},
        {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "A cat."},
        {"type": "response.completed", "response": {"output": [ITEM, SAID]}},
        done=False,
    ),
}
BACK: dict[Callable[..., Any], Json] = {chat: SHOWN, gemini: PART, responses: ITEM}
"""A picture as its own wire wants it back."""


def drawn(make: Callable[..., Any], stream: bool) -> tuple[list[Message], Json]:
    """A transcript whose reply has a picture, saved and read; and the request that it makes."""
    said = STREAMED[make] if stream else answer(json.dumps(WHOLE[make]))
    with saying(said) as server:
        agent = Agent(make(server, stream=stream))
        first = agent.run_sync("Draw a cat.")
        saved = [json.loads(json.dumps(dump_message(one))) for one in first.messages]
        messages = [load_message(one) for one in saved]
        agent.run_sync([*messages, UserMessage("Another.")])
        body = json.dumps(server.requests[-1])
        if make is gemini:  # whose SDK writes base64 in the other alphabet
            body = body.replace("-", "+").replace("_", "/")
        return messages, json.loads(body)


def inside(value: Any, wanted: Json) -> bool:
    if value == wanted:
        return True
    within = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and any(inside(one, wanted) for one in within)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("make", WHOLE)
def test_a_picture_is_content_is_saved_and_goes_back_once_in_its_place(
    make: Callable[..., Any], stream: bool
) -> None:
    messages, body = drawn(make, stream)
    assert isinstance(messages[-1], AssistantMessage)
    assert messages[-1].content == (Text("A cat."), Image(PNG))
    assert inside(body, BACK[make])
    text = json.dumps(body)
    assert (text.count(SEEN), text.count("A cat."), "[image" in text) == (1, 1, False)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("other", MODELS)
@pytest.mark.parametrize("make", WHOLE)
def test_other_wires_are_told_of_a_picture_that_a_model_made(
    make: Callable[..., Any], other: Callable[..., Any]
) -> None:
    messages, _ = drawn(make, stream=False)
    if make is other:
        return

    async def ask(model: Any) -> None:
        with pytest.raises(ModelError):
            async for _ in model.stream(ModelRequest([*messages, UserMessage("Well?")])):
                pass

    with saying(answer("{}", status=400)) as server:
        asyncio.run(ask(other(server)))
    text = json.dumps(server.requests[0])
    assert "A cat.\\n[image/png, 70 bytes]" in text and SEEN not in text


def test_a_picture_of_another_model_is_not_sent_as_one_of_its_own() -> None:
    reply = openai_chat.decode({"model": "painter", **WHOLE[chat]})
    [wire] = openai_chat.encode_messages([reply], model="writer")
    assert wire == {"role": "assistant", "content": "A cat.\n[image/png, 70 bytes]"}


PCM = bytes(range(256)) * 4


def heard(cuts: list[int], **beside: Any) -> AssistantMessage:
    """A sound that came in pieces, each of them base64 by itself."""
    edges = [0, *sorted({cut % len(PCM) for cut in cuts}), len(PCM)]
    parts = [PCM[start:end] for start, end in pairwise(edges)]
    pieces: list[Json] = [{"audio": {"id": "audio_1", "transcript": "Hel"}}]
    pieces += [{"audio": {"data": base64.b64encode(part).decode()}} for part in parts]
    pieces += [{"audio": {"transcript": "lo", **beside}}]
    chunks: list[Json] = [{"choices": [{"delta": one}]} for one in pieces]
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    return assemble(openai_chat.decode_stream([*chunks, end]))


@given(st.lists(st.integers(1, 10_000), max_size=8))
def test_a_sound_is_content_however_it_was_cut(cuts: list[int]) -> None:
    said, sound = heard(cuts, expires_at=7).content
    assert (said, sound) == (
        Text("Hello"),
        Audio(PCM, "audio/pcm", {"id": "audio_1", "expires_at": 7}),
    )
    reply = heard(cuts, expires_at=7)
    assert load_message(json.loads(json.dumps(dump_message(reply)))) == reply


def test_a_sound_goes_back_by_its_id_as_long_as_the_server_knows_it() -> None:
    [known] = openai_chat.encode_messages([heard([], expires_at=9_999_999_999)])
    assert known == {"role": "assistant", "content": "Hello", "audio": {"id": "audio_1"}}
    [forgotten] = openai_chat.encode_messages([heard([], expires_at=1)])
    assert forgotten["content"] == "Hello\n[audio/pcm, 1024 bytes]"


def test_a_sound_that_came_whole_has_the_type_of_its_bytes() -> None:
    data = base64.b64encode(b"ID3" + PCM).decode()
    audio = {"id": "a", "data": data, "transcript": "Hi", "expires_at": 5}
    reply = openai_chat.decode({"choices": [{"message": {"content": None, "audio": audio}}]})
    assert reply.content == (
        Text("Hi"),
        Audio(b"ID3" + PCM, "audio/mpeg", {"id": "a", "expires_at": 5}),
    )


def test_a_picture_alone_is_an_answer() -> None:
    said = {"choices": [{"message": {"content": "", "images": [SHOWN]}}]}
    with saying(answer(json.dumps(said))) as server:
        result = Agent(chat(server, stream=False)).run_sync("Draw.")
    assert (result.reason, result.output) == ("answered", "[image/png, 70 bytes]")
