"""What a person sees of running gateways: servers, clients, refusals; nothing of gateways that ended."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.behind import client_of, config
from tests.waiting import until
from toolkeel import Rules
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.policy import Policy
from toolkeel_studio.gateway.status import (
    MAX_COUNTED,
    Activity,
    publish_status,
    running_gateways,
    status_folder,
    status_lines,
)


def test_a_running_gateway_shows_servers_clients_and_rules_that_fired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    gateway = Gateway(
        [config("new"), config("dead", ["/no/such/program"])],
        Policy(Rules(deny=["new__echo(text=no)"])),
    )

    async def use() -> list[str]:
        async with client_of(gateway) as client:
            await client.list_tools()
            await client.call_tool("new__echo", {"text": "no"})
            await client.call_tool("new__echo", {"text": "yes"})
            work = asyncio.ensure_future(publish_status(gateway, tmp_path / "mcp.json"))
            await until(lambda: bool(running_gateways()))
            lines = [line for each in running_gateways() for line in status_lines(each)]
            work.cancel()
            await asyncio.wait([work])
            return lines

    lines = asyncio.run(use())
    assert lines[0] == f"{tmp_path / 'mcp.json'} (process {os.getpid()})"
    assert "new  ready since 20" in lines[1] and lines[1].endswith("1 calls")
    assert "dead  down since 20" in lines[2] and "/no/such/program" in lines[2]
    assert lines[3] == "  client (without a token): 2 calls"
    assert lines[4].startswith(
        "  refused 1 times: The gateway does not allow this call (rule: deny"
    )
    assert running_gateways() == []


def test_the_file_of_a_gateway_that_was_killed_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    status_folder().mkdir(parents=True)
    path = status_folder() / f"{ended.pid}.json"
    path.write_text(json.dumps({"file": "mcp.json", "pid": ended.pid}))
    assert running_gateways() == [] and not path.exists()


def test_no_client_makes_the_counts_grow_without_end() -> None:
    activity = Activity()
    for number in range(MAX_COUNTED + 5):
        activity.count_call(str(number))
    assert activity.calls["(others)"] == 5 and len(activity.calls) == MAX_COUNTED + 1
