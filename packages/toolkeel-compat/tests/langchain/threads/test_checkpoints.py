"""Threads that go on, and calls that wait for a person, under LangChain's names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    create_agent,
    tool,
)

ADA = {"configurable": {"thread_id": "ada"}}


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def clerk(*lines: Any, **options: Any) -> Any:
    asking = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    saver = options.pop("checkpointer", InMemorySaver())
    return create_agent(Scripted(lines), [pay], middleware=[asking], checkpointer=saver, **options)


def test_a_thread_tells_where_it_stands() -> None:
    agent = clerk(call("pay", {"amount": 5}), "done")
    assert agent.get_state(ADA).values == {}
    agent.invoke({"messages": "pay", "user": "ada"}, ADA)
    waits = agent.get_state(ADA)
    assert waits.next == ("tools",) and waits.config == ADA
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), ADA)
    ended = agent.get_state(ADA)
    assert (ended.next, ended.interrupts) == ((), ())
    assert [one.content for one in ended.values["messages"]] == ["pay", "", "paid 5", "done"]
    with pytest.raises(SetupError, match="checkpointer"):
        create_agent("offline").get_state(ADA)


def test_a_thread_goes_on_where_it_was_and_knows_nothing_of_others(tmp_path: Path) -> None:
    for path in (":memory:", tmp_path / "talk.db"):
        model = Scripted(["one", "two", "three"])
        agent = create_agent(model, checkpointer=InMemorySaver(path))
        agent.invoke({"messages": "hi"}, ADA)
        state = agent.invoke({"messages": "and?"}, ADA)
        assert [message.text for message in state["messages"]] == ["hi", "one", "and?", "two"]
        other = agent.invoke({"messages": "hi"}, {"configurable": {"thread_id": 7}})
        assert len(other["messages"]) == 2
    with pytest.raises(SetupError, match="thread_id"):
        agent.invoke({"messages": "hi"})


def test_a_thread_tells_what_waits_in_it_as_a_task() -> None:
    agent = create_agent(
        Scripted([call("pay", {"amount": 1}), "done"]),
        [pay],
        middleware=[HumanInTheLoopMiddleware({"pay": True})],
        checkpointer=InMemorySaver(),
    )
    asked = agent.invoke({"messages": "pay"}, ADA)["__interrupt__"]
    state = agent.get_state(ADA)
    assert [*state.interrupts] == asked
    assert [*state.tasks[0].interrupts] == asked
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), ADA)
    assert agent.get_state(ADA).tasks == ()


def test_the_history_of_a_thread_has_a_state_for_each_step_the_latest_first() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "past"}}
    model = Scripted([call("add", {"a": 1, "b": 2}), "3", "again"])
    agent = create_agent(model, [add], checkpointer=saver)
    assert list(agent.get_state_history(thread)) == []
    agent.invoke({"messages": "1 + 2?"}, thread)
    agent.invoke({"messages": "more"}, thread)
    past = list(agent.get_state_history(thread))
    assert [(len(one.values["messages"]), one.next) for one in past] == [
        (6, ()),
        (5, ("model",)),
        (4, ("__start__",)),
        (4, ()),
        (3, ("model",)),
        (2, ("tools",)),
        (1, ("model",)),
        (0, ("__start__",)),
    ]
    assert [one.metadata["step"] for one in past] == [6, 5, 4, 3, 2, 1, 0, -1]
    assert past[0].parent_config == past[1].config and past[-1].parent_config is None

    before = past[4].config["configurable"]["checkpoint_id"]
    with pytest.raises(SetupError, match=r"saver\.sessions\.fork\('past'"):
        agent.invoke(None, past[4].config)
    saver.sessions.fork("past", "other", before=int(before))
    state = create_agent(Scripted(["three"]), [add], checkpointer=saver).invoke(
        None, {"configurable": {"thread_id": "other"}}
    )
    assert [m.text for m in state["messages"]] == ["1 + 2?", "", "3", "three"]
