"""Where a server's tools come from."""

from __future__ import annotations

import pytest

from tests.waiting import run
from toolkeel.errors import SetupError
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.server.tool_server import ToolServer


def test_another_server_is_refused_as_a_source_since_all_but_its_tools_would_be_lost() -> None:
    other = MCPServer("never-started", name="files")
    with pytest.raises(SetupError, match=r"'files'.*toolkeel gateway.*Gateway.*get_tools"):
        ToolServer([other])
    with pytest.raises(SetupError, match="Gateway"):
        run(lambda: ToolServer([]).update([other]))
