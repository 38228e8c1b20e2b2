"""What needs no POSIX works without it: every module, and a newcomer's first minute."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

IMPORT_ALL = """
from tests.windows_simulation import become_windows; become_windows()
import importlib, pkgutil, sys
failed = []
for name in ("toolkeel", "toolkeel_workspace", "toolkeel_studio", "toolkeel_compat"):
    for found in pkgutil.walk_packages(importlib.import_module(name).__path__, name + ".", lambda _: None):
        if found.name.endswith("__main__") or found.name in PROGRAMS:
            continue
        try:
            importlib.import_module(found.name)
        except Exception as error:
            if type(error).__name__ != "MissingExtraError":
                failed.append(f"{found.name}: {type(error).__name__}: {error}")
print(*failed, sep="\\n", end="")
"""
# Programs that run inside of a sandbox, which Windows does not have.
PROGRAMS = {"toolkeel.executors.supervise", "toolkeel_workspace.sandbox.stage"}
FIRST_MINUTE = """
from tests.windows_simulation import become_windows; become_windows()
from toolkeel import Agent, SetupError, ToolCall, Toolset, tool
from toolkeel.sessions import Sessions
from toolkeel_workspace import Workspace

@tool
def add(a: int, b: int) -> int:
    '''Add.'''
    return a + b

@tool(approval=True)
def pay(amount: int) -> str:
    '''Pay.'''
    return f"paid {amount}"

agent = Agent("offline", tools=[add, pay])
sessions = Sessions("s.db")
print(agent.run_sync("add 20 and 22", session=sessions["ada"]).output.split()[-1])
[waits] = agent.run_sync("pay amount=5", session=sessions["ada"]).pending
print(agent.run_sync(None, session=sessions["ada"], decisions=[waits.approve()]).output.split()[-2:])
print([each.name for each in sessions.list()])

tools = Toolset(Workspace(".").tools)
print(tools.names)
for name, arguments in (
    ("write", {"path": "src\\\\main.py", "content": "x = 1\\r\\n"}),
    ("edit", {"path": "src/main.py", "old_text": "x = 1", "new_text": "x = 2"}),
    ("read", {"path": "src/main.py"}),
    ("grep", {"pattern": "x = 2"}),
    ("find", {"pattern": "*.py"}),
    ("ls", {"path": "src"}),
    ("write", {"path": "src/NUL", "content": ""}),
    ("read", {"path": "src"}),
    ("read", {"path": "..\\\\secret"}),
):
    [result] = tools.run_sync([ToolCall("c", name, arguments)])
    print(name, result.status, result.text.splitlines()[0])

for executor in ("process", "sandbox"):
    try:
        Toolset([tool(executor=executor)(add.function)])
    except SetupError as error:
        print(error)
"""
BEHAVIORS = """
from tests.windows_simulation import become_windows; become_windows()
import runpy; runpy.run_module("tests.behaviors", run_name="__main__")
"""
AT_CONSOLE = """
from tests.windows_simulation import become_windows; become_windows()
import sys
from toolkeel.__main__ import main
sys.argv = ["toolkeel", "run", "pay amount=5", "-t", "tools.py", "-m", "offline"]
main()
"""
PAY = """
from toolkeel import tool

@tool(approval=True)
def pay(amount: int) -> str:
    '''Pay.'''
    return f"paid {amount}"
"""


def run(code: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "LOCALAPPDATA": str(folder)},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class Console:
    """A process at a terminal that changes nothing of what is typed."""

    def __init__(self, code: str, folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        tty.setraw(theirs)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=folder,
            env={**os.environ, "LOCALAPPDATA": str(folder), "TERM": "xterm", "CI": ""},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self._new = b""

    def until(self, text: str) -> None:
        """Read what is shown until it holds a text; forget all up to that."""
        while (wanted := text.encode()) not in self._new:
            assert select.select([self._ours], [], [], 100)[0], self._new.decode()
            self._new += os.read(self._ours, 65536)
        self._new = self._new.partition(wanted)[2]

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> None:
        self.process.kill()
        os.close(self._ours)


@contextmanager
def typing_at(code: str, folder: Path) -> Iterator[Console]:
    console = Console(code, folder)
    try:
        yield console
    finally:
        console.end()


@pytest.mark.slow
def test_approvals_are_answered_at_a_console_without_posix(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(PAY, "utf-8")
    with typing_at(AT_CONSOLE, tmp_path) as console:
        console.until("q stop the run")
        console.type("x")
        console.until("(press y, n, e or q)")
        console.type("e")
        console.until("Enter alone leaves them")
        console.type('{"amount": 78}\b\b9}\r')
        console.until('"amount": 79')
        console.until("q stop the run")
        console.type("y")
        console.until("paid 79")
        assert console.process.wait(60) == 0


@pytest.mark.slow
def test_small_behaviors_work_without_posix(tmp_path: Path) -> None:
    assert run(BEHAVIORS, tmp_path)[-1].endswith(" worked, 0 failed, 0 need an extra")


@pytest.mark.slow
def test_every_module_is_imported_without_posix(tmp_path: Path) -> None:
    assert run(f"PROGRAMS = {PROGRAMS!r}\n{IMPORT_ALL}", tmp_path) == []


@pytest.mark.slow
def test_the_first_minute_works_without_posix(tmp_path: Path) -> None:
    assert run(FIRST_MINUTE, tmp_path) == [
        "42",
        "['paid', '5']",
        "['ada']",
        "('read', 'write', 'edit', 'grep', 'find', 'ls')",
        "write success File written: src/main.py (7 B)",
        "edit success File edited: src/main.py (1 replacement)",
        "read success x = 2",
        "grep success src/main.py:1: x = 2",
        "find success src/main.py",
        "ls success main.py",
        "write error 'src/NUL': 'NUL' is a device on Windows. Give another name.",
        "read error 'src' cannot be read: it is a folder; list it instead.",
        r"read error '..\\secret' leaves the root. Give a path below it, without '..'.",
        "Process() does not work on Windows: use Thread() or Futures(ProcessPoolExecutor()), or run the program in WSL",
        "commands cannot be run on Windows; they can in WSL",
    ]
