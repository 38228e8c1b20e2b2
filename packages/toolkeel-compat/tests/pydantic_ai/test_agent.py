"""Agents with decorators, as programs of Pydantic AI write them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from pydantic import BaseModel

from toolkeel import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import (
    Agent,
    ModelRetry,
    NativeOutput,
    RunContext,
    RunUsage,
    TestModel,
    UnexpectedModelBehavior,
)


class City(BaseModel):
    name: str


class NoCity(BaseModel):
    reason: str


OSLO = call("final_result", {"name": "Oslo"})


def test_instructions_join_in_the_order_they_are_written() -> None:
    model = Scripted(["hi"])
    agent = Agent(
        model, system_prompt="First.", instructions=["Second.", lambda ctx: f"{ctx.deps}."]
    )

    @agent.instructions
    async def more(ctx: RunContext[str]) -> str:
        return f"For {ctx.deps}."

    @agent.system_prompt
    def last() -> str:
        return "Last."

    agent.run_sync("go", deps="Ada", instructions="Now.")
    assert model.requests[0].messages[0].text.split("\n\n") == [
        "First.", "Second.", "Ada.", "For Ada.", "Last.", "Now."
    ]  # fmt: skip


@pytest.mark.parametrize("later", [False, True])
def test_an_output_validator_may_ask_for_another_answer(later: bool) -> None:
    model = Scripted([OSLO, call("final_result", {"name": "Bergen"})])
    agent = Agent(model, output_type=City, retries=2)
    seen: list[str] = []

    def check(ctx: RunContext[str], city: City) -> City:
        seen.append(city.name)
        if city.name != ctx.deps:
            raise ModelRetry(f"not {city.name}")
        return city

    async def check_later(ctx: RunContext[str], city: City) -> City:
        return check(ctx, city)

    agent.output_validator(check_later if later else check)
    assert agent.run_sync("go", deps="Bergen").output == City(name="Bergen")
    assert seen == ["Oslo", "Bergen"] and model.requests[1].messages[-1].text == "not Oslo"


@pytest.mark.parametrize("asked", [[City, NoCity], City | NoCity, NativeOutput([City, NoCity])])
def test_several_types_are_one_output(asked: Any) -> None:
    agent = Agent(TestModel(), output_type=asked)
    assert isinstance(agent.run_sync("go").output, City)


def test_an_answer_that_stays_wrong_is_an_exception() -> None:
    with pytest.raises(UnexpectedModelBehavior):
        Agent(Scripted(["no"] * 9), output_type=City).run_sync("go")


def test_a_usage_is_shared_and_an_inner_run_counts_once() -> None:
    inner, outer = Agent(TestModel()), Agent(TestModel())

    @outer.tool
    async def ask(ctx: RunContext[None]) -> str:
        """Ask the other agent."""
        return str((await inner.run("x", usage=ctx.usage)).output)

    usage = RunUsage()
    outer.run_sync("go", usage=usage)
    outer.run_sync("go", usage=usage)
    assert usage.requests == 6


def test_a_block_overrides_the_model_and_the_deps() -> None:
    agent = Agent("test")

    @agent.tool
    def who(ctx: RunContext[str]) -> str:
        """Tell who asks."""
        return ctx.deps

    with agent.override(model=TestModel(), deps="Eve"):
        assert agent.run_sync("go", deps="Ada").output == '{"who":"Eve"}'
    assert agent.run_sync("go", deps="Ada").output == '{"who":"Ada"}'
    with pytest.raises(TypeError, match="no option 'mdel'"), agent.override(mdel="test"):
        pass


def test_what_has_no_counterpart_is_refused() -> None:
    with pytest.raises(SetupError, match="docs/streaming"):
        Agent("test").iter("go")
    with pytest.raises(SetupError, match="give a model"):
        asyncio.run(Agent().run("go"))


def test_sync_runs_stay_in_the_thread_that_calls_them() -> None:
    threads: list[int] = []
    agent = Agent("test")

    @agent.instructions
    async def note() -> str:
        threads.append(threading.get_ident())
        return ""

    async def within_a_loop() -> Any:
        return agent.run_sync("go").output

    for _ in range(2):
        agent.run_sync("go")
    assert threads == [threading.get_ident()] * 2
    assert asyncio.run(within_a_loop()) == "success (no tool calls)"
