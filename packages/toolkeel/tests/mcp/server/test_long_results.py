"""Results above a tool's limit: cut for the model, whole for the client that asks."""

from __future__ import annotations

import json
import re

import pytest
from mcp.client.client import Client as Peer
from mcp.shared.exceptions import MCPError

from tests.mcp.serving import both_eras, call, talk, text
from toolkeel import Toolset, tool
from toolkeel.mcp.server import ToolServer, stored_results

LINES = "\n".join(f"第 {n} 行" for n in range(500))


@tool(max_output=300)
def lines() -> str:
    """Many lines."""
    return LINES


@tool(max_output=300)
def rows() -> list[int]:
    """Many numbers."""
    return list(range(500))


@both_eras
@pytest.mark.parametrize("name", ["lines", "rows"])
def test_what_is_cut_is_read_whole_at_the_address_that_the_result_says(name: str, era: str) -> None:
    async def test(peer: Peer) -> tuple[str, str]:
        result = await peer.call_tool(name, {})
        said = "".join(getattr(block, "text", "") for block in result.content)
        found = re.search(r'all of it: resources/read\(path="(\S+)"\)', said)
        assert found is not None and len(said) < 600
        [held] = (await peer.read_resource(found[1])).contents
        assert result.structured_content is None or name == "rows"
        return getattr(held, "text", ""), said

    server = ToolServer([lines, rows], resources=[stored_results])
    whole, said = talk(server, test, era)
    assert whole == LINES if name == "lines" else json.loads(whole) == list(range(500))
    assert "characters left out here" in said


def test_a_name_nobody_was_told_leads_nowhere() -> None:
    async def test(peer: Peer) -> None:
        for name in ("000000000000", "..%2F..%2Fetc%2Fpasswd", "x"):
            await peer.read_resource(f"toolkeel://results/{name}")

    with pytest.raises(MCPError, match="not found"):
        talk(ToolServer([lines], resources=[stored_results]), test)


def test_tools_of_somebody_else_stay_as_they_are_and_a_server_without_resources_says_what_is_cut() -> (
    None
):
    own = Toolset([lines])
    ToolServer(own, resources=[stored_results])
    assert own.keeper is None
    said = text(call(ToolServer(own), "lines"))
    assert "no call gives them" in said and "resources/read" not in said
