"""Middleware that is ready: retries, another model, a list of tasks."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import ModelError
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    InMemorySaver,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    TodoListMiddleware,
    ToolRetryMiddleware,
    create_agent,
    tool,
)

ADA = {"configurable": {"thread_id": "ada"}}


@tool
def look() -> str:
    """Look."""
    return "seen"


def run(*middleware: Any, lines: list[Any], tools: Any = (look,)) -> list[str]:
    agent = create_agent(Scripted(lines), tools, middleware=middleware)
    return [one.content for one in agent.invoke({"messages": "go"})["messages"]]


def flaky(fails: int) -> tuple[Any, list[int]]:
    tried: list[int] = []

    @tool
    def shaky() -> str:
        """May fail."""
        tried.append(1)
        if len(tried) <= fails:
            raise ValueError("no")
        return "held"

    return shaky, tried


def retry(**options: Any) -> ToolRetryMiddleware:
    return ToolRetryMiddleware(initial_delay=0, jitter=False, **options)


def test_a_tool_that_raised_is_run_again() -> None:
    lines = [call("shaky"), "done"]
    for fails, options, tries, told in [
        (2, {}, 3, "held"),
        (9, {"max_retries": 1}, 2, "Tool 'shaky' failed after 2 attempts with ValueError: no."),
        (9, {"retry_on": (KeyError,)}, 1, "Tool 'shaky' failed after 1 attempt with ValueError"),
        (9, {"retry_on": lambda error: False, "on_failure": str}, 1, "no"),
    ]:
        tool, tried = flaky(fails)
        said = run(retry(**options), lines=lines, tools=[tool])[2]
        assert (said.startswith(told), len(tried)) == (True, tries), said
    for ends in (retry(on_failure="error"), retry(tools=["other"])):
        agent = create_agent(
            Scripted(lines), [flaky(9)[0]], middleware=[ends], checkpointer=InMemorySaver()
        )
        with pytest.raises(ValueError, match="no"):
            agent.invoke({"messages": "go"}, ADA)
    last = agent.get_state(ADA).values["messages"][-1]
    assert last.content == "'shaky' failed, and the run was ended."
    with pytest.raises(TypeError, match="'delay'"):
        ToolRetryMiddleware(delay=1)


class Failing(Scripted):
    """A model that fails as often as it is told to."""

    fails = 1

    def stream(self, request: Any) -> Any:
        self.fails -= 1
        if self.fails >= 0:
            raise ModelError("down")
        return super().stream(request)


def test_a_model_that_failed_is_asked_again_or_another_is() -> None:
    again = ModelRetryMiddleware(initial_delay=0, jitter=False)
    agent = create_agent(Failing(["up"]), middleware=[again])
    assert agent.invoke({"messages": "go"})["messages"][-1].content == "up"
    never = Failing([])
    never.fails = 9
    told = create_agent(never, middleware=[again]).invoke({"messages": "go"})["messages"][-1]
    assert told.content.startswith("Model call failed after 3 attempts with ModelError")
    other = ModelFallbackMiddleware(never, Scripted(["from the other"]))
    agent = create_agent(Failing(["up"]), middleware=[other])
    assert agent.invoke({"messages": "go"})["messages"][-1].content == "from the other"


def test_a_list_of_tasks_is_kept_in_the_state() -> None:
    todos = [{"content": "tea", "status": "pending"}]
    model = Scripted([call("write_todos", {"todos": todos}), "done"])
    agent = create_agent(
        model, system_prompt="Be kind.", middleware=[TodoListMiddleware(tool_description="Plan.")]
    )
    assert agent.invoke({"messages": "go"})["todos"] == todos
    assert model.requests[0].messages[0].text.startswith("Be kind.\n\nPlan work")
    assert model.requests[0].tools[0].description == "Plan."
