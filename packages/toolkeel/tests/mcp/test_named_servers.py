"""Servers named on the command line, as one set of tools."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.mcp.peers import PEER
from toolkeel import ToolCall
from toolkeel.builtin.tools_by_place import load_target
from toolkeel.mcp.config import read_config
from toolkeel.mcp.consent import ConsentStore
from toolkeel.mcp.named_servers import make_server, servers_of_target


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two servers that somebody has agreed to."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "mcp.json"
    entry = {"command": PEER[0], "args": PEER[1:]}
    path.write_text(json.dumps({"mcpServers": {"one": entry, "two": entry}}), "utf-8")
    for config in read_config(path).values():
        ConsentStore().grant(config)
    return path


@pytest.mark.slow
def test_a_file_is_all_its_servers_and_names_they_share_are_told_apart(file: Path) -> None:
    tools = load_target(str(file))
    assert "one_echo" in tools and "two_echo" in tools and "echo" not in tools
    one = load_target(f"{file}:one")
    assert "echo" in one
    [message] = one.run_sync([ToolCall("1", "echo", {"text": "hi"})])
    assert message.kind == "denied"


def test_servers_of_a_target_are_asked_about_and_pinned_in_the_users_own_file(file: Path) -> None:
    [one, two] = servers_of_target(str(file))
    assert (one.name, two.name, one.trust) == ("one", "two", False)
    assert one.pins is two.pins
    assert make_server("https://x/mcp", trust=True).trust is True
    for each in (one, two):
        asyncio.run(each.close())
