"""`AnthropicMessages` against servers that answer well, badly, slowly and not at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import aimock
from tests.providers.loopback import Json, Loopback, answer, saying
from tests.providers.recorded import body_of, rows
from tests.providers.tools import TOOLS
from tests.providers.transcripts import PNG
from tests.providers.vendors import check_anthropic
from toolkeel import Agent, Toolset, tool
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.content import Image
from toolkeel.errors import ModelError, SetupError
from toolkeel.events import Streamed
from toolkeel.hosted import Hosted, Native
from toolkeel.messages import AssistantMessage, ToolMessage, Usage, UserMessage
from toolkeel.model_interface import ModelRequest, OutputFormat, Settings, TextDelta
from toolkeel.providers import anthropic as wire
from toolkeel.providers.anthropic.model import AnthropicMessages
from toolkeel.providers.model_by_name import connect

MODEL = "claude-sonnet-4-5"
REQUEST = ModelRequest([UserMessage("几点?")], tuple(TOOLS))


def model_at(url: str, *, stream: bool = True, **options: Any) -> AnthropicMessages:
    given = {"api_key": "test", "max_retries": 0, "timeout": 5.0, **options}
    return AnthropicMessages(MODEL, base_url=url, stream=stream, **given)


def root(server: Loopback) -> str:
    return server.url.removesuffix("/v1")


async def ask(model: AnthropicMessages, request: ModelRequest = REQUEST) -> AssistantMessage:
    assembly = ReplyBuilder()
    try:
        async for delta in model.stream(request):
            assembly.add(delta)
    finally:
        await model.close()
    return assembly.build()


def reply_of(*answers: bytes, stream: bool = True, **options: Any) -> AssistantMessage:
    with saying(*answers) as server:
        return asyncio.run(ask(model_at(root(server), stream=stream, **options)))


def error_of(*answers: bytes, stream: bool = True, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        reply_of(*answers, stream=stream, **options)
    return raised.value


def events(*told: Json, names: bool = True, length: int | None = None) -> bytes:
    """A streamed answer; some servers leave the events' names out."""
    lines = []
    for one in told:
        name = f"event: {one['type']}\n" if names else ""
        lines.append(f"{name}data: {json.dumps(one, ensure_ascii=False)}\n\n")
    return answer("".join(lines), kind="text/event-stream", length=length)


def told(*blocks: Json, reason: str = "end_turn") -> list[Json]:
    """A message as events."""
    usage = {"input_tokens": 3, "output_tokens": 1}
    said: list[Json] = [{"type": "message_start", "message": {"model": "m-1", "usage": usage}}]
    for index, block in enumerate(blocks):
        said.append({"type": "content_block_start", "index": index, "content_block": block})
        said.append({"type": "content_block_stop", "index": index})
    said.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": None})
    return [*said, {"type": "message_stop"}]


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def use(id: str, name: str, **input: Any) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def sent(server: Loopback, number: int = -1) -> Json:
    body = {k: v for k, v in server.requests[number].items() if k not in ("", "head")}
    check_anthropic(body)
    return body


# — flows —

