"""What stands around a call, and what a tool writes into the state by a `Command`."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any

import pytest

from toolkeel import SetupError, ToolMessage
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    AgentState,
    AIMessage,
    Command,
    HumanInTheLoopMiddleware,
    HumanMessage,
    InjectedToolCallId,
    InMemorySaver,
    InvalidUpdateError,
    ToolNode,
    create_agent,
    tool,
    tools_condition,
    wrap_tool_call,
)


@tool
def add(a: int, b: int) -> int:
    """Add."""
    if a < 0:
        raise ValueError("a is negative")
    return a + b


@tool
def rename(name: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Rename the person."""
    done = ToolMessage(f"now {name}", tool_call_id)
    return Command(update={"name": name, "messages": [done]})


@tool
def leave(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Go elsewhere."""
    return Command(goto="elsewhere", update={"messages": [ToolMessage("x", tool_call_id)]})


def asks(called: str, /, **args: Any) -> dict[str, Any]:
    return {"messages": [AIMessage(tool_calls=[{"name": called, "args": args, "id": "c1"}])]}


def test_a_wrapper_sees_the_call_and_may_change_it_and_its_result() -> None:
    seen: list[Any] = []

    def twice(request: Any, execute: Any) -> Any:
        seen.append((request.tool_call["name"], request.tool.name))
        call = {**request.tool_call, "args": {**request.tool_call["args"], "b": 10}}
        result = execute(request.override(tool_call=call))
        return ToolMessage(f"<{result.content}>", request.tool_call["id"])

    [message] = ToolNode([add], wrap_tool_call=twice).invoke(asks("add", a=1, b=2))["messages"]
    assert message.content == "<11>" and seen == [("add", "add")]


def test_a_wrapper_sees_the_bodys_own_exception() -> None:
    async def kind(request: Any, execute: Any) -> Any:
        try:
            return await execute(request)
        except ValueError as error:
            return ToolMessage(f"told: {error}", request.tool_call["id"])

    node = ToolNode([add], awrap_tool_call=kind)
    assert node.invoke(asks("add", a=-1, b=2))["messages"][0].content == "told: a is negative"
    assert asyncio.run(node.ainvoke(asks("add", a=1, b=2)))["messages"][0].content == "3"


def test_a_command_writes_the_state_and_its_result_is_the_calls() -> None:
    state = {**asks("rename", name="Ada"), "name": "Bob"}
    [message] = ToolNode([rename]).invoke(state)["messages"]
    assert (message.content, state["name"]) == ("now Ada", "Ada")
    agent = create_agent(Scripted([call("rename", {"name": "Eve"}), "done"]), [rename])
    assert agent.invoke({"messages": "go", "name": "Bob"})["name"] == "Eve"


def test_a_command_that_leads_elsewhere_is_refused() -> None:
    with pytest.raises(SetupError, match="goto"):
        ToolNode([leave]).invoke(asks("leave"))


def test_the_tools_are_next_if_the_last_message_calls_them() -> None:
    assert tools_condition(asks("add", a=1, b=2)) == "tools"
    assert tools_condition({"messages": ["hi"]}) == "__end__"
    assert tools_condition(asks("add")["messages"]) == "tools"
    assert list(ToolNode([add, rename]).tools_by_name) == ["add", "rename"]


@tool
def hear(said: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Hear what somebody says."""
    other: Any = HumanMessage(said) if said != "reply" else AIMessage(said)
    return Command(update={"messages": [ToolMessage("heard", tool_call_id), other]})


def test_what_a_command_says_beside_its_result_joins_the_transcript() -> None:
    model = Scripted([call("hear", {"said": "茶?"}), "done"])
    state = create_agent(model, [hear]).invoke({"messages": "go"})
    assert [one.content for one in state["messages"]] == ["go", "", "heard", "茶?", "done"]
    assert [one.text for one in model.requests[1].messages][2:] == ["heard", "茶?"]
    asked = [{"name": "hear", "args": {"said": "茶?"}, "id": "1", "type": "tool_call"}]
    told = ToolNode([hear]).invoke({"messages": [AIMessage("", asked)]})["messages"]
    assert [one.content for one in told] == ["heard", "茶?"]


def test_a_reply_that_a_command_would_add_is_refused() -> None:
    model = Scripted([call("hear", {"said": "reply"}), "done"])
    with pytest.raises(SetupError, match="not AIMessage"):
        create_agent(model, [hear]).invoke({"messages": "go"})


@tool
def pack(item: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Pack an item."""
    done = ToolMessage(f"added {item}", tool_call_id)
    return Command(update={"items": [item], "messages": [done]})


class Bag(AgentState):
    items: list[str]


class JoinedBag(AgentState):
    items: Annotated[list[str], operator.add]


TWO = [call("pack", {"item": "tea"}), call("pack", {"item": "茶"})]


@pytest.mark.parametrize("schema", [None, Bag])
def test_two_updates_of_one_key_in_one_turn_are_refused(schema: Any) -> None:
    agent = create_agent(Scripted([TWO, "done"]), [pack], state_schema=schema)
    with pytest.raises(InvalidUpdateError, match=r"'pack' and 'pack'.*'items'.*reducer"):
        agent.invoke({"messages": "go"})
    calls = [{"name": "pack", "args": {"item": one}, "id": one} for one in "ab"]
    with pytest.raises(InvalidUpdateError):
        ToolNode([pack]).invoke([AIMessage("", calls)])
    asked = [{**one, "type": "tool_call"} for one in calls]
    with pytest.raises(InvalidUpdateError):
        ToolNode([pack]).invoke(asked)


def test_a_reducer_joins_the_updates_of_a_turn_and_other_turns_replace_values() -> None:
    agent = create_agent(Scripted([TWO, "done"]), [pack], state_schema=JoinedBag)
    assert sorted(agent.invoke({"messages": "go", "items": []})["items"]) == ["tea", "茶"]
    apart = create_agent(Scripted([*TWO, "done"]), [pack], state_schema=Bag)
    assert apart.invoke({"messages": "go"})["items"] == ["茶"]


def test_an_update_from_before_an_approval_counts_in_its_turn() -> None:
    @tool
    def weigh(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Weigh the bag."""
        return Command(update={"items": ["3 kg"], "messages": [ToolMessage("3", tool_call_id)]})

    asking = HumanInTheLoopMiddleware({"weigh": True})
    model = Scripted([[TWO[0], call("weigh", {})], "done"])
    options: Any = {"middleware": [asking], "checkpointer": InMemorySaver()}
    agent = create_agent(model, [pack, weigh], **options)
    thread = {"configurable": {"thread_id": "ada"}}
    assert agent.invoke({"messages": "go"}, thread)["items"] == ["tea"]
    with pytest.raises(InvalidUpdateError, match="'items'"):
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)


def test_a_wrapper_further_in_sees_the_arguments_that_one_further_out_has_changed() -> None:
    seen: list[dict[str, Any]] = []

    @wrap_tool_call
    def outer(request: Any, execute: Any) -> Any:
        call = {**dict(request.tool_call), "args": {"a": 5, "b": 2}}
        return execute(request.override(tool_call=call))

    @wrap_tool_call
    def inner(request: Any, execute: Any) -> Any:
        seen.append(request.tool_call["args"])
        return execute(request)

    model = Scripted([call("add", {"a": 1, "b": 2}), "done"])
    state = create_agent(model, [add], middleware=[outer, inner]).invoke({"messages": "go"})
    assert state["messages"][2].text == "7" and seen == [{"a": 5, "b": 2}]
