"""A fault affects only its own server: long names, mute servers, servers that come back, a gateway of itself."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.behind import client_of, config
from tests.gateway.test_gateway import text
from tests.waiting import until
from toolkeel import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel_studio.gateway import upstream_pool
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.status import STATUS_URI
from toolkeel_studio.gateway.upstream_pool import STARTED_BY, gateway_chain

MUTE = [sys.executable, "-c", "import sys; sys.stdin.read()"]

LATE = """
import os, sys, time

while not os.path.exists({path!r}):
    time.sleep(0.02)
os.execv(sys.executable, {command!r})
"""


def late(path: Path) -> list[str]:
    """Return the command of a server that answers as soon as a file exists."""
    command = [sys.executable, *config("new").command[1:]]
    return [sys.executable, "-c", LATE.format(path=str(path), command=command)]


async def note(message: Any, heard: list[str]) -> None:
    heard.append(getattr(message, "method", ""))


def test_a_mute_server_delays_nobodys_list_and_the_rest_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_pool, "EXTRA_SECONDS", 0.1)
    gateway = Gateway(
        [
            config("good", config("new").command),
            config("mute", MUTE),
            config("late", late(tmp_path / "go")),
        ]
    )
    heard: list[str] = []

    async def use() -> None:
        async with client_of(
            gateway, "legacy", message_handler=lambda message: note(message, heard)
        ) as client:
            names = {tool.name.split("__")[0] for tool in (await client.list_tools()).tools}
            assert names == {"good"}
            assert not gateway.servers["mute"].listed.is_set()
            assert "mute: it has not answered yet" in str(client.instructions)
            (tmp_path / "go").touch()
            await until(lambda: "notifications/tools/list_changed" in heard)
            names = {tool.name.split("__")[0] for tool in (await client.list_tools()).tools}
            assert names == {"good", "late"} and not gateway.servers["mute"].listed.is_set()

    asyncio.run(use())


def test_a_call_waits_for_the_server_it_belongs_to_and_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_pool, "CONNECT_LIST_SECONDS", 0.1)
    gateway = Gateway([config("mute", MUTE), config("late", late(tmp_path / "go"))])

    async def use() -> str:
        async with client_of(gateway, "legacy") as client:
            call = asyncio.ensure_future(client.call_tool("late__echo", {"text": "x"}))
            await until(lambda: sum(each.calls for each in gateway.activity.clients.values()) == 1)
            (tmp_path / "go").touch()
            return text(await call)

    assert asyncio.run(use()) == "x"


def test_what_is_down_is_a_resource_and_a_server_that_comes_back_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_pool, "RETRY_SECONDS", 0.05)
    start = f"""
import os, sys
if not os.path.exists({str(tmp_path / "go")!r}):
    sys.stderr.write("hunter2")
    sys.exit(1)
os.execv(sys.executable, {[sys.executable, *config("new").command[1:]]!r})
"""
    gateway = Gateway([config("back", [sys.executable, "-c", start]), config("new")])

    async def states(client: Any) -> dict[str, dict[str, Any]]:
        read = await client.read_resource(STATUS_URI, cache_mode="bypass")
        return {each["server"]: each for each in json.loads(read.contents[0].text)["servers"]}

    async def use() -> None:
        async with client_of(gateway) as client:
            assert "- back: the MCP server 'back' cannot be used" in str(client.instructions)
            assert "hunter2" not in str(client.instructions)
            listed = [str(each.uri) for each in (await client.list_resources()).resources]
            assert STATUS_URI in listed
            found = await states(client)
            assert (found["back"]["state"], found["new"]["state"]) == ("down", "ready")
            assert "cannot be used" in found["back"]["why"] and "hunter2" not in str(found)
            (tmp_path / "go").touch()
            await until(lambda: gateway.servers["back"].is_ready)
            assert text(await client.call_tool("back__echo", {"text": "x"})) == "x"
            assert "why" not in (await states(client))["back"]

    asyncio.run(use())


def test_a_long_name_of_a_server_is_shortened_and_said(caplog: pytest.LogCaptureFixture) -> None:
    name = "awslabs.aws-documentation-mcp-server"
    gateway = Gateway([config(name, config("new").command), config("a__b", config("new").command)])

    async def use() -> list[str]:
        async with client_of(gateway) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return [
                text(await client.call_tool(each, {"text": "x"}))
                for each in names
                if each.endswith("echo")
            ]

    assert asyncio.run(use()) == ["x", "x"]
    assert f"the name of the server {name!r} is too long" in caplog.text


def test_a_gateway_that_names_itself_is_refused_where_it_would_start_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = [config("new"), config("self", ["toolkeel", "gateway", "mcp.json"])]
    monkeypatch.delenv(STARTED_BY, raising=False)
    chain = gateway_chain(servers)
    started = Gateway(servers).servers["self"]._started
    assert started.env[STARTED_BY] == chain
    monkeypatch.setenv(STARTED_BY, "other:" + chain)
    with pytest.raises(SetupError, match="start itself endlessly"):
        Gateway(servers)
    assert gateway_chain([config("new")]).startswith(f"other:{chain}:")


OF_ITSELF = """
import asyncio, os, sys
from toolkeel import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.server.stdio import claim_stdout, serve_stdio
from toolkeel_studio.gateway.gateway import Gateway

claim_stdout()
itself = ServerConfig("itself", command=(sys.executable, *sys.orig_argv[1:]),
                      env={"PYTHONPATH": os.environ["PYTHONPATH"]})
with open(sys.argv[1], "a") as told:
    try:
        gateway = Gateway([itself])
    except SetupError:
        told.write("refused\\n")
        raise
    told.write("serving\\n")
asyncio.run(serve_stdio(gateway))
"""


def test_a_gateway_of_itself_does_not_serve_within_itself_and_costs_no_other_server(
    tmp_path: Path,
) -> None:
    program, told = tmp_path / "program.py", tmp_path / "told"
    program.write_text(OF_ITSELF)
    told.touch()
    command = [sys.executable, str(program), str(told)]
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    itself = ServerConfig("itself", command=tuple(command), env=env)
    gateway = Gateway([itself, config("new")])

    async def use() -> str:
        async with client_of(gateway) as client:
            said = text(await client.call_tool("new__echo", {"text": "x"}))
            await until(lambda: "refused" in told.read_text())  # the one that the first one started
            return said

    assert asyncio.run(use()) == "x"
    assert told.read_text().splitlines() == ["serving", "refused"]
