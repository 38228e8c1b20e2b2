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
from toolkeel_compat.langchain.threads import EDIT_NOTICE

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


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ({"type": "approve"}, "paid 5"),
        (
            {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 2}}},
            f'{EDIT_NOTICE} Executed instead: pay with arguments {{"amount": 2}}.\n\n'
            "Tool response:\npaid 2",
        ),
        (
            {"type": "reject", "message": "too much"},
            "User rejected the tool call for `pay` with reason: too much",
        ),
        (
            {"type": "reject"},
            "User rejected the tool call for `pay` with id call_1. The tool was not executed. Do "
            "not retry this tool call unless the user explicitly requests it.",
        ),
        ({"type": "respond", "message": "pay it yourself"}, "pay it yourself"),
    ],
)
def test_a_call_waits_in_its_thread_until_somebody_decides(decision: Any, told: str) -> None:
    agent = clerk(call("pay", {"amount": 5}), "done")
    state = agent.invoke({"messages": "pay 5"}, ADA)
    [waits] = state["__interrupt__"]
    [request] = waits.value["action_requests"]
    assert (request["name"], request["args"]) == ("pay", {"amount": 5})
    assert waits.value["review_configs"][0]["action_name"] == "pay"
    state = agent.invoke(Command(resume={"decisions": [decision]}), ADA)
    assert (state["messages"][-2].text, state["messages"][-1].text) == (told, "done")
    assert (state["messages"][-2].status == "error") == (decision["type"] == "reject")


def test_a_decision_that_fits_nothing_is_refused() -> None:
    agent = clerk(call("pay", {"amount": 5}))
    agent.invoke({"messages": "pay 5"}, ADA)
    for resume, why in (
        ({"decisions": []}, "1, not 0"),
        ({"decisions": [{"type": "later"}]}, "not decided by 'later'"),
        ({"decisions": [{"type": "edit", "edited_action": {"name": "x", "args": {}}}]}, "another"),
    ):
        with pytest.raises(SetupError, match=why):
            agent.invoke(Command(resume=resume), ADA)
    with pytest.raises(SetupError, match="needs a checkpointer"):
        create_agent(Scripted([])).invoke(Command(resume={}))
    with pytest.raises(SetupError, match="names buy"):
        create_agent("offline", [pay], middleware=[HumanInTheLoopMiddleware({"buy": True})])


def test_only_decisions_that_are_allowed_are_taken() -> None:
    def described(asked: Any, state: Any, runtime: Any) -> str:
        return f"付款 {asked['args']['amount']} of {len(state['messages'])} for {runtime.context}?"

    asking = {"pay": {"allowed_decisions": ["approve", "reject"], "description": described}}
    agent = create_agent(
        Scripted([call("pay", {"amount": 5}), "done"]),
        [pay],
        middleware=[HumanInTheLoopMiddleware(asking)],
        checkpointer=InMemorySaver(),
    )
    [waits] = agent.invoke({"messages": "pay 5"}, ADA, context="Ada")["__interrupt__"]
    assert waits.value["action_requests"][0]["description"] == "付款 5 of 2 for Ada?"
    assert waits.value["review_configs"][0]["allowed_decisions"] == ["approve", "reject"]
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 2}}}
    with pytest.raises(SetupError, match="is not decided by 'edit'"):
        agent.invoke(Command(resume={"decisions": [edit]}), ADA)
    state = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), ADA)
    assert state["messages"][-2].text == "paid 5"


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({}, "a dict with allowed_decisions"),
        ("yes", "a dict with allowed_decisions"),
        ({"allowed_decisions": []}, "some of approve, edit, reject"),
        ({"allowed_decisions": ["later"]}, "some of approve, edit, reject, respond"),
        ({"description": "Pay?"}, "some of approve, edit, reject"),
        ({"allow_decisions": ["approve"]}, "has no allow_decisions"),
        ({"allowed_decisions": ["approve"], "when": bool}, r"@tool\(approval="),
    ],
)
def test_how_a_tool_is_asked_about_is_honoured_or_refused(how: Any, told: str) -> None:
    with pytest.raises(SetupError, match=told):
        HumanInTheLoopMiddleware({"pay": how})


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
