"""Control groups that hold root to a number of processes."""

from __future__ import annotations

import os
import subprocess

from toolwright.engines import cgroup


def test_a_group_holds_what_is_started_in_it_and_is_removed() -> None:
    group = cgroup.make(50)
    if group is None:
        assert not cgroup.possible()
        return
    inside = "cat /proc/self/cgroup"
    done = subprocess.run(
        cgroup.entering(group, ["/bin/sh", "-c", inside]), capture_output=True, check=True
    )
    assert group.name.encode() in done.stdout
    cgroup.remove(group)
    assert not group.exists()


def test_a_group_that_is_gone_already_is_no_trouble() -> None:
    group = cgroup.make(5)
    if group is not None:
        group.rmdir()
        cgroup.remove(group)


def test_the_tasks_of_our_user_are_counted_with_this_one() -> None:
    assert cgroup.tasks_of_user() >= 1
    assert cgroup.needed() is (os.geteuid() == 0)
