"""Servers as processes: what they find, what they leave behind, what they said last."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import toolkeel
from tests.mcp.peers import PEER
from tests.waiting import until
from toolkeel.mcp.client.mend_responses import ResponseRepair
from toolkeel.mcp.client.raw_requests import RawRequests
from toolkeel.mcp.client.stdio import Stderr, stdio
from toolkeel.mcp.config import ServerConfig, read_config
from toolkeel.mcp.launch_facts import launch_facts, shown_lines


async def _unheard(_: object) -> None:
    """Nobody wants to know what it logs."""


def no_requests() -> RawRequests:
    return RawRequests("s", ResponseRepair(lambda: None), _unheard)


def script(code: str, **more: str) -> ServerConfig:
    return ServerConfig("s", (sys.executable, "-c", textwrap.dedent(code)), **more)  # type: ignore[arg-type]


async def first(config: ServerConfig) -> object:
    """What the server says first."""
    async with stdio(config, Stderr(), no_requests()) as (read, _):
        item = await read.receive()
        return item.message.params  # type: ignore[union-attr]


SAY = """
    import json, os, sys
    def say(**params):
        print(json.dumps({"jsonrpc": "2.0", "method": "m", "params": params}), flush=True)
"""


def test_a_server_finds_few_variables_and_those_it_was_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    code = SAY + "\n    say(names=sorted(os.environ), mine=os.environ['MINE'], cwd=os.getcwd())"
    found = asyncio.run(first(script(code, env={"MINE": "猫"}, cwd=str(tmp_path))))  # type: ignore[arg-type]
    assert isinstance(found, dict)
    assert "OPENAI_API_KEY" not in found["names"] and "PATH" in found["names"]
    assert (found["mine"], found["cwd"]) == ("猫", str(tmp_path))


def test_a_variable_that_is_null_in_the_file_is_not_inherited(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", "/root")
    file, names = tmp_path / "mcp.json", tmp_path / ".env"
    names.write_text("MORE=1")
    code = textwrap.dedent(SAY + "\n    say(names=sorted(os.environ))")
    env = {"HOME": None, "MORE": None, "MINE": "1"}
    entry = {"command": sys.executable, "args": ["-c", code], "env": env, "envFile": str(names)}
    file.write_text(json.dumps({"mcpServers": {"a": entry}}))
    config = read_config(file)["a"]
    found: Any = asyncio.run(first(config))
    assert "MINE" in found["names"] and "PATH" in found["names"]
    assert "HOME" not in found["names"] and "MORE" not in found["names"]
    assert "without the variable HOME" in shown_lines(launch_facts(config))


@pytest.mark.slow
def test_a_server_that_ignores_everything_is_killed_with_its_children() -> None:
    code = (
        SAY
        + """
    import signal, subprocess, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    say(child=child.pid, me=os.getpid())
    while True:
        time.sleep(1)
    """
    )

    async def main() -> None:
        async with stdio(script(code), Stderr(), no_requests()) as (read, _):
            params = (await read.receive()).message.params  # type: ignore[union-attr]
        for pid in params.values():
            await until(lambda pid=pid: _is_gone(pid), 20)  # type: ignore[misc]

    asyncio.run(main())


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    try:  # a child whose parent was killed waits for init, which need not reap it
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_the_death_of_a_server_is_seen_although_its_child_holds_the_pipes() -> None:
    code = (
        SAY
        + """
    import subprocess
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    say()
    """
    )

    async def main() -> None:
        async with stdio(script(code), Stderr(), no_requests()) as (read, _):
            await read.receive()
            async with asyncio.timeout(20):
                assert [item async for item in read] == []

    asyncio.run(main())


def test_the_end_of_stderr_is_kept() -> None:
    async def main() -> str:
        kept = Stderr()
        code = "import sys\nfor n in range(1000): sys.stderr.write(f'line {n} 猫\\n')"
        async with stdio(script(code), kept, no_requests()) as (read, _):
            async for _item in read:
                pass
            await until(lambda: "line 999 猫" in str(kept))
        return str(kept)

    assert asyncio.run(main()).count("\n") < 30


@pytest.mark.slow
def test_nothing_is_left_running_when_the_program_ends() -> None:
    """The program neither closes the server nor waits for it."""
    code = f"""
        import json
        from toolkeel import ToolCall, Toolset
        from toolkeel.mcp.client.mcp_server import MCPServer
        tools = Toolset(MCPServer({PEER!r}, trust=True).tools())
        print(tools.run_sync([ToolCall("1", "pid", {{}})])[0].text)
    """

    async def main() -> int:
        words = (sys.executable, "-c", textwrap.dedent(code))
        path = str(Path(toolkeel.__file__).parents[1])
        process = await asyncio.create_subprocess_exec(
            *words, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
        )
        said, _ = await process.communicate()
        pid = int(said)
        await until(lambda: _is_gone(pid), 20)
        return pid

    assert asyncio.run(main()) > 0
