"""What changes while a gateway serves: its rules, and from which level on servers tell what they log."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from mcp import Client

from tests.mcp.gateway.behind import client_of, config
from tests.mcp.gateway.test_gateway import text
from toolkeel import Rules, SetupError
from toolkeel._records.tickets import Ticket
from toolkeel.mcp.gateway.gateway import Gateway
from toolkeel.mcp.gateway.policy import Limit, Policy

LEVELLED = """
import json, sys

level = "none"
for line in sys.stdin:
    said = json.loads(line)
    method, result = said["method"], {}
    if method == "initialize":
        has = {"tools": {}, "logging": {}}
        about = {"name": "levelled", "version": "0"}
        result = {"protocolVersion": "2025-11-25", "capabilities": has, "serverInfo": about}
    elif method == "tools/list":
        schema = {"type": "object"}
        result = {"tools": [{"name": name, "inputSchema": schema} for name in ("level", "die")]}
    elif method == "logging/setLevel":
        level = said["params"]["level"]
    elif method == "tools/call":
        if said["params"]["name"] == "die":
            sys.exit()
        result = {"content": [{"type": "text", "text": level}]}
    elif method == "server/discover":
        error = {"code": -32601, "message": "no such method"}
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "error": error}), flush=True)
        continue
    if "id" in said:
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}), flush=True)
"""
LEVELLED_SERVER = [sys.executable, "-c", LEVELLED]


async def want(client: Client, level: str) -> None:
    await client.session._dispatcher.send_raw_request("logging/setLevel", {"level": level}, {})


def test_a_server_tells_from_the_lowest_level_on_that_any_client_wants_also_started_again() -> None:
    gateway = Gateway([config("far", LEVELLED_SERVER)])

    async def use() -> list[str]:
        said: list[str] = []
        async with client_of(gateway, "legacy") as ada, client_of(gateway, "legacy") as bo:

            async def level() -> None:
                said.append(text(await ada.call_tool("far__level", {})))

            await ada.list_tools()
            await level()
            await want(ada, "debug")
            await want(bo, "error")
            await level()
            await ada.call_tool("far__die", {})
            await level()
            await want(ada, "warning")
            await level()
        return said

    assert asyncio.run(use()) == ["none", "debug", "debug", "warning"]


def test_a_client_with_a_process_of_its_own_has_the_level_there_too() -> None:
    gateway = Gateway([config("far", LEVELLED_SERVER)])

    async def use() -> list[str]:
        async with client_of(gateway, "legacy") as ada, client_of(gateway, "legacy") as bo:
            await want(ada, "notice")
            for client in (ada, bo):
                await client.call_tool("far__level", {})
            gateway._servers["far"].apart = True
            return [text(await each.call_tool("far__level", {})) for each in (ada, bo)]

    assert asyncio.run(use()) == ["notice", "notice"]


def test_other_rules_hold_from_the_next_call_on_and_clients_stay() -> None:
    gateway = Gateway([config("new")], Policy(limits=[Limit("new__echo", 1, 60.0)]))
    word: dict[str, Any] = {"text": "x"}

    async def use() -> list[str]:
        async with client_of(gateway) as client:
            said = [text(await client.call_tool("new__echo", word)) for _ in range(2)]
            await gateway.obey(Policy(Rules(deny=["new__ask"])))
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "new__echo" in names and "new__ask" not in names
            said.append(text(await client.call_tool("new__echo", word)))
            with pytest.raises(SetupError, match="new start"):
                await gateway.obey(Policy(clients={"ada": Rules()}, tokens={"ada": b""}))
            return said

    first, second, third = asyncio.run(use())
    assert (first, third) == ("x", "x") and "limit of 1 calls" in second


def test_what_other_rules_deny_is_not_sent_though_somebody_has_approved_it() -> None:
    async def approve(ticket: Ticket) -> bool:
        gateway.policy.become(Policy(Rules(deny=["new__echo"])))
        return True

    gateway = Gateway([config("new")], Policy(Rules(ask=["new__echo"])), approver=approve)

    async def use() -> str:
        async with client_of(gateway) as client:
            return text(await client.call_tool("new__echo", {"text": "x"}))

    assert "does not allow" in asyncio.run(use())
