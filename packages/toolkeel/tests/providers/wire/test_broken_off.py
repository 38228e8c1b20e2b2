"""What a reply that broke off said and cost is in its error, on every wire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.providers.bedrock.test_model import streamed
from tests.providers.loopback import Json, answer, events, saying
from tests.providers.models import (
    anthropic,
    bedrock,
    chat,
    gemini,
    responses,
)
from toolkeel import Agent
from toolkeel.errors import ModelError, OutputError
from toolkeel.events import Event, Retrying
from toolkeel.messages import Usage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.wire.plain_json import dumps

pytestmark = pytest.mark.usefixtures("aws", "quick")
REQUEST = ModelRequest([UserMessage("hi")])

DELTA = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}
TEXT = {"type": "text", "text": "Hi"}
FAILED: Json = {"status": "failed", "error": {"code": "server_error", "message": "broke"}}
USED = {"input_tokens": 3, "output_tokens": 1}
START = {"type": "message_start", "message": {"model": "m", "usage": USED}}
SPENT: dict[Callable[..., Any], list[Json]] = {
    chat: [
        {
            "choices": [{"delta": {"content": "Hi"}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 1},
        },
        {"error": {"message": "broke", "code": 500}},
    ],
    responses: [DELTA, {"type": "response.failed", "response": {**FAILED, "usage": USED}}],
    anthropic: [
        START,
        {"type": "content_block_start", "index": 0, "content_block": TEXT},
        {"type": "error", "error": {"type": "api_error", "message": "broke"}},
    ],
    gemini: [
        {
            "candidates": [{"content": {"parts": [{"text": "Hi"}]}}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1},
        },
        {"error": {"message": "broke", "code": 500}},
    ],
    bedrock: [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi"}}},
        {"metadata": {"usage": {"inputTokens": 3, "outputTokens": 1}}},
        {"internalServerException": {"message": "broke"}},
    ],
}
"""A reply of each wire that says "Hi", tells what it cost, and fails."""


def sent(make: Callable[..., Any], *said: Json) -> bytes:
    return streamed(*said) if make is bedrock else events(*said, done=False)


@pytest.mark.parametrize("make", SPENT)
def test_an_error_has_what_was_said_and_what_it_cost(make: Callable[..., Any]) -> None:
    with saying(sent(make, *SPENT[make])) as server, pytest.raises(ModelError) as raised:
        Agent(make(server)).run_sync("hi")
    error: Any = raised.value
    assert "broke" in str(error) and str(error).startswith("m: ")
    assert (error.text, error.usage, error.run.usage) == ("Hi", Usage(1, 3, 1), Usage(1, 3, 1))


@pytest.mark.parametrize("make", [chat, anthropic, gemini, bedrock])
def test_a_reply_that_is_cut_off_keeps_what_it_cost(make: Callable[..., Any]) -> None:
    with saying(sent(make, *SPENT[make][:-1])) as server:
        result = Agent(make(server), on_refusal="return").run_sync("hi")
    assert (result.reason, result.output, result.usage) == ("cut_off", "Hi", Usage(1, 3, 1))


def test_what_failed_attempts_cost_is_added_to_the_reply() -> None:
    told: list[Event] = []
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    whole = {"type": "message", "content": [TEXT], "stop_reason": "end_turn", "usage": USED}
    with saying(events(START, busy), answer("{}", status=503), events(whole)) as server:
        result = Agent(anthropic(server)).run_sync("hi", listeners=[told.append])
    assert (result.output, result.usage) == ("Hi", Usage(2, 6, 2))
    assert sum(isinstance(one, Retrying) for one in told) == 2


def test_a_reply_asked_for_whole_has_it_in_its_error_too() -> None:
    body = '{"status": "failed", "error": {"message": "broke"}, "usage": {"input_tokens": 7}}'
    with saying(answer(body)) as server, pytest.raises(ModelError) as raised:
        Agent(responses(server, stream=False, max_retries=0)).run_sync("hi")
    assert raised.value.usage == Usage(1, 7)


def test_a_pause_that_fails_keeps_what_was_said_before_it() -> None:
    paused = {"type": "message", "content": [TEXT], "stop_reason": "pause_turn", "usage": USED}
    refused = answer('{"error": {"message": "no"}}', status=400)

    async def ask(server: Any) -> None:
        async for _ in anthropic(server, stream=False).stream(REQUEST):
            pass

    with saying(answer(dumps(paused)), refused) as server, pytest.raises(ModelError) as raised:
        asyncio.run(ask(server))
    assert (raised.value.text, raised.value.usage) == ("Hi", Usage(1, 3, 1))


@pytest.mark.parametrize(
    ("message", "reason", "said"),
    [
        ({"refusal": "I will not."}, "stop", "I will not."),
        ({"content": '{"value": 4'}, "length", '{"value": 4'),
        (
            {"tool_calls": [{"id": "a", "function": {"name": "final_result", "arguments": "{4"}}]},
            "length",
            "{4",
        ),
    ],
)
def test_the_error_of_a_typed_answer_has_what_was_said_instead(
    message: Json, reason: str, said: str
) -> None:
    body = {"choices": [{"message": message, "finish_reason": reason}]}
    with saying(answer(dumps(body))) as server, pytest.raises(OutputError) as raised:
        agent = Agent(chat(server, stream=False), output_type=int, output_retries=1)
        agent.run_sync("hi")
    assert raised.value.text == said


def test_a_result_without_an_answer_tells_what_was_said_last() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    body = {"choices": [{"message": {"content": "Wait.", "tool_calls": [call]}}]}
    with saying(answer(dumps(body))) as server:
        result = Agent(chat(server, stream=False), [f], max_turns=1).run_sync("hi")
    with pytest.raises(OutputError) as raised:
        _ = result.output
    assert (result.reason, raised.value.text) == ("limit", "Wait.")


def f() -> str:
    """Do nothing."""
    return ""
