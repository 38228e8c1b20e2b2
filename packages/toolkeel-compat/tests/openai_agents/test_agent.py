"""`output_type` and `as_tool` under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from toolkeel.errors import OutputError, SetupError
from toolkeel.messages import ToolMessage
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    AgentOutputSchema,
    FunctionTool,
    ModelSettings,
    RunContextWrapper,
    Runner,
    StopAtTools,
    function_tool,
)


class Event(BaseModel):
    name: str
    year: int


GIVEN = call("final_result", {"name": "Moon", "year": 1969})


@pytest.mark.parametrize("wanted", [Event, AgentOutputSchema(Event, strict_json_schema=False)])
def test_final_output_is_of_the_output_type(wanted: Any) -> None:
    agent = Agent(name="reader", output_type=wanted, model=Scripted([GIVEN]))
    result = Runner.run_sync(agent, "When?")
    assert result.final_output == Event(name="Moon", year=1969)
    assert result.final_output_as(Event).year == 1969
    with pytest.raises(TypeError, match="not of type str"):
        result.final_output_as(str, raise_if_incorrect_type=True)


def test_an_answer_that_never_fits_ends_the_run() -> None:
    bad = [call("final_result", {"name": n}) for n in "abcde"]
    with pytest.raises(OutputError):
        Runner.run_sync(Agent(output_type=Event, model=Scripted(bad)), "When?")


def test_an_agent_is_a_tool_under_the_names_of_the_sdk() -> None:
    spanish = Agent(name="Spanish agent", model=Scripted(["Hola"]))
    tool = spanish.as_tool(tool_name="translate", tool_description="To Spanish.")
    boss = Agent(tools=[tool], model=Scripted([call("translate", {"input": "Hi"}), "done"]))
    result = Runner.run_sync(boss, "go")
    assert result.final_output == "done"
    assert [i.output for i in result.new_items if i.type == "tool_call_output_item"] == ["Hola"]
    assert spanish.as_tool().name == "spanish_agent"


def test_its_result_is_made_by_an_extractor_of_either_kind() -> None:
    def short(result: Any) -> str:
        return str(result.final_output.year)

    async def later(result: Any) -> str:
        return f"{len(result.new_items)} items"

    for extract, text in ((short, "1969"), (later, "2 items")):
        inner = Agent(name="inner", output_type=Event, model=Scripted([GIVEN]))
        tool = inner.as_tool(custom_output_extractor=extract)
        boss = Agent(tools=[tool], model=Scripted([call("inner", {"input": "x"}), "done"]))
        result = Runner.run_sync(boss, "go")
        assert [i.output for i in result.new_items if i.type == "tool_call_output_item"] == [text]


def test_it_can_be_disabled_limited_and_made_to_ask() -> None:
    @function_tool
    def again() -> str:
        """Again."""
        return "x"

    inner = Agent(name="inner", tools=[again], model=Scripted([call("again")] * 9))
    off = inner.as_tool(is_enabled=lambda context, agent: False)
    few = inner.as_tool(tool_name="few", max_turns=2)
    ask = inner.as_tool(tool_name="ask", needs_approval=True)
    lines = [[call(name, {"input": "x"}) for name in ("inner", "few")], "done"]
    result = Runner.run_sync(Agent(tools=[off, few, ask], model=Scripted(lines)), "go")
    kinds = [m.kind for m in result.messages if isinstance(m, ToolMessage)]
    assert kinds == ["disabled", "tool_error"] and ask.needs_approval is True


def test_its_tools_are_what_it_was_given() -> None:
    @function_tool
    def read(path: str) -> str:
        """Read."""
        return path

    agent = Agent(name="Assistant", tools=[read])
    assert [(tool.name, isinstance(tool, FunctionTool)) for tool in agent.tools] == [("read", True)]


def test_instructions_may_depend_on_the_context() -> None:
    async def told(wrapper: RunContextWrapper[str], agent: Agent) -> str:
        return f"{agent.name} helps {wrapper.context}."

    model = Scripted(["ok"])
    Runner.run_sync(Agent(name="Clerk", instructions=told, model=model), "hi", context="Ada")
    assert model.requests[0].messages[0].text == "Clerk helps Ada."


def test_a_clone_differs_in_what_was_changed_alone() -> None:
    first = Agent[None](name="a", instructions="x", model=Scripted(["1"]), handoff_description="d")
    second = first.clone(name="b", instructions="y")
    assert (second.name, second.instructions, second.handoff_description) == ("b", "y", "d")
    assert (first.name, second.model) == ("a", first.model)


def test_what_is_set_on_an_agent_or_added_to_its_lists_counts_in_the_next_run() -> None:
    @function_tool
    def late(word: str) -> str:
        """Late."""
        return word * 2

    agent = Agent(name="a", tools=[], model=Scripted([call("late", {"word": "x"}), "one", "two"]))
    agent.tools.append(late)
    result = Runner.run_sync(agent, "go")
    assert [i.output for i in result.new_items if i.type == "tool_call_output_item"] == ["xx"]
    model = Scripted(["other"])
    agent.model = model
    agent.instructions = "Be new."
    assert Runner.run_sync(agent, "go").final_output == "other"
    assert model.requests[0].messages[0].text == "Be new."


def test_what_an_agent_cannot_honour_is_refused_when_given_or_set() -> None:
    with pytest.raises(SetupError, match="mcp_config"):
        Agent(mcp_config={"a": 1})  # type: ignore[call-arg]
    Agent(mcp_config=None)  # type: ignore[call-arg]
    with pytest.raises(SetupError, match="mcp_config"):
        Agent().mcp_config = {"a": 1}
    with pytest.raises(TypeError, match="no option 'tols'"):
        Agent(tols=[])  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("behavior", "answer"),
    [
        ("run_llm_again", "said"),
        ("stop_on_first_tool", "7"),
        (StopAtTools(["other"]), "said"),
        ({"stop_at_tool_names": ["seven"]}, "7"),
    ],
)
def test_results_of_tools_are_the_answer_where_the_agent_says_so(
    behavior: Any, answer: str
) -> None:
    @function_tool
    def seven() -> str:
        """Seven."""
        return "7"

    agent = Agent(
        tools=[seven], model=Scripted([call("seven"), "said"]), tool_use_behavior=behavior
    )
    assert Runner.run_sync(agent, "go").final_output == answer


def test_a_behavior_that_is_none_of_those_is_refused() -> None:
    with pytest.raises(SetupError, match="tool_use_behavior is"):
        Agent(tools=[], tool_use_behavior="stop_sometimes")


def test_an_agent_as_a_tool_tells_its_events_as_they_happen() -> None:
    heard: list[Any] = []

    async def hear(event: Any) -> None:
        heard.append(event)

    inner = Agent("helper", model=Scripted(["42"]))
    tool = inner.as_tool("ask", "Ask it.", on_stream=hear)
    outer = Agent(tools=[tool], model=Scripted([call("ask", {"input": "?"}, "c1"), "done"]))
    assert Runner.run_sync(outer, "go").final_output == "done"
    assert heard[0]["event"].new_agent is inner and heard[0]["tool_call"].call_id == "c1"
    items = [one["event"].item for one in heard if one["event"].type == "run_item_stream_event"]
    assert [item.type for item in items] == ["message_output_item"]


def test_what_is_told_of_an_agent_that_fails_as_a_tool_may_be_chosen() -> None:
    def say(context: Any, error: Exception) -> str:
        return f"sorry: {type(error).__name__}"

    inner = Agent("helper", model=Scripted([]))
    tool = inner.as_tool("ask", "Ask it.", failure_error_function=say)
    assert isinstance(tool, FunctionTool) and tool.timeout_seconds == 600
    outer = Agent(tools=[tool], model=Scripted([call("ask", {"input": "?"}), "done"]))
    result = Runner.run_sync(outer, "go")
    assert result.new_items[1].output.startswith("sorry: ")


def test_an_agent_as_a_tool_takes_one_text_unless_a_model_says_otherwise() -> None:
    tool = Agent("helper", model="offline").as_tool("ask", "Ask it.")
    assert tool.params_json_schema["properties"] == {"input": {"type": "string"}}


def test_agents_that_hand_over_to_each_other_show_themselves() -> None:
    tools = [Agent("Three").as_tool("three")]
    one, two = Agent("One", tools=tools), Agent("Two")
    one.handoffs, two.handoffs = [two], [one]
    assert repr(one).startswith("Agent(name='One'")
    assert "'Two'" in repr(one)


@pytest.mark.parametrize(("reset", "later"), [(True, None), (False, "required")])
def test_a_forced_tool_choice_holds_as_long_as_the_agent_says(
    reset: bool, later: str | None
) -> None:
    @function_tool
    def look_up(word: str) -> str:
        """Look a word up."""
        return "a drink"

    model = Scripted([call("look_up", {"word": "tea"}), "Done."])
    forced = ModelSettings(tool_choice="required")
    agent = Agent(model=model, tools=[look_up], model_settings=forced, reset_tool_choice=reset)
    Runner.run_sync(agent, "go")
    assert [one.settings.tool_choice for one in model.requests] == ["required", later]


def test_options_of_a_run_of_its_own_are_refused_with_what_to_write() -> None:
    agent = Agent("Clerk")
    assert agent.as_tool("clerk", session=None).name == "clerk"  # type: ignore[call-arg]
    with pytest.raises(SetupError, match="write a function_tool whose body awaits"):
        agent.as_tool("clerk", session="ada")  # type: ignore[call-arg]


def test_what_an_agent_was_not_given_is_there_as_it_is_there() -> None:
    agent = Agent("A")
    assert (agent.instructions, agent.tool_use_behavior) == (None, "run_llm_again")
    assert agent.input_guardrails == agent.mcp_servers == agent.tools == [] == agent.handoffs
    assert (agent.mcp_config, agent.output_type, agent.reset_tool_choice) == ({}, None, True)
    wrapper = RunContextWrapper("Ada")
    told = Agent("B", lambda context, agent: f"{agent.name} for {context.context}")
    prompts = [asyncio.run(one.get_system_prompt(wrapper)) for one in (agent, told)]
    assert prompts == [None, "B for Ada"]


def test_a_body_that_gives_none_gives_none_and_a_text_its_text() -> None:
    @function_tool
    def nothing() -> None:
        """Give nothing."""

    @function_tool
    def text() -> str:
        """Give a text."""
        return "None"

    agent = Agent(
        "A", tools=[nothing, text], model=Scripted([[call("nothing"), call("text")], "x"])
    )
    items = Runner.run_sync(agent, "go").new_items
    results = [item for item in items if item.type == "tool_call_output_item"]
    assert [item.output for item in results] == [None, "None"]
    assert [item.raw_item["output"] for item in results] == ["None", "None"]


def test_settings_that_an_agent_was_not_given_can_be_changed_all_the_same() -> None:
    model = Scripted(["a"])
    agent = Agent(name="a", model=model)
    assert agent.model_settings.temperature is None
    agent.model_settings.temperature = 0.5
    Runner.run_sync(agent, "go")
    assert model.requests[0].settings.temperature == 0.5


def test_model_settings_may_be_a_dict() -> None:
    model = Scripted(["a", "b"])
    agent = Agent(model=model, model_settings={"temperature": 0.5})  # type: ignore[typeddict-item]
    Runner.run_sync(agent, "go")
    Runner.run_sync(agent, "go", run_config={"model_settings": {"temperature": 0.1}})
    assert [one.settings.temperature for one in model.requests] == [0.5, 0.1]


@pytest.mark.parametrize(
    "option",
    [{"hooks": 3}, {"handoffs": "x"}, {"input_guardrails": [3]}, {"max_turns": 0}, {"prompt": 3}],
)
def test_an_option_of_a_wrong_type_is_refused(option: dict[str, Any]) -> None:
    [name] = option
    with pytest.raises(SetupError, match=rf"Agent\({name}=\.\.\.\): expected"):
        Agent("a", **option)


@pytest.mark.parametrize("wrong", ["abc", 3])
def test_servers_that_are_no_list_are_refused(wrong: Any) -> None:
    with pytest.raises(SetupError, match=r"Agent\(mcp_servers=\.\.\.\): expected a list"):
        Agent(mcp_servers=wrong)
