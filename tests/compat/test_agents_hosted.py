"""What stands around hosted tools; those that are not there yet are refused."""

from __future__ import annotations

import pytest

from toolwright import SetupError, Toolset
from toolwright.compat.agents_hosted import (
    Computer,
    HostedMCPTool,
    Mcp,
)
from toolwright.compat.openai_agents import Agent


@pytest.mark.parametrize("hosted", [HostedMCPTool(Mcp("https://mcp.example.com"))])
def test_a_hosted_tool_is_refused_where_it_would_have_to_run(hosted: object) -> None:
    with pytest.raises(SetupError, match="cannot be run yet"):
        Toolset([hosted])  # type: ignore[list-item]
    with pytest.raises(SetupError, match="cannot be run yet"):
        Agent(tools=[hosted])  # type: ignore[list-item]


def test_a_hosted_tool_has_its_name() -> None:
    assert HostedMCPTool(Mcp("https://mcp.example.com")).name == "hosted_mcp"


def test_a_computer_must_say_how_it_does_everything() -> None:
    class Half(Computer):
        def screenshot(self) -> bytes:
            return b""

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
