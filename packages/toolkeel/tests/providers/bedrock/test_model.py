"""`BedrockConverse` against servers that answer well, badly, slowly and not at all."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.serialize import create_serializer
from botocore.session import Session
from hypothesis import given
from hypothesis import strategies as st

from tests import aimock
from tests.providers.bedrock.accounts import KEYS, account, by_boto3, text
from tests.providers.loopback import Json, Loopback, answer, saying
from tests.providers.recorded import body_of, frames, rows
from tests.providers.tools import TOOLS
from tests.providers.transcripts import PNG, transcripts
from tests.providers.vendors import check_bedrock
from toolkeel import Agent, Toolset, tool
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.content import Block, File, Image, Text
from toolkeel.errors import ModelError, RateLimited, RequestRejected, SetupError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import bedrock
from toolkeel.providers.bedrock.encode import BedrockEncoder
from toolkeel.providers.bedrock.model import BedrockConverse
from toolkeel.providers.bedrock.profile import BedrockProfile
from toolkeel.providers.model_by_name import connect
from toolkeel.providers.wire.body_cache import BodyCache

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PDF = "application/pdf"
ARN = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3"
SERVICE = Session()
REQUEST = ModelRequest([UserMessage("几点?")], tuple(TOOLS))


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An AWS account, and none of this machine's own."""
    account(monkeypatch, tmp_path, **KEYS, AWS_REGION="us-east-1")


def model_at(url: str, *, stream: bool = True, **options: Any) -> BedrockConverse:
    given = {"max_retries": 0, "timeout": 5.0, **options}
    return BedrockConverse(CLAUDE, base_url=url, stream=stream, **given)


def root(server: Loopback) -> str:
    return server.url.removesuffix("/v1")


async def ask(model: BedrockConverse, request: ModelRequest = REQUEST) -> AssistantMessage:
    assembly = ReplyBuilder()
    async for delta in model.stream(request):
        assembly.add(delta)
    return assembly.build()


def reply_of(*answers: bytes, stream: bool = True, **options: Any) -> AssistantMessage:
    with saying(*answers) as server:
        return asyncio.run(ask(model_at(root(server), stream=stream, **options)))


