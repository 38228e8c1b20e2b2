"""A number of processes that even root cannot exceed: a control group of the kernel.

Ordinary users are held to `RLIMIT_NPROC`. Root is exempt from it, also inside of namespaces, so
where the library runs as root, as it does in many containers, a command gets a group of its own.
"""

from __future__ import annotations

import atexit
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

_V1, _V2 = Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")
_ENTER = 'echo 0 > "$1/cgroup.procs" && shift && exec "$@" || exit 125'
_NAME = "toolkeel-"
_left: list[Path] = []


def needed() -> bool:
    """Whether the kernel holds this process to no number of others."""
    return os.geteuid() == 0


def tasks_of_user() -> int:
    """How many processes and threads our user has: what `RLIMIT_NPROC` counts, all of them."""
    number, user = 0, os.getuid()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self/task") else ():
        if name.isdigit():
            with suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == user:
                    number += len(os.listdir(f"/proc/{name}/task"))
    return number


def possible() -> bool:
    """Whether a group can be made here; tried for real."""
    group = make(1)
    if group is not None:
        remove(group)
    return group is not None


def make(processes: int) -> Path | None:
    """A group for one command; None where none can be made.

    Args:
        processes: Most processes and threads in it.
    """
    _sweep()
    base = _base()
    if base is None:
        return None
    _sweep_after_others(base)
    group = base / f"{_NAME}{os.getpid()}-{secrets.token_hex(6)}"
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(processes))
    except OSError:
        remove(group)
        return None
    return group


def entering(group: Path, argv: list[str]) -> list[str]:
    """The words that start a command inside a group."""
    return ["/bin/sh", "-c", _ENTER, "sh", str(group), *argv]


def remove(group: Path) -> None:
    """Remove a group; now, or when its last process has gone and the next one is made."""
    _left.append(group)
    _sweep()


def _sweep_after_others(base: Path) -> None:
    """Remove what processes left that are gone; a group with a process in it stays anyway."""
    for group in base.glob(f"{_NAME}*"):
        owner = group.name.removeprefix(_NAME).partition("-")[0]
        if not os.path.exists(f"/proc/{owner}"):
            with suppress(OSError):
                group.rmdir()


@atexit.register
def _sweep_last() -> None:
    for _ in range(20):
        _sweep()
        if not _left:
            return
        time.sleep(0.01)  # what was killed last is about to go


def _sweep() -> None:
    for group in list(_left):
        try:
            group.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            continue
        with suppress(ValueError):  # a sweep in another thread has done it
            _left.remove(group)


def _base() -> Path | None:
    if (_V1 / "cgroup.procs").exists():
        return _V1
    try:
        controllers = (_V2 / "cgroup.subtree_control").read_text().split()
    except OSError:
        return None
    return _V2 if "pids" in controllers else None
