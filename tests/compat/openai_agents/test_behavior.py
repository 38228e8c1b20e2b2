"""A function that finds the answer in the results of tools."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.compat.openai_agents import (
    Agent,
    FunctionTool,
    FunctionToolResult,
    RunContextWrapper,
    Runner,
    StopAtTools,
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


@pytest.mark.parametrize(
    ("behavior", "answer"),
    [
        (StopAtTools(["two"]), "2"),
        ({"stop_at_tool_names": ["one"]}, "1"),
        ("stop_on_first_tool", "1"),
        (lambda context, results: ToolsToFinalOutputResult(True, {"n": 1}), "{'n': 1}"),
    ],
)
def test_one_of_several_calls_of_a_turn_may_be_the_answer(behavior: Any, answer: str) -> None:
    tools = [
        FunctionTool(name, "", {"type": "object", "properties": {}}, one)
        for name, one in (("one", _one), ("two", _two))
    ]
    model = Scripted([[call("one"), call("two")], "never"])
    agent = Agent("A", tools=tools, model=model, tool_use_behavior=behavior)
    result = Runner.run_sync(agent, "go")
    assert (result.final_output, len(result.raw_responses)) == (answer, 1)
    assert result.new_items[-1].type == "tool_call_output_item"


async def _one(context: Any, arguments: str) -> int:
    return 1


async def _two(context: Any, arguments: str) -> int:
    return 2
