"""An agent with a config of its own, and the state of its threads."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    GraphRecursionError,
    InMemorySaver,
    RunnableConfig,
    create_agent,
    tool,
)


@tool
def show(config: RunnableConfig) -> str:
    """Show the config."""
    return str(config["configurable"])


def agent(*lines: Any) -> Any:
    return create_agent(Scripted(lines), [show], checkpointer=InMemorySaver())


def test_a_config_of_the_agent_holds_for_each_run_and_a_runs_own_comes_first() -> None:
    plain = agent(call("show", {}), "done", call("show", {}), "done")
    made = plain.with_config({"configurable": {"thread_id": "a", "user": "Ada"}})
    state = made.invoke({"messages": "go"}, {"configurable": {"user": "Eve"}})
    assert state["messages"][2].text == "{'thread_id': 'a', 'user': 'Eve'}"
    assert made.get_state({}).values["messages"][-1].text == "done"
    *_, last = made.stream({"messages": "go"}, stream_mode="values")
    assert last["messages"][-3].tool_calls[0].name == "show"
    with pytest.raises(SetupError, match="thread_id"):
        plain.invoke({"messages": "go"})


def test_a_recursion_limit_of_the_agent_holds() -> None:
    made = agent(call("show", {}), "done").with_config(recursion_limit=2)
    with pytest.raises(GraphRecursionError, match="limit of 2"):
        made.invoke({"messages": "go"}, {"configurable": {"thread_id": "a"}})


def test_a_config_that_is_not_honored_is_refused_where_it_is_written() -> None:
    with pytest.raises(SetupError, match="callbacks"):
        agent().with_config(callbacks=[print])
