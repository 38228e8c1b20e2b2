"""What a person sees of running gateways: servers, clients, refusals; nothing of gateways that ended."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.gateway.behind import client_of, config
from tests.waiting import until
from toolkeel import Rules
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.policy import Policy
from toolkeel_studio.gateway.status import MAX_COUNTED, Activity, gateway_status
from toolkeel_studio.gateway.status_files import (
    publish_status,
    running_gateways,
    status_lines,
)


def test_a_running_gateway_shows_servers_clients_and_rules_that_fired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    gateway = Gateway(
        [
            config("new"),
            config("dead", ["/no/such/program"]),
            config("rude", [sys.executable, "-c", "import sys; sys.exit('no key is set')"]),
        ],
        Policy(Rules(deny=["new__echo(text=no)"], ask=["new__echo(text=maybe)"])),
        approver=lambda ticket: True,
    )

    async def use() -> list[str]:
        async with client_of(gateway) as client:
            await client.list_tools()
            await client.call_tool("new__echo", {"text": "no"})
            await client.call_tool("new__echo", {"text": "yes"})
            await client.call_tool("new__echo", {"text": "maybe"})
            await until(lambda: len(gateway.problems) == 2)
            state = partial(gateway_status, gateway)
            work = asyncio.ensure_future(publish_status(state, tmp_path / "mcp.json"))
            await until(lambda: bool(running_gateways()))
            lines = [line for each in running_gateways() for line in status_lines(each)]
            work.cancel()
            await asyncio.wait([work])
            return lines

    lines = asyncio.run(use())
    assert lines[0] == f"{tmp_path / 'mcp.json'} (process {os.getpid()})"
    assert lines[1].startswith("server new: ready since 20") and lines[1].endswith("2 calls")
    assert "dead: down since 20" in lines[2] and "/no/such/program" in lines[2]
    assert "it wrote" not in lines[3] and lines[3].startswith("server rude: down since 20")
    assert lines[4] == "  it wrote: no key is set"
    assert lines[5].startswith("client without a token (mcp 0.1.0): 3 calls, last request 20")
    assert lines[6] == (
        "refused 1 times: The gateway does not allow this call (rule: deny new__echo(text=no)). It was not sent."
    )
    assert lines[7] == "asked 1 times: rule: ask new__echo(text=maybe)" and len(lines) == 8
    assert running_gateways() == []


def test_no_client_makes_the_counts_grow_without_end() -> None:
    activity = Activity()
    for number in range(MAX_COUNTED + 5):
        activity.client(str(number)).calls += 1
        activity.count_refusal(f"rule {number}")
    for known in (activity.refusals, activity.clients):
        assert len(known) == MAX_COUNTED + 1
    assert activity.refusals["(others)"] == activity.clients["(others)"].calls == 5


def test_a_limit_is_one_rule_whatever_time_is_left() -> None:
    activity = Activity()
    for seconds in (60, 59):
        activity.count_refusal(
            f"The limit of 2 calls of a in 60 seconds is reached. The next is possible in {seconds} seconds."
        )
    assert list(activity.refusals.values()) == [2]
