"""Commands of root run as a user that nobody else is, where the kernel can show files as theirs."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from functools import cache
from pathlib import Path

from toolkeel.engines.process_tree import memory_file
from toolkeel.engines.sandbox.become import STAGE
from toolkeel.engines.sandbox.bubblewrap import found
from toolkeel.engines.sandbox.mounts import HANDLE

BECOME = Path(__file__).with_name("become.py")
"""The program before bubblewrap that makes another user of root."""


def becoming(places: int) -> list[str]:
    """The words in front of a command that turn root into a user nobody else is."""
    program = [sys.executable, "-I", "-S", str(BECOME)]
    return [*program, str(_nobody_else()), str(places), "--"]


def _nobody_else() -> int:
    """The number of a user that has no files and no processes."""
    with open("/proc/self/uid_map") as file:
        known = max(int(line.split()[0]) + int(line.split()[2]) for line in file)
    most = 1 << 30
    return most + secrets.randbelow(most) if known > 2 * most else 64_000 + secrets.randbelow(1000)


@cache
def cannot_become(owned: tuple[str, ...]) -> str:
    """Why a command cannot be another user than root; empty if one has just been.

    Args:
        owned: The folders it must see, which may belong to root alone.
    """
    if os.geteuid() != 0:
        return "it is not root"
    try:
        handles = [os.open(path, HANDLE) for path in owned]
    except OSError as error:
        return f"cannot become another user: {error}"
    found_there = [(handle, os.fstat(handle)) for handle in handles]
    shown = [(handle, each.st_uid, each.st_gid) for handle, each in found_there]
    given = memory_file(json.dumps(shown).encode())
    first = [found(), "--unshare-user", "--ro-bind", "/", "/", "--ro-bind", f"{STAGE}/0", "/mnt"]
    done = subprocess.run(
        [*becoming(given), *first, "--", "/bin/sh", "-c", "exit 42"],
        env={},
        pass_fds=(given, *handles),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=30,
    )
    for descriptor in (given, *handles):
        os.close(descriptor)
    said = done.stderr.decode("utf-8", "replace").strip()
    return "" if done.returncode == 42 else said[:300] or f"exit code {done.returncode}"
