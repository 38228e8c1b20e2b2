"""The Converse wire, judged by botocore: what it reads and what its model of the service allows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import botocore.session
import pytest
from botocore.eventstream import EventStream, EventStreamBuffer
from botocore.parsers import create_parser
from hypothesis import given

from tests.providers.recorded import Row, body_of, pieces, rows
from tests.providers.tools import TOOLS
from tests.providers.transcripts import transcripts
from tests.providers.vendors import check_bedrock
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
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import bedrock

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
MODELS = (CLAUDE, "us.amazon.nova-pro-v1:0", "meta.llama3-1-70b-instruct-v1:0")


class Body:
    """An answer's body as botocore reads it, `size` bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self.stream = lambda: pieces(data, size)


def service() -> Any:
    return botocore.session.get_session().get_service_model("bedrock-runtime")


def events_by_boto3(row: Row, size: int) -> Iterator[Any]:
    """The events of a recorded stream as boto3 gives them."""
    shape = service().operation_model("ConverseStream").get_event_stream_output()
    parser = create_parser("rest-json")._event_stream_parser
    return iter(EventStream(Body(body_of(row), size), shape, parser, "ConverseStream"))


def answer_by_boto3(row: Row) -> Any:
    """A recorded answer as boto3 gives it."""
    shape = service().operation_model("Converse").output_shape
    answer = {"body": body_of(row), "status_code": 200, "headers": {}}
    return create_parser("rest-json").parse(answer, shape)


def raw_events(row: Row, size: int) -> list[Any]:
    """The events of a recorded stream, as anybody might read them."""
    buffer, events = EventStreamBuffer(), []
    for piece in pieces(body_of(row), size):
        buffer.add_data(piece)
        events += [{e.headers[":event-type"]: json.loads(e.payload)} for e in buffer]
    return events


def told(events: list[Any]) -> dict[str, Any]:
    """What a stream says, put together by the book."""
    text, calls, inputs, reason, usage = "", {}, {}, "", {}
    for event in events:
        [(name, body)] = event.items()
        index = body.get("contentBlockIndex")
        if name == "contentBlockStart" and "toolUse" in body["start"]:
            use = body["start"]["toolUse"]
            if use.get("type") != "server_tool_use":
                calls[index] = (use["toolUseId"], use["name"])
        elif name == "contentBlockDelta":
            text += body["delta"].get("text", "")
            inputs[index] = inputs.get(index, "") + body["delta"].get("toolUse", {}).get(
                "input", ""
            )
        elif name == "messageStop":
            reason = body["stopReason"]
        elif name == "metadata":
            usage = body["usage"]
    made = [(*calls[index], json.loads(inputs.get(index) or "{}")) for index in sorted(calls)]
    return {"text": text, "calls": made, "reason": reason, "tokens": usage["totalTokens"]}


def said(reply: AssistantMessage) -> dict[str, Any]:
    """The same of our record."""
    reasons = {"tool_calls": "tool_use", "stop": "end_turn"}
    calls = [(c.id, c.name, json.loads(str(c.arguments))) for c in reply.tool_calls]
    tokens = reply.usage.input_tokens + reply.usage.output_tokens
    reason = reasons[reply.finish_reason]
    return {"text": reply.text, "calls": calls, "reason": reason, "tokens": tokens}


def recorded(stream: bool) -> list[Row]:
    return [row for row in rows("bedrock-converse") if row["stream"] is stream]


# — what is read —


@pytest.mark.parametrize("size", [3, 100_000])
def test_recorded_streams_are_read_as_boto3_reads_them(size: int) -> None:
    for row in recorded(stream=True):
        given = list(events_by_boto3(row, size))
        assert said(assemble(bedrock.decode_stream(given))) == told(given)
        raw = raw_events(row, size)
        assert assemble(bedrock.decode_stream(raw)) == assemble(bedrock.decode_stream(given))


def test_recorded_answers_are_read_as_boto3_reads_them() -> None:
    for row in recorded(stream=False):
        answer = answer_by_boto3(row)
        content = answer["output"]["message"]["content"]
        expected = {
            "text": "".join(block.get("text", "") for block in content),
            "calls": [
                (use["toolUseId"], use["name"], use["input"])
                for block in content
                if (use := block.get("toolUse"))
            ],
            "reason": answer["stopReason"],
            "tokens": answer["usage"]["totalTokens"],
        }
        for form in (answer, row["response"], body_of(row), body_of(row).decode()):
            reply = bedrock.decode(form, model="m")
            assert said(reply) == expected
            results = [ToolMessage("ok", call.id) for call in reply.tool_calls]
            assert bedrock.encode_turn(reply, results)[0]["content"] == content
        ids = [id for id, _, _ in expected["calls"]]
        assert [call.id for call in bedrock.decode_calls(answer)] == ids


