"""How much memory a command and all that it started use together.

The kernel holds each process to its own limit. A limit for all of them is a matter of control
groups, which only root can make as a rule; so they are added up several times a second instead.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def used_below(ancestor: int) -> int:
    """Bytes of memory of a process and its descendants, what they share with files left out.

    Always 0 where there is no ``/proc``.

    Args:
        ancestor: Its number.
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
    total, waiting = 0, [ancestor]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        with (
            suppress(OSError, IndexError, ValueError),
            open(f"/proc/{process}/statm", "rb") as file,
        ):
            resident, shared = file.read().split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE
    return total
