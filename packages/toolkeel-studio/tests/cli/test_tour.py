"""A newcomer's tour in a real terminal (tmux), narrow and wide, partly in Chinese."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import pytest

from tests.cli.commandline import environment
from tests.shared import cannot_run

pytestmark = pytest.mark.slow  # real processes: `make test-all`

TOOLS = '''
import asyncio
from pathlib import Path
from typing import Annotated

from pydantic import Field
from toolkeel import UserMessage, tool
from toolkeel.testing.scripted import Scripted, call


@tool
async def look(city: str, days: Annotated[int, Field(ge=1, le=9)] = 1) -> str:
    """Look at the weather."""
    while not Path("go").exists():
        await asyncio.sleep(0.01)
    return f"{city}晴"


@tool(approval=True)
def book(city: str) -> str:
    """Book a train."""
    return f"booked {city}"


def heard(request):
    return "heard " + "、".join(m.text for m in request.messages if isinstance(m, UserMessage))


both = [call("look", {"city": "杭州"}), call("look", {"city": "苏州"})]
model = Scripted([both, call("book", {"city": "杭州"}), *[heard] * 9])
'''


class Screen:
    """A terminal with a shell in it.

    Args:
        folder: Where the shell is.
        columns: Cells of a line.
    """

    def __init__(self, folder: Path, columns: int) -> None:
        self._name = f"toolkeel-{os.getpid()}-{columns}"
        env = environment(TOOLKEEL_DATA=str(folder / "data"), LC_ALL="C.UTF-8", PS1="$ ")
        size = ["-x", str(columns), "-y", "50"]
        self._env, self._folder = env, folder
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "sh")

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-L", self._name, *words]
        done = subprocess.run(
            command, env=self._env, cwd=self._folder, capture_output=True, check=True, timeout=30
        )
        return done.stdout.decode()

    def run(self, *words: str) -> None:
        """A command of ours, on an empty screen: what stood there before answers for nothing."""
        self.type("clear")
        for _ in range(600):
            if self._tmux("capture-pane", "-p").strip() == "$":
                break
            time.sleep(0.05)
        self.type(f"clear; {shlex.join([sys.executable, '-m', 'toolkeel', *words])}; echo code=$?")

    def type(self, text: str, key: str = "Enter") -> None:
        """Type a text, then press a key."""
        self._tmux("send-keys", "-l", "--", text)
        self.press(key)

    def press(self, *keys: str) -> None:
        """Press keys."""
        self._tmux("send-keys", *keys)

    def until(self, *texts: str) -> list[str]:
        """The lines of the screen, once all of these are there."""
        shown = ""
        for _ in range(600):
            shown = self._tmux("capture-pane", "-p", "-J")
            if all(text in shown for text in texts):
                return [line.rstrip() for line in shown.splitlines()]
            time.sleep(0.1)
        raise AssertionError(f"never seen: {texts}\n{shown}")

    def say(self, text: str) -> None:
        """Type a line while a run works, until it has been heard: then it is in the history."""
        self.type(text)
        history = self._folder / "data" / "chat-history"
        for _ in range(1200):
            if f"+{text}\n" in history.read_text("utf-8"):
                return
            time.sleep(0.05)
        raise AssertionError(f"never heard: {text}")

    def end(self) -> None:
        """Close it."""
        self._tmux("kill-server")


@contextmanager
def screen(folder: Path, columns: int) -> Iterator[Screen]:
    """A terminal, closed at the end."""
    if which("tmux") is None:
        cannot_run("tmux is not installed")
    (folder / "tools.py").write_text(TOOLS, "utf-8")
    made = Screen(folder, columns)
    try:
        yield made
    finally:
        made.end()


@pytest.mark.parametrize("columns", [60, 200])
def test_a_newcomer_tries_talks_watches_steers_approves_resumes_forks_and_compares(
    columns: int, tmp_path: Path
) -> None:
    with screen(tmp_path, columns) as seen:
        seen.run("call", "tools.py:look", "city=杭州", "days=99")
        seen.until("days: expected an integer from 1 to 9, got 99", "code=1")
        chat = ("chat", "-t", "tools.py", "-m", "tools.py:model", "-s", "游")
        seen.run(*chat)
        seen.until("2 tools", "›")
        seen.type("去哪里？")
        seen.until('call    look(city="杭州")', 'call    look(city="苏州")')
        seen.say("坐火车去")
        (tmp_path / "go").touch()
        seen.until('done    look(city="苏州")', "Run it?", '"city": "杭州"')
        seen.press("y")
        seen.until("heard 去哪里？、坐火车去")
        seen.type("/fork 1 另")
        seen.type("回来")
        seen.until("heard 去哪里？、坐火车去、回来")
        seen.type("/compare 游")
        lines = seen.until("difference", "- you: 回来")
        assert ["turns", "2", "1", "-1", "(-50%)"] in [line.split() for line in lines]
        names = [line for line in lines if line.startswith("- a: 另")]
        assert [line.endswith("+ b: 游") for line in names] == [columns == 200]
        seen.type("/quit")
        seen.until("code=0")
        seen.run(*chat)
        seen.until("游: scripted", "›")
        seen.type("/quit")
        seen.until("code=0")
        seen.run("sessions", "compare", "游", "游")
        seen.until("No difference.", "code=0")


def test_ctrl_c_leaves_the_line_that_is_begun_and_the_history_has_what_was_said(
    tmp_path: Path,
) -> None:
    with screen(tmp_path, 80) as seen:
        seen.run("chat", "-t", "tools.py", "-m", "tools.py:model")
        seen.until("2 tools", "›")
        seen.type("去哪里？")
        seen.until('call    look(city="苏州")')
        seen.say("坐火车去")
        seen.type("一半", "C-c")
        seen.until("the run ended: cancelled", "› 一半")
        assert "一半" not in (tmp_path / "data" / "chat-history").read_text("utf-8")
        seen.press("C-u", "Up")
        seen.until("› 坐火车去")
