"""Recorded answers of every wire, damaged in every way, still decode or fail as ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from random import Random
from types import ModuleType
from typing import Any

import pytest
from openai import LengthFinishReasonError
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from tests.providers.bedrock.test_public import raw_events
from tests.providers.loopback import chunk
from tests.providers.recorded import Row, body_of, pieces, rows
from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.wire.sse import SSEParser

WIRES: dict[str, Any] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "bedrock-converse": bedrock,
}
ODD = [None, "x", 5, -1, True, 2.5, float("inf"), [], {}, [None], {"text": 1}, [[]], 10**400]
ODD += ["\ud83d", "\x00", "null", "[DONE]", "9" * 5000, {"error": {"message": "x", "code": 503}}]
KEYS = [
    "index",
    "id",
    "error",
    "type",
    "choices",
    "delta",
    "message",
    "content",
    "tool_calls",
    "function_call",
    "function",
    "arguments",
    "usage",
    "item",
    "response",
    "output",
    "output_index",
    "content_block",
    "candidates",
    "parts",
    "functionCall",
    "args",
    "toolUse",
    "input",
    "contentBlockIndex",
    "start",
    "refusal",
    "reasoning",
    "annotations",
    "extra_content",
]


@cache
def recorded() -> list[tuple[str, Row, list[Any] | None]]:
    """Each recorded exchange with its wire and, if it is streamed, its events."""
    found = []
    for wire in WIRES:
        for row in rows(wire):
            events = None
            if row["stream"] and wire == "bedrock-converse":
                events = raw_events(row, 1000)
            elif row["stream"]:
                events = [json.loads(data) for data in said(body_of(row)) if data != "[DONE]"]
            found.append((wire, row, events))
    return found


def said(body: bytes, size: int = 1 << 20) -> Iterator[str]:
    parser = SSEParser()
    for piece in pieces(body, size):
        yield from parser.feed(piece)
    yield from parser.close()


def wrecked(value: Any, random: Random, rate: float) -> Any:
    """`value` with some of what is in it replaced, left out, doubled, shuffled or added to."""
    if random.random() < rate:
        return random.choice(ODD)
    if isinstance(value, dict):
        kept = [item for item in value.items() if random.random() > rate / 2]
        made = {key: wrecked(one, random, rate) for key, one in kept}
        if random.random() < rate:
            made[random.choice(KEYS)] = random.choice(ODD)
        return made
    if isinstance(value, list):
        made = [wrecked(one, random, rate) for one in value]
        if made and random.random() < rate:
            made.append(random.choice(made))
        if random.random() < rate:
            random.shuffle(made)
        return made
    return value


def decoded(wire: ModuleType, row: Row, events: list[Any] | None, random: Random) -> Any:
    rate = random.choice([0.003, 0.01, 0.05])
    if events is None:
        return wire.decode(wrecked(row["response"], random, rate))
    spoilt = wrecked(events, random, rate)
    spoilt = spoilt if isinstance(spoilt, list) else [spoilt]
    if random.random() < 0.3:
        random.shuffle(spoilt)
    if random.random() < 0.3:
        spoilt = spoilt[: random.randrange(len(spoilt) + 1)]
    return assemble(wire.decode_stream(spoilt))


def check(seed: int) -> None:
    random = Random(seed)
    name, row, events = random.choice(recorded())
    try:
        reply: AssistantMessage = decoded(WIRES[name], row, events, random)
    except ModelError:
        return
    ids = [call.id for call in reply.tool_calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    results = [ToolMessage("ok", call.id, call.name) for call in reply.tool_calls]
    transcript: list[Message] = [UserMessage("hi"), reply, *results]
    for wire in WIRES.values():
        body = wire.encode(ModelRequest(transcript), "m")
        json.dumps(body, ensure_ascii=False, allow_nan=False, default=bytes.hex).encode()


@pytest.mark.parametrize("part", range(4))
def test_no_damage_makes_a_wire_fail_otherwise_than_with_our_own_error(part: int) -> None:
    for seed in range(part * 500, part * 500 + 500):
        try:
            check(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_no_damage_makes_a_wire_fail_in_many_more_tries(part: int) -> None:
    for seed in range(10_000 * (part + 1), 10_000 * (part + 2)):
        try:
            check(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


# — harmless noise changes nothing —


def bom(body: bytes) -> bytes:
    return b"\xef\xbb\xbf" + body


def comments(body: bytes) -> bytes:
    return b": hello\n\n" + body.replace(b"\n\n", b"\n\n: ping\n\n")


def windows(body: bytes) -> bytes:
    return body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def old_mac(body: bytes) -> bytes:
    return body.replace(b"\r\n", b"\n").replace(b"\n", b"\r")


def fields(body: bytes) -> bytes:
    return body.replace(b"data: ", b"id: 7\nretry: 10\nunknown\ndata:")


def no_done(body: bytes) -> bytes:
    return body.replace(b"data: [DONE]", b": the end")


def no_last_break(body: bytes) -> bytes:
    return body.rstrip(b"\r\n") + b"\n"


NOISES = [bom, comments, windows, old_mac, fields, no_done, no_last_break]
SSE = [wire for wire in WIRES if wire != "bedrock-converse"]


def outcome(wire: str, texts: Iterator[str]) -> AssistantMessage:
    reply: AssistantMessage = assemble(WIRES[wire].decode_stream(texts))
    return reply


def comparable(reply: AssistantMessage) -> tuple[Any, ...]:
    """What is the same each time: ids that were made are left out."""
    calls = [(call.name, call.arguments, call.complete) for call in reply.tool_calls]
    return (
        reply.text,
        calls,
        reply.finish_reason,
        reply.usage,
        reply.reasoning,
        reply.provider_options,
    )


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("wire", SSE)
def test_noise_around_events_changes_nothing(wire: str, noise: Any) -> None:
    for row in rows(wire):
        if row["stream"]:
            plain = outcome(wire, said(body_of(row)))
            assert comparable(outcome(wire, said(noise(body_of(row)), 3))) == comparable(plain)


NOTHINGS: dict[str, list[Any]] = {
    "openai-chat": [
        None,
        {},
        {"choices": []},
        {"choices": None, "usage": None},
        {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}}]},
        {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
        {"choices": [{"index": 1, "delta": {"content": "other", "tool_calls": [{"index": 0}]}}]},
        chunk(content="", role="assistant"),
        chunk(content=None, tool_calls=[], reasoning_content="", unknown={"a": 1}),
        chunk(tool_calls=None, function_call=None, refusal=None, audio=None),
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    ],
    "openai-responses": [
        {},
        {"type": "keepalive", "sequence_number": 0},
        {"type": "response.brand_new.delta", "output_index": 0, "delta": "x"},
        {"type": "response.content_part.added", "part": None},
    ],
    "anthropic": [
        {"type": "ping"},
        {"type": "brand_new_event", "index": 0},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "brand_new_delta"}},
        {"type": "message_delta", "delta": {}, "usage": None},
    ],
    "gemini": [{}, {"candidates": None}, {"candidates": []}, {"brandNew": {"a": 1}}],
    "bedrock-converse": [
        {"brandNewEvent": {"a": 1}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"brandNew": "x"}}},
    ],
}


@pytest.mark.parametrize("wire", WIRES)
def test_events_that_say_nothing_change_nothing_wherever_they_stand(wire: str) -> None:
    for name, _, events in recorded():
        if name != wire or events is None:
            continue
        plain = comparable(assemble(WIRES[wire].decode_stream(events)))
        for nothing in NOTHINGS[wire]:
            mixed = [one for event in events for one in (event, nothing)]
            told = comparable(assemble(WIRES[wire].decode_stream(mixed)))
            assert told[:5] == plain[:5], nothing


def test_line_separators_of_unicode_end_no_event() -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive"
    data = json.dumps(chunk("stop", content=text), ensure_ascii=False)
    body = f"data: {data}\n\ndata: [DONE]\n\n".encode()
    for size in (1, 2, 3, 1000):
        assert outcome("openai-chat", said(body, size)).text == text


# — where the official SDK can read a damaged stream, we read the same —


def softened(value: Any, random: Random, rate: float) -> Any:
    """`value` with some keys left out or null, as imitators do."""
    if isinstance(value, list):
        return [softened(one, random, rate) for one in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, one in value.items():
        chance = random.random()
        if chance > rate:
            made[key] = None if chance < 2 * rate else softened(one, random, rate)
    return made


def test_what_the_sdk_reads_of_an_incomplete_chat_stream_we_read_too() -> None:
    streams = [events for name, _, events in recorded() if name == "openai-chat" and events]
    same = 0
    for seed in range(600):
        random = Random(seed)
        events = softened(random.choice(streams), random, random.choice([0.002, 0.01]))
        state: Any = ChatCompletionStreamState()
        try:
            for event in events:
                state.handle_chunk(ChatCompletionChunk.model_validate(event))
            message = state.get_final_completion().choices[0].message
        except (ValueError, AssertionError, AttributeError, RuntimeError, LengthFinishReasonError):
            continue
        calls = [(c.function.name or "", c.function.arguments) for c in message.tool_calls or ()]
        reply = assemble(openai_chat.decode_stream(events))
        found = [(call.name, call.arguments) for call in reply.tool_calls]
        assert (found, reply.text) == (calls, message.content or ""), f"seed {seed}"
        same += 1
    assert same > 100
