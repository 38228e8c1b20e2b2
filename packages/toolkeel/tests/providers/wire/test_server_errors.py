"""Errors as servers of every wire send them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import ModelError, RateLimited
from toolkeel.providers.wire.server_errors import (
    QUOTA_EXHAUSTED,
    STATUS,
    error_text,
    incomplete_response,
    reported_error,
    response_error,
    retry_delay,
    status_of,
)

KEYS = st.sampled_from(
    ["error", "message", "code", "type", "status", "detail", "details", "retryDelay", "msg"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(KEYS, inside, max_size=4),
    max_leaves=12,
)


def test_every_error_of_the_table_stands_for_a_status_of_an_error() -> None:
    for code, status in STATUS.items():
        assert 400 <= status < 600
        assert status_of({"code": code}) == status_of({"type": code.upper()}) == status
    assert status_of({"code": "teapot"}) is None
    assert status_of({"code": 200, "type": "server_error"}) == 500
    assert status_of({"code": "invalid_prompt"}) == 400
    assert status_of({"code": 399, "status": 600}) is None
    assert status_of({"code": "4" * 5000}) is None


def test_a_name_counts_only_where_nothing_else_says_it() -> None:
    assert status_of({}, "ThrottlingException") == 429
    assert status_of({"originalStatusCode": 503}, "modelStreamErrorException") == 503


@pytest.mark.parametrize(
    ("sent", "name", "status", "said"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "忙"}}, "", 529, "忙"),
        ({"type": "error", "error": {"type": "overloaded_error"}}, "", 529, "overloaded_error"),
        ({"error": {"code": 503, "status": "UNAVAILABLE"}}, "", 503, "UNAVAILABLE"),
        ({"error": "no such model"}, "", None, "no such model"),
        ({"message": "slow"}, "throttlingException", 429, "slow"),
        ({}, "throttlingException", 429, "throttlingException"),
        ({"originalMessage": "why", "message": "x"}, "modelStreamErrorException", 424, "why"),
        ({}, "", None, "the server sent an error"),
    ],
)
def test_an_error_inside_an_answer_says_what_its_server_said(
    sent: dict[str, Any], name: str, status: int | None, said: str
) -> None:
    error = reported_error(sent, name)
    assert (error.status, str(error)) == (status, said)


def test_where_money_is_missing_nothing_is_worth_asking_again() -> None:
    sent = reported_error({"error": {"code": QUOTA_EXHAUSTED}})
    answered = response_error(429, {"error": {"code": QUOTA_EXHAUSTED}}, {"x-should-retry": "true"})
    for error in (sent, answered):
        assert isinstance(error, RateLimited)
        assert not error.retryable
    assert response_error(429, "", {}).retryable
    assert not response_error(503, "", {"x-should-retry": "false"}).retryable


def test_a_wait_is_read_if_it_is_one() -> None:
    assert retry_delay({"details": [{"retryDelay": "soons"}, {"retryDelay": "2s"}]}) == 2.0
    for nothing in ({}, {"details": None}, {"details": [{"retryDelay": "2m"}]}):
        assert retry_delay(nothing) is None


def test_a_header_says_how_long_to_wait_before_a_body_does() -> None:
    body = {"error": {"details": [{"retryDelay": "9s"}]}}
    assert response_error(429, body, {}).retry_after == 9.0
    assert response_error(429, body, {"retry-after": "2"}).retry_after == 2.0


def test_an_answer_without_words_is_told_by_its_status_or_by_the_sdk() -> None:
    assert str(response_error(304, "", {})) == "the server answered 304"
    assert str(response_error(400, {}, {}, "ValidationException")) == "ValidationException"
    assert str(response_error(502, "<h1>bad gateway</h1>", {})) == "<h1>bad gateway</h1>"


@given(ANYTHING)
def test_whatever_a_server_sends_makes_an_error(sent: Any) -> None:
    assert isinstance(error_text(sent), str)
    for error in (incomplete_response("choices", sent), response_error(500, sent, {})):
        assert isinstance(error, ModelError)
        assert str(error)
    if isinstance(sent, dict):
        error = reported_error(sent)
        assert str(error)
        assert error.status is None or 400 <= error.status < 600


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"id": "1", "result": {"problems": [{"reason": "no balance"}]}}, "no balance"),
        ({"id": "1", "info": {"code": 7, "quota": "used up"}}, '"quota":"used up"'),
    ],
)
def test_an_error_inside_a_successful_answer_shows_the_servers_words(
    answer: dict[str, object], words: str
) -> None:
    text = str(incomplete_response("choices", answer))
    assert words in text
    assert "{'" not in text
