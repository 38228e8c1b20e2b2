"""`BedrockConverse` through boto3, against servers that answer well, badly, slowly and not at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import boto3
import pytest
from botocore.config import Config
from hypothesis import given
from hypothesis import strategies as st

from tests import aimock
from tests.providers.loopback import Json, Loopback, answer, saying
from tests.providers.recorded import body_of, frames, rows
from tests.providers.tools import TOOLS
from tests.providers.transcripts import PNG, transcripts
from tests.providers.vendors import check_bedrock
from toolkeel import Agent, Toolset, tool
from toolkeel.agent.reply_assembly import Assembly
from toolkeel.content import Image
from toolkeel.errors import ModelError, SetupError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolkeel.model import ModelRequest
from toolkeel.providers import bedrock
from toolkeel.providers.bedrock.model import BedrockConverse
from toolkeel.providers.model_by_name import connect

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
REQUEST = ModelRequest([UserMessage("几点?")], tuple(TOOLS))


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """An AWS account, and none of this machine's own."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def model_at(url: str, *, stream: bool = True, **options: Any) -> BedrockConverse:
    given = {"max_retries": 0, "timeout": 5.0, **options}
    return BedrockConverse(CLAUDE, base_url=url, stream=stream, **given)


def root(server: Loopback) -> str:
    return server.url.removesuffix("/v1")


async def ask(model: BedrockConverse, request: ModelRequest = REQUEST) -> AssistantMessage:
    assembly = Assembly()
    async for delta in model.stream(request):
        assembly.add(delta)
    return assembly.reply()


def reply_of(*answers: bytes, stream: bool = True, **options: Any) -> AssistantMessage:
    with saying(*answers) as server:
        return asyncio.run(ask(model_at(root(server), stream=stream, **options)))


