"""`OpenAIResponses` against servers that answer well, badly and not at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest

from tests import aimock
from tests.providers.loopback import Json, Loopback, answer, events, saying
from tests.providers.openai_responses.test_public import check_body
from tests.providers.recorded import examples
from tests.providers.tools import TOOLS
from toolkeel import Agent, ToolError, Toolset, tool
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.content import Image, Text
from toolkeel.errors import ModelError, SetupError
from toolkeel.hosted import Hosted, Native
from toolkeel.messages import AssistantMessage, ToolMessage, Usage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.model_by_name import connect
from toolkeel.providers.openai_responses.model import OpenAIResponses

REQUEST = ModelRequest([UserMessage("几点?")], tuple(TOOLS))
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
HI: Json = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "content": [{"type": "output_text", "text": "hi", "annotations": []}],
}


def model_at(
    server: Loopback | aimock.Server, *, stream: bool = True, **options: Any
) -> OpenAIResponses:
    url = server.url if isinstance(server, Loopback) else f"{server.url}/v1"
    given = {"api_key": "test", "max_retries": 0, "timeout": 5.0, **options}
    return OpenAIResponses("gpt-5", base_url=url, stream=stream, **given)


async def ask(model: OpenAIResponses, request: ModelRequest = REQUEST) -> AssistantMessage:
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


def whole(*output: Json, status: str = "completed", **keys: Any) -> Json:
    return {"object": "response", "status": status, "model": "gpt-5", "output": [*output], **keys}


def ended(*output: Json, **keys: Any) -> Json:
    return {"type": "response.completed", "response": whole(*output, **keys)}


# — flows —

PROMPTS = {
    "one-call": (1, "It is sunny in Paris."),
    "parallel": (3, "巴黎和東京都是晴天,2+40=42。"),
    "three-rounds": (4, "Rome, 3, 7."),
    "text-and-call": (1, "Snow no more."),
    "alias": (1, "Noon."),
    "bad-json": (1, "Sorry about that."),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_an_agent_goes_through_a_flow(flows: aimock.Server, prompt: str, stream: bool) -> None:
    calls, output = PROMPTS[prompt]
    result = Agent(model_at(flows, stream=stream), TOOLS).run_sync(prompt)
    results = [one for one in result.messages if isinstance(one, ToolMessage)]
    assert (len(results), result.output) == (calls, output)
    assert [one.kind for one in results] == [
        "malformed_arguments" if prompt == "bad-json" else None
    ] * calls
    if prompt == "alias":
        assert results[0].name == "clock.now"


@pytest.mark.parametrize("stream", [True, False])
def test_usage_and_reasoning_arrive(flows: aimock.Server, stream: bool) -> None:
    for prompt in ("usage", "reasoning"):
        reply = asyncio.run(
            ask(model_at(flows, stream=stream), ModelRequest([UserMessage(prompt)]))
        )
        if prompt == "usage":
            assert (reply.text, reply.usage) == ("ok", Usage(1, 11, 7))
        else:
            assert (reply.text, reply.reasoning[0].text) == ("42", "six times seven")


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


def test_a_reply_that_is_too_long_says_so(flows: aimock.Server) -> None:
    request = ModelRequest([UserMessage("length-stop")])
    reply = asyncio.run(ask(model_at(flows, stream=False), request))
    assert reply.text == "It was the best of"


def test_a_picture_in_a_result_reaches_the_server() -> None:
    @tool
    def look() -> list[object]:
        """Look around."""
        return [Text("a dog"), Image(PNG)]

    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c",
        "name": "look",
        "arguments": "{}",
    }
    secret = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    with saying(events(ended(secret, call)), events(ended(HI))) as server:
        result = Agent(model_at(server), Toolset([look])).run_sync("see?")
    assert result.output == "hi"
    _, second = server.requests
    check_body({"model": second["model"], "input": second["input"], "stream": True})
    assert [one.get("type") for one in second["input"]] == [
        None,
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert [part["type"] for part in second["input"][3]["output"]] == ["input_text", "input_image"]


def test_an_error_of_a_tool_is_said_to_the_model() -> None:
    @tool
    def look() -> str:
        """Look around."""
        raise ToolError("It is dark.")

    call = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    with saying(events(ended(call)), events(ended(HI))) as server:
        Agent(model_at(server), Toolset([look])).run_sync("see?")
    assert server.requests[1]["input"][-1]["output"].startswith("Error: It is dark.")


# — what is sent —


def test_the_request_is_a_streamed_one_that_stores_nothing() -> None:
    with saying(events(ended(HI))) as server:
        asyncio.run(ask(model_at(server)))
    [request] = server.requests
    assert request[""] == "POST /v1/responses HTTP/1.1"
    assert "content-type: application/json" in request["head"].lower()
    assert "authorization: bearer test" in request["head"].lower()
    assert (request["stream"], request["store"]) == (True, False)
    assert request["input"] == [{"role": "user", "content": "几点?"}]
    assert [one["name"] for one in request["tools"]] == ["get_weather", "add", "clock_now"]


def test_azures_client_works_too() -> None:
    async def run(url: str) -> AssistantMessage:
        client = openai.AsyncAzureOpenAI(
            azure_endpoint=url.removesuffix("/v1"), api_key="a", api_version="v", max_retries=0
        )
        async with client:
            return await ask(OpenAIResponses("dep", client=client))

    with saying(events(ended(HI))) as server:
        assert asyncio.run(run(server.url)).text == "hi"
    assert server.requests[0]["model"] == "dep"


def test_the_model_has_a_name_to_connect_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    model = connect("openai-responses:gpt-5")
    assert isinstance(model, OpenAIResponses)
    assert (model.name, repr(model)) == ("gpt-5", "OpenAIResponses('gpt-5')")


def test_without_a_key_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SetupError, match=r"OpenAIResponses\('gpt-5'\): no API key; set OPENAI_API"):
        OpenAIResponses("gpt-5")


def test_a_synchronous_client_and_unknown_options_are_refused() -> None:
    client: Any = openai.OpenAI(api_key="x")
    with pytest.raises(
        SetupError, match=r"expected openai\.AsyncOpenAI or None, got openai\.OpenAI"
    ):
        OpenAIResponses("gpt-5", client=client)
    options: Any = {"profile": None}
    with pytest.raises(SetupError, match="no option profile; there are timeout, max_retries"):
        OpenAIResponses("gpt-5", base_url="http://127.0.0.1:1/v1", **options)


# — what comes back —


@pytest.mark.parametrize("row", examples("openai-responses"), ids=lambda row: row["id"])
def test_recorded_answers_arrive_whole(row: dict[str, Any]) -> None:
    body = row["response"] if row["stream"] else json.dumps(row["response"])
    reply = reply_of(answer(body, kind=row["ctype"]), stream=row["stream"])
    assert reply.finish_reason == ("tool_calls" if reply.tool_calls else "stop")
    assert all(call.complete for call in reply.tool_calls)
    assert reply.text or reply.tool_calls


def test_a_server_that_does_not_stream_when_asked_is_understood() -> None:
    assert reply_of(answer(json.dumps(whole(HI)))).text == "hi"


def test_a_stream_that_ends_early_was_cut_off() -> None:
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "a"}
    assert reply_of(events(delta)).finish_reason == "incomplete"
    error = error_of(events(delta, done=False, length=10_000))
    assert error.status is None
    assert "gpt-5 at http://127.0.0.1" in str(error)


@pytest.mark.parametrize("stream", [True, False])
def test_a_failed_response_is_an_error(stream: bool) -> None:
    failed = whole(status="failed", error={"code": "rate_limit_exceeded", "message": "slow down"})
    event = {"type": "response.failed", "response": failed}
    error = error_of(events(event) if stream else answer(json.dumps(failed)), stream=stream)
    assert (str(error), error.status) == ("gpt-5: slow down", 429)


def test_an_error_event_is_an_error() -> None:
    error = error_of(events({"type": "error", "code": "server_error", "message": "oops"}))
    assert (str(error), error.status) == ("gpt-5: oops", 500)


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_is_no_answer_is_an_error(stream: bool) -> None:
    assert isinstance(error_of(answer("{broken"), stream=stream), ModelError)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", [400, 429, 503])
def test_a_refused_request_is_an_error_with_its_status(status: int, stream: bool) -> None:
    body = json.dumps({"error": {"message": "no, 200 is not 429"}})
    error = error_of(answer(body, status=status, headers=["retry-after: 7"]), stream=stream)
    assert (error.status, error.retry_after) == (status, 7.0)
    assert "no, 200 is not 429" in str(error)


def test_only_openais_server_is_sent_its_own_tools_unless_one_says_that_it_has_them() -> None:
    search = tool(
        "web_search", hosted=Hosted({"openai-responses": Native({"type": "web_search"})})
    )(lambda query: query)
    request = ModelRequest([UserMessage("hi")], Toolset([search]))
    for options, kind in (({}, "function"), ({"hosts_tools": True}, "web_search")):
        with saying(events(ended(HI))) as server:
            asyncio.run(ask(model_at(server, **options), request))
        assert [one["type"] for one in server.requests[0]["tools"]] == [kind]
    assert OpenAIResponses("gpt-5", api_key="k").hosts == "openai-responses"
