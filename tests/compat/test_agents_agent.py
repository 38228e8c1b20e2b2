"""`output_type` and `as_tool` under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from toolwright.compat.openai_agents import (
    Agent,
    AgentOutputSchema,
    FunctionTool,
    RunContextWrapper,
    Runner,
    function_tool,
)
from toolwright.errors import OutputError
from toolwright.messages import ToolMessage
from toolwright.testing.scripted import Scripted, call


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
    assert [m.content for m in result.new_items if isinstance(m, ToolMessage)] == ["Hola"]
    assert spanish.as_tool().name == "spanish_agent"


def test_its_result_is_made_by_an_extractor_of_either_kind() -> None:
    def short(result: Any) -> str:
        return str(result.final_output.year)

    async def later(result: Any) -> str:
        return f"{len(result.new_items)} items"

    for extract, text in ((short, "1969"), (later, "3 items")):
        inner = Agent(name="inner", output_type=Event, model=Scripted([GIVEN]))
        tool = inner.as_tool(custom_output_extractor=extract)
        boss = Agent(tools=[tool], model=Scripted([call("inner", {"input": "x"}), "done"]))
        items = Runner.run_sync(boss, "go").new_items
        assert [m.content for m in items if isinstance(m, ToolMessage)] == [text]


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
    items = Runner.run_sync(Agent(tools=[off, few, ask], model=Scripted(lines)), "go").new_items
    kinds = [m.kind for m in items if isinstance(m, ToolMessage)]
    assert kinds == ["disabled", "tool_error"] and ask.approval is True


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

    agent = Agent(name="Clerk", instructions=told, model=Scripted(["ok"]))
    result = Runner.run_sync(agent, "hi", context="Ada")
    assert result.messages[0].text == "Clerk helps Ada."
