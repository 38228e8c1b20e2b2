"""The Responses wire, judged by OpenAI's SDK: what it reads and what its types allow."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from random import Random
from typing import Any

import httpx2
import openai as sdk
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import Response, ResponseFunctionToolCall
from openai.types.responses import response_create_params as params
from pydantic import TypeAdapter

from tests.providers.judge import exhaust
from tests.providers.recorded import Row, body_of, damaged, examples, pieces
from tests.providers.tools import TOOLS
from tests.providers.transcripts import transcripts
from toolkeel import Toolset, tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.content import File, Image, Text
from toolkeel.errors import ModelError, SetupError
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import openai_responses
from toolkeel.providers.wire.sse import SSEParser

RECORDED = examples("openai-responses")
STREAMED = examples("openai-responses", stream=True)
WHOLE = examples("openai-responses", stream=False)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

_PLAIN = TypeAdapter[Any](params.ResponseCreateParamsNonStreaming)
_STREAMED = TypeAdapter[Any](params.ResponseCreateParamsStreaming)


def check_body(body: Mapping[str, Any]) -> None:
    """Raise if openai's types or the API's rules do not allow `body`."""
    judge = _STREAMED if body.get("stream") else _PLAIN
    exhaust(judge.validate_python(dict(body)))
    open_calls: list[str] = []
    seen: set[str] = set()
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call"):
            assert ID.fullmatch(item["call_id"]), item["call_id"]
            assert item["call_id"] not in seen
            assert item.get("id", "fc_1").startswith(("fc", "ctc"))
            assert ID.fullmatch(item["name"])
            if kind == "function_call":
                assert isinstance(json.loads(item["arguments"]), dict)
            seen.add(item["call_id"])
            open_calls.append(item["call_id"])
        elif kind.endswith("_output"):
            open_calls.remove(item["call_id"])
            assert item["output"]
        elif item.get("role") == "user":
            assert not open_calls, "somebody speaks before the calls are answered"
    assert not open_calls, "calls without outputs at the end"


def client_saying(row: Row, size: int) -> sdk.OpenAI:
    """The SDK's client, which gets a recorded answer in pieces."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        parts = pieces(body_of(row), size)
        return httpx2.Response(200, headers={"content-type": row["ctype"]}, content=parts)

    transport = httpx2.MockTransport(answer)
    return sdk.OpenAI(api_key="x", http_client=httpx2.Client(transport=transport))


def read_by_sdk(row: Row, size: int = 4096) -> Response:
    with client_saying(row, size) as client:
        if not row["stream"]:
            return client.responses.create(model="m", input="x")
        with client.responses.stream(model="m", input="x") as stream:
            return stream.get_final_response()


def told(reply: Response) -> dict[str, Any]:
    """What the SDK read, as our records say it."""
    usage = reply.usage
    assert usage is not None
    calls = [one for one in reply.output if isinstance(one, ResponseFunctionToolCall)]
    return {
        "text": reply.output_text,
        "calls": [(one.call_id, one.name, one.arguments) for one in calls],
        "ids": [one.id for one in calls],
        "model": reply.model,
        "tokens": (
            usage.input_tokens,
            usage.output_tokens,
            usage.input_tokens_details.cached_tokens,
        ),
        "secrets": [s for one in reply.output if (s := getattr(one, "encrypted_content", None))],
        "kinds": [one.type for one in reply.output],
    }


def said(reply: AssistantMessage) -> dict[str, Any]:
    """The same of our record."""
    usage = reply.usage
    wire: list[Any] = [
        dict(call.provider_options.get("openai-responses", {})) for call in reply.tool_calls
    ]
    extra: Any = reply.provider_options.get("openai-responses", {})
    output = extra.get("output") or ["call"] * len(reply.tool_calls)
    return {
        "text": reply.text,
        "calls": [(c.id, c.name, c.arguments) for c in reply.tool_calls],
        "ids": [one.get("id") for one in wire],
        "model": reply.model,
        "tokens": (usage.input_tokens, usage.output_tokens, usage.cached_tokens),
        "secrets": [one.signature for one in reply.reasoning if one.signature],
        "kinds": ["function_call" if one == "call" else one["type"] for one in output],
    }


def streamed(row: Row, size: int) -> AssistantMessage:
    parser = SSEParser()
    events = [event for piece in pieces(body_of(row), size) for event in parser.feed(piece)]
    return assemble(openai_responses.decode_stream([*events, *parser.close()]))


