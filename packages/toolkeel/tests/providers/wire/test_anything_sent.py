"""Whatever a server sends over HTTP, a model gives a reply that can be kept, or our own error."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.providers.loopback import Loopback, answer, saying
from tests.providers.models import (
    anthropic,
    bedrock,
    chat,
    gemini,
    responses,
)
from tests.providers.recorded import frame
from tests.providers.wire.test_decoder import ANYTHING, SAYING, WORDS
from toolkeel._records.messages_json import dump_message, json_text, load_message
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.wire.plain_json import as_dict, as_list

REQUEST = ModelRequest([UserMessage("几点?")])
MAKERS: dict[str, Callable[..., Any]] = {
    "openai_chat": chat,
    "openai_responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "bedrock": bedrock,
}
CALLING: dict[str, Any] = {
    "openai_chat": {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
    "openai_responses": {
        "type": "function_call",
        "call_id": "a",
        "name": "f",
        "arguments": "{}",
    },
    "anthropic": {"type": "tool_use", "id": "a", "name": "f", "input": {"a": 1}},
    "gemini": {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
    "bedrock": {"toolUse": {"toolUseId": "a", "name": "f", "input": {"a": 1}}},
}
EVENTS: dict[str, list[Any]] = {
    "openai_chat": [
        {"model": "m", "choices": [{"delta": {"content": "Hi"}}]},
        {"choices": [{"delta": CALLING["openai_chat"]}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}},
    ],
    "openai_responses": [
        {"type": "response.created", "response": {"model": "m"}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"},
        {
            "type": "response.output_item.done",
            "output_index": 1,
            "item": CALLING["openai_responses"],
        },
        {"type": "response.completed", "response": {"output": [], "usage": {"input_tokens": 3}}},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 3}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": "H"},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "i"}},
        {"type": "content_block_start", "index": 1, "content_block": CALLING["anthropic"]},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ],
    "gemini": [
        {"candidates": [{"content": {"parts": [{"text": "Hi"}, CALLING["gemini"]]}}]},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3}},
    ],
    "bedrock": [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}},
        {
            "contentBlockStart": {
                "contentBlockIndex": 1,
                "start": {"toolUse": {"toolUseId": "a", "name": "f"}},
            }
        },
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{}"}}}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 3}}},
    ],
}
"""One streamed answer of each wire."""

STATUSES = st.sampled_from([200] * 9 + [201, 204, 206, 301, 304, 307, 400, 401, 413, 429, 500, 999])
KINDS = st.sampled_from(
    ["application/json", "text/event-stream", "application/vnd.amazon.eventstream"] * 3
    + ["text/html; charset=bogus", "application/json; charset=utf-16", "", "é\x01", "/;=,"]
)
HEADERS = st.sampled_from(
    ["retry-after: nan", "retry-after: 1e400", "retry-after: Thu, 01 Jan 0001 00:00:00 +2359"]
    + ["retry-after-ms: -1", "retry-after: 9e99", "retry-after: Thu, 99 Foo 99999 99:99:99 GMT"]
    + ["x-should-retry: maybe", "x-should-retry: true", "location: http://[", "location: /v1/x"]
    + ["content-encoding: gzip", "content-encoding: deflate", "content-encoding: br, zstd"]
    + ["content-encoding: nonsense", "transfer-encoding: chunked", "transfer-encoding: x"]
    + ["content-length: -5", "content-length: x", "set-cookie: \x7f=;;=", "x: " + "y" * 70_000]
    + ["x-amzn-errortype: ThrottlingException:http://x", "x-amzn-errortype: \xff", "no colon"]
)
ODD_TEXT = st.sampled_from(
    ["NaN", "-Infinity", "1e999", "9" * 5000, '"\\ud83d"', '"\\u0000"', "[" * 9000, "{", "'a'"]
)


@st.composite
def like(draw: Any, right: Any) -> Any:
    """`right` with some of what is in it replaced, left out or added to."""
    if draw(st.integers(0, 11)) == 11:
        return draw(ANYTHING)
    if isinstance(right, dict):
        made = {key: draw(like(one)) for key, one in right.items() if draw(st.integers(0, 11)) < 11}
        return {**made, **draw(st.just({}) | st.dictionaries(WORDS, ANYTHING, max_size=1))}
    return [draw(like(one)) for one in right] if isinstance(right, list) else right


@st.composite
def written(draw: Any, value: Any) -> str:
    """JSON text, perhaps with something at one of its values that only other languages write."""
    text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    places = [at for at, one in enumerate(text) if one in ":,["]
    if not places or draw(st.integers(0, 3)):
        return text
    at = draw(st.sampled_from(places)) + 1
    return text[:at] + draw(ODD_TEXT) + draw(st.sampled_from(["", ","])) + text[at:]


@st.composite
def streams(draw: Any, wire: str) -> bytes:
    """A streamed body: events like the right ones, in a frame like the right one."""
    told = draw(like(EVENTS[wire]))
    if wire == "bedrock":
        pairs = [one for event in as_list(told) for one in as_dict(event).items()]
        names = st.sampled_from(["throttlingException", "somethingException", "é", "x" * 300])
        return b"".join(frame(draw(st.just(str(name)) | names)[:200], body) for name, body in pairs)
    lines = [draw(written(one)) for one in (told if isinstance(told, list) else [told])]
    fields = [
        f"{draw(st.sampled_from(['data: '] * 9 + ['event: error data: ', '']))}{one}"
        for one in lines
    ]
    end = draw(st.sampled_from(["data: [DONE]\n\n", "", "data: \n\n"]))
    return ("".join(f"{one}\n\n" for one in fields) + end).encode("utf-8", "surrogatepass")


@st.composite
def answers(draw: Any, wire: str) -> bytes:
    """A whole HTTP answer, right, odd, broken or none at all."""
    if draw(st.integers(0, 19)) == 19:
        return draw(st.binary(max_size=40) | st.just(b"HTTP/1.1 200 OK\r\n"))
    whole = written(draw(like(SAYING[wire]))).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    )
    body: bytes = draw(streams(wire) | whole | st.binary(max_size=60) | st.just(b""))
    cut = draw(st.sampled_from([None] * 6 + [-1, len(body) // 2, 3]))
    body = body[:cut] + draw(st.just(b"") | st.binary(max_size=3))
    headers = draw(st.lists(HEADERS, max_size=2))
    if "content-encoding: gzip" in headers and draw(st.booleans()):
        body = gzip.compress(body)[: draw(st.sampled_from([None, None, -9]))]
    if "content-encoding: deflate" in headers and draw(st.booleans()):
        body = zlib.compress(body)
    if "transfer-encoding: chunked" in headers and draw(st.booleans()):
        body = b"%x\r\n%s\r\n" % (len(body), body) + draw(
            st.sampled_from([b"0\r\n\r\n", b"", b"zz\r\n"])
        )
    lines = [f"HTTP/1.1 {draw(STATUSES)} X", f"content-type: {draw(KINDS)}", *headers]
    if not any(one.startswith(("content-length", "transfer")) for one in headers):
        lines.append(f"content-length: {len(body) + draw(st.sampled_from([0] * 9 + [7]))}")
    head = "\r\n".join([*lines, "connection: close", "", ""])
    return head.encode("latin-1") + body


async def reply_of(model: Any) -> AssistantMessage:
    assembly = ReplyBuilder()
    async for delta in model.stream(REQUEST):
        assembly.add(delta)
    return assembly.build()


def check(runner: asyncio.Runner, model: Any, server: Loopback, sent: bytes) -> None:
    """The model's reply to `sent` is kept as it is; or it is our error, with the model's name."""
    server.left[:] = [sent]
    try:
        reply = runner.run(reply_of(model))
    except ModelError as error:
        assert str(error).startswith("m"), error
        json_text(str(error)).encode()
        return
    kept = load_message(json.loads(json_text(dump_message(reply))))
    assert isinstance(kept, AssistantMessage)
    assert (kept.content, kept.tool_calls, kept.usage) == (
        reply.content,
        reply.tool_calls,
        reply.usage,
    )


def try_answers(wire: str, stream: bool, examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(sent=answers(wire))
    def try_one(sent: bytes) -> None:
        check(runner, model, server, sent)

    with saying(b"") as server, asyncio.Runner() as runner:
        model = MAKERS[wire](server, stream=stream, max_retries=0, timeout=5.0)
        try_one()
        runner.run(model.close())


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", MAKERS)
def test_whatever_comes_over_http_is_a_reply_to_keep_or_our_error(wire: str, stream: bool) -> None:
    try_answers(wire, stream, 20)


@pytest.mark.slow
@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", MAKERS)
def test_whatever_comes_over_http_is_one_of_both_in_many_more_tries(
    wire: str, stream: bool
) -> None:
    try_answers(wire, stream, 200)


BUSY = ["", "null", "[1]", '"x"', "<html>", '{"error": null}', '{"error": "x"}', '{"error": [1]}']
BUSY += ['{"error": {"code": "x", "message": {}}}', "{", "\xff", '{"message": 5}', '[{"error": 1}]']


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("wire", MAKERS)
def test_a_busy_server_is_busy_however_badly_it_says_so(wire: str) -> None:
    async def ask_all(server: Loopback) -> None:
        model = MAKERS[wire](server, max_retries=0)
        for body in BUSY:
            for kind in ("application/json", "text/html; charset=utf-16"):
                server.left[:] = [answer(body.encode("latin-1"), status=503, kind=kind)]
                with pytest.raises(ModelUnavailable) as raised:
                    await reply_of(model)
                assert (raised.value.status, raised.value.retryable) == (503, True), body
        await model.close()

    with saying(b"") as server:
        asyncio.run(ask_all(server))
