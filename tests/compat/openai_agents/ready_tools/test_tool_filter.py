"""Which of a server's tools are taken and asked about follows from names alone."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.compat.openai_agents import (
    RunContextWrapper,
    ToolFilterContext,
    create_static_tool_filter,
)
from toolkeel.compat.openai_agents.ready_tools.tool_filter import asking, own_name, taken
from toolkeel.define.tool import Tool

names = st.sets(st.sampled_from(["a", "b", "c"]))


def made(name: str) -> Any:
    return Tool.from_schema(
        f"peer_{name}", "", {"type": "object"}, lambda c, a: "", metadata={"mcp": {"tool": name}}
    )


@given(st.none() | names, st.none() | names, st.sampled_from(["a", "b", "c"]))
def test_a_tool_is_taken_if_it_is_allowed_and_not_blocked(
    allowed: Any, blocked: Any, name: str
) -> None:
    wanted = create_static_tool_filter(allowed, blocked)
    context = ToolFilterContext(RunContextWrapper(), None, "peer")
    expected = (allowed is None or name in allowed) and name not in (blocked or ())
    assert asyncio.run(taken(made(name), wanted, context)) is expected


@given(names, names)
def test_those_that_are_named_are_asked_about_under_the_servers_own_names(
    always: Any, each: Any
) -> None:
    approvals = {"always": {"tool_names": [*always]}, **dict.fromkeys(each, "always")}
    asked = {own_name(t) for n in "abc" if (t := asking(made(n), approvals)).approval}
    assert asked == always | each
