"""Steps ready to use around a model request: fallback, a cache of replies, redaction."""

from __future__ import annotations

from typing import Any

import pytest

from tests.waiting import run
from toolkeel import Agent, SetupError, Usage, tool
from toolkeel.agent.turn.model_fallback import Fallback
from toolkeel.errors import AccessDenied, ModelUnavailable, RateLimited
from toolkeel.model_interface import Finish, TextDelta
from toolkeel.spending import Price, RunLimits
from toolkeel.steps import RateLimit
from toolkeel.testing.scripted import Scripted, call


@tool
def act(secret: str = "") -> str:
    """Act."""
    return "acted on 12-34"


def test_another_model_answers_when_the_first_is_busy_and_is_asked_first_from_then_on() -> None:
    first = Scripted([RateLimited("busy")], name="first")
    second = Scripted([call("act", {}), "done"], name="second")
    result = Agent(first, [act], model_steps=[Fallback(second)]).run_sync("go")
    assert result.output == "done" and len(first.requests) == 1 and len(second.requests) == 2


def test_a_wrong_key_is_told_and_no_other_model_is_asked() -> None:
    second = Scripted(["x"])
    agent = Agent(Scripted([AccessDenied("wrong key")] * 2), model_steps=[Fallback(second)])
    with pytest.raises(AccessDenied):
        agent.run_sync("go")
    assert second.requests == []
    willing = Fallback(second, when=lambda error: True)
    assert Agent(Scripted([AccessDenied("x")]), model_steps=[willing]).run_sync("go").output == "x"


def test_nobody_else_is_asked_once_a_part_was_told_unless_nobody_listens() -> None:
    class Breaks:
        name = "breaks"

        async def stream(self, request: Any) -> Any:
            yield TextDelta("half a")
            raise ModelUnavailable("lost")

    agent = Agent(Breaks(), model_steps=[Fallback(Scripted(["whole", "whole"]))])
    said = "lost; a part of the reply was shown already, so scripted is not asked"
    with pytest.raises(ModelUnavailable, match=said):
        agent.run_sync("go", listeners=[lambda event: None])
    shown: list[str] = []

    async def read() -> None:
        async for text in agent.stream("go").stream_text():
            shown.append(text)  # noqa: PERF401

    with pytest.raises(ModelUnavailable, match=said):
        run(read)
    assert shown == ["half a"]
    with pytest.raises(ModelUnavailable, match=said):
        agent.run_sync("go", session=":memory:", listeners=[lambda event: None])
    assert agent.run_sync("go").output == "whole"
    final = Agent(Breaks(), model_steps=[Fallback(Breaks())])
    with pytest.raises(ModelUnavailable) as raised:
        final.run_sync("go")
    assert str(raised.value) == "lost"


def test_when_all_fail_the_last_error_is_raised_and_no_model_is_refused() -> None:
    agent = Agent(
        Scripted([RateLimited("a")]), model_steps=[Fallback(Scripted([RateLimited("b")]))]
    )
    with pytest.raises(RateLimited, match="b"):
        agent.run_sync("go")
    with pytest.raises(SetupError, match="no model"):
        Fallback()


def test_what_the_other_model_costs_must_be_known_when_the_run_begins() -> None:
    class Dear:
        name = "dear"

        async def stream(self, request: Any) -> Any:
            yield TextDelta("ok")
            yield Finish("stop", Usage(1, 1000, 1000))

    limits = RunLimits(cost=1.0, prices={"scripted": Price(1, 1)})
    agent = Agent(Scripted([RateLimited("busy")]), model_steps=[Fallback(Dear())], limits=limits)
    with pytest.raises(SetupError, match="'dear'"):
        agent.run_sync("go")
    known = RunLimits(cost=1.0, prices={"scripted": Price(1, 1), "dear": Price(10, 90)})
    assert agent.run_sync("go", limits=known).state.cost == pytest.approx(0.1)


def test_requests_are_held_to_a_rate_over_all_runs_that_share_it() -> None:
    slowly = RateLimit(2, 3600, max_wait=0)
    first = Agent(Scripted(["a"]), model_steps=[slowly])
    second = Agent(Scripted(["b", "c"]), model_steps=[slowly])
    assert [first.run_sync("x").output, second.run_sync("x").output] == ["a", "b"]
    with pytest.raises(
        RateLimited, match="the model scripted can be called 2 times in 3600"
    ) as failed:
        second.run_sync("x")
    assert failed.value.retry_after == pytest.approx(3600, abs=60)
    assert failed.value.run.reason == "failed"  # type: ignore[attr-defined]


def test_another_model_is_asked_where_a_rate_would_be_broken() -> None:
    steps = [Fallback(Scripted(["spare"], name="spare")), RateLimit(1, 3600, max_wait=0)]
    agent = Agent(Scripted(["own"]), model_steps=steps)
    assert [agent.run_sync("x").output, agent.run_sync("x").output] == ["own", "spare"]
    with pytest.raises(RateLimited, match="the model spare"):
        agent.run_sync("x")
