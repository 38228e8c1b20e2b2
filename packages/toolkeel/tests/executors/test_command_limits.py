"""What a command may use at most, in the words of the system and of the shell."""

from __future__ import annotations

import resource

from toolkeel.executors.command_limits import Limits, make_ulimit_argv


def test_no_limit_is_asked_for_that_is_above_what_this_process_may_set() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    values = Limits(cpu=None, open_files=10**9).to_rlimits()
    assert "RLIMIT_CPU" not in values and values["RLIMIT_CORE"] == 0
    assert values["RLIMIT_NOFILE"] == (10**9 if hard == resource.RLIM_INFINITY else hard)


def test_limits_are_set_in_the_units_of_the_shell() -> None:
    script = make_ulimit_argv({"RLIMIT_DATA": 4096, "RLIMIT_FSIZE": 1024, "RLIMIT_CPU": 7})[2]
    assert "ulimit -d 4 " in script and "ulimit -f 2 " in script and "ulimit -t 7 " in script
