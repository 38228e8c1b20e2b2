"""The fixtures work in a project that only installed the package."""

from __future__ import annotations

from toolwright import Agent, Run, ToolContext, tool
from toolwright.testing.scripted import call


@tool
def greet(who: str, context: ToolContext[dict[str, str]]) -> str:
    """Greet somebody."""
    return f"{context.context['word']}, {who}"


def test_call_tool_runs_one_tool_as_a_model_would(call_tool, recorder):
    result = call_tool(greet, Run({"word": "你好"}), who="Ada")
    assert (result.content, result.status) == ("你好, Ada", "success")
    assert recorder.types == ["tool_call", "tool_result"]


def test_call_tool_gives_the_failure_as_a_message(call_tool):
    assert call_tool(greet, Run({"word": "hi"}), whom="Ada").kind == "invalid_arguments"


def test_a_scripted_model_drives_an_agent_and_the_recorder_hears_it(scripted, recorder):
    agent = Agent(scripted(call("greet", {"who": "Ada"}), "done"), [greet])
    result = agent.run_sync("greet Ada", context={"word": "hi"}, listeners=[recorder])
    assert result.output == "done"
    assert [m.content for m in result.messages][2] == "hi, Ada"
    assert recorder.types.count("tool_result") == 1