def error_of(*answers: bytes, stream: bool = True, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        reply_of(*answers, stream=stream, **options)
    return raised.value


def told(*blocks: Json, reason: str = "end_turn") -> list[Json]:
    """A message as events."""
    said: list[Json] = [{"messageStart": {"role": "assistant"}}]
    for index, block in enumerate(blocks):
        at = {"contentBlockIndex": index}
        if "text" in block:
            said.append({"contentBlockDelta": {**at, "delta": block}})
        else:
            use = block["toolUse"]
            head = {key: value for key, value in use.items() if key != "input"}
            piece = {"toolUse": {"input": json.dumps(use["input"], ensure_ascii=False)}}
            said.append({"contentBlockStart": {**at, "start": {"toolUse": head}}})
            said.append({"contentBlockDelta": {**at, "delta": piece}})
        said.append({"contentBlockStop": at})
    said.append({"messageStop": {"stopReason": reason}})
    usage = {"inputTokens": 3, "outputTokens": 1, "totalTokens": 4}
    return [*said, {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}]


def streamed(*events: Json, end: bytes = b"0\r\n\r\n") -> bytes:
    """A streamed answer, each event in a chunk of its own, as the service sends it."""
    kind = "application/vnd.amazon.eventstream"
    lines = ["HTTP/1.1 200 OK", f"content-type: {kind}", "transfer-encoding: chunked"]
    head = "\r\n".join([*lines, "connection: close", "", ""])
    chunks = [b"%x\r\n%s\r\n" % (len(data), data) for data in map(frames, events)]
    return b"".join([head.encode(), *chunks, end])


def whole(*blocks: Json, reason: str = "end_turn") -> bytes:
    usage = {"inputTokens": 3, "outputTokens": 1, "totalTokens": 4}
    message = {"role": "assistant", "content": list(blocks)}
    body = {"output": {"message": message}, "stopReason": reason, "usage": usage}
    return answer(json.dumps({**body, "metrics": {"latencyMs": 1}}, ensure_ascii=False))


def says(*blocks: Json, stream: bool) -> bytes:
    reason = "tool_use" if any("toolUse" in block for block in blocks) else "end_turn"
    return streamed(*told(*blocks, reason=reason)) if stream else whole(*blocks, reason=reason)


def use(id: str, name: str, **input: Any) -> Json:
    return {"toolUse": {"toolUseId": id, "name": name, "input": input}}


# — flows —

PROMPTS = {
    "one-call": (1, "It is sunny in Paris."),
    "parallel": (3, "巴黎和東京都是晴天,2+40=42。"),
    "three-rounds": (4, "Rome, 3, 7."),
    "text-and-call": (1, "Snow no more."),
    "alias": (1, "Noon."),
}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_an_agent_goes_through_a_flow(flows: aimock.Server, prompt: str) -> None:
    calls, output = PROMPTS[prompt]
    model = model_at(flows.url, stream=False, prompt_cache=False)  # aimock knows no cache points
    result = Agent(model, TOOLS).run_sync(prompt)
    results = [one for one in result.messages if isinstance(one, ToolMessage)]
    assert (len(results), result.output) == (calls, output)
    assert not any(one.failed for one in results)


@pytest.mark.parametrize("stream", [True, False])
def test_an_agent_goes_through_three_rounds(stream: bool) -> None:
    rounds = [
        says({"text": "Let me see."}, use("t1", "get_weather", city="東京"), stream=stream),
        says(use("t2", "add", a=1, b=2), use("t2", "add", a=3, b=4), stream=stream),
        says(use("t3", "clock_now"), stream=stream),
        says({"text": "東京, 3, 7, noon."}, stream=stream),
    ]
    with saying(*rounds) as server:
        result = Agent(model_at(root(server), stream=stream), TOOLS).run_sync("go")
    results = [one.text for one in result.messages if isinstance(one, ToolMessage)]
    assert results == ["東京: sunny", "3", "7", "noon"]
    assert result.output == "東京, 3, 7, noon."
    assert result.usage == Usage(4, 12, 4)
    verb = "converse-stream" if stream else "converse"
    assert server.requests[0][""].endswith(f"-v1%3A0/{verb} HTTP/1.1")
    last = server.requests[-1]["messages"]
    ids = [one["toolUse"]["toolUseId"] for one in last[3]["content"]]
    assert ids == ["t2", "t2_2"] == [one["toolResult"]["toolUseId"] for one in last[4]["content"]]


@tool(inline=True)
def draw() -> Image:
    """Draw a picture."""
    return Image(PNG)


@tool(inline=True)
def fail() -> str:
    """Fail."""
    raise ValueError("boom")


@pytest.mark.parametrize("stream", [True, False])
def test_pictures_and_errors_of_tools_reach_the_model(stream: bool) -> None:
    first = says(use("t1", "draw"), use("t2", "fail"), use("t3", "gone"), stream=stream)
    with saying(first, says({"text": "Nice."}, stream=stream)) as server:
        model = model_at(root(server), stream=stream)
        result = Agent(model, Toolset([draw, fail])).run_sync("draw")
    assert result.output == "Nice."
    *results, point = server.requests[1]["messages"][2]["content"]
    assert [one["toolResult"]["status"] for one in results] == ["success", "error", "error"]
    _, picture = results[0]["toolResult"]["content"]
    assert picture["image"]["source"]["bytes"].startswith("iVBORw0KGgo")
    assert point == {"cachePoint": {"type": "default"}}


# — what is sent —


class Asked(Exception):
    """Ends a request; holds what it said."""


class Asking:
    """A client that only takes the request."""

    def converse(self, **body: Any) -> Any:
        raise Asked(body)

    converse_stream = converse


@given(transcripts, st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_a_transcript_that_grows_gives_the_requests_of_each_of_its_states(
    messages: list[Message], steps: list[int]
):
    model = BedrockConverse(CLAUDE, client=Asking())
    growing: list[Message] = []
    for step in steps:
        growing += messages[len(growing) : len(growing) + step]
        request = ModelRequest(growing, tuple(TOOLS))
        with pytest.raises(ModelError) as raised:  # as of any client that fails in its own way
            asyncio.run(ask(model, request))
        assert isinstance(raised.value.__cause__, Asked)
        [body] = raised.value.__cause__.args
        assert body == bedrock.encode(request, CLAUDE, prompt_cache=True)
        check_bedrock(body)


def test_a_client_of_your_own_is_used() -> None:
    with saying(streamed(*told({"text": "hi"}))) as server:
        client = boto3.client(
            "bedrock-runtime",
            region_name="eu-west-1",
            endpoint_url=root(server),
            config=Config(user_agent_extra="team-a"),
        )
        reply = asyncio.run(ask(BedrockConverse(CLAUDE, client=client)))
    assert (reply.content, reply.model) == ("hi", CLAUDE)
    assert "team-a" in server.requests[0]["head"]


def test_vendors_are_connected_by_name() -> None:
    model = connect(f"bedrock:{CLAUDE}", region="eu-west-1")
    assert (repr(model), model.name) == (f"BedrockConverse({CLAUDE!r})", CLAUDE)


def test_what_is_wired_up_wrongly_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = object()
    with pytest.raises(
        SetupError, match=r"expected boto3\.client\('bedrock-runtime'\), got object"
    ):
        BedrockConverse(CLAUDE, client=client)
    options: Any = {"timeot": 5}
    with pytest.raises(SetupError, match="no option timeot; there are timeout, max_retries"):
        BedrockConverse(CLAUDE, **options)
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(SetupError, match="Set AWS_REGION or pass region="):
        BedrockConverse(CLAUDE)


def test_missing_credentials_are_the_developers_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(SetupError, match="Unable to locate credentials"):
        asyncio.run(ask(model_at("http://127.0.0.1:9")))


# — what comes back —


def test_recorded_answers_arrive_whole() -> None:
    for row in rows("bedrock-converse"):
        reply = reply_of(answer(body_of(row), kind=row["ctype"]), stream=row["stream"])
        expected = bedrock.decode(row["response"]) if not row["stream"] else None
        assert reply.finish_reason in ("stop", "tool_calls")
        assert all(call.complete for call in reply.tool_calls)
        assert expected is None or expected.tool_calls == reply.tool_calls


def test_a_stream_that_is_cut_anywhere_leaves_calls_that_never_run() -> None:
    events = told({"text": "Let me see."}, use("t1", "add", a=1), reason="tool_use")
    stop = next(index for index, event in enumerate(events) if "messageStop" in event)
    for cut in range(len(events) + 1):
        if cut <= 1:  # nothing was said
            assert error_of(streamed(*events[:cut])).retryable
            continue
        reply = reply_of(streamed(*events[:cut]))
        assert (reply.finish_reason == "incomplete") == (cut <= stop)
        assert all(call.complete == (cut > stop) for call in reply.tool_calls)


def test_a_connection_that_breaks_off_is_an_error_without_a_status() -> None:
    error = error_of(streamed(*told({"text": "a"})[:2], end=b""))
    assert error.status is None
    assert str(error).startswith(CLAUDE)


def test_garbage_in_an_answer_is_an_error() -> None:
    kind = "application/vnd.amazon.eventstream"
    for body in (
        b"<html>oops</html>",
        frames(*told({"text": "a"})).replace(b"end_turn", b'en"turn'),
    ):
        assert "cannot be read" in str(error_of(answer(body, kind=kind)))
    assert "answer has no output" in str(error_of(answer("{broken"), stream=False))


@pytest.mark.parametrize(
    ("name", "status"), [("throttlingException", 429), ("internalServerException", 500)]
)
def test_an_error_inside_a_stream_is_raised_with_its_status(name: str, status: int) -> None:
    error = error_of(streamed(*told({"text": "a"})[:2], {name: {"message": "busy, not 418"}}))
    assert (str(error), error.status) == (f"{CLAUDE}: busy, not 418", status)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", [400, 403, 404, 429, 500, 503])
def test_a_refused_request_is_an_error_with_its_status(status: int, stream: bool) -> None:
    body = json.dumps({"message": "no, 200 is not 429"})
    kind = ["x-amzn-ErrorType: SomeException", "retry-after: 7"]
    error = error_of(answer(body, status=status, headers=kind), stream=stream)
    assert (error.status, error.retry_after) == (status, 7.0)
    assert str(error) == f"{CLAUDE}: no, 200 is not 429"


def test_a_busy_server_is_asked_again() -> None:
    busy = answer("{}", status=503)
    assert reply_of(busy, streamed(*told({"text": "hi"})), max_retries=1).content == "hi"


def test_a_guardrail_that_intervenes_is_a_filter() -> None:
    reply = reply_of(streamed(*told({"text": "Blocked."}, reason="guardrail_intervened")))
    assert (reply.text, reply.finish_reason) == ("Blocked.", "filtered")


def test_requests_wait_side_by_side() -> None:
    async def run(url: str) -> list[AssistantMessage]:
        model = model_at(url)
        return await asyncio.gather(*(ask(model) for _ in range(8)))

    with saying(streamed(*told({"text": "hi"}))) as server:
        assert [one.content for one in asyncio.run(run(root(server)))] == ["hi"] * 8


def test_calls_of_the_model_keep_their_order_and_their_text() -> None:
    reply = reply_of(streamed(*told(use("a", "f", x="é"), use("b", "g"), reason="tool_use")))
    assert reply.tool_calls == (ToolCall("a", "f", '{"x": "é"}'), ToolCall("b", "g", "{}"))
