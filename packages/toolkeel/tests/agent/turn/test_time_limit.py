"""A run's time: bounded for all that runs within."""

from __future__ import annotations

import asyncio

from tests.agent.valid import problems
from toolkeel import Agent, tool
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call


def test_time_bounds_what_runs_within_and_results_say_what_is_known() -> None:
    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(60)
        return "never"

    clerk = Agent(Scripted([call("wait")]), [wait], name="clerk_agent")
    boss = Agent(Scripted([call("clerk_agent", {"input": "x"})]), [clerk.as_tool()])
    result = boss.run_sync("go", limits=RunLimits(seconds=0.05))
    assert (result.reason, result.limit) == ("limit", "seconds: 0.05")
    [inner] = result.state.inner.values()
    assert inner.state.messages[-1].kind == "cancelled"  # type: ignore[union-attr]
    assert problems(inner.state.messages) == []


def test_a_run_without_time_asks_nobody_and_runs_nothing() -> None:
    model = Scripted(["never asked"])
    result = Agent(model).run_sync("go", timeout=0)
    assert (result.reason, result.limit, result.usage.requests) == ("limit", "seconds: 0", 0)
    assert "NO_OUTPUT" in repr(result)
