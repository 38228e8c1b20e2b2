"""What holds for the model of every wire: a server that is not there, is silent, or never ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from tests.providers.bedrock.test_model import streamed
from tests.providers.loopback import HANG, Loopback, answer, chunk, events, saying
from tests.providers.models import (
    MODELS,
    anthropic,
    bedrock,
    chat,
    gemini,
    responses,
)
from toolkeel.errors import ModelError
from toolkeel.messages import UserMessage
from toolkeel.model_interface import ModelRequest, Settings, TextDelta

Make: TypeAlias = Callable[..., Any]
REQUEST = ModelRequest([UserMessage("几点?")])
ENDLESS = 1_000_000
A = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "a"}}}
BEGUN: dict[Make, bytes] = {
    chat: events(chunk(content="a"), done=False, length=ENDLESS),
    responses: events(
        {"type": "response.output_text.delta", "output_index": 0, "delta": "a"},
        done=False,
        length=ENDLESS,
    ),
    anthropic: events(
        {"type": "message_start", "message": {"model": "m"}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": "a"},
        },
        done=False,
        length=ENDLESS,
    ),
    gemini: events(
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}}]},
        done=False,
        length=ENDLESS,
    ),
    bedrock: streamed({"messageStart": {"role": "assistant"}}, A, end=b""),
}
"""Answers that begin with the text ``a``, by who asks for them."""

pytestmark = [pytest.mark.usefixtures("aws"), pytest.mark.parametrize("make", MODELS)]


async def until_the_first_delta(stream: Any) -> None:
    async for delta in stream:
        assert delta == TextDelta("a")
        return


def hangs_up(make: Make, leave: Callable[[Any], Any]) -> None:
    """The server sees its client go, long before any timeout."""

    async def run(server: Loopback) -> None:
        model = make(server, timeout=60.0)
        await leave(model.stream(REQUEST))
        assert await asyncio.to_thread(server.closed.wait, 20)
        if hasattr(model, "close"):
            await model.close()

    with saying(BEGUN[make] + HANG) as server:
        asyncio.run(run(server))


def test_leaving_the_stream_early_hangs_up(make: Make) -> None:
    async def leave(stream: Any) -> None:
        await until_the_first_delta(stream)
        await stream.aclose()

    hangs_up(make, leave)


def test_cancelling_a_request_hangs_up(make: Make) -> None:
    async def leave(stream: Any) -> None:
        started = asyncio.Event()

        async def read() -> None:
            async for _ in stream:
                started.set()

        task = asyncio.create_task(read())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    hangs_up(make, leave)


def error_of(make: Make, server: Loopback, **options: Any) -> ModelError:
    async def ask() -> None:
        async for _ in make(server, max_retries=0, **options).stream(REQUEST):
            pass

    with pytest.raises(ModelError) as raised:
        asyncio.run(ask())
    return raised.value


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_says_nothing_runs_into_the_timeout(make: Make, stream: bool) -> None:
    with saying(HANG) as server:
        error = error_of(make, server, timeout=0.3, stream=stream)
    assert error.status is None and error.retryable
    assert make is gemini or "time" in str(error).lower()  # that SDK does not say why


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_may_have_a_timeout_of_its_own(make: Make, stream: bool) -> None:
    request = ModelRequest([UserMessage("?")], (), Settings(timeout=0.3))

    async def ask(server: Loopback) -> None:
        async for _ in make(server, max_retries=0, stream=stream).stream(request):
            pass

    with saying(HANG) as server, pytest.raises(ModelError) as raised:
        asyncio.run(ask(server))
    assert raised.value.status is None and raised.value.retryable


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_is_not_there_is_an_error_without_a_status(make: Make, stream: bool) -> None:
    error = error_of(make, Loopback("http://127.0.0.1:9"), stream=stream)
    assert error.status is None and error.retryable and str(error).startswith("m")
    assert make is gemini or "http://127.0.0.1:9" in str(error)


def test_an_answer_that_is_no_json_is_an_error(make: Make) -> None:
    with saying(answer("{broken")) as server:
        assert error_of(make, server, stream=False).status is None
