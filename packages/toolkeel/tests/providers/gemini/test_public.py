"""The Gemini wire, judged by Google's SDK: what it reads and what its types allow."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from random import Random
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.recorded import Row, body_of, damaged, examples, pieces
from tests.providers.tools import TOOLS
from tests.providers.transcripts import transcripts
from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError, SetupError
from toolkeel.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import gemini
from toolkeel.providers.wire.sse import SSEParser

RECORDED = examples("gemini")
STREAMED = examples("gemini", stream=True)
WHOLE = examples("gemini", stream=False)


def check_body(body: Mapping[str, Any]) -> None:
    """Raise if google-genai's types, which refuse unknown keys, or the API's rules do not allow it."""
    contents = [types.Content.model_validate_json(json.dumps(one)) for one in body["contents"]]
    roles = [content.role for content in contents]
    assert roles == [("user", "model")[index % 2] for index in range(len(roles))], roles
    open_calls: list[tuple[str | None, str | None]] = []
    for content in contents:
        parts = content.parts or []
        assert parts, "an empty content"
        answers = [part.function_response for part in parts if part.function_response]
        assert [(one.id, one.name) for one in answers] == open_calls
        assert all(part.function_response for part in parts[: len(answers)]), "not in front"
        assert all(one.response and one.response.keys() <= {"output", "error"} for one in answers)
        for part in parts:
            assert part.text is None or part.text.strip() or part.thought_signature, "blank text"
        calls = [part.function_call for part in parts if part.function_call]
        assert not calls or content.role == "model"
        open_calls = [(one.id, one.name) for one in calls]
    assert not open_calls, "calls without results at the end"
    config = {
        key: value for key, value in body.items() if key not in ("contents", "generationConfig")
    }
    generation = body.get("generationConfig", {})
    types.GenerateContentConfig.model_validate_json(json.dumps({**config, **generation}))
    for tool in body.get("tools", ()):
        types.Tool.model_validate_json(json.dumps(tool))


def read_by_sdk(row: Row, size: int = 4096) -> list[types.GenerateContentResponse]:
    """The SDK's responses, read from a recorded answer in pieces."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        parts = pieces(body_of(row), size)
        return httpx2.Response(200, headers={"content-type": row["ctype"]}, content=parts)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = genai.Client(api_key="x", http_options=types.HttpOptions(httpx_client=http))
    with http:
        if not row["stream"]:
            return [client.models.generate_content(model="m", contents="x")]
        return list(client.models.generate_content_stream(model="m", contents="x"))


def parts_of(replies: list[types.GenerateContentResponse]) -> Iterator[types.Part]:
    for reply in replies:
        for candidate in reply.candidates or ():
            yield from (candidate.content and candidate.content.parts) or ()


def told(replies: list[types.GenerateContentResponse]) -> dict[str, Any]:
    """What the SDK read, as our records say it."""
    parts, last = list(parts_of(replies)), replies[-1]
    usage: Any = last.usage_metadata
    calls = [one for one in parts if one.function_call]
    return {
        "text": "".join(one.text or "" for one in parts if not one.thought),
        "thought": "".join(one.text or "" for one in parts if one.thought),
        "calls": [
            (one.function_call.name, one.function_call.args or {})
            for one in calls
            if one.function_call
        ],
        "ids": [one.function_call.id for one in calls if one.function_call],
        "secrets": [one.thought_signature for one in parts if one.thought_signature],
        "model": last.model_version,
        "input": usage.prompt_token_count,
        "total": usage.total_token_count,
    }


def said(reply: AssistantMessage) -> dict[str, Any]:
    """The same of our record."""
    results = [ToolMessage("ok", call.id) for call in reply.tool_calls]
    back: Any = gemini.encode_turn(reply, results)[0]["parts"]
    signatures = [one["thoughtSignature"] for one in back if "thoughtSignature" in one]
    return {
        "text": reply.text,
        "thought": "".join(one.text for one in reply.reasoning),
        "calls": [(one.name, json.loads(str(one.arguments))) for one in reply.tool_calls],
        "ids": [one["functionCall"].get("id") for one in back if "functionCall" in one],
        "secrets": [base64.b64decode(one, validate=True) for one in signatures],
        "model": reply.model,
        "input": reply.usage.input_tokens,
        "total": reply.usage.total_tokens,
    }


def streamed(row: Row, size: int) -> AssistantMessage:
    parser = SSEParser()
    events = [event for piece in pieces(body_of(row), size) for event in parser.feed(piece)]
    return assemble(gemini.decode_stream([*events, *parser.close()]))


def names(recorded: list[Row]) -> list[str]:
    return [row["id"] for row in recorded]


# — what is read —


@pytest.mark.parametrize("row", WHOLE, ids=names(WHOLE))
def test_a_recorded_answer_is_read_as_the_sdk_reads_it(row: Row) -> None:
    expected = read_by_sdk(row)
    for form in (row["response"], body_of(row), body_of(row).decode(), expected[0]):
        assert said(gemini.decode(form)) == told(expected)
    calls = gemini.decode_calls(row["response"])
    assert [(one.name, json.loads(str(one.arguments))) for one in calls] == told(expected)["calls"]


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("row", STREAMED, ids=names(STREAMED))
def test_a_recorded_stream_is_read_as_the_sdk_reads_it(row: Row, size: int) -> None:
    expected = read_by_sdk(row, size)
    assert said(streamed(row, size)) == told(expected)
    assert said(assemble(gemini.decode_stream(expected))) == told(expected)


def test_an_asynchronous_stream_is_read_alike() -> None:
    row = STREAMED[0]

    async def chunks() -> AsyncIterator[str]:
        parser = SSEParser()
        for piece in pieces(body_of(row), 7):
            for event in parser.feed(piece):
                yield event

    async def read() -> AssistantMessage:
        return assemble([delta async for delta in gemini.adecode_stream(chunks())])

    assert said(asyncio.run(read())) == said(streamed(row, 7))


