"""Ids of messages: the same wherever a message is read, and what is removed or replaced by them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    AIMessage,
    HumanMessage,
    InMemorySaver,
    RemoveMessage,
    after_model,
    before_model,
    create_agent,
    init_chat_model,
    tool,
    wrap_model_call,
)
from toolkeel_compat.langchain.threads.message_ids import read_transcript, record_changes

CONFIG = {"configurable": {"thread_id": "1"}}
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-%s[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def read_ids(state: Any) -> list[str]:
    return [one.id for one in state["messages"]]


def texts(state: Any) -> list[str]:
    return [one.text for one in state["messages"]]


def test_each_message_of_a_thread_has_one_id_wherever_it_is_read() -> None:
    model = Scripted([call("add", {"a": 1, "b": 2}), "three", "again"])
    agent = create_agent(model, [add], checkpointer=InMemorySaver())
    first = read_ids(agent.invoke({"messages": "hi"}, CONFIG))
    for id, form in zip(first, ("%s", "lc_run--%s-0", "%s", "lc_run--%s-0"), strict=True):
        assert re.fullmatch(form % (UUID % ("7" if "run" in form else "4")), id)
    streamed = [
        read_ids(one) for one in agent.stream({"messages": "more"}, CONFIG, stream_mode="values")
    ]
    assert streamed[-1][:4] == first
    assert all(one == streamed[-1][: len(one)] for one in streamed)
    assert len({*streamed[-1]}) == 6
    assert read_ids(agent.get_state(CONFIG).values) == streamed[-1]
    for snapshot in agent.get_state_history(CONFIG):
        ids = read_ids({"messages": [], **snapshot.values})
        assert ids == streamed[-1][: len(ids)]


def test_chunks_have_the_id_of_their_reply_and_an_own_id_stays() -> None:
    agent = create_agent(Scripted([call("add", {"a": 1, "b": 2}), "three"]), [add])
    modes = ["messages", "updates"]
    pairs = [*agent.stream({"messages": HumanMessage("hi", id="own")}, stream_mode=modes)]
    chunks = [part[0].id for mode, part in pairs if mode == "messages"]
    updates = [one.id for mode, part in pairs if mode == "updates" for value in part.values() for one in value["messages"]]  # fmt: skip
    assert [*dict.fromkeys(chunks)] == updates
    agent = create_agent(Scripted(["x"]))
    assert read_ids(agent.invoke({"messages": HumanMessage("hi", id="own")}))[0] == "own"
    assert HumanMessage("hi").id is None


def test_a_model_gives_its_reply_an_id() -> None:
    model = init_chat_model(Scripted(["one", "two words"]))
    assert re.fullmatch(f"lc_run--{UUID % 7}-0", str(model.invoke("hi").id))
    assert len({one.id for one in model.stream("hi")}) == 1


@pytest.mark.parametrize("hook", [before_model, after_model])
def test_what_a_hook_removes_by_id_is_gone_from_the_thread(hook: Callable[..., Any]) -> None:
    @hook
    def forget(state: Any, runtime: Any) -> Any:
        return {"messages": [RemoveMessage(one.id) for one in state["messages"][:-2]]}

    model = Scripted(["one", "two", "three"])
    agent = create_agent(model, middleware=[forget], checkpointer=InMemorySaver())
    for text in ("a", "b", "c"):
        state = agent.invoke({"messages": text}, CONFIG)
    assert texts(state) == texts(agent.get_state(CONFIG).values)
    before = hook is before_model
    assert texts(state) == (["two", "c", "three"] if before else ["c", "three"])
    shown = [one.text for one in model.requests[-1].messages]
    assert shown == (["two", "c"] if before else ["b", "two", "c"])


def test_what_a_hook_replaces_by_id_stays_replaced() -> None:
    @before_model
    def redact(state: Any, runtime: Any) -> Any:
        last = state["messages"][-1]
        return {"messages": [HumanMessage(last.text.replace("secret", "***"), id=last.id)]}

    @after_model
    def shout(state: Any, runtime: Any) -> Any:
        last = state["messages"][-1]
        return {"messages": [AIMessage(last.text.upper(), id=last.id)]}

    model = Scripted(["one", "two"])
    agent = create_agent(model, middleware=[redact, shout], checkpointer=InMemorySaver())
    agent.invoke({"messages": "my secret"}, CONFIG)
    state = agent.invoke({"messages": "more"}, CONFIG)
    assert texts(state) == ["my ***", "ONE", "more", "TWO"]
    assert texts(agent.get_state(CONFIG).values) == texts(state)
    assert [one.text for one in model.requests[-1].messages] == ["my ***", "ONE", "more"]


def test_what_a_hook_adds_stays_in_the_thread_and_counts_once() -> None:
    @before_model
    def remind(state: Any, runtime: Any) -> Any:
        return {"messages": [HumanMessage(f"reminder {len(state['messages'])}")]}

    @wrap_model_call
    def trim(request: Any, handler: Any) -> Any:
        return handler(request.override(messages=request.messages[-3:]))

    @wrap_model_call
    def watch(request: Any, handler: Any) -> Any:
        shown.append([one.text for one in request.messages])
        return handler(request)

    shown: list[list[str]] = []
    agent = create_agent(
        Scripted([call("add", {"a": 1, "b": 2}), "three", "two"]),
        [add],
        middleware=[remind, trim, watch],
        checkpointer=InMemorySaver(),
    )
    agent.invoke({"messages": "a"}, CONFIG)
    state = agent.invoke({"messages": "b"}, CONFIG)
    first = ["a", "reminder 1", "", "3", "reminder 4", "three"]
    assert texts(state) == [*first, "b", "reminder 7", "two"]
    assert texts(agent.get_state(CONFIG).values) == texts(state)
    assert shown == [["a", "reminder 1"], ["", "3", "reminder 4"], ["three", "b", "reminder 7"]]


def test_a_hook_may_remove_the_answer_itself() -> None:
    @after_model
    def validate(state: Any, runtime: Any) -> Any:
        last = state["messages"][-1]
        return {"messages": [RemoveMessage(last.id)]} if "secret" in last.text else None

    model = Scripted(["a secret", "fine"])
    agent = create_agent(model, middleware=[validate], checkpointer=InMemorySaver())
    assert texts(agent.invoke({"messages": "a"}, CONFIG)) == ["a"]
    assert texts(agent.invoke({"messages": "b"}, CONFIG)) == ["a", "b", "fine"]
    assert [one.text for one in model.requests[-1].messages] == ["a", "b"]


def test_a_hook_that_moves_a_message_is_refused_with_what_to_write() -> None:
    @before_model
    def turn(state: Any, runtime: Any) -> Any:
        return {"messages": [RemoveMessage("__remove_all__"), *reversed(state["messages"])]}

    with pytest.raises(SetupError, match="RemoveMessage, and add a copy"):
        create_agent(Scripted([]), middleware=[turn]).invoke({"messages": ["a", "b"]})


@given(st.lists(st.lists(st.tuples(st.sampled_from("raw"), st.integers(0, 5)), max_size=4)))
def test_a_transcript_is_read_as_it_was_changed(rounds: list[list[tuple[str, int]]]) -> None:
    state: dict[str, Any] = {}
    names, raw, shown = count(), list[Any](), list[Any]()
    for changes in rounds:
        raw.append(HumanMessage("said", id=f"s{next(names)}"))
        shown = [*shown, raw[-1]]
        after = [*shown]
        for how, place in changes:
            new = HumanMessage(f"text {next(names)}", id=f"n{next(names)}")
            if how == "a":
                after.insert(place, new)
            elif place < len(after):
                changed = HumanMessage(new.text, id=after[place].id)
                after[place : place + 1] = [] if how == "r" else [changed]
        record_changes(state, shown, after, may_add=True)
        shown = after
        read = read_transcript(raw, state)
        assert [(one.id, one.text) for one in read] == [(one.id, one.text) for one in shown]
        assert read_transcript(read, state) == read
