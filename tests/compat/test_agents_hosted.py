"""Hosted tools are data: made, looked at, and refused where they would have to run."""

from __future__ import annotations

import pytest

from toolwright import SetupError, Toolset
from toolwright.compat.agents_hosted import (
    Computer,
    FileSearchTool,
    Filters,
    RankingOptions,
)
from toolwright.compat.openai_agents import Agent

SEARCH = FileSearchTool(["vs_1"], 5, True, RankingOptions("auto", 0.5), Filters({"a": 1}))


def test_a_hosted_tool_is_refused_where_it_would_have_to_run() -> None:
    with pytest.raises(SetupError, match="cannot be run yet"):
        Toolset([SEARCH])  # type: ignore[list-item]
    with pytest.raises(SetupError, match="cannot be run yet"):
        Agent(tools=[SEARCH])


def test_hosted_tools_have_their_names_and_fields() -> None:
    assert (SEARCH.name, SEARCH.max_num_results) == ("file_search", 5)
    assert FileSearchTool(["vs_1"]).include_search_results is False


def test_a_computer_must_say_how_it_does_everything() -> None:
    class Half(Computer):
        def screenshot(self) -> bytes:
            return b""

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
