"""The real command in a process of its own: with pipes, or in a terminal of its own."""

from __future__ import annotations

import atexit
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TOOLS = '''
"""Tools of a user."""
import asyncio
import time
from typing import Annotated, Literal

from pydantic import Field
from toolkeel import Image, ToolContext, ToolError, ToolOutput, tool


@tool
def search(
    query: str,
    limit: Annotated[int, Field(ge=1, le=10)] = 3,
    kind: Literal["news", "web"] = "web",
    tags: list[str] = [],
) -> list[str]:
    """搜索文档,返回最相关的几条。

    Args:
        query: 要找的词。
        limit: 最多几条。
    """
    print("looking for", query)
    return [f"{query} {n}" for n in range(1, limit + 1)]


@tool
def echo(value: str) -> str:
    """Say it again."""
    return value


@tool
def report() -> ToolOutput:
    """Count rows."""
    return ToolOutput("3 rows", artifact=[1, 2, 3], details={"source": "猫.csv"})


@tool
def refuse() -> str:
    """Refuse."""
    raise ToolError("no such thing: 猫")


@tool
def crash() -> float:
    """Crash."""
    return 1 / 0


@tool
def hostile() -> str:
    """Try to rule the terminal."""
    return "\\x1b]52;c;cm0gLXJm\\x07\\x1b]0;title\\x07\\x9b2J 猫\\r\\nend"


@tool
async def wait(seconds: float, name: str = "") -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"waited {name}"


@tool
def steps(context: ToolContext, number: int = 30) -> str:
    """Work in steps of a tenth of a second."""
    for done in range(number):
        context.cancel.raise_if_cancelled()
        context.progress("working", done, number)
        time.sleep(0.1)
    return "all done"


@tool(approval=True)
def remove(path: str) -> str:
    """Remove something."""
    return f"removed {path}"


@tool
async def stubborn(seconds: float = 60) -> str:
    """Go on whatever it is told."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            pass
    return "done"


@tool(inline=True)
def block(seconds: float = 60) -> str:
    """Let nothing else run."""
    time.sleep(seconds)
    return "done"
'''

MODELS = """
from toolkeel.errors import ModelError
from toolkeel.model_interface import Finish, TextDelta
from toolkeel.testing.scripted import Scripted, call

answer = Scripted(
    [[call("search", {"query": "猫", "limit": 2}), call("search", {"query": "狗", "limit": 99})],
     "找到了两只猫。"], name="answer")
parallel = Scripted(
    [[call("wait", {"seconds": 0.9, "name": "first"}), call("wait", {"seconds": 0.3}),
      call("crash")], "both waited"], name="parallel")
endless = Scripted([call("echo", {"value": str(n)}) for n in range(99)], name="endless")
waiting = Scripted([[call("wait", {"seconds": 60}), call("steps", {"number": 600})], "x"],
                   name="waiting")
asking = Scripted([[call("remove", {"path": "猫.txt"}), call("echo", {"value": "x"})], "gone"],
                  name="asking")
broken = Scripted([ModelError("the server is down")] * 20, name="broken")
hostile = Scripted(["\\x1b[2Jgone"], name="hostile")
not_a_model = 3
"""


def write_tools(folder: Path) -> None:
    """Put ``tools.py`` and ``models.py`` into a folder."""
    (folder / "tools.py").write_text(TOOLS, "utf-8")
    (folder / "models.py").write_text(MODELS, "utf-8")


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str


_BYTECODE = tempfile.TemporaryDirectory(prefix="toolkeel-bytecode-")
atexit.register(_BYTECODE.cleanup)
_STATES = tempfile.TemporaryDirectory(prefix="toolkeel-states-")
atexit.register(_STATES.cleanup)
_UNWANTED = (
    *("NO_COLOR", "CI", "COLUMNS", "TOOLKEEL_MODEL", "PYTHONDONTWRITEBYTECODE"),
    *("EDITOR", "VISUAL"),
)


def environment(**changes: str) -> dict[str, str]:
    """This process's environment without what changes the look of things; quick to start in."""
    kept = {key: value for key, value in os.environ.items() if key not in _UNWANTED}
    folders = {"PYTHONPYCACHEPREFIX": _BYTECODE.name, "XDG_STATE_HOME": _STATES.name}
    return {**kept, "TERM": "xterm-256color", **folders, **changes}


def toolkeel(
    *words: str, cwd: Path, stdin: str | bytes = "", env: Mapping[str, str] | None = None
) -> Ended:
    """Run the command with pipes and wait for it."""
    done = subprocess.run(
        [sys.executable, "-m", "toolkeel", *words],
        cwd=cwd,
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        env=environment(**(env or {})),
        timeout=60,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


_CONTROL = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")


def readable(screen: str) -> str:
    """What was written to a terminal, without its control sequences."""
    return _CONTROL.sub("", screen).replace("\r\n", "\n")


class Terminal:
    """The command in a terminal of its own; its stdout may be a pipe.

    Args:
        words: After the program's name.
        cwd: Where it runs.
        columns: Cells of a line.
        env: Changes to the environment.
        pipe: Whether stdout is a pipe instead of the terminal.
    """

    def __init__(
        self,
        words: Sequence[str],
        cwd: Path,
        *,
        columns: int = 80,
        env: Mapping[str, str] | None = None,
        pipe: bool = False,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "toolkeel", *words],
            cwd=cwd,
            env=environment(**(env or {})),
            stdin=slave,
            stdout=subprocess.PIPE if pipe else slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.screen = ""
        self._bytes = b""

    def until(self, seen: Callable[[str], bool], seconds: float = 60.0) -> str:
        """Read until the screen satisfies `seen`, or the program has closed it."""
        end = time.monotonic() + seconds
        while not seen(self.screen) and time.monotonic() < end:
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    piece = os.read(self._master, 65536)
                except OSError:  # the program has closed the terminal
                    break
                if not piece:
                    break
                self._bytes += piece
                self.screen = self._bytes.decode("utf-8", "replace")
        return self.screen

    def type(self, text: str) -> None:
        """Type keys."""
        os.write(self._master, text.encode())

    def echoes(self) -> bool:
        """Whether the terminal shows what is typed, as it did before the command."""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def interrupt(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.process.pid, number)

    def end(self) -> Ended:
        """Wait for the program's end."""
        try:
            self.until(lambda _: False, 30.0)
            out = self.process.communicate(timeout=10)[0]
        finally:
            self.process.kill()  # which does nothing if it has ended
            os.close(self._master)
        return Ended(self.process.returncode, (out or b"").decode(), self.screen)
