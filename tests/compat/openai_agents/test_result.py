"""How a run ended: its answer, of the type that was asked for."""

from __future__ import annotations

import pytest

from toolkeel.compat.openai_agents import Agent, MaxTurnsExceeded, Runner, function_tool
from toolkeel.testing import Scripted, call


def test_an_answer_of_another_type_than_was_asked_for_is_an_error_on_demand() -> None:
    result = Runner.run_sync(Agent(model=Scripted(["text"])), "go")
    assert result.final_output_as(str) == "text" and result.last_response_id is None
    with pytest.raises(TypeError, match="not of type int, but str"):
        result.final_output_as(int, raise_if_incorrect_type=True)


def test_a_run_that_was_stopped_tells_what_it_did_and_what_it_spent() -> None:
    @function_tool
    def look() -> str:
        """Look."""
        return "seen"

    agent = Agent(tools=[look], model=Scripted([call("look"), call("look")]))
    with pytest.raises(MaxTurnsExceeded, match=r"Max turns \(1\) exceeded") as caught:
        Runner.run_sync(agent, "go", max_turns=1)
    data = caught.value.run_data
    assert [item.type for item in data.new_items] == ["tool_call_item", "tool_call_output_item"]
    assert data.last_agent is agent
