"""``toolkeel serve --as``: the agent of a file, served for front ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from tests.mcp.peers import free_port
from toolkeel_studio.cli.exit_codes import USAGE, UsageProblem
from toolkeel_studio.cli.front_ends import find_agent, is_loopback, serve_front_ends

SHOP = '''
from toolkeel import Agent, tool
from toolkeel.testing import Scripted


@tool(approval=True)
def refund(euros: int) -> str:
    """Pay money back."""
    return "paid"


agent = Agent(Scripted(["Hello."]), [refund])
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop_of_lamps.py"
    path.write_text(SHOP, "utf-8")
    return path


def test_the_agent_of_a_file_answers_a_page(shop: Path, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "toolkeel", "serve", str(shop), "--as", "vercel"]
    options = ["--http", f"127.0.0.1:{port}", "--token", "t", "--deciders", "user"]
    files = ["--file", str(tmp_path / "talk.db"), "--drain", "0"]
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    body = {"id": "a", "trigger": "submit-message", "messages": [said]}
    with subprocess.Popen([*command, *options, *files], cwd=tmp_path, stderr=-1) as server:
        try:
            client = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
            for _ in range(600):
                try:
                    refused = client.post("/api/chat", json=body)
                    break
                except httpx2.ConnectError:
                    time.sleep(0.05)
            answered = client.post("/api/chat", json=body, headers={"authorization": "Bearer t"})
            client.close()
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate()
    assert refused.status_code == 401
    assert '"delta":"Hello."' in answered.text and answered.status_code == 200
    assert server.returncode == 0


def test_what_cannot_be_served_is_told(shop: Path, tmp_path: Path) -> None:
    empty = tmp_path / "nothing_here.py"
    empty.write_text("x = 1\n", "utf-8")
    many = tmp_path / "two_agents.py"
    many.write_text(SHOP + "other = Agent(Scripted([]))\n", "utf-8")
    for path, told in ((empty, "holds no agent"), (many, "holds 2 agents")):
        with pytest.raises(UsageProblem, match=told):
            find_agent(str(path))
    assert find_agent(f"{many}:other").name == "agent"
    place, access, kept = ("127.0.0.1", 1), ("", [], []), (tmp_path / "s.db", "user")
    with pytest.raises(UsageProblem, match="names out of"):
        serve_front_ends(str(shop), "smoke", place, access, kept, 0)
    with pytest.raises(UsageProblem, match="user or operator"):
        serve_front_ends(str(shop), "vercel", place, access, (kept[0], "me"), 0)
    with pytest.raises(UsageProblem, match="other machines"):
        serve_front_ends(str(shop), "vercel", ("0.0.0.0", 1), access, kept, 0)


def test_without_deciders_the_command_says_what_is_missing(shop: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "toolkeel", "serve", str(shop), "--as", "vercel", "--no-token"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "deciders" in done.stderr
    assert done.returncode != USAGE or os.name == "nt"


@pytest.mark.parametrize(
    ("host", "local"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("x", False)]
)
def test_addresses_that_only_this_machine_reaches(host: str, local: bool) -> None:
    assert is_loopback(host) is local
