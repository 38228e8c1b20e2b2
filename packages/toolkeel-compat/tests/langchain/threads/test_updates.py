"""Updates of a thread outside of its runs: what the thread says, and what a run makes of it."""

from __future__ import annotations

import asyncio
import operator
from pathlib import Path
from typing import Annotated, Any

import pytest

from toolkeel import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    AgentState,
    AIMessage,
    Command,
    HumanInTheLoopMiddleware,
    HumanMessage,
    InMemorySaver,
    InvalidUpdateError,
    RemoveMessage,
    ToolMessage,
    ToolRuntime,
    create_agent,
    tool,
)

ADA = {"configurable": {"thread_id": "ada"}}


class Noted(AgentState):
    user: str
    notes: Annotated[list[str], operator.add]


def clerk(*lines: Any, saver: InMemorySaver | None = None, **options: Any) -> Any:
    saver = saver or InMemorySaver()
    return create_agent(
        Scripted(lines), checkpointer=saver, state_schema=Noted, system_prompt="Be kind.", **options
    )


def texts(state: Any) -> list[str]:
    return [message.text for message in state["messages"]]


def steps(agent: Any) -> list[Any]:
    return [
        (len(one.values["messages"]), one.next, one.metadata["source"], one.metadata["step"])
        for one in agent.get_state_history(ADA)
    ]


def test_a_new_thread_begins_with_an_update_that_the_model_answers(tmp_path: Path) -> None:
    for path in (":memory:", tmp_path / "talk.db"):
        agent = clerk("one", saver=InMemorySaver(path))
        place = agent.update_state(ADA, {"messages": [HumanMessage("hi")], "user": "ada"})
        assert agent.get_state(ADA).next == ("model",)
        assert texts(agent.get_state(ADA).values) == ["hi"]
        assert steps(agent) == [(1, ("model",), "update", 0)]
        assert texts(agent.invoke(None, place)) == ["hi", "one"]
        assert agent.agent.model.requests[0].messages[0].text == "Be kind."
        assert agent.get_state(ADA).values["user"] == "ada"
        assert steps(agent) == [(2, (), "loop", 1), (1, ("model",), "update", 0)]


def test_values_join_by_their_reducers_and_the_ended_thread_stays_ended() -> None:
    agent = clerk("one", "two")
    agent.invoke({"messages": "hi", "notes": ["a"]}, ADA)
    place = asyncio.run(agent.aupdate_state(ADA, {"user": "bob", "notes": ["b"]}))
    now = agent.get_state(ADA)
    assert (now.values["user"], now.values["notes"], now.next) == ("bob", ["a", "b"], ())
    assert texts(agent.invoke(None, place)) == ["hi", "one"]
    assert texts(agent.invoke({"messages": "more"}, ADA)) == ["hi", "one", "more", "two"]
    assert steps(agent) == [
        (4, (), "loop", 5),
        (3, ("model",), "loop", 4),
        (2, ("__start__",), "input", 3),
        (2, (), "update", 2),
        (2, (), "loop", 1),
        (1, ("model",), "loop", 0),
        (0, ("__start__",), "input", -1),
    ]


def test_a_message_waits_for_the_next_input_unless_it_is_an_input_itself() -> None:
    agent = clerk("one", "two")
    agent.invoke({"messages": "hi"}, ADA)
    agent.update_state(ADA, {"messages": AIMessage("a note")})
    assert agent.get_state(ADA).next == ()
    assert texts(agent.invoke(None, ADA)) == ["hi", "one", "a note"]
    agent.update_state(ADA, {"messages": [HumanMessage("and?")]}, as_node="__start__")
    assert agent.get_state(ADA).next == ("model",)
    assert texts(agent.invoke(None, ADA)) == ["hi", "one", "a note", "and?", "two"]


def test_a_waiting_call_runs_with_the_updated_state() -> None:
    @tool
    def pay(amount: int, runtime: ToolRuntime) -> str:
        """Pay."""
        return f"paid {amount} for {runtime.state['user']}"

    agent = clerk(
        call("pay", {"amount": 5}),
        "done",
        tools=[pay],
        middleware=[HumanInTheLoopMiddleware({"pay": True})],
    )
    agent.invoke({"messages": "pay"}, ADA)
    agent.update_state(ADA, {"user": "bob"})
    waits = agent.get_state(ADA)
    assert (waits.next, len(waits.interrupts)) == (("tools",), 1)
    assert steps(agent)[0] == (2, ("tools",), "update", 2)
    with pytest.raises(InvalidUpdateError, match=r"Command\(resume=\.\.\.\)"):
        agent.update_state(ADA, {"messages": "wait"})
    state = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), ADA)
    assert texts(state) == ["pay", "", "paid 5 for bob", "done"]


def test_a_fork_of_a_thread_is_updated_and_goes_on_while_the_first_stays() -> None:
    saver = InMemorySaver()
    clerk("one", saver=saver).invoke({"messages": "hi"}, ADA)
    agent = clerk("another", saver=saver)
    [asked] = [one for one in agent.get_state_history(ADA) if one.next == ("model",)]
    with pytest.raises(SetupError, match=r"saver\.sessions\.fork\('ada'"):
        agent.update_state(asked.config, {"user": "bob"})
    before = int(asked.config["configurable"]["checkpoint_id"])
    saver.sessions.fork("ada", "bob", before=before)
    place = agent.update_state(
        {"configurable": {"thread_id": "bob"}}, {"messages": "shortly", "user": "bob"}
    )
    assert texts(agent.invoke(None, place)) == ["hi", "shortly", "another"]
    assert texts(agent.get_state(ADA).values) == ["hi", "one"]


@pytest.mark.parametrize(
    ("values", "as_node", "match"),
    [
        ({"user": "x"}, "tools", "'__start__' for an input"),
        ({"user": "x"}, "nowhere", "'model' for an answer"),
        ({"user": "x"}, "__start__", "needs messages"),
        ({"messages": [RemoveMessage("m1")]}, None, r"sessions\.edit"),
        ({"messages": [HumanMessage("other", id="m1")]}, None, r"sessions\.edit"),
        ({"messages": [ToolMessage("3", tool_call_id="c1")]}, None, "without calls"),
        (
            {"messages": [AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}])]},
            None,
            "without calls",
        ),
    ],
)
def test_an_update_that_a_thread_cannot_have_is_refused_and_changes_nothing(
    values: Any, as_node: str | None, match: str
) -> None:
    agent = clerk("one")
    agent.invoke({"messages": [HumanMessage("hi", id="m1")]}, ADA)
    with pytest.raises(InvalidUpdateError, match=match):
        agent.update_state(ADA, values, as_node)
    assert texts(agent.get_state(ADA).values) == ["hi", "one"]
    assert len(steps(agent)) == 3
