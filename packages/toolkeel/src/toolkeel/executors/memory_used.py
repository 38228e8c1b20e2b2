"""The memory of a command and all its descendants.

The kernel limits each process on its own. A limit for all of them together needs a control group, which
usually only root can create. So their sum is measured several times a second instead.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def list_tree(ancestor: int) -> list[int]:
    """Return the ids of a process and its descendants; only its own without ``/proc``.

    Args:
        ancestor: The process id.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if sys.platform.startswith("linux") else ():
        if name.isdigit():
            with (
                suppress(OSError, IndexError, ValueError),
                open(f"/proc/{name}/stat", "rb") as file,
            ):
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found = [ancestor]
    for process in found:
        found += children.get(process, [])
    return found


def measure_tree_memory(ancestor: int) -> int:
    """Return the bytes of memory of a process and its descendants, without memory shared with files.

    Always 0 without ``/proc``.

    Args:
        ancestor: The process id.
    """
    total = 0
    for process in list_tree(ancestor):
        with (
            suppress(OSError, IndexError, ValueError),
            open(f"/proc/{process}/statm", "rb") as file,
        ):
            resident, shared = file.read().split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE
    return total
