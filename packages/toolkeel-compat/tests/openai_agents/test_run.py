"""`Agent`, `Runner` and `execute_tool` over the core's agent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from toolkeel import Agent as CoreAgent
from toolkeel import SetupError, UserMessage
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    ItemHelpers,
    MaxTurnsExceeded,
    ModelSettings,
    RunConfig,
    RunContextWrapper,
    Runner,
    ToolContext,
    execute_tool,
    function_tool,
)


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
    assert (asked.type, asked.raw_item.name, asked.raw_item["call_id"]) == (
        "tool_call_item", "greet", "c1",
    )  # fmt: skip
    assert (answered.type, answered.output) == (
        "tool_call_output_item", "Ada greets Bob through clerk",
    )  # fmt: skip
    assert (last.type, last.raw_item.content[0].text) == ("message_output_item", "done")
    assert ItemHelpers.text_message_outputs(result.new_items) == "done"
    assert result.context_wrapper.context == "Ada"
    assert len(result.messages) == 4


def test_a_run_goes_on_from_the_list_of_an_earlier_one() -> None:
    first = Runner.run_sync(agent("hello"), "hi")
    follow = [*first.to_input_list(), {"role": "user", "content": "and now?"}]
    second = asyncio.run(Runner.run(agent("more"), follow))
    assert [m.content for m in second.messages] == ["hi", "hello", "and now?", "more"]
    assert [i.type for i in second.new_items] == ["message_output_item"]
    json.dumps(first.to_input_list())


def test_a_model_that_never_answers_is_stopped() -> None:
    lines = [call("greet", {"who": str(n)}) for n in range(5)]
    with pytest.raises(MaxTurnsExceeded, match="2"):
        Runner.run_sync(agent(*lines), "go", max_turns=2)
    assert Runner.run_sync(agent(*lines, "done"), "go", max_turns=6).final_output == "done"


def test_an_agent_without_a_model_asks_the_sdks_default_and_needs_a_key_only_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    quiet = Agent(tools=[greet])
    assert [tool.name for tool in quiet.tools] == ["greet"]
    with pytest.raises(SetupError, match=r"gpt-5\.6-luna.*OPENAI_API_KEY"):
        Runner.run_sync(quiet, "go")


def test_a_run_config_puts_its_model_and_settings_over_the_agents_own() -> None:
    asked = Scripted(["from the run"])
    clerk = agent("from the agent", model_settings=ModelSettings(temperature=0.1, top_p=0.5))
    config = RunConfig(model=asked, model_settings=ModelSettings(temperature=0.9))
    assert Runner.run_sync(clerk, "go", run_config=config).final_output == "from the run"
    [request] = asked.requests
    assert request.settings.temperature == 0.9
    assert request.settings.extra_body == {"top_p": 0.5}


def test_a_run_with_no_key_and_no_network_uses_its_tools() -> None:
    @function_tool
    def add(a: int, b: int, context: RunContextWrapper[Any]) -> int:
        """Add two numbers."""
        return a + b

    result = Runner.run_sync(Agent(tools=[add], model="offline"), [UserMessage("add 2 and 3")])
    assert [i.output for i in result.new_items if i.type == "tool_call_output_item"] == [5]


def test_a_tool_is_executed_alone_with_its_result_as_an_item() -> None:
    @function_tool
    def who(word: str, context: RunContextWrapper[str]) -> str:
        return f"{context.context} {word}"

    result = asyncio.run(execute_tool(who, {"word": "甲"}, "ada", call_id="c9"))
    item = result.run_item
    assert (result.tool, result.output, item.output) == (who, "ada 甲", "ada 甲")
    assert (item.call_id, item.success, item.raw_item.arguments) == ("c9", True, '{"word":"甲"}')
    assert asyncio.run(execute_tool(who, "{}")).run_item.success is False


def test_an_approver_that_does_not_know_leaves_the_core_run_to_wait() -> None:
    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    core = CoreAgent(Scripted([call("pay")]), [pay])
    assert core.run_sync("go", approver=lambda ticket: None).reason == "waiting"
