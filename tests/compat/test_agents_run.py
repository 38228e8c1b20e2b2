"""`Agent`, `Runner` and `execute_tool` over the core's agent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolwright import Agent as CoreAgent
from toolwright import AssistantMessage, SetupError, ToolMessage, UserMessage
from toolwright.compat.agents_run import Agent, MaxTurnsExceeded, Runner, execute_tool
from toolwright.compat.openai_agents import RunContextWrapper, ToolContext, function_tool
from toolwright.testing.scripted import Scripted, call


@function_tool
def greet(who: str, context: ToolContext[Any]) -> str:
    """Greet somebody."""
    return f"{context.context} greets {who} through {context.agent.name}"


def agent(*lines: Any, **options: Any) -> Agent:
    return Agent("clerk", "Be kind.", [greet], Scripted(lines), **options)


def test_a_run_ends_with_the_answer_and_what_it_added() -> None:
    clerk = agent(call("greet", {"who": "Bob"}, "c1"), "done")
    assert isinstance(clerk, CoreAgent)
    result = Runner.run_sync(clerk, "go", context="Ada")
    assert (result.final_output, result.last_agent) == ("done", clerk)
    asked, answered, last = result.new_items
    assert isinstance(asked, AssistantMessage)
    assert isinstance(answered, ToolMessage)
    assert answered.content == "Ada greets Bob through clerk"
    assert isinstance(last, AssistantMessage)
    assert result.context_wrapper.context == "Ada"
    assert len(result.messages) == 5


def test_a_run_goes_on_from_the_list_of_an_earlier_one() -> None:
    first = Runner.run_sync(agent("hello"), "hi")
    follow = [*first.to_input_list(), {"role": "user", "content": "and now?"}]
    second = asyncio.run(Runner.run(agent("more"), follow))
    assert [m.content for m in second.messages] == ["Be kind.", "hi", "hello", "and now?", "more"]
    assert [m.content for m in second.new_items] == ["more"]


def test_a_model_that_never_answers_is_stopped() -> None:
    lines = [call("greet", {"who": str(n)}) for n in range(5)]
    with pytest.raises(MaxTurnsExceeded, match="2"):
        Runner.run_sync(agent(*lines), "go", max_turns=2)
    assert Runner.run_sync(agent(*lines, "done"), "go", max_turns=6).final_output == "done"


def test_an_agent_without_a_model_can_be_made_and_says_what_it_lacks_when_run() -> None:
    quiet = Agent(tools=[greet])
    assert [tool.name for tool in quiet.tools] == ["greet"]
    with pytest.raises(SetupError, match="has no model"):
        Runner.run_sync(quiet, "go")


def test_a_run_with_no_key_and_no_network_uses_its_tools() -> None:
    @function_tool
    def add(a: int, b: int, context: RunContextWrapper[Any]) -> int:
        """Add two numbers."""
        return a + b

    result = Runner.run_sync(Agent(tools=[add], model="offline"), [UserMessage("add 2 and 3")])
    assert [m.content for m in result.new_items if isinstance(m, ToolMessage)] == ["5"]


def test_a_tool_is_executed_alone_with_its_result_as_an_item() -> None:
    @function_tool
    def who(word: str, context: RunContextWrapper[str]) -> str:
        return f"{context.context} {word}"

    result = asyncio.run(execute_tool(who, {"word": "甲"}, "ada", call_id="c9"))
    item = result.run_item
    assert (result.tool, result.output, item.output) == (who, "ada 甲", "ada 甲")
    assert (item.call_id, item.success, item.raw_item.arguments) == ("c9", True, '{"word":"甲"}')
    assert asyncio.run(execute_tool(who, "{}")).run_item.success is False
