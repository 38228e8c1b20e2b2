"""The way through a login page: with a browser here, with one elsewhere, and with nobody."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.mcp.authorizing import agreeing, authorized
from tests.mcp.peers import free_port
from tests.waiting import until_sync
from toolkeel import SetupError
from toolkeel.mcp.client.oauth.browser import Browser, query_of

if sys.platform != "win32":
    import pty

ADDRESS = re.compile(r"http://\S+/authorize\?\S+")
WAITS = """
import asyncio, sys
from toolkeel.mcp.client.oauth.browser import Browser
print("CAME", asyncio.run(Browser("far", int(sys.argv[1]), "https://far.example.com/mcp")("http://login.example.com/authorize?state=s1")))
"""


class Terminal:
    """A program at a terminal of its own.

    Args:
        words: What starts it.
        env: Its environment.
    """

    def __init__(self, words: list[str], env: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)
        self._seen = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self._ours, 65_536):
                self._seen += chunk
        except OSError:
            pass  # its end is closed

    @property
    def text(self) -> str:
        """What was written there."""
        return self._seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def shows(self, text: str) -> None:
        """Wait until it was written."""
        until_sync(lambda: text in self.text, 60, lambda: self.text)

    def types(self, line: str) -> None:
        """Type a line."""
        os.write(self._ours, line.encode() + b"\n")


@contextmanager
def at_terminal(*words: str, **env: str) -> Iterator[Terminal]:
    """A program of ours at a terminal without a screen."""
    kept = {key: value for key, value in os.environ.items() if key not in _SCREEN}
    found = Terminal([sys.executable, *words], kept | env)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait()


_SCREEN = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def test_a_login_nobody_can_see_is_refused_rather_than_waited_for() -> None:
    with pytest.raises(SetupError, match="nobody is there to log in") as caught:
        asyncio.run(Browser("web", 0, "https://web.example/mcp")("https://login.example.com"))
    assert "login.example.com" in str(caught.value)
    assert "toolkeel mcp login https://web.example/mcp" in str(caught.value)


def test_only_this_logins_answer_ends_the_wait_whoever_else_comes_to_the_port() -> None:
    port = free_port()
    with at_terminal("-c", WAITS, str(port)) as terminal:
        terminal.shows("paste it here")
        here = f"http://127.0.0.1:{port}"
        for odd in (
            "/",
            "/callback",
            "/callback?code=x",
            "/callback?code=x&state=s2",
            "/x?state=s1",
        ):
            assert httpx2.get(here + odd).status_code == 404
        assert "CAME" not in terminal.text
        answer = httpx2.get(f"{here}/callback?state=s1&code=<b>c</b>")
        assert answer.status_code == 200 and "<b>" not in answer.text
        terminal.shows(f"CAME {here}/callback?state=s1&code=")
        assert terminal.process.wait(30) == 0


def test_where_the_port_is_taken_the_address_is_pasted_and_a_wrong_one_is_asked_for_again() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with at_terminal("-c", WAITS, str(taken.getsockname()[1])) as terminal:
            terminal.shows("paste it here")
            terminal.types("http://127.0.0.1:1/callback?state=other&code=c")
            terminal.shows("the whole address is wanted")
            terminal.types("http://127.0.0.1:1/callback?state=s1&code=c")
            terminal.shows("CAME http://127.0.0.1:1/callback?state=s1&code=c")
            assert terminal.process.wait(30) == 0


@pytest.mark.slow
def test_a_person_without_a_browser_logs_in_by_the_command_and_every_command_has_the_login(
    tmp_path: Path,
) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path)}
    file = tmp_path / "mcp.json"

    def say(*words: str) -> str:
        command = [sys.executable, "-m", "toolkeel", "mcp", *words, "-f", str(file)]
        done = subprocess.run(
            command, env=os.environ | env, capture_output=True, text=True, timeout=120
        )
        return done.stdout + done.stderr

    with authorized() as (far, authority):
        say("add", "cloud", far)
        assert "toolkeel mcp login" in say("tools", "cloud")
        words = ("-m", "toolkeel", "mcp", "login", "cloud", "-f", str(file))
        with at_terminal(*words, **env) as terminal:
            terminal.shows("paste it here")
            found = ADDRESS.search(terminal.text)
            assert found is not None
            terminal.types(asyncio.run(agreeing(found[0])))
            terminal.shows("logged in to cloud")
            assert terminal.process.wait(30) == 0
        assert "echo" in say("tools", "cloud")
        assert say("call", "cloud", "echo", "text=hi", "--yes").startswith("hi")
        assert authority.logins == 1
        say("logout", "cloud")
        assert "toolkeel mcp login" in say("tools", "cloud")


def test_what_is_no_address_says_nothing() -> None:
    assert query_of("http://[x?state=s") == {}
