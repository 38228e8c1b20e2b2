"""The program that stands above a command, started as the sandbox starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.shared import optional
from toolkeel.executors import supervise

Sandbox = optional("toolkeel_workspace.sandbox.confine").Sandbox


def done(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    with Sandbox("off", [tmp_path]).build_command(words) as command:
        return subprocess.run(
            command.argv,
            env=command.env,
            pass_fds=command.pass_fds,
            capture_output=True,
            check=False,
        )


def test_it_ends_as_its_command_ended(tmp_path: Path) -> None:
    assert done(tmp_path, "sh", "-c", "exit 42").returncode == 42
    assert done(tmp_path, "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM
    assert done(tmp_path, "sh", "-c", "kill -KILL $$").returncode == -signal.SIGKILL


def test_a_command_that_cannot_be_confined_does_not_run(tmp_path: Path) -> None:
    order, words = '{"argv": ["touch", "x"]}', [sys.executable, "-I", "-S", supervise.__file__]
    read, write = os.pipe()
    os.write(write, order.encode())
    os.close(write)
    life, end = os.pipe()
    ended = subprocess.run(
        [*words, str(read), str(life)],
        pass_fds=(read, life),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    for descriptor in (read, life, end):
        os.close(descriptor)
    assert ended.returncode != 0 and list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_keeps_the_command_from_running(tmp_path: Path) -> None:
    with Sandbox("off", [tmp_path]).build_command(["true"], cwd=tmp_path / "no") as command:
        ended = subprocess.run(
            command.argv,
            env=command.env,
            pass_fds=command.pass_fds,
            capture_output=True,
            check=False,
        )
    assert ended.returncode == supervise.EXIT_NOT_CONFINED
    assert b"cannot confine the command" in ended.stderr


def test_the_command_has_no_descriptor_but_its_three_streams(tmp_path: Path) -> None:
    code = "import os; print(sorted(os.listdir('/proc/self/fd'))[:4])"
    assert (
        done(tmp_path, sys.executable, "-c", code).stdout == b"['0', '1', '2', '3']\n"
    )  # 3: the list
