"""Tools that are known only when a run begins."""

from __future__ import annotations

from typing import Any

import pytest

from toolwright import Agent, Run, SetupError, tool
from toolwright.errors import DuplicateToolError
from toolwright.testing.scripted import Scripted, call


@tool
def basic() -> str:
    """Always there."""
    return "basic"


def admin() -> str:
    """For administrators."""
    return "admin"


class Static:
    def get_tools(self) -> list[Any]:
        return [admin]


class ByUser:
    async def get_tools(self, run: Run[str]) -> list[Any]:
        return [admin] if run.context == "admin" else []


@pytest.mark.parametrize(
    ("provider", "user", "names"),
    [
        (Static(), "guest", ["basic", "admin"]),
        (ByUser(), "admin", ["basic", "admin"]),
        (ByUser(), "guest", ["basic"]),
    ],
)
def test_an_agent_asks_its_providers_when_a_run_begins(provider, user, names):
    model = Scripted(["done"])
    Agent(model, [basic, provider]).run_sync("go", context=user)
    assert [t.name for t in model.requests[0].tools] == names


def test_provided_tools_run_under_the_agents_steps_and_rules():
    seen = []

    async def step(prepared, context, proceed):
        seen.append(prepared.tool.name)
        return await proceed(prepared)

    agent = Agent(Scripted([call("admin"), "x"]), [Static()], steps=[step])
    assert agent.run_sync("go").messages[2].text == "admin" and seen == ["admin"]


def test_two_sources_of_one_name_are_refused_when_the_run_begins():
    with pytest.raises(DuplicateToolError, match="'admin'"):
        Agent(Scripted(["x"]), [admin, Static()]).run_sync("go")


def test_a_provider_that_gives_no_tools_is_named():
    class Broken:
        def get_tools(self) -> None:
            return None

    with pytest.raises(SetupError, match=r"Broken\.get_tools gave None"):
        Agent(Scripted(["x"]), [Broken()]).run_sync("go")