PROMPTS = {
    "one-call": (1, "It is sunny in Paris."),
    "parallel": (3, "巴黎和東京都是晴天,2+40=42。"),
    "three-rounds": (4, "Rome, 3, 7."),
    "text-and-call": (1, "Snow no more."),
    "alias": (1, "Noon."),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_an_agent_goes_through_a_flow(flows: aimock.Server, prompt: str, stream: bool) -> None:
    calls, output = PROMPTS[prompt]
    result = Agent(model_at(flows.url, stream=stream), TOOLS).run_sync(prompt)
    results = [one for one in result.messages if isinstance(one, ToolMessage)]
    assert (len(results), result.output) == (calls, output)
    assert not any(one.failed for one in results)


def test_an_agent_streams_what_the_model_says(flows: aimock.Server) -> None:
    async def said() -> list[str]:
        model = model_at(flows.url)
        heard = [event async for event in Agent(model, TOOLS).stream("long")]
        await model.close()
        deltas = [event.delta for event in heard if isinstance(event, Streamed)]
        return [delta.text for delta in deltas if isinstance(delta, TextDelta)]

    pieces = asyncio.run(said())
    assert len(pieces) > 1
    assert "".join(pieces) == "春眠不觉晓,处处闻啼鸟。夜来风雨声,花落知多少。" * 3


def test_one_model_serves_one_event_loop_after_another(flows: aimock.Server) -> None:
    agent = Agent(model_at(flows.url), TOOLS)
    assert [agent.run_sync("one-call").output for _ in range(3)] == ["It is sunny in Paris."] * 3


@tool(inline=True)
def draw() -> Image:
    """Draw a picture."""
    return Image(PNG)


@tool(inline=True)
def fail() -> str:
    """Fail."""
    raise ValueError("boom")


def test_pictures_and_errors_of_tools_reach_the_model() -> None:
    first = events(
        *told(use("t1", "draw"), use("t2", "fail"), use("t3", "gone"), reason="tool_use")
    )
    with saying(first, events(*told(text("Nice.")))) as server:
        result = Agent(model_at(root(server)), Toolset([draw, fail])).run_sync("draw")
        body = sent(server)
    assert result.output == "Nice."
    picture, failed, unknown = body["messages"][2]["content"]
    assert [block["type"] for block in picture["content"]] == ["text", "image"]
    assert failed["is_error"] and unknown["is_error"]
    assert "no tool called 'gone'" in unknown["content"]


# — what is sent —


def test_the_request_is_a_streamed_one_with_breakpoints_and_aliases() -> None:
    with saying(events(*told(text("hi")))) as server:
        asyncio.run(ask(model_at(root(server))))
        head, body = server.requests[0]["head"].lower(), sent(server)
    assert server.requests[0][""] == "POST /v1/messages HTTP/1.1"
    assert "content-type: application/json" in head
    assert "anthropic-version: " in head
    assert "test" in head
    assert (body["model"], body["stream"], body["max_tokens"]) == (MODEL, True, 64_000)
    assert [one["name"] for one in body["tools"]] == ["get_weather", "add", "clock_now"]
    assert str(body).count("cache_control") == 2


def test_caching_can_be_switched_off() -> None:
    with saying(events(*told(text("hi")))) as server:
        asyncio.run(ask(model_at(root(server), prompt_cache=False)))
        assert "cache_control" not in str(sent(server))


def test_features_in_test_are_asked_for_in_a_header() -> None:
    settings = Settings(extra_body={"betas": ["context-1", "files-2"]})
    with saying(events(*told(text("hi")))) as server:
        asyncio.run(ask(model_at(root(server)), ModelRequest([UserMessage("x")], (), settings)))
        assert "anthropic-beta: context-1,files-2" in server.requests[0]["head"].lower()
        assert "betas" not in sent(server)


def test_a_client_of_your_own_is_used_and_left_open() -> None:
    async def run(url: str) -> None:
        client = anthropic.AsyncAnthropic(
            base_url=url, api_key="mine", default_headers={"x-team": "a"}, max_retries=0
        )
        await ask(AnthropicMessages(MODEL, client=client))
        assert not client.is_closed()
        await client.close()

    with saying(events(*told(text("hi")))) as server:
        asyncio.run(run(root(server)))
        assert "x-team: a" in server.requests[0]["head"].lower()


def test_a_clouds_client_finds_the_model() -> None:
    async def run(url: str, stream: bool) -> AssistantMessage:
        client = anthropic.AsyncAnthropicVertex(
            base_url=url, region="eu", project_id="p", access_token="t", max_retries=0
        )
        async with client:
            return await ask(AnthropicMessages(MODEL, client=client, stream=stream))

    whole = answer(json.dumps({"content": [text("hi")], "stop_reason": "end_turn"}))
    for stream, said in ((True, events(*told(text("hi")))), (False, whole)):
        with saying(said) as server:
            assert asyncio.run(run(root(server), stream)).content == "hi"
            assert f"publishers/anthropic/models/{MODEL}:" in server.requests[0][""]
            assert server.requests[0]["messages"][0]["content"][0]["text"] == "几点?"


def test_vendors_are_connected_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    model = connect(f"anthropic:{MODEL}", prompt_cache=False)
    assert repr(model) == f"AnthropicMessages({MODEL!r})"
    assert model.name == MODEL


def test_what_is_wired_up_wrongly_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    with pytest.raises(SetupError, match="set ANTHROPIC_API_KEY or pass api_key="):
        AnthropicMessages(MODEL)
    AnthropicMessages("kimi", base_url="http://127.0.0.1:1")
    client: Any = anthropic.Anthropic(api_key="x")
    with pytest.raises(
        SetupError,
        match=r"expected anthropic\.AsyncAnthropic or .* or None, got anthropic\.Anthropic",
    ):
        AnthropicMessages(MODEL, client=client)
    options: Any = {"timeot": 5}
    with pytest.raises(SetupError, match="no option timeot; there are timeout, max_retries"):
        AnthropicMessages(MODEL, api_key="x", **options)


# — what comes back —


def test_recorded_answers_arrive_whole() -> None:
    for row in rows("anthropic"):
        reply = reply_of(answer(body_of(row), kind=row["ctype"]), stream=row["stream"])
        assert len(reply.tool_calls) == row["calls"]
        assert all(call.complete for call in reply.tool_calls)
        assert reply.finish_reason == ("tool_calls" if row["calls"] else "stop")


def test_events_without_names_are_read() -> None:
    assert reply_of(events(*told(text("hi")), names=False)).content == "hi"


def test_a_server_that_does_not_stream_when_asked_is_understood() -> None:
    whole = {"type": "message", "content": [text("hi")], "stop_reason": "end_turn"}
    assert reply_of(answer(json.dumps(whole))).content == "hi"


def test_a_pause_is_answered_by_asking_to_go_on() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    for stream in (True, False):
        answers = [told(text("One."), search, reason="pause_turn"), told(found, text("Two."))]
        bodies = [events(*one) if stream else whole_of(one) for one in answers]
        with saying(*bodies) as server:
            reply = asyncio.run(ask(model_at(root(server), stream=stream)))
            assert sent(server)["messages"][-1] == {
                "role": "assistant",
                "content": [text("One."), search],
            }
        assert (reply.text, reply.finish_reason) == ("One.Two.", "stop")
        assert reply.usage == Usage(2, 6, 2)
        back = wire.encode_turn(reply, [])[0]["content"]
        assert back == [text("One."), search, found, text("Two.")]


def whole_of(told: list[Json]) -> bytes:
    blocks = [one["content_block"] for one in told if "content_block" in one]
    reason = told[-2]["delta"]["stop_reason"]
    usage = told[0]["message"]["usage"]
    message = {"type": "message", "content": blocks, "stop_reason": reason, "usage": usage}
    return answer(json.dumps(message))


def test_a_model_that_pauses_for_ever_is_not_asked_for_ever() -> None:
    with saying(events(*told(text("."), reason="pause_turn"))) as server:
        reply = asyncio.run(ask(model_at(root(server))))
        assert len(server.requests) == 9
    assert reply.finish_reason == "stop"


@settings(max_examples=25)
@given(st.integers(0, 11))
def test_a_stream_that_is_cut_anywhere_leaves_calls_that_never_run(cut: int):
    whole = told(text("Let me see."), use("t1", "add", a=1, b=2), reason="tool_use")
    if cut <= 1:  # nothing was said
        assert error_of(events(*whole[:cut])).retryable
        return
    reply = reply_of(events(*whole[:cut]))
    complete = cut >= len(whole) - 1  # the last event says nothing new
    assert (reply.finish_reason == "incomplete") != complete
    assert all(call.complete == complete for call in reply.tool_calls)


def test_a_connection_that_breaks_off_is_an_error_without_a_status() -> None:
    error = error_of(events(*told(text("a"))[:3], length=10_000))
    assert error.status is None
    assert str(error).startswith(MODEL)


@pytest.mark.parametrize(
    ("kind", "status"), [("overloaded_error", 529), ("api_error", 500), ("new_error", None)]
)
def test_an_error_inside_a_stream_is_raised_with_its_status(kind: str, status: int | None) -> None:
    event = {"type": "error", "error": {"type": kind, "message": "busy, not 429"}}
    error = error_of(events(*told(text("a"))[:3], event))
    assert (str(error), error.status) == (f"{MODEL}: busy, not 429", status)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500, 529])