def error_of(*answers: bytes, stream: bool = True, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        reply_of(*answers, stream=stream, **options)
    return raised.value


def errors_of(*answers: bytes, stream: bool) -> list[ModelError]:
    """What one model raises for each answer: boto3 takes long to make one."""

    async def main() -> list[ModelError]:
        with saying(*answers) as server:
            model = model_at(root(server), stream=stream)
            found: list[Any] = [
                (await asyncio.gather(ask(model), return_exceptions=True))[0] for _ in answers
            ]
        return found

    return asyncio.run(main())


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


@given(transcripts, st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_a_transcript_that_grows_gives_the_requests_of_each_of_its_states(
    messages: list[Message], steps: list[int]
):
    profile = BedrockProfile(CLAUDE, prompt_cache=True)
    bodies = BodyCache(BedrockEncoder, profile)
    growing: list[Message] = []
    for step in steps:
        growing += messages[len(growing) : len(growing) + step]
        request = ModelRequest(growing, tuple(TOOLS))
        body = bedrock.encode(request, CLAUDE, prompt_cache=True)
        check_bedrock(body)
        assert json.loads(bodies.encode(request)) == by_wire(body)


def by_wire(body: Any) -> Any:
    """A request as boto3 puts it in JSON."""
    model = SERVICE.get_service_model("bedrock-runtime")
    serializer = create_serializer("rest-json", include_validation=False)
    made = serializer.serialize_to_request(body, model.operation_model("Converse"))
    return json.loads(made["body"])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", [CLAUDE, ARN])
def test_the_whole_request_is_the_one_that_boto3_would_send(model: str, stream: bool) -> None:
    blocks: list[Block] = [Text("Was ist das? 几点?"), Image(PNG), File(b"%PDF-1", "a.pdf", PDF)]
    request = ModelRequest([UserMessage(tuple(blocks))], tuple(TOOLS))
    with saying(says({"text": "hi"}, stream=stream)) as server:
        ours = BedrockConverse(model, base_url=root(server), stream=stream)
        body = ours._bodies.encode(request)
        place = {"region_name": "us-east-1", "endpoint_url": root(server)}
        operation = "converse_stream" if stream else "converse"
        send = by_boto3(model, body, operation=operation, **place)
        while True:  # until both fall into one second
            asyncio.run(ask(ours, request))
            expected = send()
            told = heads(server.requests[-1])
            if told["x-amz-date"] == text(expected.headers["X-Amz-Date"]):
                break
    said = server.requests[-1]
    assert said[""] == f"POST {expected.url.removeprefix(root(server))} HTTP/1.1"
    assert {key: said[key] for key in said if key not in ("", "head")} == json.loads(body)
    assert json.loads(body) == by_wire(bedrock.encode(request, model, prompt_cache=True))
    for name in ("Authorization", "Content-Type", "Content-Length", "X-Amz-Date"):
        assert told[name.lower()] == text(expected.headers[name])
    assert told["host"] == root(server).removeprefix("http://")


def heads(request: Json) -> dict[str, str]:
    lines = [line.partition(": ") for line in request["head"].strip().splitlines()[1:]]
    return {name.lower(): value for name, _, value in lines}


def test_a_session_of_your_own_says_who_asks() -> None:
    with saying(streamed(*told({"text": "hi"}))) as server:
        session = boto3.Session("AKIDMINE", "s", "token", region_name="eu-west-1")
        model = BedrockConverse(CLAUDE, base_url=root(server), session=session)
        reply = asyncio.run(ask(model))
    assert (reply.content, reply.model) == ("hi", CLAUDE)
    head = heads(server.requests[0])
    assert re.search("Credential=AKIDMINE/[0-9]{8}/eu-west-1/bedrock/", head["authorization"])
    assert head["x-amz-security-token"] == "token"


def test_vendors_are_connected_by_name() -> None:
    model = connect(f"bedrock:{CLAUDE}", region="eu-west-1")
    assert (repr(model), model.name) == (f"BedrockConverse({CLAUDE!r})", CLAUDE)


def test_what_is_wired_up_wrongly_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = {"client": object()}
    with pytest.raises(SetupError, match=r"pass session=boto3\.Session\(\.\.\.\)"):
        BedrockConverse(CLAUDE, **client)
    with pytest.raises(SetupError, match=r"expected a boto3\.Session, got object"):
        BedrockConverse(CLAUDE, session=object())
    options: Any = {"timeot": 5}
    with pytest.raises(SetupError, match="no option timeot; there are timeout, max_retries"):
        BedrockConverse(CLAUDE, **options)
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(SetupError, match="Set AWS_REGION or pass region="):
        BedrockConverse(CLAUDE)


def test_missing_credentials_are_the_developers_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name)
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
    assert "not JSON" in str(error_of(answer("{broken"), stream=False))
    assert "answer has no output" in str(error_of(answer("{}"), stream=False))


@pytest.mark.parametrize(
    ("name", "status"), [("throttlingException", 429), ("internalServerException", 500)]
)
def test_an_error_inside_a_stream_is_raised_with_its_status(name: str, status: int) -> None:
    error = error_of(streamed(*told({"text": "a"})[:2], {name: {"message": "busy, not 418"}}))
    assert (str(error), error.status) == (f"{CLAUDE}: busy, not 418", status)


@pytest.mark.parametrize("stream", [True, False])
def test_a_refused_request_is_an_error_with_its_status(stream: bool) -> None:
    body = json.dumps({"message": "no, 200 is not 429"})
    kind = ["x-amzn-ErrorType: SomeException", "retry-after: 7"]
    statuses = [400, 403, 404, 429, 500, 503]
    answers = [answer(body, status=status, headers=kind) for status in statuses]
    errors = errors_of(*answers, stream=stream)
    assert [(error.status, error.retry_after) for error in errors] == [(n, 7.0) for n in statuses]
    assert {str(error) for error in errors} == {f"{CLAUDE}: no, 200 is not 429"}


REFUSALS: list[tuple[str, str, type[ModelError], str]] = [
    ('{"message":"slow"}', "ThrottlingException:http://x/", RateLimited, "slow"),
    ('{"Message":"slow","__type":"com.amazon#ThrottlingException"}', "", RateLimited, "slow"),
    ('{"message":"bad"}', "ValidationException", RequestRejected, "bad"),
    ("", "AccessDeniedException", RequestRejected, "AccessDeniedException"),
    ("<html>413</html>", "", RequestRejected, "<html>413</html>"),
    ("[1]", "", RequestRejected, "the server answered 400"),
]


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_is_what_aws_calls_it_whatever_its_body(stream: bool) -> None:
    answers = [
        answer(body, status=400, headers=[f"x-amzn-errortype: {header}"] if header else [])
        for body, header, *_ in REFUSALS
    ]
    told = [(type(error), str(error)) for error in errors_of(*answers, stream=stream)]
    assert told == [(kind, f"{CLAUDE}: {words}") for *_, kind, words in REFUSALS]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_signed_request_is_not_carried_to_another_address(status: int) -> None:
    with saying(whole({"text": "hi"})) as other:
        moved = answer("{}", status=status, headers=[f"location: {root(other)}/x"])
        assert error_of(moved).status == status
        assert other.requests == []


def test_pictures_that_the_model_makes_go_back_as_they_came() -> None:
    image = {"image": {"format": "png", "source": {"bytes": base64.b64encode(PNG).decode()}}}
    hidden = {"reasoningContent": {"redactedContent": "YWI="}}
    reply = reply_of(whole(hidden, image, {"text": "Here."}), stream=False)
    request = ModelRequest([UserMessage("Draw"), reply, UserMessage("Again")])
    body: Any = bedrock.encode(request, CLAUDE)
    blocks = body["messages"][1]["content"]
    assert blocks[0]["reasoningContent"]["redactedContent"] == b"ab"
    assert blocks[1]["image"]["source"]["bytes"] == PNG
    sent = json.loads(model_at("http://127.0.0.1:9")._bodies.encode(request))
    assert sent["messages"][1]["content"][:2] == [hidden, image]


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