def names(recorded: list[Row]) -> list[str]:
    return [row["id"] for row in recorded]


# — what is read —


@pytest.mark.parametrize("row", WHOLE, ids=names(WHOLE))
def test_a_recorded_answer_is_read_as_the_sdk_reads_it(row: Row) -> None:
    expected = read_by_sdk(row)
    for form in (row["response"], body_of(row), body_of(row).decode(), expected):
        assert said(openai_responses.decode(form)) == told(expected)
    assert [call.id for call in openai_responses.decode_calls(row["response"])] == [
        id for id, _, _ in told(expected)["calls"]
    ]


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("row", STREAMED, ids=names(STREAMED))
def test_a_recorded_stream_is_read_as_the_sdk_reads_it(row: Row, size: int) -> None:
    assert said(streamed(row, size)) == told(read_by_sdk(row, size))


@pytest.mark.parametrize("row", STREAMED, ids=names(STREAMED))
def test_a_stream_says_what_its_last_event_says_whole(row: Row) -> None:
    parser = SSEParser()
    *_, last = [one for one in parser.feed(body_of(row)) if one != "[DONE]"]
    assert streamed(row, 50) == openai_responses.decode(json.loads(last)["response"])
    with client_saying(row, 100) as client:
        events = client.responses.create(model="m", input="x", stream=True)
        assert assemble(openai_responses.decode_stream(events)) == streamed(row, 50)


def test_an_asynchronous_stream_is_read_alike() -> None:
    row = STREAMED[0]

    async def events() -> AsyncIterator[str]:
        parser = SSEParser()
        for piece in pieces(body_of(row), 7):
            for event in parser.feed(piece):
                yield event

    async def read() -> AssistantMessage:
        stream = openai_responses.adecode_stream(events())
        return assemble([delta async for delta in stream])

    assert asyncio.run(read()) == streamed(row, 7)


@pytest.mark.parametrize("row", RECORDED, ids=names(RECORDED))
def test_recorded_replies_go_back_as_they_came(row: Row) -> None:
    final = read_by_sdk(row)
    reply = streamed(row, 1000) if row["stream"] else openai_responses.decode(row["response"])
    results = [ToolMessage("ok", call.id) for call in reply.tool_calls]
    back = openai_responses.encode_turn(reply, results)
    check_body({"model": "m", "input": [{"role": "user", "content": "x"}, *back]})
    for item, sent in zip([one.to_dict() for one in final.output], back, strict=False):
        if item["type"] == "function_call":
            kept = {k: v for k, v in item.items() if k not in ("status", "parsed_arguments")}
            if not str(kept["id"]).startswith("fc"):
                del kept["id"]
            assert sent == {
                **kept,
                "arguments": json.dumps(json.loads(str(kept["arguments"])), separators=(",", ":")),
            }
        elif item["type"] == "reasoning":
            assert sent == {key: value for key, value in item.items() if value is not None}
        else:
            assert (sent["id"], sent["type"], sent.get("phase")) == (
                item["id"],
                item["type"],
                item.get("phase"),
            )


@pytest.mark.parametrize("nothing", [{}, "[]", b"null", {"output_text": "hi"}])
def test_what_is_no_answer_is_an_error(nothing: object) -> None:
    with pytest.raises(ModelError, match="no output"):
        openai_responses.decode(nothing)


def test_an_error_in_place_of_an_answer_is_raised() -> None:
    with pytest.raises(ModelError, match="no such model") as raised:
        openai_responses.decode({"error": {"message": "no such model", "code": "model_not_found"}})
    assert raised.value.status == 404


@given(st.randoms(use_true_random=False), st.sampled_from(RECORDED))
def test_a_damaged_answer_is_read_or_refused(random: Random, row: Row) -> None:
    parser = SSEParser()
    try:
        if row["stream"]:
            whole = [one for one in parser.feed(body_of(row)) if one != "[DONE]"]
            reply = assemble(
                openai_responses.decode_stream(damaged(json.loads(one), random) for one in whole)
            )
        else:
            reply = openai_responses.decode(damaged(row["response"], random))
    except ModelError:
        return
    results = [ToolMessage("ok", call.id) for call in reply.tool_calls]
    json.dumps(openai_responses.encode_turn(reply, results)).encode()


# — what is sent —


