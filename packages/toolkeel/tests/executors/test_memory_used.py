"""The memory of a process and of all that it started."""

from __future__ import annotations

import os
import subprocess
import sys

from toolkeel.executors.memory_used import measure_tree_memory

MB = 1 << 20
CODE = (
    "import os, sys\n"
    "held = bytearray(os.urandom(1 << 20) * 40)\n"
    "if os.fork() == 0: held = bytearray(os.urandom(1 << 20) * 30)\n"
    "print('ready', flush=True); sys.stdin.read()\n"
)


def test_descendants_count_and_others_do_not() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for _ in range(2):
            process.stdout.readline()
        assert 70 * MB < measure_tree_memory(process.pid) < 200 * MB
        assert measure_tree_memory(os.getpid()) > measure_tree_memory(process.pid)


def test_a_process_that_is_gone_has_none() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert measure_tree_memory(gone.pid) == 0
