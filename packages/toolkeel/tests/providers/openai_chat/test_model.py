"""`OpenAIChat` against servers that answer well, badly, slowly and not at all."""

from __future__ import annotations

import asyncio
import json
from email.utils import formatdate
from time import time
from typing import Any, Literal

import openai
import pytest

from tests import aimock
from tests.providers.loopback import Json, Loopback, answer, chunk, events, saying
from tests.providers.tools import TOOLS
from tests.shared import shared_file
from toolkeel import Agent
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.errors import ModelError, SetupError
from toolkeel.events import Streamed
from toolkeel.messages import AssistantMessage, ToolMessage, Usage, UserMessage
from toolkeel.model_interface import ModelRequest, TextDelta
from toolkeel.providers.chat_servers import COMPATIBLE, OPENAI, PRESETS
from toolkeel.providers.openai_chat.model import OpenAIChat
from toolkeel.providers.wire.server_errors import retry_after

REQUEST = ModelRequest([UserMessage("几点?")], tuple(TOOLS))


def model_at(
    server: Loopback | aimock.Server, *, stream: bool = True, **options: Any
) -> OpenAIChat:
    url = server.url if isinstance(server, Loopback) else f"{server.url}/v1"
    given = {"api_key": "test", "max_retries": 0, "timeout": 5.0, **options}
    return OpenAIChat("gpt-5", base_url=url, stream=stream, **given)


async def ask(model: OpenAIChat, request: ModelRequest = REQUEST) -> AssistantMessage:
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


def test_an_agent_streams_what_the_model_says(flows: aimock.Server) -> None:
    async def said() -> list[str]:
        model = model_at(flows)
        events = [event async for event in Agent(model, TOOLS).stream("long")]
        await model.close()
        deltas = [event.delta for event in events if isinstance(event, Streamed)]
        return [delta.text for delta in deltas if isinstance(delta, TextDelta)]

    pieces = asyncio.run(said())
    assert len(pieces) > 1
    assert "".join(pieces) == "春眠不觉晓,处处闻啼鸟。夜来风雨声,花落知多少。" * 3


def test_sync_runs_one_after_another_share_a_client_and_its_connections(
    flows: aimock.Server,
) -> None:
    agent = Agent(model_at(flows), TOOLS)
    assert [agent.run_sync("one-call").output for _ in range(3)] == ["It is sunny in Paris."] * 3


def test_a_model_works_on_one_event_loop_after_another(flows: aimock.Server) -> None:
    model = model_at(flows)
    for _ in range(2):
        reply = asyncio.run(ask(model, ModelRequest([UserMessage("usage")])))
        assert (reply.content, reply.usage) == ("ok", Usage(1, 11, 7))


# — what is sent —


def test_the_request_is_a_streamed_one_with_usage_and_aliases() -> None:
    with saying(events(chunk("stop", content="hi"))) as server:
        asyncio.run(ask(model_at(server)))
    [request] = server.requests
    assert request[""] == "POST /v1/chat/completions HTTP/1.1"
    assert "content-type: application/json" in request["head"].lower()
    assert "authorization: bearer test" in request["head"].lower()
    assert request["stream"] is True
    assert request["stream_options"] == {"include_usage": True}
    assert [one["function"]["name"] for one in request["tools"]] == [
        "get_weather",
        "add",
        "clock_now",
    ]
    assert request["messages"] == [{"role": "user", "content": "几点?"}]


def test_a_client_of_your_own_is_used_and_left_open() -> None:
    async def run(url: str) -> None:
        client = openai.AsyncOpenAI(
            base_url=url, api_key="mine", default_headers={"x-team": "a"}, max_retries=0
        )
        await ask(OpenAIChat("gpt-5", client=client))
        assert not client.is_closed()
        await client.close()

    with saying(events(chunk("stop", content="hi"))) as server:
        asyncio.run(run(server.url))
    assert "x-team: a" in server.requests[0]["head"].lower()


def test_azures_client_finds_the_deployment_of_the_model() -> None:
    async def run(url: str) -> AssistantMessage:
        client = openai.AsyncAzureOpenAI(
            azure_endpoint=url.removesuffix("/v1"), api_key="a", api_version="v", max_retries=0
        )
        async with client:
            return await ask(OpenAIChat("dep", client=client))

    with saying(events(chunk("stop", content="hi"))) as server:
        assert asyncio.run(run(server.url)).content == "hi"
    assert server.requests[0][""].startswith("POST /openai/deployments/dep/chat/completions")
    assert server.requests[0]["messages"] == [{"role": "user", "content": "几点?"}]


@pytest.mark.parametrize("calls", ["auto", "native"])
@pytest.mark.parametrize("opened", [True, False])
def test_reasoning_between_tags_is_no_part_of_the_answer(
    calls: Literal["auto", "native"], opened: bool
) -> None:
    said = [chunk(content="<think>" * opened + "Hm.</th"), chunk("stop", content="ink>\n\n42")]
    for profile, text in ((PRESETS["minimax"].profile, "42"), (PRESETS["xai"].profile, None)):
        with saying(events(*said)) as server:
            model = OpenAIChat("m", base_url=server.url, profile=profile, api_key="k", calls=calls)
            reply = asyncio.run(ask(model))
        assert reply.text == (text or "<think>" * opened + "Hm.</think>\n\n42")
        assert [one.text for one in reply.reasoning] == (["Hm."] if text else [])


