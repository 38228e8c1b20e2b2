"""Tools that nodes of Ray's run in tests: they find them here."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from toolkeel import Effects, ToolContext, tool


@tool(effects=Effects(read_only=True))
def slow_number(n: int, folder: str) -> int:
    """Take a while, and leave a mark of the process."""
    Path(folder, f"{os.getpid()}.ran").touch()
    time.sleep(0.15)
    return n


@tool
def says_then_waits(context: ToolContext[None], path: str) -> str:
    """Report, and wait until a file is there."""
    context.progress("begun")
    while not os.path.exists(path):
        time.sleep(0.01)
    return "seen"


@tool
def reports_much(context: ToolContext[None], count: int) -> int:
    """Emit many values."""
    for number in range(count):
        context.emit(number)
    return count


@tool
def rests(mark: str) -> str:
    """Rest for long."""
    os.execvp("sleep", ["sleep", mark])  # whose worker says no more


@tool
def waits(mark: str) -> None:
    """Wait for another process."""
    subprocess.run(["sleep", mark], check=True)


@tool
def touches(path: str) -> None:
    """Leave a trace."""
    Path(path).touch()
    time.sleep(0.03)
