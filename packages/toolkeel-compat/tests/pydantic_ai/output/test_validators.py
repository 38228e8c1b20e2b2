"""Output validators: of text as it comes, and of other types."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from toolkeel.testing import Scripted
from toolkeel_compat.pydantic_ai import (
    Agent,
    ModelRetry,
    RunContext,
    TestModel,
    UnexpectedModelBehavior,
)


def make_agent(model: Any, wanted: str = "good", **options: Any) -> tuple[Any, list[int]]:
    """An agent whose validator wants a word in the text, and the retries that it saw."""
    agent: Any = Agent(model, **options)
    seen: list[int] = []

    @agent.output_validator
    async def check(ctx: RunContext[None], text: str) -> str:
        seen.append(ctx.retry)
        if wanted not in text:
            raise ModelRetry(f"say {wanted}")
        return text.upper()

    @agent.output_validator
    def exclaim(text: str) -> str:
        return text + "!"

    return agent, seen


def test_text_stays_text_and_goes_through_each_validator() -> None:
    model = Scripted(["bad", "good"])
    agent, seen = make_agent(model)
    result = agent.run_sync("go")
    assert (result.output, seen) == ("GOOD!", [0, 1])
    assert [one.tools for one in model.requests] == [(), ()]
    assert "say good" in model.requests[1].messages[-1].text
    assert make_agent(TestModel(custom_output_text="good"))[0].run_sync("go").output == "GOOD!"


def test_a_stream_ends_with_the_validated_text() -> None:
    async def stream() -> Any:
        async with make_agent(Scripted(["so good"]))[0].run_stream("go") as result:
            return [part async for part in result.stream_text()][-1], await result.get_output()

    assert asyncio.run(stream()) == ("so good", "SO GOOD!")


@pytest.mark.parametrize("retries", [0, 2])
def test_text_that_stays_wrong_is_an_exception(retries: int) -> None:
    agent, seen = make_agent(Scripted(["bad"] * 9), retries=retries)
    with pytest.raises(UnexpectedModelBehavior, match=f"maximum output retries .{retries}."):
        agent.run_sync("go")
    assert seen == [*range(retries + 1)]


def test_a_sync_validator_runs_in_a_thread_and_a_second_parameter_is_the_answer() -> None:
    agent: Any = Agent(Scripted(["a"]))
    seen: list[Any] = []

    @agent.output_validator
    def check(ctx: Any, text: str) -> str:
        seen.append((type(ctx), threading.current_thread() is threading.main_thread()))
        return text

    assert (agent.run_sync("go").output, seen) == ("a", [(RunContext, False)])
