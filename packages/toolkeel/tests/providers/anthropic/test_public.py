"""The Messages wire, judged by Anthropic's SDK: what it reads and what its types allow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic as sdk
import httpx2
import pytest
from anthropic.types import Message as SDKMessage
from hypothesis import given

from tests.providers.recorded import Row, body_of, pieces, rows
from tests.providers.tools import TOOLS
from tests.providers.transcripts import transcripts
from tests.providers.vendors import check_anthropic
from toolkeel import Toolset, tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError, SetupError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import anthropic
from toolkeel.providers.wire.sse import SSEParser


def recorded(stream: bool) -> list[Row]:
    return [row for row in rows("anthropic") if row["stream"] is stream]


def client_saying(row: Row, size: int) -> sdk.Anthropic:
    """The SDK's client, which gets a recorded answer in pieces."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        parts = pieces(body_of(row), size)
        return httpx2.Response(200, headers={"content-type": row["ctype"]}, content=parts)

    transport = httpx2.MockTransport(answer)
    return sdk.Anthropic(api_key="x", http_client=httpx2.Client(transport=transport))


def read_by_sdk(row: Row, size: int = 4096) -> SDKMessage:
    request: Any = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "x"}]}
    with client_saying(row, size) as client:
        if not row["stream"]:
            return client.messages.create(**request)
        with client.messages.stream(**request) as stream:
            return stream.get_final_message()


def told(reply: SDKMessage) -> dict[str, Any]:
    """What the SDK read, as our records say it."""
    usage = reply.usage
    cached = (usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0)
    return {
        "text": "".join(block.text for block in reply.content if block.type == "text"),
        "calls": [(b.id, b.name, b.input) for b in reply.content if b.type == "tool_use"],
        "model": reply.model,
        "tokens": (usage.input_tokens + sum(cached), usage.output_tokens, cached[0]),
        "reason": reply.stop_reason,
        "back": [block.to_dict() for block in reply.content],
    }


def said(reply: AssistantMessage) -> dict[str, Any]:
    """The same of our record."""
    reasons = {"tool_calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}
    usage = reply.usage
    [back, *_] = anthropic.encode_turn(
        reply, [ToolMessage("ok", call.id) for call in reply.tool_calls]
    )
    return {
        "text": reply.text,
        "calls": [(c.id, c.name, json.loads(str(c.arguments))) for c in reply.tool_calls],
        "model": reply.model,
        "tokens": (usage.input_tokens, usage.output_tokens, usage.cached_tokens),
        "reason": reasons[reply.finish_reason],
        "back": back["content"],
    }


def streamed(row: Row, size: int) -> AssistantMessage:
    parser = SSEParser()
    events = [event for piece in pieces(body_of(row), size) for event in parser.feed(piece)]
    return assemble(anthropic.decode_stream([*events, *parser.close()]))


# — what is read —


def test_recorded_answers_are_read_as_the_sdk_reads_them() -> None:
    for row in recorded(stream=False):
        expected = read_by_sdk(row)
        for form in (row["response"], body_of(row), body_of(row).decode(), expected):
            assert said(anthropic.decode(form)) == told(expected)
        assert [call.id for call in anthropic.decode_calls(row["response"])] == [
            block.id for block in expected.content if block.type == "tool_use"
        ]


@pytest.mark.parametrize("size", [3, 100_000])
def test_recorded_streams_are_read_as_the_sdk_reads_them(size: int) -> None:
    for row in recorded(stream=True):
        assert said(streamed(row, size)) == told(read_by_sdk(row, size))


def test_the_sdks_own_events_are_read_too() -> None:
    request: Any = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "x"}]}
    for row in recorded(stream=True):
        with client_saying(row, 100) as client:
            events = client.messages.create(**request, stream=True)
            plain = assemble(anthropic.decode_stream(events))
            with client.messages.stream(**request) as stream:
                helped = assemble(anthropic.decode_stream(stream))
        assert said(plain) == said(helped) == told(read_by_sdk(row))


def test_an_asynchronous_stream_is_read_alike() -> None:
    row = recorded(stream=True)[0]

    async def events() -> AsyncIterator[str]:
        parser = SSEParser()
        for piece in pieces(body_of(row), 7):
            for event in parser.feed(piece):
                yield event

    async def read() -> AssistantMessage:
        return assemble([delta async for delta in anthropic.adecode_stream(events())])

    assert asyncio.run(read()) == streamed(row, 7)


def test_recorded_replies_go_back_as_they_came() -> None:
    requests = {row["id"]: row["request"]["messages"] for row in rows("anthropic")}
    seen = 0
    for row in rows("anthropic"):
        name, _, number = row["id"].rpartition("#")
        following = requests.get(f"{name}#{int(number) + 1}")
        if following is None:
            continue
        reply = streamed(row, 999) if row["stream"] else anthropic.decode(row["response"])
        [back] = anthropic.encode_messages([UserMessage("x"), reply])[1:2]
        sent = [{k: v for k, v in block.items() if k != "caller"} for block in back["content"]]
        assert sent == following[1]["content"]
        seen += 1
    assert seen


def test_an_answer_that_is_an_error_is_raised_with_its_status() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(ModelError, match="Overloaded") as raised:
        anthropic.decode(error)
    assert raised.value.status == 529


def test_what_is_no_answer_is_an_error() -> None:
    with pytest.raises(ModelError, match="no content"):
        anthropic.decode({"hello": 1})
    with pytest.raises(ModelError, match="not JSON"):
        anthropic.decode("<html>")


# — what is sent —


