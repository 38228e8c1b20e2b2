"""Limits on calls of models and tools: the model is told, or the run ends with a message or an exception."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import ToolCall
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    InMemorySaver,
    ModelCallLimitExceededError,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    ToolCallLimitExceededError,
    ToolCallLimitMiddleware,
    create_agent,
    tool,
)

ADA = {"configurable": {"thread_id": "ada"}}
ran: list[str] = []


@tool
def look() -> str:
    """Look."""
    ran.append("look")
    return "seen"


@tool
def other() -> str:
    """Look elsewhere."""
    ran.append("other")
    return "else"


def run(*middleware: Any, lines: list[Any]) -> list[str]:
    ran.clear()
    agent = create_agent(Scripted(lines), [look, other], middleware=middleware)
    return [one.content for one in agent.invoke({"messages": "go"})["messages"]]


LOOKS = [call("look", id=str(n)) for n in range(9)]
TURN = [ToolCall("1", "look", "{}"), ToolCall("2", "look", "{}"), ToolCall("3", "other", "{}")]


def test_a_model_is_asked_no_more_than_the_limit() -> None:
    told = "Model call limits exceeded: run limit (2/2)"
    assert run(ModelCallLimitMiddleware(run_limit=2), lines=LOOKS)[-1] == told
    with pytest.raises(ModelCallLimitExceededError, match="thread limit") as caught:
        run(ModelCallLimitMiddleware(thread_limit=1, exit_behavior="error"), lines=LOOKS)
    assert (caught.value.thread_count, caught.value.run_limit) == (1, None)
    with pytest.raises(ValueError, match="At least one limit"):
        ModelCallLimitMiddleware()


def test_a_limit_of_a_thread_counts_its_runs_together_but_not_its_own_messages() -> None:
    limit = ModelCallLimitMiddleware(thread_limit=3, run_limit=1)
    lines = ["x", call("look"), "x", "x"]
    agent = create_agent(Scripted(lines), [look], middleware=[limit], checkpointer=InMemorySaver())
    said = [agent.invoke({"messages": "hi"}, ADA)["messages"][-1].content for _ in range(4)]
    assert said == [
        "x",
        "Model call limits exceeded: run limit (1/1)",
        "x",
        "Model call limits exceeded: thread limit (3/3)",
    ]


def test_a_tool_is_called_no_more_than_the_limit_and_the_model_is_told() -> None:
    told = "Tool call limit exceeded. Do not call 'look' again."
    one = ToolCallLimitMiddleware(tool_name="look", run_limit=1)
    assert run(one, lines=[TURN, "done"])[2:] == ["seen", told, "else", "done"]
    every = ToolCallLimitMiddleware(run_limit=1)
    assert run(every, lines=[TURN, "done"])[3].endswith("Do not make additional tool calls.")
    assert one.name.endswith("[look]")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (None, "Tool call limit reached: run limit exceeded (3/1 calls)."),
        ("look", "'look' tool call limit reached: run limit exceeded (2/1 calls)."),
    ],
)
def test_a_reply_beyond_the_limit_may_end_the_run_and_none_of_its_calls_runs(
    name: str | None, text: str
) -> None:
    limit = ToolCallLimitMiddleware(tool_name=name, run_limit=1, exit_behavior="end")
    said = run(limit, lines=[TURN, "done"])
    assert said[-1] == text and ran == []
    assert said[2].startswith("Execution stopped before this tool call could run")
    limit = ToolCallLimitMiddleware(tool_name=name, run_limit=1, exit_behavior="error")
    with pytest.raises(ToolCallLimitExceededError) as caught:
        run(limit, lines=[TURN, "done"])
    assert (str(caught.value), caught.value.tool_name, ran) == (text, name, [])


def test_a_run_that_ended_at_the_limit_does_not_count_for_the_thread() -> None:
    limit = ToolCallLimitMiddleware(thread_limit=1, exit_behavior="end")
    lines = [TURN[:2], call("look", id="4"), "done", call("look", id="5")]
    agent = create_agent(Scripted(lines), [look], middleware=[limit], checkpointer=InMemorySaver())
    said = [agent.invoke({"messages": "hi"}, ADA)["messages"][-1].content for _ in range(3)]
    reached = "Tool call limit reached: thread limit exceeded (2/1 calls)."
    assert said == [reached, "done", reached]


@pytest.mark.parametrize(
    "options", [{"run_limit": 1, "exit_behavior": "stop"}, {"run_limit": 3, "thread_limit": 1}]
)
def test_a_limit_that_cannot_be_is_refused(options: Any) -> None:
    with pytest.raises(ValueError, match=r"exit_behavior|cannot exceed"):
        ToolCallLimitMiddleware(**options)


@pytest.mark.parametrize(
    ("limit", "reached"),
    [
        (ModelCallLimitMiddleware(run_limit=3), "Model call limits exceeded: run limit (3/3)"),
        (
            ToolCallLimitMiddleware(run_limit=2, exit_behavior="end"),
            "Tool call limit reached: run limit exceeded (3/2 calls).",
        ),
    ],
)
def test_a_summary_in_place_of_messages_resets_no_limit(limit: Any, reached: str) -> None:
    brief = SummarizationMiddleware(
        Scripted(["brief"] * 9), trigger=("messages", 3), keep=("messages", 2)
    )
    assert run(brief, limit, lines=LOOKS)[-1] == reached
    assert len(ran) < 4


def test_the_counts_are_part_of_no_state_that_programs_see() -> None:
    limits = [ModelCallLimitMiddleware(run_limit=9), ToolCallLimitMiddleware(run_limit=9)]
    saver, lines = InMemorySaver(), [call("look"), "done"]
    agent = create_agent(Scripted(lines), [look], middleware=limits, checkpointer=saver)
    parts = [*agent.stream({"messages": "hi"}, ADA, stream_mode=["values", "updates"])]
    assert "count" not in str(parts)
    assert agent.get_state(ADA).values.keys() == {"messages"}
