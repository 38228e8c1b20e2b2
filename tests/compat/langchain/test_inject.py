"""LangChain's markers say what a parameter is filled with."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import toolkeel
from toolkeel import RunContext, ToolCall, Toolset
from toolkeel.compat.langchain import (
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
    tool,
)


@tool
def tells(
    state: Annotated[dict[str, Any], InjectedState],
    count: Annotated[int, InjectedState("count")],
    user: Annotated[str, InjectedToolArg],
    id: Annotated[str, InjectedToolCallId],
    store: Annotated[Any, InjectedStore] = None,
) -> str:
    """Tell what was injected."""
    return f"{sorted(state)} {count} {user} {id} {store}"


def test_each_marker_gives_its_own_value_and_none_is_shown() -> None:
    run: RunContext[None] = RunContext(None, state={"count": 2}, inject={"user": "ada"})
    tools = Toolset([tells])
    [result] = tools.run_sync([ToolCall("c1", "tells", "{}")], run)
    assert result.content == "['count'] 2 ada c1 None"
    assert not dict(tools["tells"].parameters).get("properties")


@pytest.mark.parametrize(
    "word", ["InjectedState", "InjectedStore", "InjectedToolArg", "InjectedToolCallId"]
)
def test_the_package_names_where_a_marker_of_langchain_is(word: str) -> None:
    with pytest.raises(ImportError, match=f"has no '{word}'; write (Injected|ToolContext; )"):
        getattr(toolkeel, word)
