"""What the SDK's tools are handed by type, and what they find in it."""

from __future__ import annotations

from typing import Any

from toolkeel import RunContext, ToolCall, Toolset, tool
from toolkeel import Usage as CoreUsage
from toolkeel.testing import Scripted, call
from toolkeel_compat.openai_agents import Agent, RunConfig, Runner, Usage
from toolkeel_compat.openai_agents.context import (
    RawItem,
    RunContextWrapper,
    TokensDetails,
    ToolContext,
)

SEEN: list[Any] = []


@tool
def look(wrapper: RunContextWrapper[dict[str, int]], word: str, context: ToolContext[Any]) -> str:
    """Look."""
    SEEN.extend((wrapper, context))
    return word


def test_both_are_filled_at_any_position_and_hidden() -> None:
    SEEN.clear()
    assert list(look.parameters["properties"]) == ["word"]  # type: ignore[call-overload]
    agent = object()
    run = RunContext({"user": 7}, agent=agent)
    Toolset([look]).run_sync([ToolCall("c1", "look", {"word": "甲"})], run)
    wrapper, context = SEEN
    assert wrapper.context is context.context is context.ctx_wrapper.context is run.deps
    assert (context.tool_name, context.tool_call_id) == ("look", "c1")
    assert context.tool_arguments == '{"word":"甲"}'
    assert context.agent is agent
    item = context.run_item
    assert item.agent is agent
    assert (item.raw_item.id, item.raw_item.call_id, item.raw_item.name) == ("c1", "c1", "look")
    assert context.core_run() is run


def test_usage_is_what_the_run_has_spent_by_now() -> None:
    SEEN.clear()
    run: RunContext[Any] = RunContext()
    Toolset([look]).run_sync([ToolCall("c1", "look", {"word": "a"})], run)
    run.usage = CoreUsage(1, 10, 5)
    assert [seen.usage.total_tokens for seen in SEEN] == [15, 15]
    assert SEEN[1].ctx_wrapper.usage.requests == 1


def test_both_can_be_made_by_hand() -> None:
    wrapper = RunContextWrapper({"a": 1}, Usage(1, 2, 3, 5))
    assert (wrapper.context, wrapper.usage.total_tokens) == ({"a": 1}, 5)
    context = ToolContext({"a": 1}, tool_name="t", tool_call_id="c", tool_arguments="{}")
    assert context.core_run().deps == {"a": 1}
    assert context.run_item.raw_item.arguments == "{}"
    assert RunContextWrapper().usage == Usage()


def test_the_context_of_a_call_is_made_of_the_runs() -> None:
    run = RunContextWrapper({"a": 1})
    call = RawItem(call_id="c1", name="add", arguments="{}")
    context = ToolContext.from_agent_context(run, "c1", call, "agent", run_config="config")
    assert (context.tool_name, context.tool_call_id, context.tool_arguments) == ("add", "c1", "{}")
    assert (context.context, context.agent, context.run_config) == ({"a": 1}, "agent", "config")
    assert context.tool_call is call


def test_what_is_added_to_a_runs_usage_is_spent_by_the_run() -> None:
    run: RunContext[Any] = RunContext()
    run.usage = CoreUsage(1, 10, 5)
    usage = RunContextWrapper.from_run(run).usage
    usage.add(Usage(2, 1, 2, 3, TokensDetails(cached_tokens=1)))
    assert (usage.requests, usage.total_tokens) == (3, 18)
    assert run.usage == CoreUsage(3, 11, 7, 1)
    alone = RunContextWrapper(None)
    alone.usage.add(Usage(1, 1, 1, 2))
    assert alone.usage == Usage(1, 1, 1, 2)


def test_a_running_call_has_its_wire_form_and_what_holds_for_the_run() -> None:
    SEEN.clear()
    config = RunConfig(workflow_name="mine")
    model = Scripted([call("look", {"word": "a"}, "c1"), "done"])
    Runner.run_sync(Agent("a", tools=[look], model=model), "go", run_config=config)
    context = SEEN[1]
    assert (context.tool_call.name, context.tool_call.call_id) == ("look", "c1")
    assert context.run_config is config
