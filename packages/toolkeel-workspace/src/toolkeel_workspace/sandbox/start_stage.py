"""Starting the stage before bubblewrap: whether this system allows it, and its argv.

Commands of root run behind it as an unused user, where the kernel can map the ids of files to that user.
"""

from __future__ import annotations

import errno
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from toolkeel._common.data_folder import temporary_folder
from toolkeel._common.package_data import require_file
from toolkeel.executors.process_tree import open_memory_file
from toolkeel_workspace.sandbox.bubblewrap import find_bubblewrap
from toolkeel_workspace.sandbox.mounts import STAGE_SCRIPT, SandboxPaths, close_handles, open_paths
from toolkeel_workspace.sandbox.stage import STAGE_FOLDER, StagedPath, encode_paths

_KEEP_USER = -1


class Stage:
    """The arguments for a stage: the paths it opens and mounts before bubblewrap starts.

    It is callable: for a path, it returns where the stage mounts it, for bubblewrap's options.

    Args:
        paths: The sandbox's paths.
        user: The user id that root becomes; see `pick_unused_uid`.

    Raises:
        OSError: if a path is missing, or a link has taken its place.
    """

    def __init__(self, paths: SandboxPaths, user: int = _KEEP_USER) -> None:
        owned = paths.list_private()
        self._user = user
        self._staged_at = {path: f"{STAGE_FOLDER}/{number}" for number, path in enumerate(owned)}
        self._staged = [
            _make_staged_path(path, "", path in paths.writable, paths) for path in owned
        ]
        self._staged += [
            _make_staged_path(path, paths.find_enclosing_root(path), writes, paths)
            for path, writes in paths.list_nested().items()
        ]
        # The stage opens them again, in its own mounts; here a failure can still raise an error.
        close_handles(open_paths(each.path for each in self._staged).values())

    def __call__(self, path: str) -> str:
        """Return the source of a path's mount."""
        return self._staged_at.get(path, path)

    def make_argv(self, pass_fds: list[int]) -> list[str]:
        """Return the argv before bubblewrap's; append the descriptors it needs to `pass_fds`."""
        pass_fds.append(open_memory_file(encode_paths(self._staged)))
        program = [sys.executable, "-I", "-S", str(require_file(STAGE_SCRIPT))]
        return [*program, str(self._user), str(pass_fds[-1]), "--"]


def _make_staged_path(path: str, parent: str, is_writable: bool, paths: SandboxPaths) -> StagedPath:
    roots = (root for root in paths.writable if f"{path}/".startswith(f"{root}/"))
    real = path if parent else os.path.realpath(path)  # the Python prefix may be a link
    owner = os.stat(max(roots, key=len, default=real))
    return StagedPath(real, parent, is_writable, owner.st_uid, owner.st_gid)


def pick_unused_uid() -> int:
    """Return a user id that has no files and no processes."""
    with open("/proc/self/uid_map") as file:
        known = max(int(line.split()[0]) + int(line.split()[2]) for line in file)
    most = 1 << 30
    return most + secrets.randbelow(most) if known > 2 * most else 64_000 + secrets.randbelow(1000)


def make_stage(paths: SandboxPaths) -> Stage | None:
    """Create the best stage this system allows; None for none.

    Raises:
        OSError: if a path is missing, or a link has taken its place.
    """
    if not find_user_obstacle(paths.list_private()):
        return Stage(paths, pick_unused_uid())
    stage = Stage(paths)
    return None if find_stage_obstacle() else stage


@cache
def find_user_obstacle(owned: tuple[str, ...]) -> str:
    """Return why commands of root cannot run as another user, or an empty string if one just did.

    Args:
        owned: The folders it must see, which only root may be able to read.
    """
    if os.geteuid():
        return "it is not root"
    try:
        return _try_stage(owned, pick_unused_uid())
    except OSError as error:
        return f"its user ids cannot be read: {error}"


def run_probe(
    argv: Sequence[str], env: Mapping[str, str], pass_fds: Sequence[int]
) -> subprocess.CompletedProcess[bytes]:
    """Run a command that shows if a sandbox works.

    Raises:
        TimeoutError: it hangs. What works is not known then, so the next start tries again.
    """
    try:
        return subprocess.run(
            argv,
            env=env,
            pass_fds=tuple(pass_fds),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        text = f"the sandbox did not start within {PROBE_SECONDS:g} seconds; try again"
        raise TimeoutError(errno.ETIMEDOUT, text) from None


PROBE_SECONDS = 30.0


@cache
def find_stage_obstacle() -> str:
    """Return why paths inside the roots cannot be mounted by handle, or empty if one just was."""
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        return _try_stage((os.path.realpath(folder),), _KEEP_USER)


def _try_stage(owned: Iterable[str], user: int) -> str:
    pass_fds: list[int] = []
    try:
        argv = Stage(SandboxPaths((), tuple(owned), (), ()), user).make_argv(pass_fds)
    except OSError as error:
        return f"the sandbox's paths cannot be mounted: {error}"
    first = [
        find_bubblewrap(),
        "--unshare-user",
        "--ro-bind",
        "/",
        "/",
        "--ro-bind",
        f"{STAGE_FOLDER}/0",
        "/mnt",
    ]
    try:
        done = run_probe([*argv, *first, "--", "/bin/sh", "-c", "exit 42"], {}, pass_fds)
    finally:
        close_handles(pass_fds)
    message = done.stderr.decode("utf-8", "replace").strip()
    return "" if done.returncode == 42 else message[:300] or f"exit code {done.returncode}"
