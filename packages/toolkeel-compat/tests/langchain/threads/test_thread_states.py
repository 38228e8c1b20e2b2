"""The methods of an agent for its threads: what they need, and the agent's own config."""

from __future__ import annotations

import asyncio

import pytest

from toolkeel import SetupError
from toolkeel.testing import Scripted
from toolkeel_compat.langchain import (
    AgentState,
    InMemorySaver,
    InvalidUpdateError,
    create_agent,
    create_react_agent,
)

ADA = {"configurable": {"thread_id": "ada"}}


def test_an_update_needs_a_known_key_and_the_agents_own_node() -> None:
    agent = create_agent("offline", state_schema=AgentState, checkpointer=InMemorySaver())
    with pytest.raises(SetupError, match="no 'nokey'"):
        agent.update_state(ADA, {"nokey": 1})
    older = create_react_agent("offline", checkpointer=InMemorySaver())
    older.update_state(ADA, {"messages": "hi"}, as_node="agent")
    with pytest.raises(InvalidUpdateError, match="'agent' for an answer"):
        older.update_state(ADA, {"messages": "hi"}, as_node="model")


def test_the_states_of_threads_need_a_checkpointer() -> None:
    agent = create_agent("offline")
    with pytest.raises(SetupError, match=r"get_state\(\) needs an agent with a checkpointer"):
        agent.get_state(ADA)
    with pytest.raises(SetupError, match=r"get_state_history\(\) needs"):
        agent.get_state_history(ADA)
    with pytest.raises(SetupError, match=r"update_state\(\) needs"):
        asyncio.run(agent.aupdate_state(ADA, {"messages": "hi"}))


def test_an_agent_with_a_config_of_its_own_reads_and_updates_that_thread() -> None:
    agent = create_agent(Scripted(["one"]), checkpointer=InMemorySaver()).with_config(ADA)
    agent.update_state({}, {"messages": "hi"})
    assert [message.text for message in agent.invoke(None)["messages"]] == ["hi", "one"]
    assert len(list(agent.get_state_history({}))) == 2
    assert len(agent.get_state({}).values["messages"]) == 2
