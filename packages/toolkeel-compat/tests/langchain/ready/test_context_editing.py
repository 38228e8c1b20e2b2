"""Older results of tools leave the requests, and stay in the thread."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.testing import Scripted, call
from toolkeel_compat.langchain import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ToolMessage,
    create_agent,
    tool,
)


@tool
def look(q: str) -> str:
    """Look."""
    return f"{q} " + "x" * 40


def last_request(**options: Any) -> list[Any]:
    model = Scripted([*(call("look", {"q": q}, id=q) for q in "abc"), "done"])
    edit = ClearToolUsesEdit(**{"trigger": 60, "keep": 1, **options})
    agent = create_agent(model, [look], middleware=[ContextEditingMiddleware(edits=[edit])])
    kept = agent.invoke({"messages": "go"})["messages"]
    assert "[cleared]" not in [one.text for one in kept]
    return [*model.requests[-1].messages]


def test_all_but_the_latest_results_are_cleared() -> None:
    sent = last_request()
    assert [one.text[:9] for one in sent if isinstance(one, ToolMessage)] == [
        "[cleared]",
        "[cleared]",
        "c xxxxxxx",
    ]
    assert sent[1].tool_calls[0].arguments != {}


@pytest.mark.parametrize(
    ("options", "cleared"),
    [
        ({"trigger": 1000}, 0),
        ({"keep": 0}, 3),
        ({"keep": 0, "clear_at_least": 5}, 1),
        ({"keep": 0, "exclude_tools": ["look"]}, 0),
    ],
)
def test_an_edit_says_when_and_how_much(options: Any, cleared: int) -> None:
    assert [one.text for one in last_request(**options)].count("[cleared]") == cleared


def test_arguments_of_cleared_calls_may_go_too() -> None:
    sent = last_request(clear_tool_inputs=True)
    calls = [each for one in sent for each in getattr(one, "tool_calls", ())]
    assert [bool(one.args) for one in calls] == [False, False, True]


def test_tokens_are_counted_by_a_function() -> None:
    with pytest.raises(SetupError, match="token_counter="):
        ContextEditingMiddleware(token_count_method="model")
    own = ContextEditingMiddleware(token_counter=len)
    assert own.token_counter is len and own.edits == [ClearToolUsesEdit()]
