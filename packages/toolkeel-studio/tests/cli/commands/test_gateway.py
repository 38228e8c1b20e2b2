"""`toolkeel gateway` as a host starts it, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.mcp.peers import PEER
from toolkeel.mcp.config import read_config
from toolkeel.mcp.consent import ConsentStore
from toolkeel_studio.cli.exit_codes import SETUP

WORDS = [sys.executable, "-m", "toolkeel", "gateway"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = tmp_path / "mcp.json"
    entry = {"command": PEER[0], "args": PEER[1:]}
    found.write_text(
        json.dumps({"mcpServers": {"one": entry, "two": entry, "new": {"command": "x"}}})
    )
    for name in ("one", "two"):
        ConsentStore().grant(read_config(found)[name])
    return found


@pytest.mark.slow
def test_a_host_that_starts_it_has_all_servers_somebody_agreed_to(file: Path) -> None:
    rules = file.with_name("policy.toml")
    rules.write_text("[approval]\ndeny = ['two__*']\n")
    audit = file.with_name("audit.jsonl")
    words = [*WORDS[1:], str(file), "--rules", str(rules), "--audit", str(audit)]
    started = StdioServerParameters(command=WORDS[0], args=words, env=dict(os.environ))

    async def use() -> None:
        async with Client(stdio_client(started)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "one__echo" in names and not [name for name in names if name[:4] != "one_"]
            said = await client.call_tool("one__echo", {"text": "猫"})
            assert said.content[0].text == "猫"  # type: ignore[union-attr]

    asyncio.run(use())
    assert [json.loads(line)["event"] for line in audit.read_text().splitlines()] == ["call", "end"]


def test_servers_nobody_agreed_to_are_named_and_without_any_other_there_is_nothing(
    file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"mcpServers": {"x": {"command": "rm-everything"}}}')
    done = subprocess.run(
        [*WORDS, str(other)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == SETUP and done.stdout == ""
    assert "rm-everything" in done.stderr and "nobody has agreed" in done.stderr
