"""Who has a run: instructions take each other's place, and what held before holds on."""

from __future__ import annotations

import asyncio

import pytest

from toolkeel import Agent, Rules, RunState, tool
from toolkeel.agent.history import TranscriptWindow
from toolkeel.agent.turn.active_agent import ActiveAgent
from toolkeel.context import RunContext
from toolkeel.define.tool import AnyTool
from toolkeel.messages import UserMessage
from toolkeel.testing.scripted import Scripted, call


def test_instructions_take_the_place_of_those_before() -> None:
    desk = Agent(Scripted([]), name="desk", instructions="Desk.")
    first = Agent(Scripted([]), name="first", instructions="First.", handoffs=[desk])
    run = RunContext(agent=first)
    run.loop_state.transcript = [UserMessage("hi")]
    active = ActiveAgent(first.plan_for({}), run)

    async def main() -> None:
        await active.instruct()
        assert [m.text for m in run.transcript] == ["First.", "hi"]
        await active.hand_over(first.handoffs[0], TranscriptWindow())
        assert [m.text for m in run.transcript] == ["Desk.", "hi"]
        assert [plan.agent for plan in active.before] == ["first"] and run.agent is desk

    asyncio.run(main())


def test_a_saved_run_goes_to_the_agent_that_had_it() -> None:
    desk = Agent(Scripted([]), name="desk")
    first = Agent(Scripted([]), name="first", handoffs=[desk])
    run = RunContext(agent=first)
    active = ActiveAgent(first.plan_for({}), run)
    active.restore(
        RunState((UserMessage("x"),), agent="desk", previous_agents=("first",)), resumed=True
    )
    assert active.plan.agent == "desk" and run.agent is desk
    assert [plan.agent for plan in active.before] == ["first"]


@pytest.mark.parametrize("rules", [None, Rules(deny=["pay"])])
def test_what_providers_of_the_next_agent_bring_is_called_under_the_rules_of_the_first(
    rules: Rules | None,
) -> None:
    class Late:
        """Brings a tool when the agent has the run."""

        def get_tools(self) -> list[AnyTool]:
            return [pay]

    @tool
    def pay() -> str:
        """Pay."""
        return "paid"

    clerk = Agent(Scripted([call("pay", {}), "done"]), [Late()], name="clerk")
    first = Agent(Scripted([call("transfer_to_clerk", {})]), handoffs=[clerk], rules=rules)
    told = first.run_sync("Pay.").messages[-2].text
    assert told == "paid" if rules is None else "paid" not in told
