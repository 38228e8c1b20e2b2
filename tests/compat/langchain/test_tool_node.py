"""`ToolNode`: the calls of the last reply are answered, in order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from toolkeel import SetupError
from toolkeel.compat.langchain import (
    AIMessage,
    HumanMessage,
    InjectedState,
    InjectedStore,
    InMemoryStore,
    RunnableConfig,
    ToolMessage,
    ToolNode,
    ToolRuntime,
    tool,
)


@tool
def remember(
    fact: str,
    store: Annotated[InMemoryStore, InjectedStore()],
    messages: Annotated[list[Any], InjectedState("messages")],
    runtime: ToolRuntime,
    config: RunnableConfig,
) -> str:
    """Remember a fact."""
    store.mset([("fact", fact)])
    runtime.state["seen"] = len(messages)
    return f"{fact} by {config.get('configurable', {}).get('user')} for {runtime.context}"


def asks(*facts: str) -> AIMessage:
    return AIMessage(tool_calls=[{"name": "remember", "args": {"fact": f}, "id": f} for f in facts])


CONFIG = {"configurable": {"user": "ada"}}


def test_a_tool_node_answers_every_call_of_the_last_message_in_order() -> None:
    store, node = InMemoryStore(), ToolNode([remember])
    state: dict[str, Any] = {"messages": [HumanMessage("hi"), asks("a", "b")]}
    answered = node.invoke(state, CONFIG, store=store, context="me")
    assert list(answered) == ["messages"]
    assert [m.content for m in answered["messages"]] == ["a by ada for me", "b by ada for me"]
    assert [m.tool_call_id for m in answered["messages"]] == ["a", "b"]
    assert store.mget(["fact"])[0] in ("a", "b")
    assert state["seen"] == 2
    listed = asyncio.run(node.ainvoke(state["messages"], store=store, state=state))
    assert [m.status for m in listed] == ["success", "success"]


def test_a_tool_node_takes_calls_and_states_of_every_kind() -> None:
    @dataclass
    class State:
        messages: list[Any]

    node, store = ToolNode([remember]), InMemoryStore()
    [shown] = [{**one, "type": "tool_call"} for one in asks("a").tool_calls]
    for given in ([shown], State([asks("a"), HumanMessage("and?")])):
        [told] = node.invoke(given, CONFIG, store=store, state={}, context="me")["messages"]
        assert told.content == "a by ada for me"


def test_a_tool_node_keeps_its_messages_where_it_is_told() -> None:
    @tool
    def now() -> str:
        return "noon"

    message = AIMessage(tool_calls=[{"name": "now", "args": {}, "id": "1"}])
    assert ToolNode([now], messages_key="chat").invoke({"chat": [message]})["chat"] == [
        ToolMessage("noon", "1", "now", duration=pytest.approx(0, abs=5))
    ]


def test_a_tool_node_refuses_messages_without_calls_to_run() -> None:
    with pytest.raises(SetupError, match="no AIMessage"):
        ToolNode([remember]).invoke({"messages": [HumanMessage("hi")]})
