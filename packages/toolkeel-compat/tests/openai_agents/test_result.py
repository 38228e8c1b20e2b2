"""How a run ended: its answer, of the type that was asked for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkeel.errors import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    AgentsException,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    ModelBehaviorError,
    OutputGuardrail,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    RunState,
    ScriptedModel,
    ToolGuardrailFunctionOutput,
    assistant_message,
    function_tool,
    tool_input_guardrail,
    tool_output_guardrail,
)


def test_an_answer_of_another_type_than_was_asked_for_is_an_error_on_demand() -> None:
    result = Runner.run_sync(Agent(model=Scripted(["text"])), "go")
    assert result.final_output_as(str) == "text"
    with pytest.raises(SetupError, match=r"to_input_list\(\)"):
        assert result.last_response_id
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


def fine(context: Any, agent: Any, about: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(about, False)


def trips(context: Any, agent: Any, about: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(about, True)


def test_what_guardrails_have_said_is_in_the_result() -> None:
    @tool_input_guardrail
    def look_at(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.allow("in")

    @tool_output_guardrail
    def look_after(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content("hidden", "out")

    @function_tool(tool_input_guardrails=[look_at], tool_output_guardrails=[look_after])
    def look() -> str:
        """Look."""
        return "seen"

    guards = {
        "input_guardrails": [InputGuardrail(fine)],
        "output_guardrails": [OutputGuardrail(fine)],
    }
    agent = Agent("A", tools=[look], model=Scripted([call("look"), "done"]), **guards)  # type: ignore[arg-type]
    result = Runner.run_sync(agent, "go")
    assert [one.output.output_info for one in result.input_guardrail_results] == ["go"]
    [answer] = result.output_guardrail_results
    assert (answer.agent_output, answer.agent, answer.output.output_info) == ("done", agent, "done")
    assert [one.output.output_info for one in result.tool_input_guardrail_results] == ["in"]
    assert [one.output.output_info for one in result.tool_output_guardrail_results] == ["out"]
    assert result.input == "go" and [len(one.output) for one in result.raw_responses] == [1, 1]


def test_guardrails_of_the_run_look_besides_the_agents_own() -> None:
    agent = Agent("A", model=Scripted(["x"] * 3))
    with pytest.raises(InputGuardrailTripwireTriggered, match="InputGuardrail triggered") as first:
        Runner.run_sync(agent, "go", run_config=RunConfig(input_guardrails=[InputGuardrail(trips)]))
    assert first.value.message == str(first.value)
    config = RunConfig(output_guardrails=[OutputGuardrail(trips)])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        Runner.run_sync(agent, "go", run_config=config)


def test_an_answer_of_the_wrong_form_is_an_exception_of_the_sdk() -> None:
    agent = Agent("A", model=Scripted(["no"] * 9), output_type=list[int])
    with pytest.raises(AgentsException) as caught:
        Runner.run_sync(agent, "go")
    assert isinstance(caught.value, ModelBehaviorError) and caught.value.run_data.input == "go"


def test_a_run_that_goes_on_has_all_its_items() -> None:
    @function_tool(needs_approval=True)
    def pay(euros: int) -> str:
        """Pay."""
        return f"paid {euros}"

    agent = Agent("A", tools=[pay], model=Scripted([call("pay", {"euros": 5}), "done"]))
    waiting = Runner.run_sync(agent, "go").to_state()
    state = asyncio.run(RunState.from_string(agent, waiting.to_string()))
    state.approve(state.get_interruptions()[0])
    result = Runner.run_sync(agent, state)
    asked = ["tool_call_item", "tool_approval_item"]
    kinds = [*asked, "tool_call_output_item", "message_output_item"]
    assert result.input == "go" and [item.type for item in result.new_items] == kinds


@pytest.mark.parametrize("streamed", [False, True])
def test_what_the_program_told_the_model_among_the_items_stays_there(streamed: bool) -> None:
    told = {"role": "system", "content": "Today is Monday."}
    given: list[Any] = [told, {"role": "user", "content": "Which day?"}]
    model = ScriptedModel([[assistant_message("Monday.")]])
    agent = Agent(instructions="Be brief.", model=model)

    async def run() -> Any:
        if not streamed:
            return await Runner.run(agent, given)
        result = Runner.run_streamed(agent, given)
        assert [event async for event in result.stream_events()]
        return result

    assert asyncio.run(run()).to_input_list()[:2] == given
    asked = model.calls[0]
    assert (asked.system_instructions, asked.input[0]) == ("Be brief.", told)