def test_a_refused_request_is_an_error_with_its_status(status: int, stream: bool) -> None:
    body = json.dumps({"type": "error", "error": {"type": "x", "message": "no, 200 is not 429"}})
    error = error_of(answer(body, status=status), stream=stream)
    assert (error.status, error.retry_after) == (status, None)
    assert str(error) == f"{MODEL}: no, 200 is not 429"


def test_the_wait_that_the_server_asks_for_is_known() -> None:
    assert error_of(answer("{}", status=429, headers=["retry-after: 7"])).retry_after == 7.0


def test_a_busy_server_is_asked_again() -> None:
    busy = answer("{}", status=529, headers=["retry-after-ms: 1"])
    assert reply_of(busy, busy, events(*told(text("hi"))), max_retries=2).content == "hi"


def test_garbage_inside_a_stream_is_an_error() -> None:
    assert "not JSON" in str(error_of(answer("data: <html>\n\n", kind="text/event-stream")))
    assert "not JSON" in str(error_of(answer("{broken"), stream=False))


def test_only_anthropics_server_is_sent_its_own_tools_unless_one_says_that_it_has_them() -> None:
    native = Native({"type": "web_search_20250305", "name": "web_search"}, betas=("web-1",))
    search = tool("web_search", hosted=Hosted({"anthropic": native}))(lambda query: query)
    request = ModelRequest([UserMessage("hi")], Toolset([search]))
    with saying(events(*told(text("hi")))) as server:
        asyncio.run(ask(model_at(root(server)), request))
        assert "input_schema" in sent(server)["tools"][0]
    with saying(events(*told(text("hi")))) as server:
        asyncio.run(ask(model_at(root(server), hosts_tools=True), request))
        assert sent(server)["tools"][0]["type"] == "web_search_20250305"
        assert "anthropic-beta: web-1" in server.requests[0]["head"].lower()


def test_only_anthropics_own_addresses_are_anthropics() -> None:
    own = {"https://api.anthropic.com": True, "https://eu.anthropic.com/": True}
    others = {"https://notanthropic.com": False, "https://anthropic.com.example": False}
    form = OutputFormat("city", {"type": "object", "properties": {}})
    for url, expected in {**own, **others}.items():
        model = AnthropicMessages("claude-sonnet-4-5", base_url=url, api_key="k")
        assert (model.hosts, model.supports_format(form, tools=False)) == (
            "anthropic" * expected,
            expected,
        )
