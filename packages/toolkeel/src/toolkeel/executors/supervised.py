"""Commands under a supervisor, which limits them and kills all their descendants.

`Confinement` is what an executor needs of a sandbox; a sandbox comes with toolkeel-workspace.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from toolkeel._common.package_data import require_file
from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.executors import cgroup_pids
from toolkeel.executors.command_limits import Limits
from toolkeel.executors.process_tree import Command, get_current_folder, open_memory_file

SUPERVISOR_SCRIPT = Path(__file__).parent / "supervise.py"
"""The program that starts a command and outlives it."""
LEFTOVERS_NOTICE = "\n[Still running when it had ended, and killed: %s]\n"
"""Printed behind a command's output, with the names of processes that it left running."""
MAX_LEFTOVERS = 10
"""Most names in that notice."""


class Confinement(Protocol):
    """A sandbox around commands, such as `Sandbox`: it builds those that run confined, under its limits."""

    limits: Limits

    @property
    def mode(self) -> str:
        """How strictly commands are confined; ``off`` for not at all."""
        ...

    @property
    def roots(self) -> Sequence[Path]:
        """The folders that commands work in. They start in the first."""
        ...

    def with_readable(self, *more: Path) -> Self:
        """Return a copy in which more paths are readable."""
        ...

    def build_command(self, argv: Sequence[str], *, cwd: str | None = None) -> Command:
        """Build a command that starts in `cwd`, by default the first root; its program is looked up inside the sandbox."""
        ...


@record
class SupervisorConfinement:
    """Confinement that the supervisor itself applies before it starts a command.

    Args:
        env: The complete environment of the command.
        landlock: Rules for the kernel's Landlock; None for none.
        seccomp: A filter program for system calls, in hexadecimal; empty for none.
        pass_fds: Open descriptors that the rules refer to.
        on_close: Called when the command is closed.
    """

    env: Mapping[str, str]
    landlock: Mapping[str, object] | None = None
    seccomp: str = ""
    pass_fds: tuple[int, ...] = ()
    on_close: tuple[Callable[[], object], ...] = ()


def build_supervised_command(
    argv: Sequence[str],
    cwd: str,
    limits: Limits,
    confinement: SupervisorConfinement,
    *,
    terminal: bool = False,
    report_leftovers: bool = False,
) -> Command:
    """Build a command that the supervisor starts.

    The command owns open descriptors and a control group until it is closed.

    Args:
        argv: The program and its arguments.
        cwd: The folder that it starts in.
        limits: Resource limits.
        confinement: Its environment and confinement.
        terminal: True if it shares this process's terminal.
        report_leftovers: Print `LEFTOVERS_NOTICE` behind its output if it leaves processes running.
    """
    bounds = limits.to_rlimits()
    if "RLIMIT_NPROC" in bounds:  # without a namespace all processes of the user count
        bounds["RLIMIT_NPROC"] += cgroup_pids.count_user_tasks()
    spec = {
        "argv": list(argv),
        "cwd": cwd,
        "session": not terminal,
        "limits": bounds,
        "env": dict(confinement.env),
        "landlock": confinement.landlock,
        "seccomp": confinement.seccomp,
        "leftovers": (LEFTOVERS_NOTICE, MAX_LEFTOVERS) if report_leftovers else None,
    }
    spec_file = open_memory_file(json.dumps(spec).encode())
    ends, lifeline = os.pipe()
    argv_ = [
        sys.executable,
        "-I",
        "-S",
        str(require_file(SUPERVISOR_SCRIPT)),
        str(spec_file),
        str(ends),
    ]
    env = {k: v for k, v in os.environ.items() if k == "LD_LIBRARY_PATH"}
    descriptors = (spec_file, ends, *confinement.pass_fds)
    return Command(
        argv_, env, descriptors, lifeline, confinement.on_close, create_process_group(limits)
    )


def create_process_group(limits: Limits) -> Path | None:
    """Create the control group that limits root's processes.

    None for other users, without a limit, or where the system allows no group.
    """
    if limits.processes is None or not cgroup_pids.is_needed():
        return None
    return cgroup_pids.create_group(limits.processes)


class Unconfined:
    """Commands without confinement, under limits alone.

    Args:
        limits: Resource limits of each.

    Raises:
        SetupError: on Windows, where commands cannot be supervised.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        if sys.platform == "win32":
            raise SetupError(
                "Process() does not work on Windows: use Thread() or "
                "Futures(ProcessPoolExecutor()), or run the program in WSL"
            )
        self.limits = limits or Limits()

    def build_command(self, argv: Sequence[str], *, cwd: str | None = None) -> Command:
        """Build a command with this process's environment that starts in `cwd`, by default the working folder.

        Raises `ToolError` if the working folder was removed.
        """
        confinement = SupervisorConfinement(dict(os.environ))
        return build_supervised_command(argv, cwd or get_current_folder(), self.limits, confinement)
