"""A policy says which failed requests are sent again; what has begun to answer is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.compat.openai_agents import (
    Agent,
    ModelRetrySettings,
    ModelSettings,
    RetryDecision,
    Runner,
    retry_policies,
)
from toolkeel.compat.openai_agents.models.retry import RetryPolicyContext, decided
from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.messages import AssistantMessage
from toolkeel.model import ModelRequest, TextDelta

NOW = {"initial_delay": 0.0, "jitter": False}


class Failing:
    name = "failing"

    def __init__(self, *failures: Exception, begin: bool = False) -> None:
        self.failures, self.begin, self.asked = list(failures), begin, 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        self.asked += 1
        if self.failures:
            if self.begin:
                yield TextDelta("he")
            raise self.failures.pop(0)
        yield AssistantMessage("hello")


def run(model: Failing, policy: Any, times: int = 3) -> Any:
    retry = ModelRetrySettings(times, NOW, policy)
    settings = ModelSettings(retry=retry)
    return Runner.run_sync(Agent(name="a", model=model, model_settings=settings), "hi")


def test_what_the_policy_lets_through_is_sent_again_until_it_is_answered() -> None:
    model, seen = Failing(ModelError("a", status=503), ModelError("b", status=503)), []

    async def policy(context: Any) -> RetryDecision:
        seen.append((context.attempt, context.max_retries, str(context.error)))
        return RetryDecision(True, delay=0.0)

    assert run(model, policy).final_output == "hello"
    assert model.asked == 3 and seen == [(1, 3, "a"), (2, 3, "b")]


@pytest.mark.parametrize("times", [0, 2])
def test_no_more_often_than_it_may(times: int) -> None:
    model = Failing(*(ModelError(str(n)) for n in range(9)))
    with pytest.raises(ModelError):
        run(model, lambda context: True, times)
    assert model.asked == times + 1


def test_a_reply_that_has_begun_is_not_asked_for_again() -> None:
    model = Failing(ModelUnavailable("gone"), begin=True)
    with pytest.raises(ModelError):
        run(model, lambda context: True)
    assert model.asked == 1


errors = st.builds(
    ModelUnavailable,
    st.just("x"),
    status=st.none() | st.sampled_from([429, 500]),
    retry_after=st.none() | st.just(2.0),
)


@given(errors, st.lists(st.booleans(), max_size=4))
def test_joined_policies_say_what_any_or_all_of_them_say(
    error: ModelError, each: list[bool]
) -> None:
    context = RetryPolicyContext(error, 1, 3)
    policies = [lambda c, one=one: one for one in each]

    def said(policy: Any) -> bool:
        return asyncio.run(decided(policy, context)).retry

    assert said(retry_policies.any(*policies)) == any(each)
    assert said(retry_policies.all(*policies)) == (bool(each) and all(each))
    assert said(retry_policies.http_status([429])) == (error.status == 429)
    assert said(retry_policies.network_error()) == (error.status is None)
    assert said(retry_policies.retry_after()) == (error.retry_after is not None)
    assert said(retry_policies.provider_suggested()) and not said(retry_policies.never())
