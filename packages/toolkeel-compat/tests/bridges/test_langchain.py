"""LangChain's own tool objects run here, and ours run there: against the installed package."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, field_validator

from tests.shared import peer
from toolkeel import (
    Agent,
    RunContext,
    SetupError,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolMessage,
    Toolset,
)
from toolkeel import tool as our_tool
from toolkeel.content import Audio, Data, File, Image, Text
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.langchain import create_agent
from toolkeel_compat.langchain import tool as compat_tool

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tools() -> Any:
    return peer("langchain_core.tools")


@pytest.fixture(scope="module")
def bridge(tools: Any) -> Any:
    return peer("toolkeel_compat.bridges.langchain")


@pytest.fixture(scope="module")
def graph() -> Any:
    return peer("langgraph.prebuilt")


def answer(tool: Any, arguments: Any, run: RunContext[Any] | None = None) -> ToolMessage:
    [message] = Toolset([tool]).run_sync([ToolCall("c1", tool.name, arguments)], run)
    return message


class Args(BaseModel):
    """What to find."""

    query: str = Field(description="What to look for.", min_length=1)
    limit: int = 10


def test_their_tools_of_every_kind_run_here(tools: Any, bridge: Any) -> None:
    @tools.tool
    def plain(query: str, limit: int = 10) -> str:
        """Find something."""
        return f"{limit} {query}"

    @tools.tool(args_schema=Args)
    async def later(query: str, limit: int = 10) -> str:
        """Find something."""
        await asyncio.sleep(0)
        return f"{limit} {query}"

    class Classy(tools.BaseTool):  # type: ignore[misc,name-defined]
        name: str = "classy"
        description: str = "Find something."
        args_schema: type[BaseModel] = Args

        def _run(self, query: str, limit: int = 10) -> str:
            return f"{limit} {query}"

    by_schema = tools.StructuredTool.from_function(
        func=lambda query, limit=10: f"{limit} {query}",
        name="by_schema",
        description="Find something.",
        args_schema={
            "type": "object",
            "properties": {"query": {"type": "string", "minLength": 1}},
            "required": ["query"],
        },
    )
    for theirs in (plain, later, Classy(), by_schema):
        ours = bridge.from_langchain(theirs)
        assert (ours.name, ours.description) == (theirs.name, "Find something.")
        assert ours.parameters["required"] == ["query"]
        assert answer(ours, {"query": "茶"}).content == "10 茶"
        assert answer(ours, '{"query": 7}').kind == "invalid_arguments"
    assert answer(bridge.from_langchain(later), {"query": ""}).kind == "invalid_arguments"


def test_their_results_errors_and_attributes_come_along(tools: Any, bridge: Any) -> None:
    @tools.tool(response_format="content_and_artifact", return_direct=True)
    def pair() -> tuple[str, dict[str, int]]:
        """Give a pair."""
        return "shown", {"kept": 1}

    @tools.tool
    def fail(how: str) -> str:
        """Fail."""
        raise tools.ToolException("no such row") if how == "told" else RuntimeError("secret")

    ours = bridge.from_langchain(pair)
    message = answer(ours, {})
    assert (message.content, message.artifact, ours.ends_run) == ("shown", {"kept": 1}, True)
    told = answer(bridge.from_langchain(fail), {"how": "told"})
    assert (told.content, told.kind) == ("no such row", "tool_error")
    fail.handle_tool_error = "Try later."
    told = answer(bridge.from_langchain(fail), {"how": "told"})
    assert (told.content, told.status) == ("Try later.", "error")
    crashed = answer(bridge.from_langchain(fail), {"how": "crash"})
    assert crashed.kind == "crashed"
    assert "secret" not in crashed.text


def test_their_injected_parameters_are_filled_and_hidden(
    tools: Any, bridge: Any, graph: Any
) -> None:
    config_class = peer("langchain_core.runnables").RunnableConfig

    def look(
        query: str,
        state: Annotated[dict[str, Any], graph.InjectedState],
        messages: Annotated[list[str], graph.InjectedState("messages")],
        store: Annotated[Any, graph.InjectedStore()],
        user: Annotated[str, tools.InjectedToolArg],
        id: Annotated[str, tools.InjectedToolCallId],
        config: Any,
        runtime: Any,
    ) -> str:
        """Look."""
        assert (runtime.store, runtime.tool_call_id) == (store, id)
        return f"{query} {sorted(state)} {messages} {store} {user} {id} {runtime.context} {config['tags']}"

    look.__annotations__.update(config=config_class, runtime=graph.ToolRuntime[Any, Any])
    for name in ("state", "messages", "store", "user", "id"):
        look.__annotations__[name] = eval(
            look.__annotations__[name], {**globals(), "graph": graph, "tools": tools}
        )
    look.__annotations__.update(query=str, **{"return": str})
    ours = bridge.from_langchain(tools.tool(look))
    assert list(ours.parameters["properties"]) == ["query"]
    run = RunContext(
        "me",
        state={"messages": ["hi"]},
        store="shelf",
        inject={"user": "ada", "config": {"tags": ["t"]}},
    )
    shown = "q ['messages'] ['hi'] shelf ada c1 me ['t']"
    assert answer(ours, {"query": "q"}, run).content == shown
    forged = answer(ours, {"query": "q", "user": "eve"}, run)
    assert forged.kind == "invalid_arguments"
    with pytest.raises(SetupError, match="user"):
        answer(ours, {"query": "q"}, RunContext(state={"messages": []}, store="shelf"))


def test_our_tools_run_there_with_the_config_and_the_run(tools: Any, bridge: Any) -> None:
    from toolkeel_compat.langchain import RunnableConfig, ToolRuntime

    @our_tool
    def note(
        word: str, runtime: ToolRuntime[Any, Any], config: RunnableConfig, times: int = 1
    ) -> str:
        """Note a word.

        Args:
            word: Which.
        """
        return f"{word * times} {runtime.context} {config['configurable']['user']}"

    theirs = bridge.to_langchain(note, run=RunContext("me"))
    assert isinstance(theirs, tools.StructuredTool)
    config = {"configurable": {"user": "ada"}}
    made = {"name": "note", "args": {"word": "a", "times": 2}, "id": "c1", "type": "tool_call"}
    for message in (theirs.invoke(made, config), asyncio.run(theirs.ainvoke(made, config))):
        assert (message.content, message.tool_call_id, message.status) == (
            "aa me ada",
            "c1",
            "success",
        )
    wrong = theirs.invoke({**made, "args": {"word": 7}}, config)
    assert wrong.status == "error"
    assert "word: expected a string" in wrong.content
    convert = peer("langchain_core.utils.function_calling").convert_to_openai_tool
    function = convert(theirs)["function"]
    assert (function["name"], function["description"]) == ("note", "Note a word.")
    assert function["parameters"]["properties"]["word"]["description"] == "Which."
    assert list(function["parameters"]["properties"]) == ["word", "times"]


def test_our_errors_and_artifacts_go_there(bridge: Any) -> None:
    @our_tool(returns="content_and_artifact")
    def pair(fail: bool = False) -> tuple[str, dict[str, int]]:
        """Give a pair."""
        if fail:
            raise ToolError("no such row")
        return "shown", {"kept": 1}

    theirs = bridge.to_langchain(pair)
    good, bad = (
        theirs.invoke({"name": "pair", "args": {"fail": fail}, "id": "c1", "type": "tool_call"})
        for fail in (False, True)
    )
    assert (good.content, good.artifact) == ("shown", {"kept": 1})
    assert (bad.content, bad.status) == ("no such row", "error")


def test_a_tool_comes_back_from_there_as_it_went(bridge: Any) -> None:
    @our_tool
    def add(a: int, context: ToolContext[Any], b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    back = bridge.from_langchain(bridge.to_langchain(add))
    assert (back.name, back.description, back.parameters) == (
        add.name,
        add.description,
        add.parameters,
    )
    result = Agent(Scripted([call("add", {"a": 41}), "done"]), [back]).run_sync("go")
    assert [m.content for m in result.messages if isinstance(m, ToolMessage)] == ["42"]


def test_their_tool_node_runs_our_tools(bridge: Any, graph: Any) -> None:
    messages = peer("langchain_core.messages")

    @our_tool
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    node = graph.ToolNode([bridge.to_langchain(add)])
    calls = [
        {"name": "add", "args": args, "id": f"c{n}", "type": "tool_call"}
        for n, args in enumerate(({"a": 1}, {"a": "x"}))
    ]
    state = {"messages": [messages.AIMessage("", tool_calls=calls)]}
    good, bad = (
        peer("langgraph.graph")
        .StateGraph(graph_state())
        .add_node("tools", node)
        .set_entry_point("tools")
        .compile()
        .invoke(state)["messages"][1:]
    )
    assert (good.content, good.status) == ("2", "success")
    assert bad.status == "error"
    assert "a: expected an integer" in bad.content


def graph_state() -> Any:
    return peer("langgraph.graph").MessagesState


@pytest.mark.parametrize("thing", [len, "add", 7])
def test_what_is_no_tool_of_theirs_is_refused(bridge: Any, thing: object) -> None:
    with pytest.raises(SetupError, match="LangChain tool"):
        bridge.from_langchain(thing)


def test_pictures_go_there_and_come_back(bridge: Any) -> None:
    given = (
        Text("see"),
        Image(b"GIF89a", "image/gif"),
        Image(url="https://a.example/b.png", extra={"detail": "low"}),
        Audio(b"RIFF....WAVE", "audio/wav"),
        File(b"%PDF-1.7", "bill.pdf", "application/pdf"),
        File(url="https://a.example/b.pdf", media_type="application/pdf"),
    )

    @our_tool
    def look() -> object:
        """Look."""
        return list(given)

    theirs = bridge.to_langchain(look)
    call = {"name": "look", "args": {}, "id": "1", "type": "tool_call"}
    assert theirs.invoke(call).content[1]["mime_type"] == "image/gif"
    [message] = Toolset([bridge.from_langchain(theirs)]).run_sync([ToolCall("1", "look", "{}")])
    assert message.content == given


def test_a_command_of_theirs_changes_the_state_here(tools: Any, bridge: Any, graph: Any) -> None:
    messages, types = peer("langchain_core.messages"), peer("langgraph.types")

    def rename(name: str, id: Any) -> Any:
        """Rename."""
        told = [messages.ToolMessage(f"named {name}", tool_call_id=id)]
        return types.Command(
            update={"name": name, "messages": told}, goto=name if name == "x" else ()
        )

    rename.__annotations__ = {"name": str, "id": Annotated[str, tools.InjectedToolCallId]}
    ours, run = bridge.from_langchain(tools.tool(rename)), RunContext[Any]()
    assert answer(ours, {"name": "茶"}, run).content == "named 茶"
    assert run.state == {"name": "茶"}
    with pytest.raises(SetupError, match="goto"):
        answer(ours, {"name": "x"}, run)


def test_what_their_own_validators_refuse_is_told_and_a_bodys_own_error_is_not(
    tools: Any, bridge: Any
) -> None:
    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("not an even number")
            return value

    @tools.tool(args_schema=Even, extras={"cache_control": {"type": "ephemeral"}})
    def halve(number: int) -> int:
        """Halve."""
        return Args(query="", limit=number).limit

    ours = bridge.from_langchain(halve)
    refused, crashed = answer(ours, {"number": 3}), answer(ours, {"number": 4})
    assert "not an even number" in refused.text and refused.kind == "tool_error"
    assert crashed.kind == "crashed"
    assert ours.provider_options == {"cache_control": {"type": "ephemeral"}}
    assert ours.timeout is None
    assert bridge.to_langchain(ours).extras == ours.provider_options


def test_our_tools_see_the_graph_they_run_in_and_change_its_state(bridge: Any, graph: Any) -> None:
    messages = peer("langchain_core.messages")

    @our_tool(returns="content_and_artifact")
    def visit(town: str, context: ToolContext[Any]) -> tuple[str, int]:
        """Visit a town."""
        seen: Any = context.state.get("towns", ())
        if town != "Rome":
            context.state["towns"] = [*seen, town]
        return f"{len(seen)} {context.call.id} {context.store is not None}", 7

    stategraph = peer("langgraph.graph")
    store = peer("langgraph.store.memory").InMemoryStore()
    state_type: Any = type(
        "S", (stategraph.MessagesState,), {"__annotations__": {"towns": list[str]}}
    )
    built = stategraph.StateGraph(state_type)
    built.add_node("tools", graph.ToolNode([bridge.to_langchain(visit)])).set_entry_point("tools")
    run = built.compile(store=store)

    def after(town: str) -> Any:
        asked = [{"name": "visit", "args": {"town": town}, "id": "c7", "type": "tool_call"}]
        return run.invoke(
            {"messages": [messages.AIMessage("", tool_calls=asked)], "towns": ["Oslo"]}
        )

    changed, same = after("北京"), after("Rome")
    assert changed["towns"] == ["Oslo", "北京"] and same["towns"] == ["Oslo"]
    for state in (changed, same):
        assert (state["messages"][-1].content, state["messages"][-1].artifact) == ("1 c7 True", 7)


def test_a_call_that_needs_a_person_asks_the_approver_of_the_run(bridge: Any) -> None:
    @our_tool(approval=True)
    def act() -> str:
        """Act."""
        return "acted"

    call = {"name": "act", "args": {}, "id": "1", "type": "tool_call"}
    assert bridge.to_langchain(act).invoke(call).status == "error"
    run = RunContext[Any](approver=lambda ticket: True)
    assert bridge.to_langchain(act, run=run).invoke(call).content == "acted"


@pytest.mark.parametrize("name", ["config", "runtime"])
def test_a_parameter_that_they_fill_themselves_is_refused(bridge: Any, name: str) -> None:
    ours = Tool.from_schema(
        "act",
        "",
        {"type": "object", "properties": {name: {"type": "string"}}},
        lambda c, a: "acted",
    )
    with pytest.raises(SetupError, match=f"'act': LangChain fills '{name}' itself"):
        bridge.to_langchain(ours)


def test_a_json_part_of_theirs_is_data_and_a_part_that_nobody_reads_is_named(
    tools: Any, bridge: Any
) -> None:
    @tools.tool
    def give(kind: str) -> Any:
        """Give a part."""
        return [{"type": kind, "json": {"a": "é"}}]

    ours = bridge.from_langchain(give)
    assert answer(ours, {"kind": "json"}).content == (Data({"a": "é"}, '{"a":"é"}'),)
    with pytest.raises(SetupError, match="'search_result' is not read here"):
        answer(ours, {"kind": "search_result"})


def test_a_tool_of_one_text_can_be_called_by_a_model(tools: Any, bridge: Any) -> None:
    shout = bridge.from_langchain(tools.Tool("shout", str.upper, "Shout."))
    assert [*shout.parameters["properties"]] == ["__arg1"]
    assert answer(shout, {"__arg1": "grün"}).content == "GRÜN"

    async def whisper(text: str) -> str:
        return text.lower()

    quiet = tools.Tool("whisper", None, "Whisper.", coroutine=whisper)
    assert answer(bridge.from_langchain(quiet), {"__arg1": "HI"}).content == "hi"


def test_their_objects_are_refused_with_the_bridge_or_the_import(tools: Any, bridge: Any) -> None:
    messages = peer("langchain_core.messages")
    types = peer("langchain.agents.middleware")
    plain = tools.Tool("shout", str.upper, "Shout.")
    for make in (Agent, create_agent):
        with pytest.raises(SetupError, match=r"give from_langchain\(tool\)"):
            make("offline", [plain])
    with pytest.raises(SetupError, match=r"import AgentMiddleware from toolkeel_compat\.langchain"):
        create_agent("offline", middleware=[types.AgentMiddleware()])
    said = messages.HumanMessage("hi")
    with pytest.raises(SetupError, match=r"import HumanMessage from toolkeel_compat\.langchain"):
        Agent("offline").run_sync([said])
    with pytest.raises(SetupError, match=r"import HumanMessage from toolkeel_compat\.langchain"):
        create_agent("offline").invoke({"messages": [said]})

    @compat_tool
    def mixed() -> Any:
        """Return a message of theirs."""
        return messages.ToolMessage("lost", tool_call_id="1")

    with pytest.raises(SetupError, match=r"import ToolMessage from toolkeel_compat\.langchain"):
        create_agent(Scripted([call("mixed", {}), "done"]), [mixed]).invoke({"messages": "go"})
