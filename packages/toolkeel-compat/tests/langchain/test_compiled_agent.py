"""An agent with a config of its own, and the state of its threads."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Annotated, Any

import pytest

from toolkeel import Agent, SetupError
from toolkeel.agent.run_state import RunState
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    AgentState,
    Command,
    GraphRecursionError,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    RunnableConfig,
    ToolNode,
    create_agent,
    interrupt,
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


sent: list[str] = []
SIX = {"configurable": {"thread_id": "6"}}
APPROVED = {"decisions": [{"type": "approve"}]}


@tool
def send(to: str) -> str:
    """Send a message."""
    sent.append(to)
    return f"sent to {to}"


@tool
def ask_back(question: str) -> str:
    """Ask a person."""
    return f"said {interrupt(question)}"


def worker(name: str, *lines: Any, allowed: tuple[str, ...] = ("approve", "edit")) -> Any:
    asks = HumanInTheLoopMiddleware(
        {"send": {"allowed_decisions": [*allowed]}}, description_prefix=f"{name} asks"
    )
    return create_agent(Scripted(lines), [send, ask_back], middleware=[asks], name=name)


def as_tool(name: str, inner: Any, later: bool = False) -> Any:
    def run(request: str) -> str:
        """Ask a worker."""
        return str(inner.invoke({"messages": request})["messages"][-1].text)

    async def arun(request: str) -> str:
        """Ask a worker."""
        return str((await inner.ainvoke({"messages": request}))["messages"][-1].text)

    return tool(name)(arun if later else run)


def desk(saver: Any, lines: Any, *tools: Any) -> Any:
    return create_agent(Scripted(lines), [*tools], checkpointer=saver)


@pytest.mark.parametrize("later", [False, True])
def test_calls_of_agents_in_tools_wait_with_the_supervisor(tmp_path: Path, later: bool) -> None:
    sent.clear()
    both = [call("calendar", {"request": "x"}), call("mail", {"request": "y"})]
    saver = InMemorySaver(tmp_path / "threads.db")
    first = worker("calendar", call("send", {"to": "Ada"}))
    second = worker("mail", call("send", {"to": "Bob"}))
    tools = as_tool("calendar", first, later), as_tool("mail", second, later)
    parts = list(desk(saver, [both], *tools).stream({"messages": "go"}, SIX))
    waits = [interrupt for part in parts for interrupt in part.get("__interrupt__", ())]
    assert [one.value["action_requests"][0]["description"].split("\n")[0] for one in waits] == [
        "calendar asks",
        "mail asks",
    ]
    edited = {"type": "edit", "edited_action": {"name": "send", "args": {"to": "Eve"}}}
    resume = {waits[0].id: APPROVED, waits[1].id: {"decisions": [edited]}}
    tools = (  # as in another process
        as_tool("calendar", worker("calendar", "calendar done"), later),
        as_tool("mail", worker("mail", "mail done"), later),
    )
    again = desk(InMemorySaver(tmp_path / "threads.db"), ["all done"], *tools)
    assert list(again.get_state(SIX).interrupts) == waits
    state = again.invoke(Command(resume=resume), SIX)
    assert [one.text for one in state["messages"][-3:]] == [
        "calendar done",
        "mail done",
        "all done",
    ]
    assert sorted(sent) == ["Ada", "Eve"] and set(state) == {"messages"}


def test_an_agent_in_an_agent_in_an_agent_waits_with_the_outermost() -> None:
    sent.clear()
    inner = worker("inner", call("send", {"to": "Ada"}), "inner done")
    middle_model = Scripted([call("ask_inner", {"request": "x"}), "middle done"])
    middle = create_agent(middle_model, [as_tool("ask_inner", inner)])
    lines = [call("ask_middle", {"request": "x"}), "outer done"]
    outer = desk(InMemorySaver(), lines, as_tool("ask_middle", middle))
    [waits] = outer.invoke({"messages": "go"}, SIX)["__interrupt__"]
    assert waits.value["action_requests"][0]["description"].startswith("inner asks")
    state = outer.invoke(Command(resume=APPROVED), SIX)
    assert [one.text for one in state["messages"][-2:]] == ["middle done", "outer done"]
    assert sent == ["Ada"] and len(middle_model.requests) == 2


def test_what_the_inner_middleware_does_not_allow_is_refused() -> None:
    inner = worker("inner", call("send", {"to": "Ada"}), allowed=("approve",))
    outer = desk(InMemorySaver(), [call("ask", {"request": "x"})], as_tool("ask", inner))
    outer.invoke({"messages": "go"}, SIX)
    with pytest.raises(SetupError, match="not decided by 'reject'; allowed_decisions has approve"):
        outer.invoke(Command(resume={"decisions": [{"type": "reject"}]}), SIX)


def test_a_question_of_an_inner_agents_tool_waits_as_well() -> None:
    inner = worker("inner", call("ask_back", {"question": "Who?"}), "inner done")
    lines = [call("ask", {"request": "x"}), "done"]
    outer = desk(InMemorySaver(), lines, as_tool("ask", inner))
    [waits] = outer.invoke({"messages": "go"}, SIX)["__interrupt__"]
    assert waits.value == "Who?"
    assert outer.invoke(Command(resume="Ada"), SIX)["messages"][-2].text == "inner done"


def test_a_run_of_the_core_waits_with_an_agent_in_its_tool() -> None:
    sent.clear()
    inner = worker("inner", call("send", {"to": "Ada"}), "inner done")
    outer = Agent(Scripted([call("ask", {"request": "x"}), "done"]), [as_tool("ask", inner)])
    result = outer.run_sync("go")
    assert result.reason == "waiting" and result.pending[0].tool == "send"
    saved = RunState.from_json(result.state.to_json())
    done = outer.run_sync(saved, decisions=[result.pending[0].approve()])
    assert (done.output, sent) == ("done", ["Ada"])


def test_where_nothing_can_wait_the_error_says_what_to_give() -> None:
    asked = [call("send", {"to": "Ada"}), call("send", {"to": "Ada"})]
    ask = as_tool("ask", worker("inner", *asked))
    with pytest.raises(SetupError, match="give create_agent a checkpointer"):
        ToolNode([ask]).invoke(
            [{"type": "tool_call", "name": "ask", "args": {"request": "x"}, "id": "1"}]
        )
    outer = create_agent(Scripted([call("ask", {"request": "x"})]), [ask])
    with pytest.raises(SetupError, match="give create_agent a checkpointer"):
        outer.invoke({"messages": "go"})


def test_the_second_version_of_results_and_parts() -> None:
    made = worker("a", "hi", "hi", "hi")
    result = made.invoke({"messages": "go"}, version="v2")
    assert (result.value["messages"][-1].text, result.interrupts) == ("hi", ())
    parts = list(made.stream({"messages": "go"}, stream_mode="values", version="v2"))
    assert [(one["type"], one["ns"], one["interrupts"]) for one in parts] == [
        ("values", (), ())
    ] * 2
    parts = list(made.stream({"messages": "go"}, version="v2"))
    assert {part["type"] for part in parts} == {"updates"}
    assert [list(part["data"]) for part in parts] == [
        ["model"],
        ["HumanInTheLoopMiddleware.after_model"],
    ]
    with pytest.raises(SetupError, match="write 'v1' or 'v2'"):
        made.invoke({"messages": "go"}, version="v3")


def test_the_second_version_keeps_what_waits_beside_the_state() -> None:
    inner = worker("inner", call("send", {"to": "Ada"}))
    outer = desk(InMemorySaver(), [call("ask", {"request": "x"})], as_tool("ask", inner))
    result = outer.invoke({"messages": "go"}, SIX, version="v2")
    assert "__interrupt__" not in result.value and len(result.interrupts) == 1


def test_a_reducer_joins_what_a_later_turn_brings_with_the_state_of_its_thread() -> None:
    class Log(AgentState):
        log: Annotated[list[str], operator.add]
        place: str

    made = create_agent(
        Scripted(["one", "two"]), state_schema=Log, checkpointer=InMemorySaver()
    ).with_config({"configurable": {"thread_id": "a"}})
    made.invoke({"messages": "go", "log": ["0"], "place": "Oslo"})
    state = made.invoke({"messages": "on", "log": ["1"], "place": "Rome"})
    assert (state["log"], state["place"]) == (["0", "1"], "Rome")
    assert made.get_state({}).values["log"] == ["0", "1"]


def test_a_prompt_template_of_the_library_is_refused_with_what_to_write() -> None:
    template = type("ChatPromptValue", (), {"__module__": "langchain_core.prompt_values"})()
    for use in (
        lambda: create_agent(Scripted(["x"])).invoke(template),
        lambda: create_agent(Scripted(["x"]), system_prompt=template),
    ):
        with pytest.raises(SetupError, match="write an f-string, and messages as a list"):
            use()


def test_an_agent_without_a_name_is_called_as_in_langgraph() -> None:
    assert create_agent("offline").name == "LangGraph"
    assert create_agent("offline", name="clerk").name == "clerk"