def test_the_profile_follows_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert OpenAIChat("gpt-5").profile is OPENAI
    assert OpenAIChat("m", base_url="http://127.0.0.1:1/v1").profile is COMPATIBLE
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert OpenAIChat("m").profile is COMPATIBLE


def test_a_synchronous_client_is_refused() -> None:
    client: Any = openai.OpenAI(api_key="x")
    with pytest.raises(
        SetupError, match=r"expected openai\.AsyncOpenAI or None, got openai\.OpenAI"
    ):
        OpenAIChat("gpt-5", client=client)


def test_an_option_that_does_not_exist_is_refused() -> None:
    options: Any = {"timeot": 5}
    with pytest.raises(
        SetupError,
        match="no option timeot; there are timeout, max_retries, media, media_limit, native_output",
    ):
        OpenAIChat("gpt-5", base_url="http://127.0.0.1:1/v1", **options)


# — what comes back —


def recorded_streams() -> list[str]:
    path = shared_file("data/exchanges-sample.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row["response"] for row in rows if row["surface"] == "openai-chat" and row["stream"]]


def test_recorded_streams_arrive_whole() -> None:
    for body in recorded_streams():
        reply = reply_of(answer(body, kind="text/event-stream"))
        assert reply.finish_reason == "tool_calls"
        assert all(call.complete and call.id.startswith("call_") for call in reply.tool_calls)
        assert reply.tool_calls


def test_a_stream_that_ends_without_a_reason_was_cut_off_unless_it_says_that_it_is_done() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "add", "arguments": '{"a": 1}'}}
    for done, reason in ((True, "tool_calls"), (False, "incomplete")):
        reply = reply_of(events(chunk(tool_calls=[call]), done=done))
        assert reply.finish_reason == reason
        assert [one.complete for one in reply.tool_calls] == [done]


def test_a_stream_that_breaks_off_is_an_error_without_a_status() -> None:
    error = error_of(events(chunk(content="a"), done=False, length=10_000))
    assert error.status is None
    assert "gpt-5 at http://127.0.0.1" in str(error)


def test_an_error_inside_a_stream_is_raised_with_its_status() -> None:
    overloaded = {"error": {"message": "overloaded", "code": 503}}
    error = error_of(events(chunk(content="a"), overloaded))
    assert (str(error), error.status) == ("gpt-5: overloaded", 503)


def test_garbage_inside_a_stream_is_an_error() -> None:
    assert "not JSON" in str(error_of(events(chunk(content="a"), "<html>oops")))


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_is_no_answer_is_an_error(stream: bool) -> None:
    page = answer("<html>proxy</html>", kind="text/html")
    if stream:
        assert "not JSON: '<html>proxy</html>'" in str(error_of(page))
    else:
        assert "not JSON" in str(error_of(page, stream=False))
    assert isinstance(error_of(answer("{broken"), stream=stream), ModelError)


def test_a_server_that_does_not_stream_when_asked_is_understood() -> None:
    whole = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    assert reply_of(answer(json.dumps(whole))).content == "hi"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500, 503])
def test_a_refused_request_is_an_error_with_its_status(status: int, stream: bool) -> None:
    body = json.dumps({"error": {"message": "no, 200 is not 429"}})
    error = error_of(answer(body, status=status), stream=stream)
    assert (error.status, error.retry_after) == (status, None)
    assert "no, 200 is not 429" in str(error)


def test_the_wait_that_the_server_asks_for_is_known() -> None:
    busy = answer("{}", status=429, headers=["retry-after: 7"])
    assert error_of(busy).retry_after == 7.0


def test_retry_after_is_read_in_all_its_forms() -> None:
    assert retry_after({"retry-after-ms": "250", "retry-after": "1"}) == 0.25
    assert retry_after({"retry-after": "1.5"}) == 1.5
    later = retry_after({"retry-after": formatdate(time() + 60, usegmt=True)})
    assert later is not None
    assert 50 < later <= 60
    assert retry_after({"retry-after": formatdate(time() - 60, usegmt=True)}) == 0.0
    for nothing in ("", "soon", "nan", "inf", "-3"):
        assert retry_after({"retry-after": nothing}) is None
    assert retry_after({}) is None


def test_a_busy_server_is_asked_again() -> None:
    busy = answer("{}", status=429, headers=["retry-after-ms: 1"])
    reply = reply_of(busy, busy, events(chunk("stop", content="hi")), max_retries=2)
    assert reply.content == "hi"


def test_calls_of_many_shapes_reach_the_tools_by_their_own_names() -> None:
    pieces: list[Json] = [
        chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "clock_now"}}]),
        chunk(tool_calls=[{"index": 0, "id": "b", "function": {"name": "add", "arguments": "{"}}]),
        chunk(tool_calls=[{"index": 1, "function": {"arguments": '"a":1,"b":2}'}}]),
        chunk("tool_calls"),
    ]
    done = events(chunk("stop", content="ok"))
    with saying(events(*pieces), done) as server:
        result = Agent(model_at(server), TOOLS).run_sync("go")
    results = [(m.name, m.content) for m in result.messages if isinstance(m, ToolMessage)]
    assert results == [("clock.now", "noon"), ("add", "3")]
    sent = server.requests[1]["messages"]
    assert [call["function"]["name"] for call in sent[1]["tool_calls"]] == ["clock_now", "add"]


def test_an_option_by_position_is_told_with_its_name() -> None:
    model: Any = OpenAIChat
    with pytest.raises(SetupError, match="by position"):
        model("gpt-5", "https://x.example")
