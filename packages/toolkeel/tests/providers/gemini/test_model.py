"""`Gemini` against servers that answer well, badly and not at all."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from google import genai
from google.genai import types

from tests import aimock
from tests.providers.gemini.test_public import check_body
from tests.providers.loopback import Json, Loopback, answer, saying
from tests.providers.loopback import events as all_events
from tests.providers.recorded import examples
from tests.providers.tools import TOOLS
from toolkeel import Agent, ToolError, Toolset, tool
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.content import Image, Text
from toolkeel.errors import ModelError, SetupError
from toolkeel.messages import AssistantMessage, SystemMessage, ToolMessage, Usage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import gemini
from toolkeel.providers.gemini.model import Gemini
from toolkeel.providers.model_by_name import connect

REQUEST = ModelRequest([SystemMessage("Be brief."), UserMessage("几点?")], tuple(TOOLS))
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)

# the server of scripted turns says FUNCTION_CALL, which the SDK does not know
pytestmark = pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason")


def model_at(server: Loopback | aimock.Server, *, stream: bool = True, **options: Any) -> Gemini:
    url = server.url.removesuffix("/v1")
    given = {
        "api_key": "test",
        "max_retries": 0,
        "timeout": 5.0,
        "api_version": "v1beta",
        **options,
    }
    return Gemini("gemini-3-pro", base_url=url, stream=stream, **given)


async def ask(model: Gemini, request: ModelRequest = REQUEST) -> AssistantMessage:
    assembly = ReplyBuilder()
    try:
        async for delta in model.stream(request):
            assembly.add(delta)
    finally:
        await model.close()
    return assembly.build()


def reply_of(*answers: bytes, stream: bool = True, **options: Any) -> AssistantMessage:
    with saying(*answers) as server:
        return asyncio.run(ask(model_at(server, stream=stream, **options)))


def error_of(*answers: bytes, stream: bool = True, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        reply_of(*answers, stream=stream, **options)
    return raised.value


def chunk(*parts: Json, end: str = "") -> Json:
    candidate: Json = {"content": {"role": "model", "parts": [*parts]}}
    return {"candidates": [{**candidate, **({"finishReason": end} if end else {})}]}


def events(*chunks: Json, length: int | None = None) -> bytes:
    return all_events(*chunks, done=False, length=length)


HI = chunk({"text": "hi"}, end="STOP")


# — flows —

PROMPTS = {
    "one-call": (1, "It is sunny in Paris."),
    "parallel": (3, "巴黎和東京都是晴天,2+40=42。"),
    "three-rounds": (4, "Rome, 3, 7."),
    "text-and-call": (1, "Snow no more."),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_an_agent_goes_through_a_flow(flows: aimock.Server, prompt: str, stream: bool) -> None:
    calls, output = PROMPTS[prompt]
    result = Agent(model_at(flows, stream=stream), TOOLS).run_sync(prompt)
    results = [one for one in result.messages if isinstance(one, ToolMessage)]
    assert (len(results), result.output) == (calls, output)
    assert [one.kind for one in results] == [None] * calls


@pytest.mark.parametrize("stream", [True, False])
def test_usage_and_thoughts_arrive(flows: aimock.Server, stream: bool) -> None:
    for prompt in ("usage", "reasoning", "length-stop"):
        request = ModelRequest([UserMessage(prompt)])
        reply = asyncio.run(ask(model_at(flows, stream=stream), request))
        if prompt == "usage":
            assert (reply.text, reply.usage) == ("ok", Usage(1, 11, 7))
        elif prompt == "reasoning":
            assert (reply.text, reply.reasoning[0].text) == ("42", "six times seven")
        else:
            assert (reply.text, reply.finish_reason) == ("It was the best of", "length")


@pytest.mark.parametrize("stream", [True, False])
def test_a_refused_request_of_a_flow_is_an_error(flows: aimock.Server, stream: bool) -> None:
    request = ModelRequest([UserMessage("always-400")])
    with pytest.raises(ModelError, match="bad schema") as raised:
        asyncio.run(ask(model_at(flows, stream=stream), request))
    assert raised.value.status == 400


def test_a_cut_stream_is_an_error_or_incomplete(flows: aimock.Server) -> None:
    request = ModelRequest([UserMessage("cut-stream")])
    try:
        reply = asyncio.run(ask(model_at(flows), request))
    except ModelError as error:
        assert error.status is None
    else:
        assert reply.finish_reason == "incomplete"


def test_a_picture_in_a_result_reaches_the_server_with_the_signature() -> None:
    @tool
    def look() -> list[object]:
        """Look around."""
        return [Text("a dog"), Image(PNG)]

    part = {"functionCall": {"name": "look", "args": {}, "id": "x1"}, "thoughtSignature": "QUJD"}
    with saying(events(chunk(part), chunk({"text": ""}, end="STOP")), events(HI)) as server:
        result = Agent(model_at(server), Toolset([look])).run_sync("see?")
    assert result.output == "hi"
    said, back = server.requests[1]["contents"][1:]
    assert said["parts"] == [part]
    response = back["parts"][0]["functionResponse"]
    assert (response["id"], response["response"]) == ("x1", {"output": "a dog"})
    blob = response["parts"][0]["inlineData"]
    assert blob == {"mimeType": "image/png", "data": base64.b64encode(PNG).decode()}
    for turn, body in enumerate(server.requests):
        asked = ModelRequest(result.messages[: 1 + 2 * turn], (look,))
        assert body["contents"] == gemini.encode(asked, "gemini-3-pro")["contents"]


def test_an_error_of_a_tool_is_said_to_the_model() -> None:
    @tool
    def look() -> str:
        """Look around."""
        raise ToolError("It is dark.")

    part = {"functionCall": {"name": "look"}}
    with saying(events(chunk(part, end="STOP")), events(HI)) as server:
        Agent(model_at(server), Toolset([look])).run_sync("see?")
    response = server.requests[1]["contents"][-1]["parts"][0]["functionResponse"]["response"]
    assert response["error"].startswith("It is dark.")


# — what is sent —


@pytest.mark.parametrize("stream", [True, False])
def test_the_request_is_what_encode_makes(stream: bool) -> None:
    said = events(HI) if stream else answer(json.dumps(HI))
    with saying(said) as server:
        asyncio.run(ask(model_at(server, stream=stream)))
    [request] = server.requests
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    assert request[""] == f"POST /v1beta/models/gemini-3-pro:{verb} HTTP/1.1"
    assert "x-goog-api-key: test" in request["head"].lower()
    body = {key: value for key, value in request.items() if key not in ("", "head")}
    expected = gemini.encode(REQUEST, "gemini-3-pro")
    assert body.pop("generationConfig", {}) == {}
    assert body == expected
    check_body(body)


def test_the_transcript_grows_from_turn_to_turn() -> None:
    model_turns = events(chunk({"functionCall": {"name": "clock.now"}}, end="STOP"))
    with saying(model_turns, model_turns, events(HI)) as server:
        result = Agent(model_at(server), TOOLS).run_sync("time?")
    assert result.output == "hi"
    first, second, third = (one["contents"] for one in server.requests)
    assert (len(first), len(second), len(third)) == (1, 3, 5)
    assert third[:3] == second
    check_body({"contents": third})


def test_a_client_of_your_own_is_used_and_left_open() -> None:
    async def run(url: str) -> None:
        http = types.HttpOptions(base_url=url.removesuffix("/v1"), headers={"x-team": "a"})
        client = genai.Client(api_key="mine", http_options=http)
        reply = await ask(Gemini("gemini-3-pro", client=client))
        assert reply.text == "hi"
        assert (await ask(Gemini("gemini-3-pro", client=client))).text == "hi"
        await client.aio.aclose()
        client.close()

    with saying(events(HI)) as server:
        asyncio.run(run(server.url))
    assert "x-team: a" in server.requests[1]["head"].lower()


@pytest.mark.parametrize("vendor", ["gemini", "google"])
def test_the_model_has_names_to_connect_by(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    model = connect(f"{vendor}:gemini-3-pro")
    assert isinstance(model, Gemini)
    assert (model.name, repr(model)) == ("gemini-3-pro", "Gemini('gemini-3-pro')")


def test_without_a_key_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SetupError, match="Set GEMINI_API_KEY or pass api_key="):
        Gemini("gemini-3-pro")


def test_another_client_and_unknown_options_are_refused() -> None:
    client: Any = object()
    with pytest.raises(
        SetupError, match=r"expected google\.genai\.client\.Client or None, got object"
    ):
        Gemini("gemini-3-pro", client=client)
    options: Any = {"timeot": 5}
    with pytest.raises(SetupError, match="no option timeot; there are timeout, max_retries"):
        Gemini("gemini-3-pro", **options)


# — what comes back —


@pytest.mark.parametrize("row", examples("gemini"), ids=lambda row: row["id"])
def test_recorded_answers_arrive_whole(row: dict[str, Any]) -> None:
    body = row["response"] if row["stream"] else json.dumps(row["response"])
    reply = reply_of(answer(body, kind=row["ctype"]), stream=row["stream"])
    assert reply.finish_reason == ("tool_calls" if reply.tool_calls else "stop")
    assert all(call.complete for call in reply.tool_calls)
    assert reply.text or reply.tool_calls


def test_an_empty_answer_is_asked_for_again() -> None:
    empty = events({"usageMetadata": {"promptTokenCount": 1}})
    assert reply_of(empty, empty, events(HI), max_retries=2).text == "hi"
    assert "the answer was empty" in str(error_of(empty))


def test_a_stream_that_ends_without_a_reason_was_cut_off() -> None:
    reply = reply_of(events(chunk({"functionCall": {"name": "add"}})))
    assert (reply.finish_reason, reply.tool_calls[0].complete) == ("incomplete", False)
    error = error_of(events(chunk({"text": "a"}), length=10_000))
    assert error.status is None


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", [400, 429, 503])
def test_a_refused_request_is_an_error_with_its_status(status: int, stream: bool) -> None:
    body = json.dumps({"error": {"code": status, "message": "no, 200 is not 429"}})
    error = error_of(answer(body, status=status, headers=["retry-after: 7"]), stream=stream)
    assert (error.status, error.retry_after) == (status, 7.0)
    assert "gemini-3-pro: no, 200 is not 429" in str(error)


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_is_no_answer_is_an_error(stream: bool) -> None:
    assert isinstance(error_of(answer("{broken"), stream=stream), ModelError)