@given(transcripts)
def test_any_transcript_makes_a_body_that_the_sdk_takes(messages: list[Message]) -> None:
    settings = Settings(parallel_tool_calls=True, max_tokens=9)
    request = ModelRequest(messages, tuple(TOOLS), settings)
    for stream in (True, False):
        body = openai_responses.encode(request, "gpt-5", stream=stream)
        check_body(body)
        json.dumps(body).encode()


@given(transcripts)
def test_messages_are_encoded_alike_alone_and_in_a_body(messages: list[Message]) -> None:
    body = openai_responses.encode(ModelRequest(messages, tuple(TOOLS)), "gpt-5")
    assert openai_responses.encode_messages(messages, tools=TOOLS, model="gpt-5") == body["input"]


def test_tools_are_flat_and_always_say_whether_they_are_strict() -> None:
    loose = openai_responses.encode_tools(TOOLS)
    assert {one["type"] for one in loose} == {"function"}
    assert [one["strict"] for one in loose] == [False] * 3
    assert [one["strict"] for one in openai_responses.encode_tools(TOOLS, strict=True)] == [
        True
    ] * 3
    assert [one["name"] for one in loose] == ["get_weather", "add", "clock_now"]


def test_nothing_is_stored_and_reasoning_is_asked_for_encrypted() -> None:
    body = openai_responses.encode(ModelRequest([UserMessage("x")]), "gpt-5")
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert "include" not in openai_responses.encode(ModelRequest([UserMessage("x")]), "gpt-4.1")
    extra = {
        "include": ["file_search_call.results"],
        "store": True,
        "tools": [{"type": "web_search"}],
    }
    request = ModelRequest([UserMessage("x")], tuple(TOOLS), Settings(extra_body=extra))
    body = openai_responses.encode(request, "o3")
    assert body["include"] == ["file_search_call.results", "reasoning.encrypted_content"]
    assert body["store"] is True
    assert [one["type"] for one in body["tools"]] == [*["function"] * 3, "web_search"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("clock.now", {"type": "function", "name": "clock_now"}),
    ],
)
def test_the_choice_of_tools_is_sent(choice: str, wire: object) -> None:
    settings = Settings(tool_choice=choice, parallel_tool_calls=False)
    request = ModelRequest([UserMessage("x")], tuple(TOOLS), settings)
    body = openai_responses.encode(request, "gpt-5")
    check_body(body)
    assert (body["tool_choice"], body["parallel_tool_calls"]) == (wire, False)


def test_a_choice_of_no_tool_is_refused() -> None:
    request = ModelRequest([UserMessage("x")], tuple(TOOLS), Settings(tool_choice="ad"))
    with pytest.raises(SetupError, match="no such tool; there are get_weather"):
        openai_responses.encode(request, "gpt-5")


def test_calls_carry_the_tools_own_names_again() -> None:
    item = {"type": "function_call", "call_id": "c", "name": "clock_now", "arguments": "{}"}
    reply = openai_responses.decode({"status": "completed", "output": [item]}, tools=TOOLS)
    assert reply.tool_calls[0].name == "clock.now"
    back = openai_responses.encode_turn(reply, [ToolMessage("noon", "c")], tools=TOOLS)
    assert back[0]["name"] == "clock_now"


def test_pictures_and_files_in_results_are_parts() -> None:
    @tool
    def look() -> list[object]:
        """Look."""
        return [Text("see"), Image(PNG), File(b"%PDF-1.7", "a.pdf", "application/pdf")]

    reply = {"output": [{"type": "function_call", "call_id": "c", "name": "look", "arguments": ""}]}
    calls = openai_responses.decode_calls(reply)
    back = openai_responses.encode_turn(reply, Toolset([look]).run_sync(calls))
    parts: Any = back[1]["output"]
    assert [part["type"] for part in parts] == ["input_text", "input_image", "input_file"]
    assert parts[1]["image_url"].startswith("data:image/png;base64,")
    check_body({"model": "m", "input": back})


def test_one_result_for_each_call_is_wanted() -> None:
    call = ToolCall("a", "f", "{}")
    with pytest.raises(SetupError, match="1 calls and there are 0 results"):
        openai_responses.encode_turn(AssistantMessage(tool_calls=(call,)), [])


def test_results_go_back_in_the_order_of_their_calls() -> None:
    item = {"type": "function_call", "name": "f", "arguments": "{}"}
    reply = {"output": [{**item, "call_id": "a"}, {**item, "call_id": "b"}]}
    back = openai_responses.encode_turn(reply, [ToolMessage("2", "b"), ToolMessage("1", "a")])
    assert [one["output"] for one in back[2:]] == ["1", "2"]
