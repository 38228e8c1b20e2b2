"""Models behind vendors' SDKs: requests are those that the SDK would send."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import anthropic as anthropic_sdk
import httpx2
import openai
import pytest
from google import genai
from google.genai import types

from tests.gates.counts import calls
from tests.providers.loopback import Json, Loopback, answer, chunk, events, saying
from tests.providers.models import anthropic, chat, gemini, responses
from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import AccessDenied, ModelError, ModelUnavailable, RequestRejected
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers.anthropic.model import AnthropicMessages
from toolkeel.providers.gemini.model import Gemini
from toolkeel.providers.openai_chat.model import OpenAIChat
from toolkeel.providers.openai_responses.model import OpenAIResponses
from toolkeel.providers.wire.sdk_model import drop_key_elsewhere, own_client, sdk_errors

REQUEST = ModelRequest([UserMessage("hi")])
TEXT = {"type": "text", "text": "Hi"}
ITEM = {"type": "message", "role": "assistant", "content": [{**TEXT, "type": "output_text"}]}
SAYS: dict[Callable[..., Any], Json] = {
    chat: {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]},
    responses: {"object": "response", "status": "completed", "output": [ITEM]},
    anthropic: {"type": "message", "content": [TEXT], "stop_reason": "end_turn"},
}
CANDIDATE = {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
OF_THE_SDK = [f"x-stainless-{name}" for name in ("retry-count", "read-timeout", "timeout", "async")]
"""Headers that report how the SDK itself repeats and waits."""
ROOM = 1.25
"""What a turn may cost beside the HTTP client alone."""


async def ask(model: Any, request: ModelRequest = REQUEST) -> AssistantMessage:
    return assemble([delta async for delta in model.stream(request)])


def asked(model: Any, *requests: ModelRequest) -> None:
    async def all_of_them() -> None:
        for request in requests:
            assert (await ask(model, request)).text == "Hi"
        await model.close()

    asyncio.run(all_of_them())


def heads(server: Loopback) -> list[dict[str, str]]:
    """What stands in front of each body, but its length."""
    told = [
        dict(line.split(": ", 1) for line in one["head"].strip().split("\r\n")[1:])
        for one in server.requests
    ]
    return [
        {"": one[""]} | {k.lower(): v for k, v in head.items() if k.lower() != "content-length"}
        for one, head in zip(server.requests, told, strict=True)
    ]


def by_sdk(make: Callable[..., Any], server: Loopback, **options: Any) -> Any:
    """A model like `make`'s above a client of the program's own, so that the SDK sends."""
    url, timeout = server.url, 7.0
    if make is anthropic:
        own: Any = anthropic_sdk.AsyncAnthropic(api_key="x", base_url=url, timeout=timeout)
        return AnthropicMessages("m", client=own, **options)
    if make is gemini:
        http = types.HttpOptions(base_url=url, timeout=7000)
        return Gemini("m", client=genai.Client(api_key="x", http_options=http), **options)
    own = openai.AsyncOpenAI(api_key="x", base_url=url, timeout=timeout)
    return (OpenAIChat if make is chat else OpenAIResponses)("m", client=own, **options)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("make", [*SAYS, gemini])
def test_requests_are_those_that_the_sdk_would_send(make: Callable[..., Any], stream: bool) -> None:
    said = SAYS.get(make, {"candidates": [CANDIDATE]})
    sent = events(said, done=False) if make is gemini and stream else answer(json.dumps(said))
    with saying(sent) as server:
        asked(make(server, stream=stream, timeout=7.0), REQUEST, REQUEST)
        asked(by_sdk(make, server, stream=stream), REQUEST)
    first, second, theirs = heads(server)
    assert first == second
    for name in OF_THE_SDK:
        first.pop(name, "")
        theirs.pop(name, "")
    assert first == theirs
    bodies = [{k: v for k, v in one.items() if k != "head"} for one in server.requests]
    assert bodies[2].pop("generationConfig", {}) == {}  # which Gemini's SDK sends for nothing
    assert bodies[0] == bodies[1] == bodies[2]


@pytest.mark.parametrize("make", [*SAYS, gemini])
def test_a_request_waits_as_long_as_the_sdk_would(make: Callable[..., Any]) -> None:
    with saying(answer("{}")) as server:
        template = make(server, timeout=7.0)._sdk.first.template
    assert template.timeout["read"] == 7.0


def test_requests_to_gemini_fail_as_the_sdks_do() -> None:
    busy = answer(json.dumps({"error": {"code": 503, "message": "busy"}}), status=503)
    with saying(busy) as server:
        for model in (
            gemini(server, stream=False, max_retries=0),
            by_sdk(gemini, server, stream=False, max_retries=0),
        ):
            with pytest.raises(ModelUnavailable, match="m: busy"):
                asyncio.run(ask(model))


def test_each_choice_of_betas_is_sent_as_it_is() -> None:
    plain = ModelRequest([UserMessage("hi")])
    beta = ModelRequest([UserMessage("hi")], (), Settings(extra_body={"betas": ["x-1"]}))
    with saying(answer(json.dumps(SAYS[anthropic]))) as server:
        asked(anthropic(server, stream=False), plain, beta, plain, beta)
        assert [one.get("anthropic-beta", "") for one in heads(server)] == ["", "x-1", "", "x-1"]


def test_a_client_of_the_programs_own_may_change_its_key() -> None:
    with saying(answer(json.dumps(SAYS[chat]))) as server:
        client = openai.AsyncOpenAI(api_key="one", base_url=server.url)
        model = OpenAIChat("m", client=client, stream=False)

        async def work() -> None:
            await ask(model)
            client.api_key = "two"
            await ask(model)
            await client.close()

        asyncio.run(work())
        assert [one["authorization"] for one in heads(server)] == ["Bearer one", "Bearer two"]


def test_a_client_whose_key_changes_sends_by_itself() -> None:
    async def fresh() -> str:
        return "key"

    def http_of(package: Any, made: Any) -> object:
        return own_client(package, "/x", lambda options: made, {}).http

    token: Any = lambda **_: None  # noqa: E731
    assert http_of(openai, openai.AsyncOpenAI(api_key="x"))
    assert not http_of(openai, openai.AsyncOpenAI(api_key=fresh))
    assert http_of(anthropic_sdk, anthropic_sdk.AsyncAnthropic(api_key="x"))
    assert not http_of(anthropic_sdk, anthropic_sdk.AsyncAnthropic(credentials=token))


@pytest.mark.parametrize("make", SAYS)
@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (answer('{"detail": "no such model"}', status=404), RequestRejected, "no such model"),
        (answer('{"error": {"message": "who?"}}', status=401), AccessDenied, "m: .*who[?]"),
        (answer("bad gateway", status=502, kind="text/plain"), ModelUnavailable, "bad gateway"),
        (answer("moved", status=304), ModelError, "m: "),
        (answer("{", length=50), ModelUnavailable, "m at http://127.0.0.1:.*: the answer broke"),
        (b"", ModelUnavailable, "m at http://127.0.0.1:.*: the answer broke"),
        (b"nonsense\r\n\r\n", ModelUnavailable, "m at http://127.0.0.1:.*: the answer broke"),
    ],
)
def test_a_request_fails_as_the_sdks_does(
    make: Callable[..., Any], said: bytes, kind: type[ModelError], words: str
) -> None:
    with saying(said) as server:
        for model in (
            make(server, stream=False, max_retries=0),
            by_sdk(make, server, stream=False, max_retries=0),
        ):
            with pytest.raises(kind, match=words):
                asyncio.run(ask(model))


def test_a_server_that_is_gone_is_named() -> None:
    with saying(answer(json.dumps(SAYS[chat]))) as server:
        model = chat(server, max_retries=0)
        asked(model, REQUEST)
    with pytest.raises(
        ModelUnavailable,
        match=r"m: nothing answers at http://127\.0\.0\.1:\d+; is the server running",
    ):
        asyncio.run(ask(model))


def test_a_redirected_request_says_nothing_of_the_next_one() -> None:
    with saying(answer(json.dumps(SAYS[chat]))) as there:
        place = f"location: {there.url}/chat/completions"
        with saying(answer("", status=307, headers=[place])) as server:
            asked(chat(server, stream=False), REQUEST, REQUEST)
            assert len(server.requests) == len(there.requests) == 2


@pytest.mark.parametrize("make", [*SAYS, gemini])
def test_a_redirect_to_another_origin_takes_no_key_along(make: Callable[..., Any]) -> None:
    with ExitStack() as stack:
        there = stack.enter_context(saying(answer("", status=400)))
        away = answer("", status=307, headers=[f"location: {there.url}/there"])
        server = stack.enter_context(saying(away))
        with pytest.raises(ModelError):
            asked(make(server, stream=False, max_retries=0), REQUEST)
    keys = re.compile(r"(?im)^(authorization|x-api-key|x-goog-api-key):")
    assert keys.search(server.requests[0]["head"])
    assert not keys.search(there.requests[0]["head"])


@pytest.mark.parametrize("place", ["http://home.example/b", "https://home.example/b"])
def test_a_redirect_within_a_host_takes_the_key_along(place: str) -> None:
    asks: list[httpx2.Request] = []

    def there(request: httpx2.Request) -> httpx2.Response:
        asks.append(request)
        moved = len(asks) == 1
        return httpx2.Response(307 if moved else 200, headers={"location": place} if moved else {})

    async def main() -> None:
        transport = httpx2.MockTransport(there)
        hooks: Any = {"request": [drop_key_elsewhere]}
        async with httpx2.AsyncClient(
            transport=transport, follow_redirects=True, event_hooks=hooks
        ) as http:
            await http.get("http://home.example/a", headers={"x-goog-api-key": "k"})

    asyncio.run(main())
    assert [each.headers.get("x-goog-api-key") for each in asks] == ["k", "k"]


def test_what_is_not_json_is_named() -> None:
    said = "gpt-5: the server sent something that is not JSON"
    with pytest.raises(ModelError, match=said), sdk_errors(openai, "gpt-5"):
        json.loads("{broken")


@pytest.mark.parametrize("make", SAYS)
@pytest.mark.parametrize("stream", [True, False])
def test_a_turn_enters_hardly_more_functions_than_its_http_client(
    make: Callable[..., Any], stream: bool
) -> None:
    said = json.dumps(SAYS[make])
    if stream and make is chat:
        said = "".join(
            f"data: {json.dumps(one)}\n\n" for one in (chunk(content="Hi"), chunk("stop"))
        )
    kind = "text/event-stream" if stream else "application/json"
    with saying(answer(said, kind=kind)) as server:
        model = make(server, stream=stream)
        http = httpx2.AsyncClient()
        url = server.url + model.path

        async def bare() -> None:
            sent = http.build_request("POST", url, content=b'{"model": "m"}', headers=HEAD)
            reply = await http.send(sent, stream=stream)
            data = "".join([line async for line in reply.aiter_lines()]) if stream else reply.text
            assert "Hi" in data

        async def turn() -> None:
            await ask(model)

        # How often the loop looks for more of an answer is not the same each time.
        alone = calls(bare)
        assert any(calls(turn) <= alone * ROOM for _ in range(3))


HEAD = {"content-type": "application/json", "authorization": "Bearer x"}
