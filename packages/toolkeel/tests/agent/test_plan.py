"""What a run needs of its agent."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from toolkeel import Agent, Settings, SetupError, tool
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted


def test_what_one_run_asks_for_itself_leaves_the_agents_plan_as_it_was() -> None:
    agent = Agent(Scripted(["one", "two"]), instructions="Be brief.", name="clerk")
    before = agent._plan
    agent.run_sync("go", model=Scripted(["other"]), timeout=30)
    assert agent._plan is before and before.agent == "clerk"
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.max_turns = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("limits", RunLimits(calls={"serch": 1})),
        ("limits", RunLimits(failures={"serch": 1})),
        ("settings", Settings(tool_choice="serch")),
    ],
)
def test_what_names_no_tool_is_refused_for_an_agent_and_for_one_run_of_it(
    option: Any, value: Any
) -> None:
    @tool
    def search(query: str) -> str:
        """Search."""
        return query

    model = Scripted(["one"])
    with pytest.raises(SetupError, match="no tool is called 'serch'; did you mean 'search'"):
        Agent(model, [search], **{option: value})
    with pytest.raises(SetupError, match="no tool is called 'serch'; did you mean 'search'"):
        Agent(model, [search]).run_sync("go", **{option: value})
    assert not model.requests
    asks_within = Agent(Scripted(["two"]), [Agent(model, [search], name="clerk").as_tool()])
    assert asks_within.run_sync("go", limits=RunLimits(calls={"search": 1})).output == "two"