def test_an_asynchronous_stream_is_read_alike() -> None:
    row = recorded(stream=True)[0]
    given = list(events_by_boto3(row, 50))

    async def events() -> AsyncIterator[Any]:
        for event in given:
            yield event

    async def read() -> AssistantMessage:
        return assemble([delta async for delta in bedrock.adecode_stream(events(), model="m")])

    assert asyncio.run(read()) == assemble(bedrock.decode_stream(given, model="m"))


def test_recorded_requests_can_be_built_again() -> None:
    for row in rows("bedrock-converse"):
        check_bedrock({"modelId": CLAUDE, **row["request"]})  # the judge is no stricter than AWS


def test_what_is_no_answer_is_an_error() -> None:
    with pytest.raises(ModelError, match="no access"):
        bedrock.decode({"message": "no access"})


# — what is sent —


@given(transcripts)
def test_any_transcript_becomes_a_request_that_types_and_rules_allow(messages: list[Message]):
    for model in MODELS:
        for tools in (tuple(TOOLS), ()):
            request = ModelRequest(messages, tools)
            body = bedrock.encode(request, model, prompt_cache=True)
            check_bedrock(body)


def test_a_request_holds_instructions_apart() -> None:
    messages = [SystemMessage("Be brief."), UserMessage("hi"), SystemMessage("")]
    body = bedrock.encode(ModelRequest(messages), CLAUDE)
    assert body["system"] == [{"text": "Be brief."}] == bedrock.encode_system(messages)
    assert body["messages"] == [{"role": "user", "content": [{"text": "hi"}]}]


def test_all_results_of_a_reply_stand_in_one_message_in_call_order() -> None:
    reply = AssistantMessage(tool_calls=(ToolCall("a", "f"), ToolCall("b", "g")))
    turn = bedrock.encode_turn(
        reply, [ToolMessage("", "b"), ToolMessage("no", "a", status="error")]
    )
    assert turn[1] == {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "a", "content": [{"text": "no"}], "status": "error"}},
            {
                "toolResult": {
                    "toolUseId": "b",
                    "content": [{"text": "(no tool output)"}],
                    "status": "success",
                }
            },
        ],
    }
    with pytest.raises(SetupError, match="2 calls and there are 0 results"):
        bedrock.encode_turn(reply, [])


def test_names_and_keys_that_the_wire_does_not_take_are_turned_back() -> None:
    @tool("查询天气", inline=True)
    def weather(城市: str) -> str:
        """查询天气。"""
        return f"{城市}:晴"

    tools = Toolset([weather])
    spec: Any = bedrock.encode_tools(tools)[0]["toolSpec"]
    [key] = spec["inputSchema"]["json"]["properties"]
    assert spec["name"].isascii() and key.isascii()
    use = {"toolUseId": "t1", "name": spec["name"], "input": {key: "北京"}}
    reply = {"output": {"message": {"content": [{"toolUse": use}]}}, "stopReason": "tool_use"}
    [call] = bedrock.decode_calls(reply, tools=tools)
    assert (call.name, json.loads(str(call.arguments))) == ("查询天气", {"城市": "北京"})
    results = tools.run_sync([call])
    assert results[0].content == "北京:晴"
    own = bedrock.encode_turn(bedrock.decode(reply, tools=tools), results, tools=tools)
    assert own == bedrock.encode_turn(reply, results)
    assert own[0]["content"] == [{"toolUse": use}]
    halves = [json.dumps({key: "北京"})[at] for at in (slice(0, 9), slice(9, None))]
    events: list[Any] = [
        {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {**use, "input": ""}}}}
    ]
    for half in halves:
        delta = {"toolUse": {"input": half}}
        events.append({"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}})
    events.append({"messageStop": {"stopReason": "tool_use"}})
    streamed = assemble(bedrock.decode_stream(events, tools=tools))
    assert json.loads(str(streamed.tool_calls[0].arguments)) == {"城市": "北京"}


def test_strict_tools_say_so() -> None:
    sent: Any = bedrock.encode_tools(TOOLS, strict=True)
    assert [one["toolSpec"]["strict"] for one in sent] == [True] * 3
    assert "strict" not in bedrock.encode_tools(TOOLS)[0]["toolSpec"]  # type: ignore[operator]
