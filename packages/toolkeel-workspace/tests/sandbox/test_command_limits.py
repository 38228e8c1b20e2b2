"""What a command may use at most is held, by every kind of wall."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import pytest

from tests.executors.survivors import survivors
from tests.sandbox.walls import everywhere, need_number_of_processes, rest_slow, run, walled, walls
from tests.waiting import until_sync
from toolkeel.executors.command_limits import Limits
from toolkeel_workspace.sandbox.confine import Backend


@rest_slow
def test_memory_and_file_size_are_limited(backend: Backend, tmp_path: Path) -> None:
    limits = Limits(memory=256 << 20, file_size=1 << 20)
    sandbox = walled(backend, tmp_path, limits=limits)
    finished = run(sandbox, "python3 -c 'bytearray(8 << 30)'; head -c 3000000 /dev/zero > big")
    assert b"MemoryError" in finished.stderr and finished.exit_code != 0
    assert (tmp_path / "big").stat().st_size == 1 << 20


@pytest.mark.slow
@everywhere
def test_the_memory_of_all_processes_together_is_limited(backend: Backend, tmp_path: Path) -> None:
    """T12: each stays below its own limit, and there are eight of 30 MB."""
    sandbox = walled(backend, tmp_path, limits=Limits(total_memory=120 << 20))
    code = (
        "import os, time\n"
        "for _ in range(7):\n    if os.fork() == 0: break\n"
        "held = bytearray(os.urandom(1 << 20) * 30)\ntime.sleep(60)\n"
    )
    mark = f"# {secrets.token_hex(8)}"
    finished = asyncio.run(sandbox.run(["python3", "-c", code + mark], timeout=60))
    assert (finished.end_reason, finished.possible_signal) == ("memory", "SIGKILL")
    until_sync(lambda: not survivors(mark))
    under = Limits(total_memory=500 << 20)
    quick = code.replace("60)", "0.6)")
    finished = asyncio.run(walled(backend, tmp_path, limits=under).run(["python3", "-c", quick]))
    assert (finished.end_reason, finished.exit_code) == ("exit", 0)


@rest_slow
def test_processor_time_is_limited_per_process(backend: Backend, tmp_path: Path) -> None:
    sandbox = walled(backend, tmp_path, limits=Limits(cpu=1))
    finished = run(sandbox, "while :; do :; done")
    assert finished.possible_signal in ("SIGXCPU", "SIGKILL")


@walls
def test_the_number_of_processes_is_limited(backend: Backend, tmp_path: Path) -> None:
    # Never a real fork bomb before this has passed: root is held to a number by a group alone.
    need_number_of_processes()
    sandbox = walled(backend, tmp_path, limits=Limits(processes=40))
    line = "for i in $(seq 60); do sleep 20 & done 2>/dev/null; jobs -r | wc -l; kill 0"
    code = (
        "import os,time\nn=0\n"
        "for i in range(100):\n"
        "    try:\n"
        "        if not os.fork(): time.sleep(30); os._exit(0)\n"
        "        n+=1\n"
        "    except OSError: break\n"
        "print(n)\n"
    )
    finished = asyncio.run(sandbox.run(["python3", "-c", code], timeout=60))
    assert 10 < int(finished.stdout) <= 40, line


@pytest.mark.slow
@walls
def test_processes_that_fork_and_fork_stop_at_the_limit_and_the_machine_answers(
    backend: Backend, tmp_path: Path
) -> None:
    need_number_of_processes()
    sandbox = walled(backend, tmp_path, limits=Limits(processes=50))
    # A tree of 255 at most: a real bomb would take the machine along if the limit did not hold.
    bomb = "b() { [ $1 = 0 ] && sleep 60 || { b $(($1 - 1)) & b $(($1 - 1)) & wait; }; }; b 7"
    finished = run(sandbox, bomb, timeout=3)
    assert finished.seconds < 50
    until_sync(lambda: not survivors("b $(($1 - 1))"))
    assert run(sandbox, "echo fine").stdout == b"fine\n"
