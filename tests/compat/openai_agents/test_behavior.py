"""A function that finds the answer in the results of tools."""

from __future__ import annotations

from typing import Any

from toolkeel.compat.openai_agents import (
    Agent,
    FunctionToolResult,
    RunContextWrapper,
    Runner,
    ToolsToFinalOutputResult,
    function_tool,
)
from toolkeel.testing import Scripted, call


@function_tool
def weather(city: str) -> dict[str, str]:
    """Tell the weather."""
    return {"city": city, "sky": "blue"}


async def decide(
    context: RunContextWrapper[Any], results: list[FunctionToolResult]
) -> ToolsToFinalOutputResult:
    [result] = results
    assert result.tool is weather
    final = result.output["city"] == context.context
    return ToolsToFinalOutputResult(final, f"{result.output['sky']} above {context.context}")


def test_a_function_ends_the_run_when_the_results_are_the_answer() -> None:
    model = Scripted([call("weather", {"city": "Rome"}), call("weather", {"city": "Oslo"})])
    agent = Agent(tools=[weather], model=model, tool_use_behavior=decide)
    result = Runner.run_sync(agent, "go", context="Oslo")
    assert result.final_output == "blue above Oslo"
    assert len(model.requests) == 2
    kinds = [item.type for item in result.new_items]
    assert kinds == ["tool_call_item", "tool_call_output_item"] * 2
    assert len(result.to_input_list()) == 5
