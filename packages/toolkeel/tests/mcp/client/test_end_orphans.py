"""A program that is killed leaves no server behind, however stubborn it is and whoever started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import until_sync
from toolkeel.mcp.client import end_orphans

STUBBORN = """
import os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if len(sys.argv) > 2:  # as npx does: the server is a child of what was started
    subprocess.run([sys.executable, __file__, sys.argv[1]])
open(sys.argv[1], "a").write(f"{os.getpid()}\\n")
while True:
    time.sleep(60)
"""
PROGRAM = """
import asyncio, sys
from toolkeel.mcp.client.mcp_server import MCPServer
server = MCPServer([sys.executable, *sys.argv[1:]], connect_timeout=100)
asyncio.run(server.connect())
"""


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["child"]])
def test_a_killed_program_leaves_no_server(tmp_path: Path, more: list[str]) -> None:
    script, pids = tmp_path / "stubborn.py", tmp_path / "pids"
    script.write_text(STUBBORN)
    words = [sys.executable, "-c", PROGRAM, str(script), str(pids), *more]
    program = subprocess.Popen(words)
    until_sync(lambda: pids.exists() and pids.read_text().endswith("\n"))
    server = int(pids.read_text())
    assert alive(server)
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    until_sync(lambda: not alive(server), 30)


def test_a_group_that_was_released_is_left_alone_and_the_guardian_hears_in_order() -> None:
    """What is said goes down the pipe as it was said."""
    end_orphans.guard_group(2**22 + 1)
    end_orphans.release_group(2**22 + 1)
    assert end_orphans._pipe


FORK = """
import os
from toolkeel.mcp.client import end_orphans
end_orphans.guard_group(2**22 + 1)
pid = os.fork()
if pid == 0:
    os._exit(len(end_orphans._pipe))
assert os.waitpid(pid, 0)[1] == 0
end_orphans.release_group(2**22 + 1)
"""


def test_a_fork_does_not_hold_the_pipe() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], timeout=60, check=False)
    assert done.returncode == 0
