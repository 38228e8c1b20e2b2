"""A thousand sessions at once in one file, from threads and processes: nothing crosses or grows."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.shared import ROOT
from toolkeel import Agent, tool
from toolkeel.messages import Message, ToolCall, ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call

PROCESSES, THREADS, EACH, ROUNDS = 4, 5, 50, 3
AT_ONCE = """
import asyncio, gc, sys, threading, weakref
from toolkeel import Agent, ToolContext, tool
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call

path, process, threads, each, rounds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
sessions = Sessions(path)
together = threading.Barrier(threads)

def told(request):
    return " ".join(message.text for message in request.messages)

async def talk(name, number, all_here):
    @tool
    async def remember(who: str, context: ToolContext) -> str:
        "Remember who it is."
        await all_here.wait()  # every session of this thread has a call that runs
        context.update("seen", lambda seen: [*seen, who], [])
        return f"{who} noted"
    agent = Agent(Scripted([call("remember", {"who": name}), told]), [remember])
    result = await agent.run(f"I am {name}", session=sessions[name])
    assert result.reason == "answered", result

async def talk_all(thread, number):
    all_here = asyncio.Barrier(each)
    await asyncio.gather(*(talk(f"s-{process}-{thread}-{n}", number, all_here) for n in range(each)))

def work(thread):
    for number in range(rounds):
        together.wait()
        asyncio.run(talk_all(thread, number))
        together.wait()
        if thread == 0:
            gc.collect()
            # connections keep weak references to their statements, and sweep them now and then
            print(sum(type(each) is not weakref.ref for each in gc.get_objects()), flush=True)
        together.wait()

running = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
for each_thread in running: each_thread.start()
for each_thread in running: each_thread.join()
"""


@pytest.mark.slow
def test_of_a_thousand_sessions_at_once_none_sees_another_and_memory_stays(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    given = [str(number) for number in (THREADS, EACH, ROUNDS)]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", AT_ONCE, str(path), str(number), *given],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        )
        for number in range(PROCESSES)
    ]  # fmt: skip
    told = [process.communicate(timeout=280) for process in running]
    assert [process.returncode for process in running] == [0] * PROCESSES, told
    for out, _ in told:
        objects = [int(line) for line in out.split()]
        assert len(objects) == ROUNDS
        # Caches breathe by a few hundred; a session that stayed would hold dozens.
        assert objects[-1] - objects[1] < 4 * THREADS * EACH, objects
    sessions = Sessions(path)
    every = sessions.list()
    assert len(every) == PROCESSES * THREADS * EACH
    for info in every:
        session = sessions[info.name]
        entries = session.entries()
        assert [each.seq for each in entries] == list(range(1, info.head + 1))
        texts = [message.text for message in session.messages]
        assert len(texts) == 4 * ROUNDS
        assert set(re.findall(r"s-\d-\d-\d+", " ".join(texts))) == {info.name}
        assert session.state == {"seen": [info.name] * ROUNDS}
        assert info.ended == "answered"
    sessions.close()


FULL = """
import os, resource, signal, sys
from toolkeel import Agent, ToolContext, tool
from toolkeel.sessions import Sessions
from toolkeel.sessions.errors import SessionError
from toolkeel.testing.scripted import Scripted, call

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sessions = Sessions(sys.argv[1])

@tool
def work(n: int, context: ToolContext) -> str:
    "Do a step."
    print("began", n, flush=True)
    return "x" * 3000

def run(first):
    calls = [call("work", {"n": n}) for n in range(first, first + 10)]
    Agent(Scripted([*calls, "done"]), [work], max_turns=20).run_sync("go", session=sessions["ada"])
    print("ended", sessions["ada"].info.head, flush=True)

run(0)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    for first in range(10, 1000, 10):
        run(first)
except SessionError as error:
    print("told", error, flush=True)
os._exit(0)
"""


@tool
def again(n: int) -> str:
    """Stand for the work."""
    return "again"


@pytest.mark.slow
@pytest.mark.parametrize("size", [450_000, 453_000, 500_000, 600_001])
def test_a_disk_that_is_full_in_a_run_leaves_a_beginning_that_goes_on(
    tmp_path: Path, size: int
) -> None:
    words = [sys.executable, "-c", FULL, str(tmp_path / "talk.db"), str(size)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=200)
    assert done.returncode == 0, done.stderr
    told = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert told[-1][0] == "told"
    assert "cannot be written" in told[-1][1]
    began = [int(value) for what, value in told if what == "began"]
    ended = [int(value) for what, value in told if what == "ended"]
    sessions = Sessions(tmp_path / "talk.db")
    session = sessions["ada"]
    entries = session.entries()
    assert [each.seq for each in entries] == list(range(1, len(entries) + 1))
    assert len(entries) >= ended[-1]
    intended = [each for each in entries if each.entry.kind == "call_intended"]
    assert len(intended) >= len(began)  # nothing ran whose intent was not on the disk
    result = Agent(Scripted(["on"]), [again]).run_sync(
        "go on", session=session, approver=lambda ticket: ticket.deny()
    )
    assert result.output == "on"
    sessions.close()


async def longest_halt() -> float:
    """The most seconds for which the loop stood still, until it is cancelled."""
    longest, last = 0.0, time.monotonic()
    with suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(0.01)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
    return longest


def test_calls_whose_intent_cannot_be_written_in_time_did_not_begin_and_say_so(
    tmp_path: Path,
) -> None:
    """The disk answers nobody while a run is cancelled between a reply and its calls."""
    sessions = Sessions(tmp_path / "talk.db")
    ran: list[int] = []

    @tool
    def act(n: int) -> str:
        """Act."""
        ran.append(n)
        return "done"

    other = sqlite3.connect(tmp_path / "talk.db", isolation_level=None, check_same_thread=False)

    def replies(request: ModelRequest) -> list[ToolCall]:
        other.execute("BEGIN IMMEDIATE")
        return [call("act", {"n": n}) for n in range(3)]

    async def cancelled() -> list[Message]:
        threading.Timer(1.5, other.execute, ["ROLLBACK"]).start()
        run = Agent(Scripted([replies]), [act]).stream("go", session=sessions["ada"])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5), run:
                async for _ in run:
                    pass
        return run.messages

    messages = asyncio.run(cancelled())
    assert [m.kind for m in messages if isinstance(m, ToolMessage)] == ["cancelled"] * 3
    assert ran == []
    sessions.close()
    other.close()


def test_the_loop_goes_on_while_the_end_of_a_run_waits_for_another_writer(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    other = sqlite3.connect(tmp_path / "talk.db", isolation_level=None, check_same_thread=False)

    def answers(request: ModelRequest) -> str:
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(1.5, other.execute, ["ROLLBACK"]).start()
        return "done"

    async def one(name: str, cancelled: bool) -> float:
        ticking = asyncio.create_task(longest_halt())
        running = asyncio.create_task(Agent(Scripted([answers])).run("go", session=sessions[name]))
        if cancelled:
            await asyncio.sleep(0.7)  # it has its answer, and writes that
            running.cancel()
        await asyncio.wait([running])
        assert running.cancelled() is cancelled and not other.in_transaction
        ticking.cancel()
        return await ticking

    assert max(asyncio.run(one(f"{how}", how)) for how in (False, True)) < 0.8
    assert [sessions[f"{how}"].messages[-1].text for how in (False, True)] == ["done", "done"]
    sessions.close()
    other.close()
