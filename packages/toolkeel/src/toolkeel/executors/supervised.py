"""Commands under a supervisor, which bounds them and ends all that they started.

`Confinement` is what an executor needs of a sandbox; a sandbox comes with toolkeel-workspace.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.executors import cgroup_pids
from toolkeel.executors.command_limits import Limits
from toolkeel.executors.process_tree import Command, memory_file

SUPERVISOR = Path(__file__).parent / "supervise.py"
"""The program that starts a command and outlives it."""


class Confinement(Protocol):
    """Walls around commands, such as a `Sandbox`."""

    mode: str
    limits: Limits
    roots: tuple[Path, ...]

    def reading(self, *more: Path) -> Confinement:
        """Return a copy in which more places can be read."""
        ...

    def command(self, argv: Sequence[str], *, cwd: str | None = None) -> Command:
        """Prepare a command; its words are looked up inside the walls."""
        ...


@record
class Walls:
    """Confinement that the supervisor itself applies before it starts a command.

    Args:
        env: The complete environment of the command.
        landlock: Rules for the kernel's Landlock; None for none.
        seccomp: A filter program for system calls, in hexadecimal; empty for none.
        descriptors: Open descriptors that the rules refer to.
        ends: Called when the command has ended.
    """

    env: Mapping[str, str]
    landlock: Mapping[str, object] | None = None
    seccomp: str = ""
    descriptors: tuple[int, ...] = ()
    ends: tuple[Callable[[], object], ...] = ()


def supervised(
    argv: Sequence[str], cwd: str, limits: Limits, walls: Walls, *, terminal: bool = False
) -> Command:
    """Prepare a command that the supervisor starts.

    Args:
        argv: The command's words.
        cwd: The folder that it starts in.
        limits: What it may use at most.
        walls: Its environment and confinement.
        terminal: True if it shares this process's terminal.
    """
    bounds = limits.values()
    if "RLIMIT_NPROC" in bounds:  # without a namespace all processes of the user count
        bounds["RLIMIT_NPROC"] += cgroup_pids.tasks_of_user()
    order = {
        "argv": list(argv),
        "cwd": cwd,
        "session": not terminal,
        "limits": bounds,
        "env": dict(walls.env),
        "landlock": walls.landlock,
        "seccomp": walls.seccomp,
    }
    order_file = memory_file(json.dumps(order).encode())
    ends, lifeline = os.pipe()
    words = [sys.executable, "-I", "-S", str(SUPERVISOR), str(order_file), str(ends)]
    env = {k: v for k, v in os.environ.items() if k == "LD_LIBRARY_PATH"}
    descriptors = (order_file, ends, *walls.descriptors)
    return Command(words, env, descriptors, lifeline, walls.ends, process_group(limits))


def process_group(limits: Limits) -> Path | None:
    """Make the control group that bounds the number of processes, where the kernel's limit does not."""
    if limits.processes is None or not cgroup_pids.needed():
        return None
    return cgroup_pids.make(limits.processes)


class Unconfined:
    """Commands without walls, bounded by limits alone.

    Args:
        limits: What each may use at most.

    Raises:
        SetupError: on Windows, where commands cannot be supervised.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        if sys.platform == "win32":
            raise SetupError("commands cannot be run on Windows; they can in WSL")
        self.limits = limits or Limits()

    def command(self, argv: Sequence[str], *, cwd: str | None = None) -> Command:
        """Prepare a command in this process's environment."""
        walls = Walls(dict(os.environ))
        return supervised(argv, cwd or os.getcwd(), self.limits, walls)
