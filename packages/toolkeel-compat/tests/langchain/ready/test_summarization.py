"""Older messages become a summary in requests, and stay in the transcript."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    AgentState,
    InMemorySaver,
    SummarizationMiddleware,
    create_agent,
    init_chat_model,
    tool,
)

ADA = {"configurable": {"thread_id": "ada"}}


@tool
def look(word: str) -> str:
    """Look a word up."""
    return f"found {word}"


def said(model: Scripted, request: int) -> list[str]:
    return [one.text for one in model.requests[request].messages]


class Own(AgentState):
    mine: int


@pytest.mark.parametrize("schema", [None, Own])
def test_a_summary_takes_the_place_of_older_messages_once(schema: Any) -> None:
    writer = Scripted(["first summary", "second summary", "third summary"])
    middleware = SummarizationMiddleware(
        init_chat_model(writer), trigger=("messages", 5), keep=("messages", 2)
    )
    model = Scripted(["one", "two", "three", "four", "five"])
    options: Any = {"middleware": [middleware], "state_schema": schema}
    agent = create_agent(model, checkpointer=InMemorySaver(), **options)
    for text in ("a", "b", "c", "d", "e"):
        state = agent.invoke({"messages": text}, ADA)
    summary = "Here is a summary of the conversation to date:\n\n"
    assert said(model, 1) == ["a", "one", "b"]
    assert said(model, 2) == [f"{summary}first summary", "two", "c"]
    assert said(model, 3) == [f"{summary}second summary", "three", "d"]
    assert '<message type="human">a</message>' in said(writer, 0)[0]
    assert "first summary" in said(writer, 1)[0]
    for values in (state, agent.get_state(ADA).values):
        texts = [one.text for one in values["messages"]]
        assert texts == [f"{summary}third summary", "four", "e", "five"]
        assert values.keys() <= {"messages", "mine"}


def test_a_call_stays_with_its_results() -> None:
    writer = Scripted(["summary"])
    middleware = SummarizationMiddleware(
        init_chat_model(writer), trigger=("messages", 3), keep=("messages", 1)
    )
    model = Scripted([call("look", {"word": "tea"}), "done"])
    create_agent(model, [look], middleware=[middleware]).invoke({"messages": "go"})
    assert said(model, 1)[1:] == ["", "found tea"]


def test_a_call_is_summarized_with_its_arguments() -> None:
    writer, model = (
        Scripted(["summary"]),
        Scripted([call("look", {"word": "<tea>"}, "1"), "done", "again"]),
    )
    summarizer = init_chat_model(writer)
    middleware = SummarizationMiddleware(summarizer, trigger=("messages", 4), keep=("messages", 1))
    agent = create_agent(model, [look], middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke({"messages": "go"}, ADA)
    agent.invoke({"messages": "on"}, ADA)
    read = '<tool_call id="1" name="look">{"word": "&lt;tea&gt;"}</tool_call>'
    assert read in said(writer, 0)[0]


def test_every_limit_of_a_dict_counts_and_any_item_of_a_list() -> None:
    def summarizes(trigger: Any) -> bool:
        model = Scripted(["done"])
        middleware = SummarizationMiddleware(
            init_chat_model(Scripted(["summary"])), trigger=trigger, keep=("tokens", 5)
        )
        create_agent(model, middleware=[middleware]).invoke({"messages": ["a", "b", "c"]})
        return "summary" in said(model, 0)[0]

    assert summarizes({"messages": 3, "tokens": 12})
    assert not summarizes({"messages": 3, "tokens": 500})
    assert summarizes([("tokens", 500), ("messages", 2)])
    assert not summarizes(None)


@pytest.mark.parametrize("limit", [("fraction", 0.8), ("messages", 0), "messages", ("turns", 3)])
def test_a_limit_that_is_not_known_is_refused(limit: Any) -> None:
    with pytest.raises(SetupError, match=r"SummarizationMiddleware\((trigger|keep)="):
        SummarizationMiddleware("offline", trigger=("messages", 3), keep=limit)
    with pytest.raises((SetupError, ValueError)):
        SummarizationMiddleware("offline", trigger=limit)
