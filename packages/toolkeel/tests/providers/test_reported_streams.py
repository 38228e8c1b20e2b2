"""Replies of every wire from reports about other libraries and servers; each row names its report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.providers import models
from tests.providers.loopback import answer, chunk, saying
from tests.providers.loopback import events as streamed
from toolkeel import Agent, tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.wire.plain_json import arguments_object

Json = dict[str, Any]
WIRES: Json = {
    "chat": openai_chat,
    "anthropic": anthropic,
    "gemini": gemini,
    "bedrock": bedrock,
    "responses": openai_responses,
}


def piece(text: str, id: str | None = None, name: str | None = None, index: int = 0) -> Json:
    return {"index": index, "id": id, "function": {"name": name, "arguments": text}}


def calls(*pieces: Json) -> list[Json]:
    return [*(chunk(tool_calls=[one]) for one in pieces), chunk("tool_calls")]


def text_delta(text: str) -> Json:
    place = {"output_index": 0, "content_index": 0, "item_id": "m"}
    return {"type": "response.output_text.delta", **place, "delta": text}


def message(text: str) -> Json:
    content = [{"type": "output_text", "text": text}] if text else []
    return {"type": "message", "id": "m", "role": "assistant", "content": content}


def item(kind: str, wire: Json) -> Json:
    return {"type": f"response.output_item.{kind}", "output_index": 0, "item": wire}


def call_item(arguments: str) -> Json:
    return {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments}


def block(index: int, kind: str, **fields: Any) -> Json:
    event = {"type": "content_block_start", "index": index}
    return {**event, "content_block": {"type": kind, **fields}}


def block_delta(index: int, kind: str, **fields: Any) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


DONE = {"type": "response.completed", "response": {"output": []}}
START = {"type": "message_start", "message": {"model": "m", "usage": {}}}
ENDS = [
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
    {"type": "message_stop"},
]
TEXT_DONE = {"type": "response.output_text.done", "output_index": 0, "content_index": 0}
TOOL = {"toolUse": {"toolUseId": "t", "name": "f"}}

TEXTS: list[tuple[str, str, list[Any], str]] = [
    ("vercel/ai/issues/7417", "chat", [chunk(content="Hi"), chunk("stop"), {"usage": {}}], "Hi"),
    (
        "vercel/ai/issues/1865",
        "chat",
        [{"choices": [{"text": "Hi", "delta": {"content": "Hi", "tool_calls": None}}]}, "[DONE]"],
        "Hi",
    ),
    ("vercel/ai/pull/4031", "chat", [{"choices": [{"delta": {"content": "Hi"}}]}, "[DONE]"], "Hi"),
    (
        "ollama/ollama/issues/4357",
        "chat",
        [{"choices": [{"delta": {"content": "Hi"}, "finish_reason": ""}]}, chunk("stop")],
        "Hi",
    ),
    (
        "livekit/agents/pull/6324",
        "chat",
        [chunk(content=[{"type": "text", "text": "Hi"}]), chunk("stop")],
        "Hi",
    ),
    (
        "BerriAI/litellm/issues/27670",
        "chat",
        [chunk(reasoning="hm"), chunk("stop", content="Hi")],
        "Hi",
    ),
    (
        "anthropics/anthropic-sdk-python/pull/1273",
        "anthropic",
        [START, block_delta(3, "text_delta", text="Hi"), *ENDS],
        "Hi",
    ),
    (
        "anthropics/anthropic-sdk-typescript/issues/879",
        "anthropic",
        [
            START,
            block(1, "web_search_tool_result", tool_use_id="s", content=[]),
            block(1, "text", text=""),
            block_delta(1, "text_delta", text="Hi"),
            *ENDS,
        ],
        "Hi",
    ),
    (
        "BerriAI/litellm/pull/33315",
        "anthropic",
        [
            START,
            block(0, "thinking", thinking=""),
            block_delta(0, "thinking_delta", thinking=""),
            block(1, "text", text=""),
            block_delta(1, "text_delta", text="Hi"),
            *ENDS,
        ],
        "Hi",
    ),
    ("Wei-Shaw/sub2api/pull/6925", "responses", [{**TEXT_DONE, "text": "Hi"}, DONE], "Hi"),
    (
        "agentgateway/agentgateway/pull/2281",
        "responses",
        [
            text_delta("Hi"),
            {**TEXT_DONE, "type": "response.content_part.done", "part": {"text": ""}},
            item("done", message("")),
            DONE,
        ],
        "Hi",
    ),
    (
        "diegosouzapw/OmniRoute/issues/13693",
        "responses",
        [
            text_delta("H"),
            {**TEXT_DONE, "text": "H"},
            item("done", message("H")),
            text_delta("i"),
            DONE,
        ],
        "Hi",
    ),
    (
        "KochC/opencode-llm-proxy/issues/48",
        "responses",
        [text_delta("Hi"), {**TEXT_DONE, "text": ""}, DONE],
        "Hi",
    ),
    (
        "livekit/agents/issues/4066",
        "gemini",
        [{"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}]}],
        "",
    ),
    (
        "BerriAI/litellm/pull/24467",
        "gemini",
        [{"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}],
        "",
    ),
    (
        "AstrBotDevs/AstrBot/pull/6735",
        "gemini",
        [{"candidates": [{"content": {}, "finishReason": "STOP"}]}],
        "",
    ),
]


@pytest.mark.parametrize(("report", "wire", "events", "text"), TEXTS)
def test_a_reported_text_is_read(report: str, wire: str, events: list[Any], text: str) -> None:
    reply = assemble(WIRES[wire].decode_stream(events))
    assert (reply.text, reply.finish_reason, reply.tool_calls) == (text, "stop", ()), report


ARGUMENTS = '{"a": "b"}'
CALLS: list[tuple[str, str, list[Any], int]] = [
    (
        "NousResearch/hermes-agent/pull/35718",
        "chat",
        calls(*(piece(ARGUMENTS[:end], "c", "f") for end in (4, 8, 10))),
        1,
    ),
    (
        "sgl-project/sglang/issues/23071",
        "chat",
        calls(piece("", "c", "f"), piece('{"a": "b"'), piece(ARGUMENTS)),
        1,
    ),
    (
        "lidge-jun/opencodex/issues/361",
        "chat",
        calls(piece("", "c", "f"), piece(ARGUMENTS), piece(ARGUMENTS)),
        1,
    ),
    (
        "langchain-ai/langchainjs/pull/11373",
        "chat",
        calls(
            *(piece('{"a": ', "c", "f"), piece('"b"}', "null")),
            *(piece('{"a": ', "d", "f", 1), piece('"b"}', "null", None, 1)),
        ),
        2,
    ),
    (
        "vllm-project/vllm-ascend/pull/8862",
        "chat",
        [
            chunk(tool_calls=[piece('{"a": "b"', "c", "f")]),
            chunk("tool_calls", tool_calls=[piece("}")]),
        ],
        1,
    ),
    (
        "ollama/ollama/issues/15457",
        "chat",
        calls(piece(ARGUMENTS, "c", "f"), piece(ARGUMENTS, "d", "f")),
        2,
    ),
    ("ollama/ollama/issues/7881", "chat", calls({**piece(ARGUMENTS, "c", "f"), "index": None}), 1),
    ("vercel/ai/issues/6041", "chat", calls({**piece(ARGUMENTS, "c", "f"), "type": None}), 1),
    (
        "one id at two indexes",
        "chat",
        calls(piece(ARGUMENTS, "c", "f"), piece(ARGUMENTS, "c", "f", 1)),
        1,
    ),
    (
        "BerriAI/litellm/pull/39288",
        "responses",
        [
            item("added", call_item("")),
            *(
                {
                    "type": "response.function_call_arguments.delta",
                    "output_index": 0,
                    "delta": text,
                }
                for text in ("", ARGUMENTS)
            ),
            DONE,
        ],
        1,
    ),
    (
        "icoretech/codex-pooler/pull/193",
        "responses",
        [item("added", call_item(ARGUMENTS)), item("done", call_item(ARGUMENTS)), DONE],
        1,
    ),
    (
        "crewAIInc/crewAI/pull/5739",
        "bedrock",
        [
            {"contentBlockStart": {"contentBlockIndex": 0, "start": TOOL}},
            {
                "contentBlockDelta": {
                    "contentBlockIndex": 0,
                    "delta": {"toolUse": {"input": ARGUMENTS}},
                }
            },
            {"contentBlockStop": {"contentBlockIndex": 0}},
            {"messageStop": {"stopReason": "tool_use"}},
        ],
        1,
    ),
]


@pytest.mark.parametrize(("report", "wire", "events", "count"), CALLS)
def test_a_reported_call_is_read(report: str, wire: str, events: list[Any], count: int) -> None:
    reply = assemble(WIRES[wire].decode_stream(events))
    read = [(call.name, arguments_object(call.arguments)) for call in reply.tool_calls]
    assert read == [("f", {"a": "b"})] * count, report
    assert all(call.complete for call in reply.tool_calls)


ERRORS: list[tuple[str, str, list[Any], str]] = [
    (
        "diegosouzapw/OmniRoute/pull/8210",
        "chat",
        [{"choices": [], "error": {"code": 502, "message": "Worker limit"}}],
        "Worker limit",
    ),
    (
        "damianvtran/local-operator/pull/223",
        "chat",
        [chunk(content="a"), {**chunk("error"), "error": {"code": 502, "message": "gone"}}],
        "gone",
    ),
    (
        "BerriAI/litellm/issues/4562",
        "anthropic",
        [START, {"type": "error", "error": {"type": "api_error", "message": "Internal"}}],
        "Internal",
    ),
    (
        "vercel/ai/pull/13480",
        "responses",
        [{"type": "error", "code": "rate_limit_exceeded", "message": "slow"}],
        "slow",
    ),
]


@pytest.mark.parametrize(("report", "wire", "events", "words"), ERRORS)
def test_a_reported_error_is_raised(report: str, wire: str, events: list[Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        assemble(WIRES[wire].decode_stream(events))


def test_an_answer_within_the_field_of_its_provider_is_read() -> None:
    """pydantic/pydantic-ai/issues/3994, and its error."""
    answer = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "model": "m"}
    reply: AssistantMessage = openai_chat.decode({"id": None, "choices": None, "provider": answer})
    assert (reply.text, reply.model) == ("Hi", "m")
    with pytest.raises(ModelError, match="bad"):
        openai_chat.decode({"choices": None, "error": {"message": "bad", "code": 400}})


WHOLE_TEXTS = [row for row in TEXTS if row[1] == "chat" and row[3]]
WHOLE_CALLS = [row for row in CALLS if row[0].endswith(("/15457", "/7881", "/6041"))]
STREAMS = [row for row in [*TEXTS, *CALLS] if row[1] in ("anthropic", "responses") and row[3]]


def whole(chunks: list[Any]) -> Json:
    """Return the complete answer that has the contents of chunks."""
    deltas = [one["choices"][0]["delta"] for one in chunks if "choices" in one]
    calls = [call for delta in deltas for call in delta.get("tool_calls") or ()]
    rest: Json = {key: value for delta in deltas for key, value in delta.items() if value}
    end = "tool_calls" if calls else "stop"
    return {"choices": [{"message": {**rest, "tool_calls": calls}, "finish_reason": end}]}


RUNS = [
    *((row, stream) for row in [*WHOLE_TEXTS, *WHOLE_CALLS] for stream in (True, False)),
    *((row, True) for row in STREAMS),
]


@pytest.mark.parametrize(("row", "stream"), RUNS)
def test_an_agent_works_with_a_reported_reply(row: Any, stream: bool) -> None:
    report, wire, events, expected = row
    ran: list[str] = []

    @tool
    def f(a: str) -> str:
        """Note a letter."""
        ran.append(a)
        return a

    chunks = [one for one in events if one != "[DONE]"]
    last = [chunk("stop", content="Hi")] if wire == "chat" else [text_delta("Hi"), DONE]
    made = [
        streamed(*some, done=wire == "chat") if stream else answer(json.dumps(whole(some)))
        for some in (chunks, last)
    ]
    with saying(*made if isinstance(expected, int) else made[:1]) as server:
        model = getattr(models, wire)(server, stream=stream)
        result = Agent(model, tools=[f]).run_sync("go")
    assert (result.output, ran) == ("Hi", ["b"] * (expected if expected != "Hi" else 0)), report
