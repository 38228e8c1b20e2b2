"""A tool that asks somebody waits with its run, and goes on with what they said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.langchain import (
    Command,
    GraphInterrupt,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    create_agent,
    get_stream_writer,
    interrupt,
    tool,
)

ADA = {"configurable": {"thread_id": "ada"}}
ran: list[str] = []


@tool
def pay(amount: int) -> str:
    """Pay."""
    ran.append("begun")
    who = interrupt({"question": f"who pays {amount}?"})
    sure = interrupt("sure?")
    return f"{who} pays {amount}: {sure}"


def clerk(saver: Any, *lines: Any, **options: Any) -> Any:
    return create_agent(Scripted(list(lines)), [pay], checkpointer=saver, **options)


def test_it_runs_again_for_each_answer_and_gives_them_in_order(tmp_path: Path) -> None:
    ran.clear()
    saver = InMemorySaver(tmp_path / "threads.db")
    state = clerk(saver, call("pay", {"amount": 3})).invoke({"messages": "go"}, ADA)
    [asked] = state["__interrupt__"]
    assert asked.value == {"question": "who pays 3?"}
    state = clerk(saver).invoke(Command(resume="ada"), ADA)  # as in another process
    assert [one.value for one in state["__interrupt__"]] == ["sure?"]
    state = clerk(saver, "done").invoke(Command(resume={"yes": True}), ADA)
    assert [one.content for one in state["messages"][-2:]] == ["ada pays 3: {'yes': True}", "done"]
    assert ran == ["begun"] * 3 and set(state) == {"messages"}


def test_several_that_wait_are_answered_by_their_ids() -> None:
    model = [[call("pay", {"amount": 1}), call("pay", {"amount": 2})], "done"]
    agent = clerk(InMemorySaver(), *model)
    waits = agent.invoke({"messages": "go"}, ADA)["__interrupt__"]
    with pytest.raises(SetupError, match="several"):
        agent.invoke(Command(resume="x"), ADA)
    names = dict(zip([one.id for one in waits], ["ada", "bob"], strict=True))
    waits = agent.invoke(Command(resume=names), ADA)["__interrupt__"]
    state = agent.invoke(Command(resume={one.id: n for n, one in enumerate(waits)}), ADA)
    assert [one.content for one in state["messages"][2:4]] == ["ada pays 1: 0", "bob pays 2: 1"]


def test_a_stream_tells_of_it() -> None:
    agent = clerk(InMemorySaver(), call("pay", {"amount": 3}))
    *_, last = agent.stream({"messages": "go"}, ADA)
    assert last["__interrupt__"][0].value == {"question": "who pays 3?"}


def test_without_a_checkpointer_or_an_agent_it_is_refused() -> None:
    with pytest.raises(SetupError, match="for tools"):
        interrupt("x")
    with pytest.raises(SetupError, match=r"runtime\.stream_writer"):
        get_stream_writer()
    with pytest.raises(SetupError, match="checkpointer"):
        clerk(None, call("pay", {"amount": 3}), "done").invoke({"messages": "go"})


def test_a_tool_may_tell_something_of_its_own_as_it_runs() -> None:
    @tool
    def work() -> str:
        """Work."""
        get_stream_writer()({"half": True})
        return "done"

    agent = create_agent(Scripted([call("work"), "x"]), [work])
    assert list(agent.stream({"messages": "go"}, stream_mode="custom")) == [{"half": True}]


def test_an_approval_before_it_is_not_taken_for_its_answer() -> None:
    asks = HumanInTheLoopMiddleware({"pay": True})
    agent = clerk(InMemorySaver(), call("pay", {"amount": 3}), "done", middleware=[asks])
    [asked] = agent.invoke({"messages": "go"}, ADA)["__interrupt__"]
    assert asked.value["action_requests"][0]["name"] == "pay"
    state = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), ADA)
    assert state["__interrupt__"][0].value == {"question": "who pays 3?"}


def test_a_tool_that_catches_every_exception_raises_the_interrupt_again() -> None:
    @tool
    def book() -> str:
        """Book."""
        try:
            return f"booked for {interrupt('Who?')}"
        except GraphInterrupt:
            raise
        except Exception as error:
            return f"failed: {error}"

    agent = create_agent(Scripted([call("book"), "done"]), [book], checkpointer=InMemorySaver())
    assert agent.invoke({"messages": "go"}, ADA)["__interrupt__"][0].value == "Who?"
    assert agent.invoke(Command(resume="Ada"), ADA)["messages"][-2].text == "booked for Ada"
