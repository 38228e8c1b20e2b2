"""`ToolNode`: the calls of the last reply are answered, in order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import pytest

from toolkeel import Agent, RunContext, SetupError, ToolCall, ToolError, Toolset
from toolkeel import tool as core_tool
from toolkeel.approvals import Rules, Ticket
from toolkeel.events import ToolFinished
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.langchain import (
    AIMessage,
    HumanMessage,
    InjectedState,
    InjectedStore,
    InMemoryStore,
    RunnableConfig,
    ToolException,
    ToolMessage,
    ToolNode,
    ToolRuntime,
    create_agent,
    tool,
    wrap_tool_call,
)
from toolkeel_compat.langchain.tool_node import make_error_step


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


@tool
def divide(a: int, b: int) -> float:
    """Divide."""
    if b == 13:
        raise ToolException("thirteen is unlucky")
    return a / b


@tool
def fine(a: int) -> int:
    """Fine."""
    return a


def answers(handle: Any, b: int = 0) -> list[str]:
    node = ToolNode([divide, fine], handle_tool_errors=handle)
    calls = [
        {"name": "divide", "args": {"a": 1, "b": b}, "id": "1"},
        {"name": "fine", "args": {"a": 1}, "id": "2"},
    ]
    return [message.text for message in node.invoke([AIMessage("", tool_calls=calls)])]


def arithmetic(error: ZeroDivisionError | OverflowError) -> str:
    return f"arithmetic: {error}"


ZERO = "ZeroDivisionError('division by zero')"


@pytest.mark.parametrize(
    ("handle", "told"),
    [
        (True, f"Error: {ZERO}\n Please fix your mistakes."),
        ("Try another way.", "Try another way."),
        (arithmetic, "arithmetic: division by zero"),
        (lambda error: f"any: {error}", "any: division by zero"),
        (ZeroDivisionError, f"Error: {ZERO}\n Please fix your mistakes."),
        ((ValueError, ArithmeticError), f"Error: {ZERO}\n Please fix your mistakes."),
    ],
)
def test_the_model_is_told_as_was_asked_for(handle: Any, told: str) -> None:
    assert answers(handle) == [told, "1"]


@pytest.mark.parametrize("handle", [False, ValueError, (ValueError, TypeError)])
def test_an_error_that_is_not_handled_is_raised(handle: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        answers(handle)
    told: list[ToolMessage] = []
    run = RunContext[None](
        listeners=(lambda e: told.append(e.message) if isinstance(e, ToolFinished) else None,)
    )
    with pytest.raises(ZeroDivisionError):
        Toolset([divide], steps=[make_error_step(handle)]).run_sync(
            [ToolCall("1", "divide", '{"a": 1, "b": 0}')], run
        )
    assert [each.text for each in told] == ["'divide' failed, and the run was ended."]


@pytest.mark.parametrize(("b", "error"), [(0, ZeroDivisionError), (13, ToolException)])
def test_by_default_an_error_of_a_tool_is_raised(b: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        answers(None, b)
    agent = create_agent(Scripted([call("divide", {"a": 1, "b": b}), "no"]), [divide])
    with pytest.raises(error):
        agent.invoke({"messages": "go"})


@pytest.mark.parametrize("catches", [True, False])
def test_a_wrapper_sees_the_error_itself_and_its_own_ends_the_run(catches: bool) -> None:
    @wrap_tool_call
    def guard(request: Any, handler: Any) -> ToolMessage:
        try:
            return handler(request)
        except ZeroDivisionError:
            if not catches:
                raise OverflowError from None
            return ToolMessage("by zero", request.tool_call["id"], status="error")

    lines = [call("divide", {"a": 1, "b": 0}), "done"]
    agent = create_agent(Scripted(lines), [divide], middleware=[guard])
    if catches:
        assert agent.invoke({"messages": "go"})["messages"][-2].text == "by zero"
    else:
        with pytest.raises(OverflowError):
            agent.invoke({"messages": "go"})


def test_what_a_tool_of_the_core_says_itself_goes_to_the_model() -> None:
    @core_tool
    def lacks(n: int) -> int:
        """Lack."""
        raise ToolError(f"there is no {n}")

    @core_tool(on_crash=True)
    def breaks(n: int) -> int:
        """Break."""
        return 1 // n

    lines = [[call("lacks", {"n": 7}), call("breaks", {"n": 0})], "done"]
    state = create_agent(Scripted(lines), [lacks, breaks]).invoke({"messages": "go"})
    assert state["messages"][2].text == "there is no 7"
    assert "by zero" in state["messages"][3].text


def test_what_a_tool_says_itself_of_its_errors_comes_first() -> None:
    @tool
    def own() -> str:
        """Own."""
        raise ToolException("mine")

    own.handle_tool_error = "in its own words"
    node = ToolNode([own], handle_tool_errors="generic")
    call = {"name": "own", "args": {}, "id": "1"}
    assert node.invoke([AIMessage("", tool_calls=[call])])[0].text == "in its own words"


def wants_text(error: str) -> str:
    return error


@pytest.mark.parametrize("wanted", [3, (ValueError, "text"), (3,), int, BaseException, wants_text])
def test_what_is_no_way_to_handle_errors_is_refused(wanted: Any) -> None:
    with pytest.raises(SetupError, match="handle_tool_errors is "):
        ToolNode([fine], handle_tool_errors=wanted)


class Words:
    def __call__(self, error: Exception) -> str:
        return f"called: {error}"

    def method(self, error: ToolException) -> str:
        return f"method: {error}"


async def later(error: ToolException) -> str:
    return f"later: {error}"


@pytest.mark.parametrize(
    ("handle", "text"),
    [
        (True, "Error: ToolException('thirteen is unlucky')\n Please fix your mistakes."),
        ("Try another way.", "Try another way."),
        (ToolException, "Error: ToolException('thirteen is unlucky')\n Please fix your mistakes."),
        (
            (ValueError, ToolException),
            "Error: ToolException('thirteen is unlucky')\n Please fix your",
        ),
        (later, "later: thirteen is unlucky"),
        (Words(), "called: thirteen is unlucky"),
        (Words().method, "method: thirteen is unlucky"),
        (partial(lambda prefix, error: f"{prefix}: {error}", "partly"), "partly: thirteen is"),
    ],
)
def test_a_tool_exception_is_handled_like_any_other_error(handle: Any, text: str) -> None:
    [first, second] = answers(handle, 13)
    assert first.startswith(text) and second == "1"


@pytest.mark.parametrize("handle", [False, ValueError, (), arithmetic])
def test_a_tool_exception_of_another_type_is_raised(handle: Any) -> None:
    with pytest.raises(ToolException, match="unlucky"):
        answers(handle, 13)


def test_a_bare_list_of_messages_is_the_state_of_its_calls() -> None:
    @tool
    def count(
        state: Annotated[Any, InjectedState()],
        messages: Annotated[list[Any], InjectedState("messages")],
        runtime: ToolRuntime,
    ) -> str:
        """Count."""
        return f"{[*state]} {len(messages)} {[one.text for one in runtime.state]}"

    asked = AIMessage("", tool_calls=[{"name": "count", "args": {}, "id": "1"}])
    [result] = ToolNode([count]).invoke([HumanMessage("hi"), asked])
    assert result.text == "['messages'] 2 ['hi', '']"


def test_a_keyword_that_no_tool_has_is_refused() -> None:
    asked = [AIMessage("", tool_calls=[{"name": "fine", "args": {"a": 1}, "id": "1"}])]
    with pytest.raises(SetupError, match=r"invoke\(user=...\): no tool has this parameter"):
        ToolNode([fine]).invoke(asked, user="ada")
    assert ToolNode([fine]).invoke(asked, store=InMemoryStore())[0].text == "1"


# — in the code of a run —


@tool
def pay(n: int) -> str:
    """Pay."""
    PAID.append(n)
    return "paid"


PAID: list[int] = []
A_CALL = {"name": "pay", "args": {"n": 1}, "id": "x", "type": "tool_call"}
BODIES = {
    "arguments": lambda: pay.invoke({"n": 1}),
    "config": lambda: pay.invoke({"n": 1}, {"tags": ["x"]}),
    "a call": lambda: pay.invoke(A_CALL),
    "batch": lambda: pay.batch([{"n": 1}]),
    "tool node": lambda: ToolNode([pay]).invoke([A_CALL]),
}


@pytest.mark.parametrize("how", BODIES)
def test_a_tool_that_a_body_invokes_obeys_the_rules_of_the_run_around_it(how: str) -> None:
    @tool
    def outer() -> str:
        """Call."""
        return str(BODIES[how]())

    PAID.clear()
    script = [call("outer", {}), "done"]
    denied = Agent(Scripted(script), [outer], rules=Rules(deny=["pay*"])).run_sync("go")
    assert denied.output == "done" and PAID == []
    asked: list[str] = []

    def approver(ticket: Ticket) -> bool:
        asked.append(ticket.tool)
        return True

    agent = Agent(Scripted(script), [outer], rules=Rules(ask=["pay*"]))
    assert agent.run_sync("go", approver=approver).output == "done"
    assert (asked, PAID) == (["pay"], [1])


def test_an_agent_that_an_invoked_tool_runs_counts_in_the_run_around_the_invocation() -> None:
    clerk = Agent(Scripted(["fine"] * 9), name="clerk")

    @tool
    async def ask(n: int) -> str:
        """Ask."""
        return (await clerk.run(str(n))).output

    @tool
    async def outer() -> str:
        """Call."""
        return str(await ask.ainvoke({"n": 1}, {"tags": ["x"]}))

    result = Agent(Scripted([call("outer", {}), "done"]), [outer]).run_sync("go")
    assert result.usage.requests == 3
