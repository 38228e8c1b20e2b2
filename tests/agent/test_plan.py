"""What a run needs of its agent."""

from __future__ import annotations

import dataclasses

import pytest

from toolkeel import Agent
from toolkeel.testing.scripted import Scripted


def test_what_one_run_asks_for_itself_leaves_the_agents_plan_as_it_was() -> None:
    agent = Agent(Scripted(["one", "two"]), instructions="Be brief.", name="clerk")
    before = agent._plan
    agent.run_sync("go", model=Scripted(["other"]), timeout=30)
    assert agent._plan is before and before.agent == "clerk"
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.max_turns = 3  # type: ignore[misc]
