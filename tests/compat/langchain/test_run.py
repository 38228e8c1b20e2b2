"""`ToolNode`, a model with bound tools, and `create_agent`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from toolkeel import Settings, SetupError
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
    create_agent,
    init_chat_model,
    tool,
)
from toolkeel.testing.scripted import Scripted, call


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


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("any", "required"), (True, "required"), ("auto", "auto"), ("now", "now"), (False, None)],
)
def test_a_bound_model_is_told_of_its_tools_and_how_to_choose(choice: Any, sent: Any) -> None:
    def now() -> str:
        return "noon"

    model = Scripted(["hello"])
    bound = init_chat_model(model).bind_tools(
        [now], tool_choice=choice, strict=True, parallel_tool_calls=False
    )
    assert bound.invoke([("user", "hi")]).content == "hello"
    [request] = model.requests
    assert [t.name for t in request.tools] == ["now"]
    assert request.settings == Settings(sent, False, True)


def test_binding_leaves_the_model_itself_as_it_was() -> None:
    model = Scripted(["a", "b"])
    plain = init_chat_model(model)
    plain.bind_tools([remember]).invoke("hi")
    asyncio.run(plain.ainvoke("hi"))
    assert [len(request.tools) for request in model.requests] == [1, 0]


def test_an_agent_takes_and_gives_a_state() -> None:
    store = InMemoryStore()
    model = Scripted([call("remember", {"fact": "tea"}, "1"), "done"])
    agent = create_agent(model, [remember], system_prompt="Be brief.", store=store)
    given = {"messages": [{"role": "user", "content": "hi"}], "mood": "fine"}
    state = agent.invoke(given, CONFIG, context="me")
    kinds = [type(m).__name__ for m in state["messages"]]
    assert kinds == [
        "HumanMessage",
        "AIMessage",
        "ToolMessage",
        "AIMessage",
    ]  # the prompt is the agent's
    assert model.requests[0].messages[0].text == "Be brief."
    assert state["messages"][1].tool_calls[0]["args"] == {"fact": "tea"}
    assert state["messages"][2].content == "tea by ada for me"
    assert (state["mood"], store.mget(["fact"])) == ("fine", ["tea"])
    assert given == {"messages": [{"role": "user", "content": "hi"}], "mood": "fine"}


def test_an_agent_runs_with_no_key_and_no_network() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    model = init_chat_model("offline")
    state = create_agent(model, [add]).invoke({"messages": "add 2 and 3"})
    results = [m.content for m in state["messages"] if isinstance(m, ToolMessage)]
    assert results == ["5"]
