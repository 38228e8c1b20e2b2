"""Tools that every executor runs: it finds them here. They import nothing but the library."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from toolkeel import Effects, Injected, ToolContext, ToolOutput, tool
from toolkeel.content import Image
from toolkeel.errors import Cancelled, LimitReached, ToolError


class CallId(Injected):
    """A marker of a parameter that receives the call's id, in any process."""

    crosses_processes = True
    is_secret = False

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.call.id


class State(Injected):
    """A marker of a parameter that receives the run's state."""

    is_secret = False

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.state


PNG = b"\x89PNG\r\n\x1a\n"


@dataclass
class Sum:
    total: int
    day: date


@tool
def add(a: int, b: int, day: date) -> Sum:
    """Add two numbers on a day."""
    print("a print is no answer")
    return Sum(a + b, day)


@tool
def paint(text: str) -> ToolOutput:
    """Paint."""
    return ToolOutput((Image(PNG + text.encode(), "image/png"),), artifact={"文": text})


@tool
def counts(n: int) -> Iterator[str]:
    """Count."""
    yield from map(str, range(n))


@tool
def fails(how: str) -> str:
    """Fail."""
    if how == "said":
        raise ToolError("No such city: 北京市.", {"city": "北京"})
    if how == "enough":
        raise LimitReached("Enough for today.")
    if how == "itself":
        raise Cancelled("I gave up.")
    if how == "exit":
        os._exit(3)
    raise LookupError(how)


@tool
def reports(context: ToolContext[None], call: Annotated[str, CallId]) -> list[object]:
    """Report what it does."""
    context.progress("half", 1, 2)
    context.emit({"图": [1, None]})
    left = context.time_left
    return [call, context.tool_call_id, context.idempotency_key, left is not None and left > 0]


@tool
def looks(state: Annotated[dict[str, object], State]) -> object:
    """Look at what stays with the run."""
    return state.get("seen")


@tool
def sleeps(mark: str) -> str:
    """Sleep, and start one that sleeps apart from it."""
    other = subprocess.Popen(["sleep", mark], start_new_session=True)
    time.sleep(2)
    other.kill()
    other.wait()
    return "slept"


@tool
async def rests() -> str:
    """Wait on the loop."""
    import asyncio

    await asyncio.sleep(600)
    return "rested"


@tool
def number(n: int) -> int:
    """Give it back."""
    return n


@tool
def power(n: int) -> int:
    """Ten to the power of n."""
    return int(10**n)


@tool
def where() -> int:
    """The process."""
    return os.getpid()


@tool
def leaves() -> int:
    """Leave a process behind."""
    subprocess.Popen(["sleep", "600.25"], start_new_session=True)
    return os.getpid()


@tool(effects=Effects(idempotent=True))
def dies_once(folder: str) -> str:
    """End its process the first time."""
    mark = Path(folder, "died")
    if mark.exists():
        return "again"
    mark.touch()
    os._exit(9)


@tool
def waits_for(path: str) -> str:
    """Say that it runs, and wait until a file is gone."""
    Path(path + ".runs").touch()
    while os.path.exists(path):
        time.sleep(0.01)
    return "done"
