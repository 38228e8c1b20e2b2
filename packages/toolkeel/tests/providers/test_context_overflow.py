"""A request that exceeds the model's context is `RequestTooLarge` on every wire, with both numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.loopback import answer, chunk, events, saying
from tests.providers.models import MODELS, chat
from toolkeel import Agent
from toolkeel.agent.turn.model_fallback import Fallback
from toolkeel.errors import ModelError, RequestTooLarge
from toolkeel.providers.context_overflow import CODES, find_overflow
from toolkeel.providers.wire.server_errors import reported_error, response_error

LLAMACPP = {
    "code": 400,
    "message": "request (1131 tokens) exceeds the available context size (1024 tokens), try "
    "increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 1131,
    "n_ctx": 1024,
}
REPORTED: list[tuple[str, int | None, int | None]] = [
    (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9001 tokens. Please reduce the length of the messages.",
        9001,
        8192,
    ),
    (
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens "
        "(4500 in the messages, 500 in the completion).",
        5000,
        4096,
    ),
    (
        "The input (9001 tokens) is longer than the model's context length (8192 tokens).",
        9001,
        8192,
    ),
    ("prompt is too long: 210000 tokens > 200000 maximum", 210000, 200000),
    (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease it",
        190000,
        200000,
    ),
    (
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        1200000,
        1048576,
    ),
    ("Input is too long for requested model.", None, None),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
        40000,
        32768,
    ),
    (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        537812,
        131072,
    ),
    ("Your request exceeded model token limit: 262144 (requested: 291351)", 291351, 262144),
    ("prompt token count of 130000 exceeds the limit of 128000", 130000, 128000),
    (
        "Trying to keep the first 4100 tokens when context the overflows. However, the model is "
        "loaded with context length of only 4096 tokens",
        None,
        None,
    ),
]


@pytest.mark.parametrize(("text", "tokens", "limit"), REPORTED)
def test_the_sentences_of_the_servers_have_their_numbers(
    text: str, tokens: int | None, limit: int | None
) -> None:
    error = response_error(400, {"error": {"message": text, "type": "invalid_request_error"}}, {})
    assert isinstance(error, RequestTooLarge)
    assert (error.tokens, error.token_limit, error.retryable) == (tokens, limit, False)


@pytest.mark.parametrize("text", [text for text, *_ in REPORTED])
@pytest.mark.parametrize("status", [401, 429, 500, 503])
def test_a_sentence_does_not_change_an_error_with_another_status(text: str, status: int) -> None:
    assert not isinstance(response_error(status, {"error": text}, {}), RequestTooLarge)


@given(st.sampled_from(sorted(CODES)), st.text(max_size=30), st.sampled_from(["code", "type"]))
def test_a_code_decides_whatever_the_text(code: str, text: str, key: str) -> None:
    error = reported_error({"error": {key: code, "message": text}})
    assert isinstance(error, RequestTooLarge)
    assert isinstance(error.with_model_name("m"), RequestTooLarge)


@given(st.text(), st.sampled_from([None, 400, 413, 422]))
def test_other_text_is_no_overflow(text: str, status: int | None) -> None:
    assert find_overflow({}, status, text.replace("context", "").replace("too long", "")) is None


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("stream", [True, False])
def test_every_wire_reports_both_numbers(make: Callable[..., Any], stream: bool, aws: None) -> None:
    with saying(answer(json.dumps({"error": LLAMACPP}), status=400)) as server:
        with pytest.raises(RequestTooLarge) as raised:
            Agent(make(server, stream=stream)).run_sync("hi")
        assert len(server.requests) == 1
    assert (raised.value.tokens, raised.value.token_limit) == (1131, 1024)


def test_an_overflow_inside_a_stream_is_one_too() -> None:
    with saying(events({"error": LLAMACPP})) as server, pytest.raises(RequestTooLarge):
        Agent(chat(server)).run_sync("hi")


def test_a_fallback_with_a_longer_context_answers() -> None:
    with (
        saying(answer(json.dumps({"error": LLAMACPP}), status=400)) as small,
        saying(events(chunk("stop", content="fits"))) as large,
    ):
        agent = Agent(chat(small), model_steps=[Fallback(chat(large))])
        assert agent.run_sync("hi").output == "fits"


def test_a_server_that_is_started_without_templates_is_not_asked_again() -> None:
    body = {"error": {"code": 500, "message": "tools param requires --jinja flag"}}
    with saying(answer(json.dumps(body), status=500)) as server:
        with pytest.raises(ModelError, match="requires --jinja"):
            Agent(chat(server)).run_sync("hi")
        assert len(server.requests) == 1
