"""What a command sees is put together by handles; root becomes somebody else, and its files stay root's."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.executors.survivors import survivors
from tests.sandbox.walls import walled
from tests.shared import cannot_run
from toolkeel.executors.process_tree import open_memory_file
from toolkeel_workspace.sandbox import stage
from toolkeel_workspace.sandbox.mounts import STAGE_SCRIPT
from toolkeel_workspace.sandbox.stage import StagedPath, encode_paths
from toolkeel_workspace.sandbox.start_stage import find_stage_obstacle, find_user_obstacle


def test_files_of_root_can_be_changed_by_the_staging_and_stay_roots(tmp_path: Path) -> None:
    if why := find_user_obstacle((str(tmp_path),)):
        cannot_run(f"no other user can be taken here: {why}")
    (tmp_path / "old").write_text("1")
    (tmp_path / "old").chmod(0o600)
    line = "echo 2 >> old; mkdir sub; echo new > sub/new; cat /proc/timer_list; stat -c %u old"
    finished = asyncio.run(walled("bubblewrap", tmp_path).run(["sh", "-c", line]))
    assert finished.stdout == b"65534\n", finished.stderr
    assert (tmp_path / "old").read_text() == "12\n"
    for path in (tmp_path / "old", tmp_path / "sub", tmp_path / "sub" / "new"):
        assert path.stat().st_uid == os.getuid() == 0


def test_the_command_is_root_to_no_file_outside(tmp_path: Path) -> None:
    """By the number the kernel knows it by, seen from outside."""
    if why := find_user_obstacle((str(tmp_path),)):
        cannot_run(f"no other user can be taken here: {why}")
    mark = f"98{secrets.randbelow(10**9)}.5"
    users = set[int]()

    def look(piece: bytes) -> None:
        users.update(Path(f"/proc/{pid}").stat().st_uid for pid in survivors(f"sleep\0{mark}"))
        (tmp_path / "looked").touch()

    sandbox = walled("bubblewrap", tmp_path)
    line = f"sleep {mark} & while ! grep -q sleep /proc/$!/cmdline; do :; done; echo ready; "
    line += "while [ ! -e looked ]; do :; done"
    asyncio.run(sandbox.run(["bash", "-c", line], sink=look))
    [user] = users
    assert user >= 64_000


def test_what_the_kernel_refuses_is_an_error_and_never_passed_over() -> None:
    if why := find_stage_obstacle():
        cannot_run(f"no stage is possible here: {why}")
    with pytest.raises(OSError) as refused:
        stage._syscall(stage._MOVE_MOUNT, -1, b"", -1, b"", stage._BY_HANDLES)
    assert refused.value.errno in (errno.EBADF, errno.EPERM)


@pytest.mark.parametrize("target", ["..", "/usr", "real", "/proc/self/root"])
@pytest.mark.parametrize("place", ["sub", "sub/lib"])
def test_what_is_a_link_by_now_is_mounted_neither_there_nor_where_it_leads(
    target: str, place: str, tmp_path: Path
) -> None:
    if why := find_stage_obstacle():
        cannot_run(f"what lies within a root cannot be mounted by handles here: {why}")
    (tmp_path / "real" / "lib").mkdir(parents=True)
    (tmp_path / "lib").mkdir()
    root = StagedPath(str(tmp_path), "", True, 0, 0)
    within = StagedPath(str(tmp_path / place), str(tmp_path), False, 0, 0)
    for link, code in ((False, 42), (True, 125)):
        made = tmp_path / "sub"
        shutil.rmtree(made, ignore_errors=True)
        made.symlink_to(target) if link else (made / "lib").mkdir(parents=True)
        given = open_memory_file(encode_paths([root, within]))
        words = [
            sys.executable,
            "-I",
            "-S",
            str(STAGE_SCRIPT),
            "-1",
            str(given),
            "--",
            "/bin/sh",
            "-c",
        ]
        done = subprocess.run([*words, "exit 42"], pass_fds=[given], capture_output=True)
        os.close(given)
        assert done.returncode == code, done.stderr
