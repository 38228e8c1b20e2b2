"""Agents as tools: a run within a call has the settings of the run around it, and its own hooks."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from toolkeel import SetupError
from toolkeel.model_interface import Finish, TextDelta
from toolkeel.testing import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    AgentHooks,
    GuardrailFunctionOutput,
    ModelSettings,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Runner,
    RunResult,
    ScriptedModel,
    ToolsToFinalOutputResult,
    assistant_message,
    default_tool_error_function,
    function_call,
    function_tool,
    input_guardrail,
)


@function_tool
def look(x: int) -> str:
    """Look."""
    return f"seen {x}"


def asking(inner: Agent[Any], **options: Any) -> Agent[Any]:
    steps = [[function_call("ask", {"input": "hi"}, call_id="c1")], [assistant_message("done")]]
    return Agent("outer", model=ScriptedModel(steps), tools=[inner.as_tool("ask", **options)])


def response_of(result: RunResult) -> Any:
    [item] = [one for one in result.new_items if one.type == "tool_call_output_item"]
    return item.output


def test_its_own_hooks_guardrails_and_behaviour_count_and_the_outer_hooks_do_not() -> None:
    told: list[Any] = []

    class Told(AgentHooks):
        async def on_start(self, context: Any, agent: Any) -> None:
            told.append(("start", agent.name, context.context))

        async def on_end(self, context: Any, agent: Any, output: Any) -> None:
            told.append(("end", agent.name, output))

    @input_guardrail
    def watch(context: Any, agent: Any, said: Any) -> GuardrailFunctionOutput:
        told.append(said)
        return GuardrailFunctionOutput(None, False)

    def decide(context: Any, results: Any) -> ToolsToFinalOutputResult:
        return ToolsToFinalOutputResult(True, f"decided: {results[0].output}")

    model = ScriptedModel([[function_call("look", {"x": 1}, call_id="c2")]])
    inner = Agent(
        "inner", model=model, tools=[look], tool_use_behavior=decide, hooks=Told(),
        input_guardrails=[watch],
    )  # fmt: skip
    result = Runner.run_sync(asking(inner), "go", context=7)
    assert response_of(result) == "decided: seen 1"
    assert sorted(told, key=str) == [
        ("end", "inner", "decided: seen 1"), ("start", "inner", 7), "hi",
    ]  # fmt: skip
    assert result.input_guardrail_results == []


def test_the_model_and_the_settings_of_the_run_are_those_of_the_run_within() -> None:
    steps = [[function_call("ask", {"input": "hi"}, call_id="c1")]]
    model = ScriptedModel([*steps, [assistant_message("by it")], [assistant_message("done")]])
    config = RunConfig(model=model, model_settings=ModelSettings(temperature=0.3))
    result = Runner.run_sync(asking(Agent("inner")), "go", run_config=config)
    assert response_of(result) == "by it"
    assert [call.model_settings.temperature for call in model.calls] == [0.3, 0.3, 0.3]


def test_who_extracts_sees_what_it_was_asked_and_the_context() -> None:
    async def shown(result: RunResult) -> str:
        return f"{result.input} {result.context_wrapper.context} {len(result.new_items)}"

    inner = Agent("inner", model=ScriptedModel([[assistant_message("x")]]))
    outer = asking(inner, custom_output_extractor=shown)
    assert response_of(Runner.run_sync(outer, "go", context=9)) == "hi 9 1"


def test_an_answer_that_was_cut_off_is_no_result() -> None:
    inner = Agent("inner", model=Scripted([[TextDelta("as far as"), Finish("length")]]))
    result = Runner.run_sync(asking(inner), "go")
    assert "gave no whole answer (cut_off): as far as" in response_of(result)


def test_of_an_agent_that_crashed_the_model_reads_the_words_of_a_tool_that_did() -> None:
    broken = Agent("inner", model=ScriptedModel([RuntimeError("dead")]))
    assert response_of(Runner.run_sync(asking(broken), "go")) == default_tool_error_function(
        RunContextWrapper(), RuntimeError("dead")
    )


def test_an_agent_as_a_tool_may_have_settings_and_hooks_of_its_own() -> None:
    told: list[str] = []

    class Told(RunHooks):
        async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
            told.append(f"{agent.name}: {output}")

    model = ScriptedModel([[assistant_message("in")]])
    inner = Agent("inner", model=ScriptedModel([]))
    config = RunConfig(model=model, model_settings=ModelSettings(temperature=0.5))
    result = Runner.run_sync(asking(inner, run_config=config, hooks=Told()), "go")
    assert response_of(result) == "in" and told == ["inner: in"]
    assert model.last_call is not None and model.last_call.model_settings.temperature == 0.5


def test_an_agent_as_a_tool_that_is_not_described_says_nothing_as_there() -> None:
    assert Agent("clerk").as_tool().description == ""


def test_what_an_agent_as_a_tool_does_not_take_is_refused_by_name() -> None:
    with pytest.raises(SetupError, match="session"):
        Agent("clerk").as_tool(session=object())  # type: ignore[call-arg]


class Order(BaseModel):
    """An order."""

    item: str = Field(description="What.")
    count: int = 1
    size: Literal["s", "m"] = "m"


def input_of(**options: Any) -> str:
    """What an agent is asked by a call of its tool."""
    model = Scripted(["done"])
    tool = Agent("inner", model=model).as_tool("ask", "Ask.", **options)
    tool.tool.invoke({"item": "tea"} if "parameters" in options else {"input": "hi"})
    return model.requests[0].messages[-1].text


def test_an_agent_reads_arguments_of_several_parameters_with_what_they_mean() -> None:
    text = input_of(parameters=Order)
    assert '"item": "tea",\n  "count": 1,\n  "size": "m"' in text
    lines = text.partition("## Input Schema Summary:\n")[2].splitlines()
    assert lines[:3] == [
        "Description: An order.",
        "- item (string, required) - What.",
        "- count (integer, required)",
    ]
    assert '"additionalProperties": false' in input_of(parameters=Order, include_input_schema=True)


def test_a_function_of_the_programs_may_make_the_input_of_a_call() -> None:
    async def build(asked: dict[str, Any]) -> Any:
        return [{"role": "user", "content": f"{asked['params']} {asked['json_schema']}"}]

    assert input_of(input_builder=build) == "{'input': 'hi'} None"
    assert input_of() == "hi"


class Folder(BaseModel):
    name: str
    folders: list[Folder] = []


def test_parameters_may_contain_themselves() -> None:
    inner = Agent(name="inner", model=Scripted(["found"]))
    asked = call("find", {"name": "a", "folders": [{"name": "b"}]})
    tools = [inner.as_tool("find", "Find it.", parameters=Folder)]
    outer = Agent(name="outer", model=Scripted([asked, "done"]), tools=tools)
    assert "found" in str(Runner.run_sync(outer, "?").to_input_list())
