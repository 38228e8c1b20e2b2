"""One writes, the others wait their turn; a writer that dies lets go at once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import run, until_sync
from toolkeel import SetupError
from toolkeel.sessions.session_lock import WriterLocks
from toolkeel.sessions.stores.postgres import open_store

HOLDER = """
import sys, time
from tests.sessions.test_session_lock import locks_at
locks = locks_at(sys.argv[1])
assert locks.try_acquire(7)
print("held", flush=True)
time.sleep(60)
"""


AT_EXIT = """
import atexit, sys
from toolkeel import Agent, tool
from toolkeel.sessions import Sessions

@tool
async def double(n: int) -> int:
    '''Double.'''
    return 2 * n

agent, sessions = Agent("offline", tools=[double]), Sessions(sys.argv[1])

@atexit.register
def end():
    print(agent.run_sync("double 21").output.split()[-1])
    try:
        agent.run_sync("Hi", session=sessions["ada"])
    except Exception as error:
        print(type(error).__name__, error)
"""


def locks_at(path: str | Path) -> WriterLocks:
    """The locks of a file of sessions."""
    return WriterLocks(open_store(str(path)))


def test_those_who_wait_in_a_process_are_served_in_order(tmp_path: Path) -> None:
    locks, order = locks_at(tmp_path / "talk.db"), []

    async def one(number: int) -> None:
        await locks.acquire(1)
        order.append(number)
        await asyncio.sleep(0)
        locks.release(1)

    async def main() -> None:
        await asyncio.gather(*map(one, range(20)))

    run(main)
    assert order == list(range(20))


def test_who_is_cancelled_while_waiting_leaves_the_queue(tmp_path: Path) -> None:
    locks = locks_at(tmp_path / "talk.db")

    async def main() -> None:
        await locks.acquire(1)
        tasks = [asyncio.create_task(locks.acquire(1)) for _ in range(3)]
        await asyncio.sleep(0.01)
        tasks[0].cancel()
        locks.release(1)
        await asyncio.wait_for(tasks[1], 30)
        tasks[2].cancel()
        await asyncio.wait(tasks)
        locks.release(1)
        assert locks.try_acquire(1)
        locks.release(1)

    run(main)


def test_different_sessions_do_not_wait_for_each_other(tmp_path: Path) -> None:
    locks = locks_at(tmp_path / "talk.db")
    assert locks.try_acquire(1)
    assert locks.try_acquire(2)
    assert not locks.try_acquire(1)


def test_an_attempt_that_fails_leaves_the_queue(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    locks = locks_at(path)
    in_the_way = Path(f"{path}.lock")
    in_the_way.mkdir()
    with pytest.raises(SetupError, match="lock"):
        locks.try_acquire(1)
    in_the_way.rmdir()
    assert locks.try_acquire(1)


def test_another_process_keeps_it_until_it_is_killed(tmp_path: Path) -> None:
    path = str(tmp_path / "talk.db")
    locks = locks_at(path)
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert not locks.try_acquire(7)
        assert locks.try_acquire(8)

        async def main() -> None:
            waiting = asyncio.create_task(locks.acquire(7))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            holder.send_signal(signal.SIGKILL)
            await asyncio.wait_for(waiting, 30)

        run(main)
    locks.release(7)
    until_sync(lambda: locks.try_acquire(7))


def test_a_run_in_an_atexit_function_works_or_says_why_its_session_cannot(tmp_path: Path) -> None:
    words = [sys.executable, "-c", AT_EXIT, str(tmp_path / "s.db")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "42",
        "SessionError a run of a session cannot begin in an atexit function, since Python is ending "
        "and starts no more threads; run it before the program ends",
    ]
