"""``toolkeel mcp`` as a person uses it: in a folder of their own, against a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gateway.behind import PROGRAM
from tests.mcp.peers import PEER
from tests.shared import PYTHONPATH

Say = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def say(tmp_path: Path) -> Say:
    """Run a command in a fresh folder with a home of its own."""

    def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TOOLKEEL")}
        kept |= {"XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": PYTHONPATH, **env}
        return subprocess.run(
            [sys.executable, "-m", "toolkeel", *words],
            cwd=tmp_path,
            env=kept,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )

    return run


@pytest.mark.slow
def test_a_server_is_added_looked_at_called_approved_and_removed(say: Say, tmp_path: Path) -> None:
    added = say("mcp", "add", "peer", "-e", "A=${HOME}", "--", *PEER)
    assert added.returncode == 0, added.stderr
    entry = json.loads((tmp_path / "mcp.json").read_text("utf-8"))["mcpServers"]["peer"]
    assert entry == {"command": PEER[0], "args": PEER[1:], "env": {"A": "${HOME}"}}

    [listed] = json.loads(say("mcp", "list", "--json").stdout)
    assert (listed["name"], listed["agreed"], listed["pinned"]) == ("peer", True, 0)

    tools = say("mcp", "tools", "peer")
    assert "echo" in tools.stdout and "hides characters" in tools.stderr
    assert "broken: #/properties/x/type" in tools.stderr

    denied = say("mcp", "call", "peer", "echo", "text=hi")
    assert (denied.returncode, denied.stdout) == (1, "")
    called = say("mcp", "call", "peer", "echo", "text=北京", "--yes")
    assert called.stdout == "北京\n"

    assert say("mcp", "pin", "peer", "fail").returncode == 1
    pinned = say("mcp", "pin", "peer", "fail", "--yes")
    assert "approved: fail" in pinned.stderr
    assert "nothing has changed (2 approved)" in say("mcp", "diff", "peer").stderr

    removed = say("mcp", "remove", "peer")
    assert removed.returncode == 0
    assert json.loads((tmp_path / "mcp.json").read_text("utf-8")) == {"mcpServers": {}}


@pytest.mark.slow
def test_what_a_server_changed_since_is_shown_and_fails_the_command(
    say: Say, tmp_path: Path
) -> None:
    peer = Path(PEER[-1]).read_text("utf-8")
    server = tmp_path / "server.py"
    server.write_text(peer, "utf-8")
    say("mcp", "add", "peer", "--", PEER[0], str(server))
    assert say("mcp", "pin", "peer", "echo", "--yes").returncode == 0
    server.write_text(peer.replace("Say it again.", "Say it again, aloud."), "utf-8")
    refused = say("mcp", "diff", "peer")
    assert "changed: with the file server.py" in refused.stderr and refused.returncode == 3
    say("mcp", "add", "peer", "--", PEER[0], str(server))  # the person agrees to the new script
    diff = say("mcp", "diff", "peer")
    assert diff.returncode == 1
    assert '+  "description": "Say it again, aloud."' in diff.stdout
    assert "echo has changed since it was approved" in say("mcp", "tools", "peer").stderr
    again = say("mcp", "call", "peer", "echo", "text=hi")
    assert again.returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ("mcp", "tools", "evil"),
        pytest.param(("tools", "mcp.json"), marks=pytest.mark.slow),
        pytest.param(("run", "hi", "-t", "mcp.json"), marks=pytest.mark.slow),
    ],
)
def test_a_server_of_somebody_elses_file_is_not_started_unseen(
    say: Say, tmp_path: Path, words: tuple[str, ...]
) -> None:
    entry = {"command": sys.executable, "args": ["-c", "open('started', 'w')"]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"evil": entry}}), "utf-8")
    refused = say(*words)
    assert refused.returncode == 3
    assert "nobody has agreed" in refused.stderr and "open(" in refused.stderr
    assert not (tmp_path / "started").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("tools", "nosuch"), 2, "no server is called 'nosuch'"),
        (("remove", "nosuch"), 3, "mcp.json"),
        (("add", "x", "run", "-e", "novalue"), 2, "is not KEY=VALUE"),
        (
            ("add", "x", "https://h", "--header", "A=${SURELY_NOT_SET}"),
            3,
            "variable SURELY_NOT_SET",
        ),
        (("add", " ", "run"), 2, "needs a name"),
        (("list", "--file", "nowhere.json"), 0, "names no servers"),
    ],
)
def test_a_wrong_word_is_told(say: Say, words: tuple[str, ...], code: int, told: str) -> None:
    done = say("mcp", *words)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr


@pytest.mark.slow
def test_what_a_server_has_besides_tools_is_listed_read_and_filled_in(
    say: Say, tmp_path: Path
) -> None:
    (tmp_path / "notes.py").write_text(
        "from toolkeel.mcp.server import prompt, resource\n"
        "@resource('app://log')\ndef log() -> str:\n    'The log.'\n    return 'all 猫'\n"
        "@prompt\ndef greet(name: str) -> str:\n    'Greet.'\n    return f'Say hi to {name}.'\n"
        "@greet.complete('name')\ndef names(typed: str) -> list[str]:\n    return ['Ada', '北京']\n"
    )
    served = [sys.executable, "-m", "toolkeel", "serve", "notes.py", "--instructions", "Log first."]
    assert say("mcp", "add", "notes", "--", *served).returncode == 0
    assert "Log first." in say("mcp", "tools", "notes").stderr
    assert "app://log" in say("mcp", "resources", "notes").stdout
    assert say("mcp", "read", "notes", "app://log").stdout == "all 猫\n"
    assert "(name)" in say("mcp", "prompts", "notes").stdout
    assert "Say hi to Ada." in say("mcp", "prompt", "notes", "greet", "name=Ada").stdout
    assert say("mcp", "complete", "notes", "greet", "name", "A").stdout == "Ada\n北京\n"
    for words in (("read", "notes", "app://none"), ("prompt", "notes", "greet")):
        missing = say("mcp", *words)
        assert missing.returncode == 1 and missing.stderr.startswith("toolkeel: The server notes")


@pytest.mark.slow
def test_what_changes_is_told_until_the_person_has_enough(say: Say, tmp_path: Path) -> None:
    code = PROGRAM.replace("asyncio.run(serve_stdio(server))", CHANGES)
    (tmp_path / "server.py").write_text(code, "utf-8")
    assert say("mcp", "add", "notes", "--", sys.executable, "server.py").returncode == 0
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": PYTHONPATH}
    words = [sys.executable, "-m", "toolkeel", "mcp", "watch", "notes", "app://log"]
    with subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None and watch.stdout.readline() == "app://log\n"
        watch.send_signal(signal.SIGINT)
        assert watch.wait(60) == 130


CHANGES = """
async def often():
    while True:
        await asyncio.sleep(0.2)
        await server.resource_updated("app://log")


async def main():
    changes = asyncio.create_task(often())
    await serve_stdio(server)
    changes.cancel()


asyncio.run(main())
"""
