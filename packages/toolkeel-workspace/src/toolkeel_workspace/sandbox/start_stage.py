"""The stage before bubblewrap: whether this machine permits one, and the words that start it.

Commands of root run behind it as a user that nobody else is, where the kernel can show files as
theirs.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache

from toolkeel.executors.process_tree import memory_file
from toolkeel_workspace.sandbox.bubblewrap import found
from toolkeel_workspace.sandbox.mounts import STAGING, Places, close_all, opened_all
from toolkeel_workspace.sandbox.stage import STAGE, Place, written

_STAYS = -1


class Stage:
    """What a command sees of the folders it was given, put together before bubblewrap starts.

    Args:
        places: What is there.
        user: The number of the user that root becomes; see `nobody_else`.

    Raises:
        OSError: if one is not there, or a link has taken its place.
    """

    def __init__(self, places: Places, user: int = _STAYS) -> None:
        owned = places.owned()
        self._user = user
        self._at = {path: f"{STAGE}/{number}" for number, path in enumerate(owned)}
        self._places = [_place(path, "", path in places.writable, places) for path in owned]
        self._places += [
            _place(path, places.root_above(path), writes, places)
            for path, writes in places.inside().items()
        ]
        # It opens them once more, in mounts of its own; here it can still be said as an error.
        close_all(opened_all(each.path for each in self._places).values())

    def __call__(self, path: str) -> str:
        """A place as the source of a mount."""
        return self._at.get(path, path)

    def words(self, given: list[int]) -> list[str]:
        """The words in front of bubblewrap's; adds the handle they need to those it is given."""
        given.append(memory_file(written(self._places)))
        program = [sys.executable, "-I", "-S", str(STAGING)]
        return [*program, str(self._user), str(given[-1]), "--"]


def _place(path: str, within: str, writes: bool, places: Places) -> Place:
    roots = (root for root in places.writable if f"{path}/".startswith(f"{root}/"))
    real = path if within else os.path.realpath(path)  # a Python may be called by a link
    owner = os.stat(max(roots, key=len, default=real))
    return Place(real, within, writes, owner.st_uid, owner.st_gid)


def nobody_else() -> int:
    """The number of a user that has no files and no processes."""
    with open("/proc/self/uid_map") as file:
        known = max(int(line.split()[0]) + int(line.split()[2]) for line in file)
    most = 1 << 30
    return most + secrets.randbelow(most) if known > 2 * most else 64_000 + secrets.randbelow(1000)


def stage_of(places: Places) -> Stage | None:
    """The best stage this machine permits; None for none.

    Raises:
        OSError: if a place is not there, or a link has taken its place.
    """
    if not cannot_become(places.owned()):
        return Stage(places, nobody_else())
    stage = Stage(places)
    return None if cannot_stage() else stage


@cache
def cannot_become(owned: tuple[str, ...]) -> str:
    """Why a command cannot be another user than root; empty if one has just been.

    Args:
        owned: The folders it must see, which may belong to root alone.
    """
    return _trial(owned, nobody_else()) if os.geteuid() == 0 else "it is not root"


@cache
def cannot_stage() -> str:
    """Why what lies within the roots cannot be mounted by handles; empty if it has just been."""
    with tempfile.TemporaryDirectory() as folder:
        return _trial((os.path.realpath(folder),), _STAYS)


def _trial(owned: Iterable[str], user: int) -> str:
    given: list[int] = []
    try:
        words = Stage(Places((), tuple(owned), (), ()), user).words(given)
    except OSError as error:
        return f"what the command may see cannot be put together: {error}"
    first = [found(), "--unshare-user", "--ro-bind", "/", "/", "--ro-bind", f"{STAGE}/0", "/mnt"]
    done = subprocess.run(
        [*words, *first, "--", "/bin/sh", "-c", "exit 42"],
        env={},
        pass_fds=given,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=30,
    )
    close_all(given)
    said = done.stderr.decode("utf-8", "replace").strip()
    return "" if done.returncode == 42 else said[:300] or f"exit code {done.returncode}"