@given(transcripts)
def test_any_transcript_becomes_a_request_that_types_and_rules_allow(messages: list[Message]):
    for cache in (False, True):
        request = ModelRequest(messages, tuple(TOOLS))
        body = anthropic.encode(request, "claude-sonnet-4-5", stream=cache, prompt_cache=cache)
        if body["messages"]:
            check_anthropic(body)
        json.dumps(body, ensure_ascii=False).encode()


@given(transcripts)
def test_a_request_without_tools_still_names_those_that_were_called(messages: list[Message]):
    body: Any = anthropic.encode(ModelRequest(messages), "claude-sonnet-4-5")
    if body["messages"]:
        check_anthropic(body)
    assert body.get("tool_choice", {"type": "none"}) == {"type": "none"}


def test_the_request_holds_instructions_apart() -> None:
    messages = [SystemMessage("Be brief."), UserMessage("hi"), SystemMessage(" ")]
    body: Any = anthropic.encode(ModelRequest(messages), "claude-opus-5")
    assert (
        body["system"]
        == [{"type": "text", "text": "Be brief."}]
        == anthropic.encode_system(messages)
    )
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_all_results_of_a_reply_stand_in_one_message_in_call_order() -> None:
    calls = (ToolCall("a", "f"), ToolCall("b", "g"), ToolCall("c", "h"))
    reply = AssistantMessage(tool_calls=calls, finish_reason="tool_calls")
    results = [ToolMessage("3", "c"), ToolMessage("no", "a", status="error"), ToolMessage("", "b")]
    turn = anthropic.encode_turn(reply, results)
    assert turn[1] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True},
            {"type": "tool_result", "tool_use_id": "b", "content": "(no tool output)"},
            {"type": "tool_result", "tool_use_id": "c", "content": "3"},
        ],
    }


def test_a_turn_needs_a_result_for_each_call() -> None:
    reply = AssistantMessage(tool_calls=(ToolCall("a", "f"),))
    with pytest.raises(SetupError, match="1 calls and there are 0 results"):
        anthropic.encode_turn(reply, [])


def test_a_turn_without_calls_is_the_reply_alone() -> None:
    assert anthropic.encode_turn(AssistantMessage("hi"), []) == [
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}
    ]


def test_a_program_with_a_client_of_its_own_goes_through_three_rounds() -> None:
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for number in range(3):
        use = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "add",
            "input": {"a": number, "b": 1},
        }
        reply = {
            "type": "message",
            "role": "assistant",
            "content": [use],
            "stop_reason": "tool_use",
        }
        calls = anthropic.decode_calls(reply, tools=TOOLS)
        messages += anthropic.encode_turn(reply, TOOLS.run_sync(calls))
    body = {"model": "m", "max_tokens": 9, "messages": messages}
    results = [one["content"][0]["content"] for one in messages[2::2]]
    assert results == ["1", "2", "3"]
    messages[0] = {"role": "user", "content": [{"type": "text", "text": "go"}]}
    check_anthropic({**body, "tools": anthropic.encode_tools(TOOLS)})


def test_names_and_keys_that_the_wire_does_not_take_are_turned_back() -> None:
    @tool("查询天气", inline=True)
    def weather(城市: str) -> str:
        """查询天气。"""
        return f"{城市}:晴"

    tools = Toolset([weather])
    sent: Any = anthropic.encode_tools(tools)[0]
    [key] = sent["input_schema"]["properties"]
    assert sent["name"].isascii() and key.isascii()
    use = {"type": "tool_use", "id": "t1", "name": sent["name"], "input": {key: "北京"}}
    reply = {"role": "assistant", "content": [use], "stop_reason": "tool_use"}
    [call] = anthropic.decode_calls(reply, tools=tools)
    assert (call.name, json.loads(str(call.arguments))) == ("查询天气", {"城市": "北京"})
    results = tools.run_sync([call])
    assert results[0].content == "北京:晴"
    own = anthropic.encode_turn(anthropic.decode(reply, tools=tools), results, tools=tools)
    assert own == anthropic.encode_turn(reply, results)
    assert own[0]["content"] == [use]
    start = {"type": "content_block_start", "index": 0, "content_block": {**use, "input": {}}}
    halves = [json.dumps({key: "北京"})[at] for at in (slice(0, 9), slice(9, None))]
    deltas = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": half},
        }
        for half in halves
    ]
    ends = [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    stream = assemble(anthropic.decode_stream([start, *deltas, *ends], tools=tools))
    assert json.loads(str(stream.tool_calls[0].arguments)) == {"城市": "北京"}


def test_the_choice_of_tools_is_said_in_the_wires_words() -> None:
    def choice(settings: Settings) -> object:
        return anthropic.encode(ModelRequest([], tuple(TOOLS), settings), "m").get("tool_choice")

    assert choice(Settings()) is None
    assert choice(Settings(tool_choice="required")) == {"type": "any"}
    assert choice(Settings(tool_choice="none")) == {"type": "none"}
    assert choice(Settings(tool_choice="clock.now")) == {"type": "tool", "name": "clock_now"}
    assert choice(Settings(tool_choice="auto", parallel_tool_calls=True)) == {"type": "auto"}
    serial = {"type": "auto", "disable_parallel_tool_use": True}
    assert choice(Settings(parallel_tool_calls=False)) == serial
    with pytest.raises(SetupError, match=r"no such tool; there are get_weather, add, clock\.now"):
        choice(Settings(tool_choice="nothing"))


def test_strict_tools_say_so_and_keep_to_the_dialect() -> None:
    sent: Any = anthropic.encode_tools(TOOLS, strict=True)
    assert [one["strict"] for one in sent] == [True] * 3
    assert all(one["input_schema"]["additionalProperties"] is False for one in sent)
    assert "strict" not in anthropic.encode_tools(TOOLS)[0]
