"""Failed requests are sent again by one mechanism, whose advice is status and headers alone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.loopback import answer, chunk, events, saying
from tests.providers.models import MODELS, anthropic, chat, responses
from toolkeel import Agent
from toolkeel.errors import (
    AccessDenied,
    ModelError,
    ModelUnavailable,
    RateLimited,
    RequestRejected,
    RequestTooLarge,
    SetupError,
    model_error,
)
from toolkeel.events import Event, Retrying, Streamed
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.model_interface import Delta, Finish, ModelRequest, RetryDelta, TextDelta
from toolkeel.providers.wire import retry
from toolkeel.providers.wire.retry import Deltas, Retries

pytestmark = pytest.mark.usefixtures("quick")
REQUEST = ModelRequest([UserMessage("hi")])
DONE: list[Delta] = [TextDelta("ok"), Finish("stop")]


def scripted(
    *attempts: ModelError | Iterable[Delta | ModelError],
) -> Callable[[], AsyncGenerator[Deltas]]:
    """Attempts that go as they are told, one after another."""
    left = list(attempts)

    async def attempt() -> AsyncGenerator[Deltas]:
        now = left.pop(0)
        for one in [now] if isinstance(now, ModelError) else now:
            if isinstance(one, ModelError):
                raise one
            yield [one]

    return attempt


async def all_of(
    retries: Retries, attempt: Callable[[], AsyncGenerator[Deltas]]
) -> list[Delta | AssistantMessage]:
    return [delta async for deltas in retries.run(attempt) for delta in deltas]


def outcome(limit: int | None, *attempts: ModelError | Iterable[Delta | ModelError]) -> list[Any]:
    return asyncio.run(all_of(Retries("m", limit), scripted(*attempts)))


def busy(**advice: Any) -> ModelError:
    return model_error("busy", status=503, **advice)


# — which errors —

KINDS = [
    (400, RequestRejected, False),
    (401, AccessDenied, False),
    (403, AccessDenied, False),
    (404, RequestRejected, False),
    (408, ModelUnavailable, True),
    (409, ModelUnavailable, True),
    (413, RequestTooLarge, False),
    (422, RequestRejected, False),
    (429, RateLimited, True),
    (500, ModelUnavailable, True),
    (503, ModelUnavailable, True),
    (529, ModelUnavailable, True),
    (None, ModelError, False),
]


@pytest.mark.parametrize(("status", "kind", "passes"), KINDS)
def test_each_status_is_an_error_of_its_kind(
    status: int | None, kind: type[ModelError], passes: bool
) -> None:
    error = model_error("503 Service Unavailable, please retry", status=status)
    assert (type(error), error.retryable, error.status) == (kind, passes, status)
    assert type(error.with_model_name("m")) is kind
    assert str(error.with_model_name("m")).startswith("m: 503")


@given(st.text(), st.sampled_from([400, 404, 422, None]))
def test_no_text_makes_an_error_worth_repeating(text: str, status: int | None) -> None:
    assert not model_error(text, status=status).retryable


def test_a_failure_that_passes_is_repeated_as_often_as_allowed() -> None:
    *again, said, end = outcome(None, busy(), busy(), DONE)
    assert [(one.attempt, one.error, one.status) for one in again] == [
        (1, "busy", 503),
        (2, "busy", 503),
    ]
    assert [said, end] == DONE
    with pytest.raises(ModelUnavailable):
        outcome(1, busy(), busy(), DONE)
    with pytest.raises(ModelUnavailable):
        outcome(0, busy(), DONE)


def test_a_failure_that_stays_is_not_repeated() -> None:
    with pytest.raises(RequestRejected):
        outcome(5, model_error("no", status=400), DONE)
    with pytest.raises(RateLimited):
        outcome(5, model_error("no money", status=429, retryable=False), DONE)


def test_what_the_server_advises_against_its_status_counts() -> None:
    assert outcome(1, model_error("odd", status=400, retryable=True), DONE)[1:] == DONE


def test_nothing_is_repeated_once_something_was_said() -> None:
    with pytest.raises(ModelUnavailable):
        outcome(5, [TextDelta("a"), busy()], DONE)


def test_an_answer_that_says_nothing_at_all_is_asked_for_again() -> None:
    assert outcome(1, [], DONE)[1:] == DONE
    with pytest.raises(ModelUnavailable, match="m: the answer ended before its first delta"):
        outcome(0, [])


def test_a_negative_number_of_repetitions_is_a_mistake() -> None:
    with pytest.raises(SetupError, match="max_retries=-1: expected 0 or more"):
        Retries("m", -1)


# — when —


@given(st.integers(1, 40), st.none() | st.floats(0, retry.MAX_RETRY_AFTER))
def test_waits_grow_and_are_never_shorter_than_asked(failed: int, asked: float | None) -> None:
    wait = Retries("m", 100)._delay(busy(retry_after=asked), failed)
    assert wait is not None
    if asked is None:
        assert 0 < wait <= retry.MAX_BACKOFF
    else:
        assert asked <= wait <= asked * 1.25


def test_who_is_asked_to_wait_too_long_is_told_instead() -> None:
    with pytest.raises(RateLimited) as raised:
        outcome(5, model_error("tomorrow", status=429, retry_after=86400.0), DONE)
    assert raised.value.retry_after == 86400.0


def test_a_rate_limit_holds_back_every_request_of_the_model() -> None:
    async def both() -> float:
        retries = Retries("m", 1)
        limited = model_error("slow down", status=429, retry_after=0.2)
        first = asyncio.create_task(all_of(retries, scripted(limited, DONE)))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await all_of(retries, scripted(DONE))
        await first
        return time.monotonic() - began

    assert asyncio.run(both()) >= 0.1


def test_a_wait_can_be_cancelled() -> None:
    async def run() -> None:
        retries = Retries("m", 1)
        waiting = all_of(retries, scripted(busy(retry_after=50.0), DONE))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting, 0.05)

    asyncio.run(run())


# — with real servers, through the official SDKs —


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("status", "sent"), [(503, 3), (429, 3), (400, 1)])
def test_every_wire_repeats_the_same_failures_and_says_so(
    make: Callable[..., Any], stream: bool, status: int, sent: int, aws: None
) -> None:
    told: list[Event] = []
    body = json.dumps({"error": {"message": "please retry", "code": status, "type": "x"}})
    with saying(answer(body, status=status, headers=["retry-after-ms: 1"])) as server:
        agent = Agent(make(server, stream=stream))
        with pytest.raises(ModelError) as raised:
            agent.run_sync("hi", listeners=[told.append])
    assert raised.value.status == status
    assert len(server.requests) == sent
    again = [(one.attempt, one.status) for one in told if isinstance(one, Retrying)]
    assert again == [(number, status) for number in range(1, sent)]


@pytest.mark.parametrize("make", [chat, responses, anthropic])
def test_the_header_that_advises_is_obeyed(make: Callable[..., Any]) -> None:
    for status, advice, sent in ((503, "false", 1), (400, "true", 3)):
        body = answer("{}", status=status, headers=[f"x-should-retry: {advice}"])
        with saying(body) as server, pytest.raises(ModelError):
            Agent(make(server)).run_sync("hi")
        assert len(server.requests) == sent


def test_a_bill_that_is_not_paid_is_not_waited_for() -> None:
    body = json.dumps({"error": {"message": "no", "code": "insufficient_quota"}})
    with saying(answer(body, status=429)) as server, pytest.raises(RateLimited):
        Agent(chat(server)).run_sync("hi")
    assert len(server.requests) == 1


def test_a_reply_that_broke_off_after_its_first_words_is_not_repeated() -> None:
    told: list[Event] = []
    broken = events(chunk(content="a"), done=False, length=10_000)
    with saying(broken) as server, pytest.raises(ModelUnavailable):
        Agent(chat(server)).run_sync("hi", listeners=[told.append])
    assert len(server.requests) == 1
    assert [one.delta for one in told if isinstance(one, Streamed)] == [TextDelta("a")]


def test_a_run_goes_on_after_a_repetition_as_if_nothing_had_been() -> None:
    hello = events(chunk("stop", content="hi"))
    with saying(answer("{}", status=500), events(), hello) as server:
        result = Agent(chat(server)).run_sync("hi")
    assert (result.output, result.usage.requests, len(server.requests)) == ("hi", 1, 3)


def test_deltas_of_a_model_used_alone_say_so_too() -> None:
    async def read() -> list[Any]:
        with saying(answer("{}", status=500), events(chunk("stop", content="hi"))) as server:
            model = chat(server)
            deltas = [delta async for delta in model.stream(REQUEST)]
            await model.close()
            return deltas

    first, *_ = asyncio.run(read())
    assert isinstance(first, RetryDelta)
    assert (first.attempt, first.status) == (1, 500)


LOADING = json.dumps(
    {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
)


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_is_loading_its_model_is_waited_for(
    stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "LOADING_WAIT", 0.001)
    told: list[Event] = []
    done = {"choices": [{"message": {"content": "ready"}, "finish_reason": "stop"}]}
    ready = events(chunk("stop", content="ready")) if stream else answer(json.dumps(done))
    with saying(*[answer(LOADING, status=503)] * 8, ready) as server:
        result = Agent(chat(server, stream=stream)).run_sync("hi", listeners=[told.append])
    assert result.output == "ready"
    texts = [one.error for one in told if isinstance(one, Retrying)]
    assert len(texts) == 8
    assert all(text == "m: the server is loading its model, 0 s" for text in texts)


def test_loading_is_not_waited_for_beyond_its_limit_nor_where_retries_are_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retry, "LOADING_WAIT", 0.001)
    with saying(answer(LOADING, status=503)) as server:
        with pytest.raises(ModelUnavailable, match="Loading model"):
            Agent(chat(server, max_retries=0)).run_sync("hi")
        assert len(server.requests) == 1
        monkeypatch.setattr(retry, "MAX_LOADING", 0.0)
        with pytest.raises(ModelUnavailable, match="Loading model"):
            Agent(chat(server)).run_sync("hi")


@pytest.mark.parametrize("make", [chat, responses, anthropic])
def test_an_address_where_nothing_listens_is_named(make: Callable[..., Any]) -> None:
    with saying(b"") as server:
        pass  # its port is free from here on
    model = make(server)
    place = server.url.removesuffix("/v1")
    with pytest.raises(
        ModelUnavailable, match=f"nothing answers at {place}; is the server running?"
    ):
        Agent(model).run_sync("hi")
