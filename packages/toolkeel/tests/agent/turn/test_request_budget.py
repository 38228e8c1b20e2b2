"""What model requests may cost: bounds over a tree of runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.agent.valid import problems
from toolkeel import Agent, AssistantMessage, ModelError, RunState, Settings, SetupError, tool
from toolkeel.messages import ToolCall, ToolMessage, Usage
from toolkeel.spending import Price, RunLimits
from toolkeel.testing.scripted import Scripted, call


@tool
def add_one(n: int = 1) -> int:
    """Add one."""
    return n + 1


class Paid:
    """A model that calls a tool for ever, and costs the same each time."""

    def __init__(self, calls: str = "add_one", input: int = 100, output: int = 10) -> None:
        self.name = "paid"
        self.asked = 0
        self._calls, self._usage = calls, Usage(1, input, output)

    async def stream(self, request: Any) -> Any:
        self.asked += 1
        await asyncio.sleep(0)
        calls = ToolCall(
            str(self.asked), self._calls, '{"input": "x"}' if "_agent" in self._calls else "{}"
        )
        yield AssistantMessage("", (calls,), "tool_calls", self._usage)


DEAR = RunLimits(cost=0.01, prices={"paid": Price(10.0, 50.0)})
"""Of 0.0015 dollars a request."""


def test_a_run_out_of_money_ends_whole_and_goes_on_with_more() -> None:
    model = Paid()
    agent = Agent(model, [add_one], limits=DEAR, settings=Settings(max_tokens=10))
    result = agent.run_sync("go")
    assert result.reason == "limit" and result.limit.startswith("cost: $0.00")
    assert model.asked <= 6 and problems(result.messages) == []
    state = RunState.from_json(result.state.to_json())
    assert 0.008 <= state.cost <= 0.01
    more = agent.run_sync(state, limits=RunLimits(cost=0.02, prices=DEAR.prices))
    assert more.limit.startswith("cost: $0.01") and 12 <= model.asked <= 13
    assert more.usage.requests == model.asked
    again = agent.run_sync(RunState.from_json(more.state.to_json()))
    assert again.reason == "limit" and 12 <= model.asked <= 13


def test_a_price_nobody_knows_is_refused_before_anything_is_sent() -> None:
    model = Paid()
    with pytest.raises(SetupError, match="the price of 'paid' is unknown") as raised:
        Agent(model, limits=RunLimits(cost=1.0)).run_sync("go")
    assert model.asked == 0
    assert raised.value.run.state.messages  # type: ignore[attr-defined]


def test_two_agents_that_call_each_other_end_at_the_bound_of_the_tree() -> None:
    first, second = Paid("second_agent"), Paid("first_agent")
    one: Agent[Any, Any] = Agent(first, name="first agent", max_turns=6)
    late: list[Any] = []

    class Other:
        """Brings the other agent when a run begins."""

        def get_tools(self) -> list[Any]:
            return late

    two: Agent[Any, Any] = Agent(
        second, [one.as_tool(max_depth=100)], name="second agent", max_turns=6
    )
    one = Agent(first, [Other()], name="first agent", max_turns=6)
    two = Agent(second, [one.as_tool(max_depth=100)], name="second agent", max_turns=6)
    late.append(two.as_tool(max_depth=100))
    result = one.run_sync("go")
    assert result.reason == "limit" and result.limit == "requests: 60 of 60"
    assert first.asked + second.asked == 60
    depth, state = 0, result.state
    while state.inner:  # none of them has failed
        [inner] = state.inner.values()
        depth, state = depth + 1, inner.state
    assert depth > 1 and not [m for m in state.messages if isinstance(m, ToolMessage)]


def test_runs_within_share_what_is_left_and_never_multiply_it() -> None:
    """Ten agents at once, of which each could spend all."""
    model = Paid()
    short = Settings(max_tokens=10)
    clerk = Agent(model, [add_one], name="clerk_agent", max_turns=100, settings=short)
    calls = [call("clerk_agent", {"input": str(n) * 300}) for n in range(10)]
    boss = Agent(Scripted([calls, "done"]), [clerk.as_tool()], settings=Settings(max_tokens=10))
    result = boss.run_sync("go", limits=RunLimits(tokens=1000))
    assert result.reason == "limit" and result.limit.startswith("tokens: ")
    assert model.asked * 110 <= 1000


def test_an_inner_agent_may_have_a_bound_of_its_own_within_that_of_the_tree() -> None:
    model = Paid()
    clerk = Agent(model, [add_one], name="clerk_agent", limits=RunLimits(requests=2))
    calls = [call("clerk_agent", {"input": "a"}), call("clerk_agent", {"input": "b"})]
    result = Agent(Scripted([calls, "sorry"]), [clerk.as_tool()]).run_sync("go")
    assert (result.output, model.asked) == ("sorry", 4)
    assert "at its limit (requests: 2 of 2)" in result.messages[2].text


def test_calls_and_failures_of_a_tool_are_bounded_at_every_depth() -> None:
    ran: list[int] = []

    @tool
    def fail() -> int:
        """Fail."""
        ran.append(1)
        raise ValueError(len(ran))

    clerk = Agent(Scripted([[call("fail"), call("add_one")], "no"] * 3), [fail, add_one], name="c")
    boss = Agent(
        Scripted([*[call("c", {"input": str(n)}) for n in range(3)], call("add_one"), "done"]),
        [clerk.as_tool(), add_one],
    )
    limits = RunLimits(calls={"add_one": 3}, failures={"fail": 2})
    result = boss.run_sync("go", limits=limits)
    assert len(ran) == 2
    last = result.messages[-2]
    assert "'add_one' did not run: it may be called 3 times" in last.text
    assert result.output == "done"
    told = [m.text for request in clerk.model.requests for m in request.messages]  # type: ignore[union-attr]
    assert any("'fail' did not run: its calls have failed 2 times" in text for text in told)


def test_a_request_that_failed_counts_and_its_reservation_is_given_back() -> None:
    limits = RunLimits(requests=3, tokens=1000)
    agent = Agent(Scripted([ModelError("down")]), settings=Settings(max_tokens=600))
    run = agent.start("go", limits=limits)
    with pytest.raises(ModelError):
        asyncio.run(run.run())
    pool = run.context.scope.spending
    assert pool is not None and (pool.requests, pool.tokens, pool._reserved) == (1, 0, [0, 0.0])
