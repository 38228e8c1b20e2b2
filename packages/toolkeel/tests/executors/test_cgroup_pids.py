"""Control groups that hold root to a number of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.shared import cannot_run, optional
from toolkeel.executors import cgroup_pids


def test_a_group_holds_what_is_started_in_it_and_is_removed() -> None:
    group = cgroup_pids.create_group(50)
    if group is None:
        assert not cgroup_pids.can_create_group()
        cannot_run("no control group can be made here")
    inside = "cat /proc/self/cgroup"
    done = subprocess.run(
        cgroup_pids.wrap_command(group, ["/bin/sh", "-c", inside]), capture_output=True, check=True
    )
    assert group.name.encode() in done.stdout
    cgroup_pids.remove_group(group)
    assert not group.exists()


def test_a_group_that_is_gone_already_is_no_trouble() -> None:
    group = cgroup_pids.create_group(5)
    if group is None:
        cannot_run("no control group can be made here")
    group.rmdir()
    cgroup_pids.remove_group(group)


def test_the_tasks_of_our_user_are_counted_with_this_one() -> None:
    assert cgroup_pids.count_user_tasks() >= 1
    assert cgroup_pids.is_needed() is (os.geteuid() == 0)


def test_nothing_is_left_when_the_process_has_ended(tmp_path: Path) -> None:
    if not (cgroup_pids.is_needed() and cgroup_pids.can_create_group()):
        cannot_run("a control group is needed by root alone, and only where one can be made")
    optional("toolkeel_workspace.sandbox.confine")
    code = (
        "import asyncio, sys\n"
        "from toolkeel_workspace.sandbox.confine import Sandbox\n"
        "sandbox = Sandbox('workspace', [sys.argv[1]])\n"
        "asyncio.run(sandbox.run(['sh', '-c', 'sleep 50 & sleep 50 &']))\n"
        "import os; print(os.getpid())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    base = cgroup_pids._find_base()
    assert base is not None and not list(base.glob(f"toolkeel-{done.stdout.strip()}-*"))