@pytest.mark.parametrize("row", WHOLE, ids=names(WHOLE))
def test_recorded_replies_go_back_as_they_came(row: Row) -> None:
    reply = gemini.decode(row["response"])
    results = [ToolMessage("ok", call.id) for call in reply.tool_calls]
    back = gemini.encode_turn(reply, results)
    assert back[0] == row["response"]["candidates"][0]["content"]
    check_body({"contents": [{"role": "user", "parts": [{"text": "x"}]}, *back]})


@pytest.mark.parametrize("nothing", [{}, "[]", b"null", {"usageMetadata": {}}])
def test_what_is_no_answer_is_an_error(nothing: object) -> None:
    with pytest.raises(ModelError, match="no candidates"):
        gemini.decode(nothing)


def test_an_error_in_place_of_an_answer_is_raised() -> None:
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31s"}
    error = {
        "code": 429,
        "message": "slow down",
        "status": "RESOURCE_EXHAUSTED",
        "details": [delay],
    }
    with pytest.raises(ModelError, match="slow down") as raised:
        gemini.decode({"error": error})
    assert (raised.value.status, raised.value.retry_after) == (429, 31.0)


@given(st.randoms(use_true_random=False), st.sampled_from(RECORDED))
def test_a_damaged_answer_is_read_or_refused(random: Random, row: Row) -> None:
    parser = SSEParser()
    try:
        if row["stream"]:
            whole = [one for one in parser.feed(body_of(row)) if one != "[DONE]"]
            reply = assemble(
                gemini.decode_stream(damaged(json.loads(one), random) for one in whole)
            )
        else:
            reply = gemini.decode(damaged(row["response"], random))
    except ModelError:
        return
    results = [ToolMessage("ok", call.id) for call in reply.tool_calls]
    json.dumps(gemini.encode_turn(reply, results)).encode()


# — what is sent —


@given(transcripts)
def test_any_transcript_makes_a_body_that_the_sdk_takes(messages: list[Message]) -> None:
    request = ModelRequest(messages, tuple(TOOLS), Settings(max_tokens=9, temperature=0.5))
    for model in ("gemini-3-pro", "gemini-2.5-flash"):
        check_body(gemini.encode(request, model))


@given(transcripts)
def test_messages_are_encoded_alike_alone_and_in_a_body(messages: list[Message]) -> None:
    body = gemini.encode(ModelRequest(messages, tuple(TOOLS)), "gemini-3-pro")
    assert gemini.encode_messages(messages, tools=TOOLS, model="gemini-3-pro") == body["contents"]
    assert gemini.encode_system(messages) == body.get("systemInstruction", {})


def test_tools_are_declared_with_their_json_schemas() -> None:
    [declared] = gemini.encode_tools(TOOLS)
    functions: Any = declared["functionDeclarations"]
    assert [one["name"] for one in functions] == ["get_weather", "add", "clock.now"]
    assert functions[1]["parametersJsonSchema"]["required"] == ["a", "b"]
    assert gemini.encode_tools(()) == []


@pytest.mark.parametrize(
    ("settings", "config"),
    [
        (Settings(tool_choice="auto"), {"mode": "AUTO"}),
        (Settings(tool_choice="none"), {"mode": "NONE"}),
        (Settings(tool_choice="required"), {"mode": "ANY"}),
        (Settings(tool_choice="add"), {"mode": "ANY", "allowedFunctionNames": ["add"]}),
        (Settings(strict=True), {"mode": "VALIDATED"}),
    ],
)
def test_the_choice_of_tools_is_sent(settings: Settings, config: object) -> None:
    body = gemini.encode(ModelRequest([UserMessage("x")], tuple(TOOLS), settings), "gemini-3-pro")
    assert body["toolConfig"] == {"functionCallingConfig": config}
    check_body(body)


def test_a_choice_of_no_tool_is_refused() -> None:
    request = ModelRequest([UserMessage("x")], tuple(TOOLS), Settings(tool_choice="ad"))
    with pytest.raises(SetupError, match="no such tool; there are get_weather"):
        gemini.encode(request, "gemini-3-pro")


def test_settings_and_further_keys_are_joined() -> None:
    extra = {
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}},
        "tools": [{"googleSearch": {}}],
        "toolConfig": {"retrievalConfig": {"languageCode": "zh"}},
        "cachedContent": "cachedContents/1",
    }
    settings = Settings(tool_choice="auto", max_tokens=5, extra_body=extra)
    messages = [SystemMessage("Be brief."), UserMessage("x")]
    body: Any = gemini.encode(ModelRequest(messages, tuple(TOOLS), settings), "gemini-3-pro")
    assert body["generationConfig"] == {
        "maxOutputTokens": 5,
        "thinkingConfig": {"thinkingLevel": "LOW"},
    }
    assert [list(one) for one in body["tools"]] == [["functionDeclarations"], ["googleSearch"]]
    assert body["toolConfig"].keys() == {"functionCallingConfig", "retrievalConfig"}
    assert body["cachedContent"] == "cachedContents/1"
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}


def test_results_go_back_in_the_order_of_their_calls() -> None:
    parts = [{"functionCall": {"name": name, "id": name}} for name in ("f", "g")]
    reply = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    _, back = gemini.encode_turn(
        reply, [ToolMessage("2", "g"), ToolMessage("1", "f", status="error")]
    )
    assert back["parts"] == [
        {"functionResponse": {"name": "f", "response": {"error": "1"}, "id": "f"}},
        {"functionResponse": {"name": "g", "response": {"output": "2"}, "id": "g"}},
    ]
