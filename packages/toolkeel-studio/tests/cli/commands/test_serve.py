"""`toolkeel serve`: what a client that starts it gets on its pipe, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client as Peer
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.waiting import run
from toolkeel_studio.cli.commands.serve import choose_token
from toolkeel_studio.cli.exit_codes import SETUP, USAGE, UsageProblem

LOUD = '''
"""Tools that print."""
import atexit, os, subprocess, sys
from toolkeel import tool
from toolkeel.mcp.server import prompt, resource

print("at import")
atexit.register(lambda: (print("at exit"), os.write(1, b"at exit, by hand\\n")))


@tool
def shout(text: str) -> str:
    """Print everywhere."""
    print("in a call")
    sys.__stdout__.write("without a newline")
    os.write(1, b"by hand\\n")
    subprocess.run(["echo", "in a child"], check=True)
    return f"喊:{text}"


@prompt
def hello(name: str) -> str:
    """Say hello."""
    return f"你好,{name}"


@resource("app://a")
def a() -> str:
    """A."""
    return "甲"
'''


@pytest.fixture
def loud(tmp_path: Path) -> Path:
    path = tmp_path / "loud_tools.py"
    path.write_text(LOUD, "utf-8")
    return path


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "toolkeel", "serve", *words]


def said(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


HELLO = said(
    id=1,
    method="initialize",
    params={
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
)


def test_nothing_but_messages_reaches_the_client_to_the_very_end(loud: Path) -> None:
    with subprocess.Popen(
        command(str(loud)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        calls = said(
            id=2, method="tools/call", params={"name": "shout", "arguments": {"text": "a"}}
        )
        process.stdin.write(HELLO + said(method="notifications/initialized") + calls)
        process.stdin.flush()
        first, second = process.stdout.readline(), process.stdout.readline()
        rest, errors = process.communicate(timeout=60)
    assert json.loads(first)["result"]["serverInfo"]["name"] == "loud_tools"
    assert json.loads(second)["result"]["content"][0]["text"] == "喊:a"
    assert "喊:a".encode() in second  # characters go as they are
    assert rest == b"" and process.returncode == 0
    printed = errors.decode()
    for words in (
        "at import",
        "in a call",
        "without a newline",
        "by hand",
        "in a child",
        "at exit",
    ):
        assert words in printed


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_a_file_brings_its_tools_prompts_and_resources(loud: Path, era: str) -> None:
    async def main() -> None:
        [program, *words] = command(str(loud), "--name", "mine", "--instructions", "Be loud.")
        parameters = StdioServerParameters(command=program, args=words, env=dict(os.environ))
        async with Peer(stdio_client(parameters), mode=era) as peer:
            [tool] = (await peer.list_tools()).tools
            assert tool.name == "shout"
            [prompt] = (await peer.list_prompts()).prompts
            assert prompt.name == "hello"
            [found] = (await peer.read_resource("app://a")).contents
            assert found.model_dump()["text"] == "甲"

    run(main, 60)


def test_it_ends_at_once_when_told_to(loud: Path) -> None:
    with subprocess.Popen(
        command(str(loud)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(HELLO)
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("calculator", "--stdio", "--http", ":1"), USAGE, "not both"),
        (("calculator", "--http", "nowhere"), USAGE, "HOST:PORT"),
        (("calculator", "--http", ":1", "--token", "x", "--no-token"), USAGE, "not both"),
        (("calculator", "--http", "0.0.0.0:1"), SETUP, "--token"),
        (("nothing_here.py",), SETUP, "no file"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_line(
    words: tuple[str, ...], code: int, told: str
) -> None:
    done = subprocess.run(command(*words), capture_output=True, text=True, timeout=60)
    assert done.returncode == code and told in done.stderr and done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_token_is_made_unless_somebody_says_that_none_is_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = choose_token("", False)
    assert len(made) >= 24 and made in capsys.readouterr().err
    assert choose_token("mine", False) == "mine"
    assert choose_token("", True) == ""
    assert "no token" in capsys.readouterr().err
    with pytest.raises(UsageProblem):
        choose_token("mine", True)
