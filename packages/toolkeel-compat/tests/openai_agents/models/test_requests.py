"""What stands around requests: prompts, instructions, filters, and when results are the answer."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.migration.server import Server
from toolkeel.testing import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    CallModelData,
    FunctionTool,
    FunctionToolResult,
    GenerateDynamicPromptData,
    ModelInputData,
    RunConfig,
    RunContextWrapper,
    Runner,
    StopAtTools,
    ToolsToFinalOutputResult,
    function_tool,
)


def test_a_prompt_is_named_in_the_request_and_may_depend_on_the_run() -> None:
    async def chosen(data: GenerateDynamicPromptData) -> dict[str, Any]:
        return {"id": "p2", "variables": {"who": data.context.context, "agent": data.agent.name}}

    for prompt, expected in (
        ({"id": "p1"}, {"id": "p1"}),
        (chosen, {"id": "p2", "variables": {"who": "Ada", "agent": "poet"}}),
    ):
        model = Scripted(["ok"])
        Runner.run_sync(Agent("poet", prompt=prompt, model=model), "go", context="Ada")
        assert model.requests[0].settings.extra_body["prompt"] == expected


def test_a_prompt_names_the_model_unless_the_agent_does(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    monkeypatch.setenv("OPENAI_BASE_URL", server.url("run"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for options in ({}, {"model": "gpt-test"}):
        Runner.run_sync(Agent("poet", prompt={"id": "p1"}, **options), "go")  # type: ignore[arg-type]
    assert [sent.get("model") for sent in server.sent("run")] == [None, "gpt-test"]
    assert "model" not in server.sent("run")[0]
    server.shutdown()
    server.server_close()


def test_a_request_holds_what_the_filter_leaves_and_the_transcript_all() -> None:
    @function_tool
    def look() -> str:
        """Look."""
        return "seen"

    seen: list[CallModelData[str]] = []

    async def last_two(data: CallModelData[str]) -> ModelInputData:
        seen.append(data)
        return ModelInputData(data.model_data.input[-2:], f"for {data.context}")

    model = Scripted([call("look"), "done"])
    agent = Agent("A", "Be kind.", [look], model)
    given: list[Any] = [{"role": "user", "content": str(n)} for n in range(4)]
    config = RunConfig(call_model_input_filter=last_two)
    result = Runner.run_sync(agent, given, context="Ada", run_config=config)
    told = [[message.text for message in request.messages] for request in model.requests]
    assert told == [["for Ada", "2", "3"], ["for Ada", "", "seen"]]
    assert seen[0].model_data.instructions == "Be kind." and seen[0].agent is agent
    assert len(result.to_input_list()) == 7


def test_a_function_gives_the_instructions_anew_for_each_request() -> None:
    @function_tool
    def count(context: RunContextWrapper[dict[str, int]]) -> str:
        """Count."""
        context.context["n"] += 1
        return "ok"

    async def told(context: RunContextWrapper[dict[str, int]], agent: Any) -> str:
        return f"{agent.name}: {context.context['n']}" if context.context["n"] < 2 else ""

    model = Scripted([call("count"), call("count"), "done"])
    agent = Agent("a", instructions=told, tools=[count], model=model)
    result = Runner.run_sync(agent, "go", context={"n": 0})
    firsts = [request.messages[0].text for request in model.requests]
    assert firsts == ["a: 0", "a: 1", "go"] and result.to_input_list()[0]["role"] == "user"


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
