"""Steps around a model request: the form of steps around a call, one stage further out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from toolkeel import Agent, ModelError, SetupError, Usage
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted


def test_steps_stand_around_the_request_outermost_first_and_change_only_what_is_sent() -> None:
    order: list[str] = []

    def named(name: str) -> Any:
        async def step(request: Any, run: Any, proceed: Any) -> Any:
            order.append(name)
            changed = replace(request, messages=[*request.messages, UserMessage(name)])
            reply = await proceed(changed)
            order.append(f"after {name}")
            return reply

        return step

    model = Scripted(["done"])
    result = Agent(model, model_steps=[named("a"), named("b")]).run_sync("go")
    assert order == ["a", "b", "after b", "after a"]
    assert [m.text for m in model.requests[0].messages] == ["go", "a", "b"]
    assert [m.text for m in result.messages] == ["go", "done"]


def test_a_step_answers_by_itself_and_the_model_is_not_asked() -> None:
    async def canned(request: Any, run: Any, proceed: Any) -> AssistantMessage:
        return AssistantMessage("from a cache")

    heard: list[str] = []
    model = Scripted([])
    agent = Agent(model, model_steps=[canned])
    result = agent.run_sync("go", listeners=[lambda event: heard.append(event.type)])
    assert result.output == "from a cache" and model.requests == []
    assert heard == ["run_started", "turn_started", "replied", "run_finished"]


def test_a_step_asks_again_and_each_request_that_is_sent_counts() -> None:
    async def twice(request: Any, run: Any, proceed: Any) -> AssistantMessage:
        for _ in range(2):
            try:
                return await proceed(request)  # type: ignore[no-any-return]
            except ModelError:
                pass
        raise ModelError("twice")

    whole = AssistantMessage("done", usage=Usage(1, 10, 5))
    script = [ModelError("down"), whole]
    agent = Agent(Scripted(script), model_steps=[twice])
    result = agent.run_sync("go")
    assert result.output == "done" and result.usage == Usage(1, 10, 5)
    limited = Agent(Scripted(script), model_steps=[twice], limits=RunLimits(requests=1))
    assert limited.run_sync("go").limit == "requests: 1 of 1"


def test_a_step_that_gives_no_reply_is_the_programs_mistake() -> None:
    async def forgets(request: Any, run: Any, proceed: Any) -> Any:
        await proceed(request)

    with pytest.raises(SetupError, match="model step forgets gave None"):
        Agent(Scripted(["x"]), model_steps=[forgets]).run_sync("go")
