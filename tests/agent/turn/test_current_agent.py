"""Who has a run: instructions take each other's place, and what held before holds on."""

from __future__ import annotations

import asyncio

from toolkeel import Agent, RunState
from toolkeel.agent.turn.current_agent import InCharge, said_last
from toolkeel.context import RunContext
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.testing.scripted import Scripted


def test_what_the_person_said_last_is_what_no_model_has_answered() -> None:
    messages = [UserMessage("a"), AssistantMessage("b"), UserMessage("c"), UserMessage("d")]
    assert [message.text for message in said_last(messages)] == ["c", "d"]
    assert said_last(messages[:2]) == []


def test_instructions_take_the_place_of_those_before() -> None:
    desk = Agent(Scripted([]), name="desk", instructions="Desk.")
    first = Agent(Scripted([]), name="first", instructions="First.", handoffs=[desk])
    run = RunContext(agent=first)
    run.transcript = [UserMessage("hi")]
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
