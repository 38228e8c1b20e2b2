"""Where an agent is defined, it is said which of its tools will wait (newcomers' first surprise)."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import Agent, Effects, Rules, Toolset, tool
from toolkeel.call import waiting_tools
from toolkeel.define.tool import AnyTool
from toolkeel.effects import reads
from toolkeel.testing.scripted import Scripted


@tool(effects=reads(stranger=True))
def page() -> str:
    """Read a page."""
    return "a page"


def save(text: str) -> str:
    """Save a text."""
    return "saved"


async def log(prepared: Any, context: Any, proceed: Any) -> object:
    return await proceed(prepared, context)


@pytest.fixture(autouse=True)
def nothing_was_said() -> None:
    waiting_tools._warned.clear()


@pytest.mark.parametrize(
    ("saves", "rules", "warns"),
    [
        (tool(save), None, True),
        (tool(approval=False)(save), None, False),
        (tool(approval=True)(save), None, False),
        (tool(effects=Effects(open_world=False, destructive=False))(save), None, False),
        (tool(save), Rules(allow=["save"]), False),
    ],
)
def test_an_agent_says_which_undeclared_tool_will_wait_and_how_to_declare_it(
    saves: AnyTool, rules: Rules | None, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        Agent(Scripted([]), Toolset([page, saves], rules=rules))
    assert len(caplog.records) == warns
    if warns:
        text = caplog.records[0].getMessage()
        assert text.startswith("after page has read a stranger's text, calls of save need approval")
        assert "Rules(allow=['save'])" in text


def test_an_agent_of_which_no_tool_reads_strangers_text_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Agent(Scripted([]), [save])
    assert not caplog.records


@pytest.mark.parametrize(
    ("tools", "warns"),
    [
        (Toolset([save]), True),
        (Toolset([tool(approval=False)(save)]), True),
        (Toolset([tool(approval=True)(save)]), False),
        (Toolset([tool(approval=lambda text: False)(save)]), False),
        (Toolset([save], rules=Rules(ask=["save"])), False),
        (Toolset([save], rules=Rules(allow=["save"])), True),
        (Toolset([save, page]), False),
        (Toolset([tool(steps=[log])(save)]), False),
    ],
)
def test_an_approver_that_no_call_can_reach_is_told_with_what_reaches_it(
    tools: Toolset, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        Agent(Scripted(["done"]), tools).run_sync("go", approver=lambda ticket: True)
    said = [one.getMessage() for one in caplog.records if "approver= is never" in one.getMessage()]
    assert len(said) == warns
    if warns:
        assert "Rules(ask=['save'])" in said[0]
    caplog.clear()
    waiting_tools._warned.clear()
    Agent(Scripted(["done"]), tools).run_sync("go")
    assert not any("approver=" in one.getMessage()[:20] for one in caplog.records)
