"""Who has a run: instructions take each other's place, and what held before holds on."""

from __future__ import annotations

import asyncio

import pytest

from toolkeel import Agent, Rules, RunState, tool
from toolkeel.agent.turn.switch_agent import InCharge, said_last
from toolkeel.context import RunContext
from toolkeel.define.tool import AnyTool
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.testing.scripted import Scripted, call


def test_what_the_person_said_last_is_what_no_model_has_answered() -> None:
    messages = [UserMessage("a"), AssistantMessage("b"), UserMessage("c"), UserMessage("d")]
    assert [message.text for message in said_last(messages)] == ["c", "d"]
    assert said_last(messages[:2]) == []


def test_instructions_take_the_place_of_those_before() -> None:
    desk = Agent(Scripted([]), name="desk", instructions="Desk.")
    first = Agent(Scripted([]), name="first", instructions="First.", handoffs=[desk])
    run = RunContext(agent=first)
    run.loop_state.transcript = [UserMessage("hi")]
    charge = InCharge(first.planned_for({}), run)

    async def main() -> None:
        await charge.instruct()
        assert [m.text for m in run.transcript] == ["First.", "hi"]
        await charge.hand_over(first.handoffs[0])
        assert [m.text for m in run.transcript] == ["Desk.", "hi"]
        assert [plan.agent for plan in charge.before] == ["first"] and run.agent is desk

    asyncio.run(main())


def test_a_saved_run_goes_to_the_agent_that_had_it() -> None:
    desk = Agent(Scripted([]), name="desk")
    first = Agent(Scripted([]), name="first", handoffs=[desk])
    run = RunContext(agent=first)
    charge = InCharge(first.planned_for({}), run)
    charge.resume(RunState((UserMessage("x"),), agent="desk", path=("first",)), goes_on=True)
    assert charge.plan.agent == "desk" and run.agent is desk
    assert [plan.agent for plan in charge.before] == ["first"]


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
