"""`create_react_agent`, as LangGraph has it."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.compat.langchain import (
    RunnableConfig,
    SystemMessage,
    ToolNode,
    create_react_agent,
    tool,
)
from toolkeel.testing.scripted import Scripted, call


@tool
def look_up(city: str) -> str:
    """Look a city up."""
    raise ValueError(city)


def told(model: Scripted) -> list[str]:
    return [message.text for message in model.requests[-1].messages]


def test_a_function_makes_what_the_model_is_shown_of_the_state_and_the_config() -> None:
    def prompt(state: dict[str, Any], config: RunnableConfig) -> list[Any]:
        name = config["configurable"]["user"]
        return [SystemMessage(f"You serve {name}."), *state["messages"][-1:]]

    model = Scripted(["Hello."])
    agent = create_react_agent(model, prompt=prompt)
    state = agent.invoke({"messages": ["a", "b"]}, {"configurable": {"user": "Ada"}})
    assert told(model) == ["You serve Ada.", "b"]
    assert len(state["messages"]) == 3  # the transcript has them all


def test_a_function_of_the_state_alone_may_be_async() -> None:
    async def prompt(state: dict[str, Any]) -> Any:
        return [("system", str(len(state["messages"]))), *state["messages"]]

    model = Scripted(["Hello."])
    create_react_agent(model, prompt=prompt).invoke({"messages": ["a"]})
    assert told(model) == ["1", "a"]


def test_a_system_message_is_told_as_it_is() -> None:
    model = Scripted(["Hello."])
    create_react_agent(model, prompt=SystemMessage("Be brief.")).invoke({"messages": "a"})
    assert told(model) == ["Be brief.", "a"]


def test_a_tool_node_brings_its_tools_and_its_words() -> None:
    node = ToolNode([look_up], handle_tool_errors="Look elsewhere.")
    agent = create_react_agent(Scripted([call("look_up", {"city": "Oslo"}), "Done."]), node)
    assert agent.invoke({"messages": "Oslo?"})["messages"][-2].content == "Look elsewhere."


def test_a_hook_is_refused_with_what_to_write() -> None:
    hooked: Any = {"pre_model_hook": lambda state: state, "debug": False}
    with pytest.raises(SetupError, match=r"before_model\(f\)"):
        create_react_agent(Scripted([]), **hooked)


def test_its_updates_are_those_of_a_node_called_agent() -> None:
    agent = create_react_agent(Scripted(["done"]), [])
    [update] = agent.stream({"messages": [("user", "hi")]})
    assert list(update) == ["agent"]
