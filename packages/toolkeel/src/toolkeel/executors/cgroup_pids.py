"""A limit on a command's number of processes that holds for root, too: a Linux control group.

`RLIMIT_NPROC` limits ordinary users. Root is exempt, in namespaces too. So where toolkeel runs as root,
as in many containers, each command gets a control group.
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
_pending_removal: list[Path] = []


def is_needed() -> bool:
    """Return true for root, whom `RLIMIT_NPROC` does not limit."""
    return os.geteuid() == 0


def count_user_tasks() -> int:
    """Count our user's processes and threads, as `RLIMIT_NPROC` does; 0 without ``/proc``."""
    number, user = 0, os.getuid()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self/task") else ():
        if name.isdigit():
            with suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == user:
                    number += len(os.listdir(f"/proc/{name}/task"))
    return number


def can_create_group() -> bool:
    """Return true if this system allows a group; tries by creating and removing one."""
    group = create_group(1)
    if group is not None:
        remove_group(group)
    return group is not None


def create_group(max_tasks: int) -> Path | None:
    """Create a group for one command; None if this system does not allow it.

    Also removes groups of commands that have ended.

    Args:
        max_tasks: Limit of processes and threads in it.
    """
    _remove_pending()
    base = _find_base()
    if base is None:
        return None
    _remove_stale_groups(base)
    group = base / f"{_NAME}{os.getpid()}-{secrets.token_hex(6)}"
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(max_tasks))
    except OSError:
        remove_group(group)
        return None
    return group


def wrap_command(group: Path, argv: list[str]) -> list[str]:
    """Return an argv that moves its own process into the group and executes `argv`, or exits with 125."""
    return ["/bin/sh", "-c", _ENTER, "sh", str(group), *argv]


def remove_group(group: Path) -> None:
    """Remove a group now, or at a later call or exit if processes are still in it."""
    _pending_removal.append(group)
    _remove_pending()


def _remove_stale_groups(base: Path) -> None:
    """Remove groups of toolkeel processes that no longer exist, unless processes are in them."""
    for group in base.glob(f"{_NAME}*"):
        owner = group.name.removeprefix(_NAME).partition("-")[0]
        if not os.path.exists(f"/proc/{owner}"):
            with suppress(OSError):
                group.rmdir()


@atexit.register
def _remove_at_exit() -> None:
    """Remove the groups that are still to be removed; try for up to 0.2 seconds."""
    for _ in range(20):
        _remove_pending()
        if not _pending_removal:
            return
        time.sleep(0.01)  # processes killed last are about to exit


def _remove_pending() -> None:
    """Remove the groups whose processes have ended since; ignore the others."""
    for group in list(_pending_removal):
        try:
            group.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            continue
        with suppress(ValueError):  # another thread has removed it
            _pending_removal.remove(group)


def _find_base() -> Path | None:
    """Return the folder to create groups in (cgroup v1 or v2); None if there is none."""
    if (_V1 / "cgroup.procs").exists():
        return _V1
    try:
        controllers = (_V2 / "cgroup.subtree_control").read_text().split()
    except OSError:
        return None
    return _V2 if "pids" in controllers else None
