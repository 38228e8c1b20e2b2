"""Commands without walls end with all that they started, and are held to their limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from toolkeel.executors import Limits
from toolkeel.executors.supervised import Unconfined


def test_a_command_runs_in_its_folder_with_the_environment_of_this_process(tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), 'PATH' in os.environ)"
    with Unconfined().build_command([sys.executable, "-c", code], cwd=str(tmp_path)) as command:
        done = subprocess.run(
            command.argv, env=command.env, pass_fds=command.pass_fds, capture_output=True, text=True
        )
    assert done.stdout.split() == [str(tmp_path.resolve()), "True"]


def test_a_command_cannot_use_more_than_its_limits(tmp_path: Path) -> None:
    code = "open('big', 'wb').write(b'x' * 2_000_000)"
    limits = Limits(file_size=1_000_000)
    with Unconfined(limits).build_command(
        [sys.executable, "-c", code], cwd=str(tmp_path)
    ) as command:
        done = subprocess.run(
            command.argv, env=command.env, pass_fds=command.pass_fds, capture_output=True
        )
    assert done.returncode != 0
    assert (tmp_path / "big").stat().st_size <= 1_000_000
