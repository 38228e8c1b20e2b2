"""Sync code on one loop of ours: from scripts, notebooks, threads, bodies and forked children."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest

from tests.forking import fork
from tests.waiting import run
from toolkeel import Agent, RunContext, SetupError, ToolCall, Toolset, tool
from toolkeel.call.body.sync_bridge import _Work, run_sync
from toolkeel.errors import Crashed

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


@tool
async def double(n: int) -> int:
    """Double a number."""
    await asyncio.sleep(0.001)
    return 2 * n


TOOLS = Toolset([double])


def call(name: str = "double", **arguments: object) -> ToolCall:
    return ToolCall("1", name, arguments)


@pytest.mark.parametrize(
    "start",
    [
        lambda: Agent("offline").run("hi"),
        lambda: Agent("offline").stream("hi").__aiter__().__anext__(),
        lambda: aiter(Agent("offline").stream("hi").stream_text()).__anext__(),
        lambda: TOOLS.run([call(n=1)]),
    ],
    ids=["agent", "events", "text", "toolset"],
)
def test_what_is_awaited_without_asyncio_names_it_and_the_sync_form(start: Any) -> None:
    with pytest.raises(SetupError, match=r"no asyncio event loop.*trio\.to_thread\.run_sync"):
        start().send(None)


def test_a_script_without_a_loop_gets_its_results() -> None:
    assert [r.content for r in TOOLS.run_sync([call(n=1), call(n=2)])] == ["2", "4"]


def test_a_sync_call_works_inside_a_running_loop_as_in_a_notebook() -> None:
    async def cell() -> str:
        return TOOLS.run_sync([call(n=21)])[0].text

    assert run(cell) == "42"


def test_what_a_coroutine_raises_reaches_the_sync_caller() -> None:
    async def fail() -> None:
        raise ValueError("猫")

    with pytest.raises(ValueError, match="猫"):
        run_sync(fail)


def test_many_threads_may_call_at_once() -> None:
    results: dict[int, list[str]] = {}

    def work(number: int) -> None:
        results[number] = [TOOLS.run_sync([call(n=number * 10 + k)])[0].text for k in range(10)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == {n: [str(2 * (n * 10 + k)) for k in range(10)] for n in range(12)}


def test_all_sync_calls_share_one_loop_so_what_belongs_to_it_lives_on() -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    assert run_sync(loop) is run_sync(loop)


def test_the_callers_context_variables_are_seen_by_async_and_sync_bodies() -> None:
    @tool
    async def on_loop() -> str:
        """Ask."""
        return user.get()

    @tool
    def in_thread() -> str:
        """Ask."""
        return user.get()

    user.set("Ada")
    calls = [ToolCall("1", "on_loop"), ToolCall("2", "in_thread")]
    assert [r.content for r in Toolset([on_loop, in_thread]).run_sync(calls)] == ["Ada", "Ada"]


def test_a_sync_body_in_a_thread_may_call_tools_itself() -> None:
    @tool
    def quadruple(n: int) -> str:
        """Double twice."""
        return TOOLS.run_sync([call(n=int(TOOLS.run_sync([call(n=n)])[0].text))])[0].text

    calls = [ToolCall(str(n), "quadruple", {"n": n}) for n in range(20)]
    assert [r.content for r in Toolset([quadruple]).run_sync(calls)] == [
        str(4 * n) for n in range(20)
    ]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", ["inline", "async"])
def test_a_body_on_the_bridges_loop_that_would_wait_for_itself_is_told_so(
    kind: str, count: int
) -> None:
    def inner() -> str:
        return TOOLS.run_sync([call(n=1)])[0].text

    async def inner_async() -> str:
        return inner()

    made = tool("waits", inline=kind == "inline", description="Wait for the loop it runs on.")(
        inner if kind == "inline" else inner_async
    )
    calls = [ToolCall(str(n), "waits") for n in range(count)]
    with pytest.raises(SetupError, match="await the async form"):
        Toolset([made]).run_sync(calls)


def test_an_inline_body_on_the_users_own_loop_may_call_tools() -> None:
    @tool(inline=True)
    def waits() -> str:
        """Wait for another loop."""
        return TOOLS.run_sync([call(n=1)])[0].text

    assert run(lambda: Toolset([waits]).run([ToolCall("1", "waits")]))[0].content == "2"


def test_tools_run_alone_in_sync_code_too() -> None:
    assert double.invoke({"n": 4}) == 8
    with pytest.raises(Crashed):
        tool("bad", description="Fail.")(lambda: 1 / 0).invoke({})


def test_a_task_that_exits_the_program_does_not_end_the_loop_of_everybody() -> None:
    @tool
    async def starts_a_task() -> str:
        """Leave a task behind that exits."""

        async def leave() -> None:
            raise SystemExit(3)

        task = asyncio.get_running_loop().create_task(leave())
        await asyncio.sleep(0.01)
        return type(task.exception()).__name__

    [result] = Toolset([starts_a_task]).run_sync([ToolCall("1", "starts_a_task")])
    assert result.content == "SystemExit"
    assert TOOLS.run_sync([call(n=2)])[0].content == "4"


def test_a_forked_child_has_a_loop_of_its_own() -> None:
    assert TOOLS.run_sync([call(n=1)])[0].content == "2"
    child = fork()
    if child == 0:
        signal.alarm(10)
        os._exit(0 if TOOLS.run_sync([call(n=1)])[0].content == "2" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert TOOLS.run_sync([call(n=1)])[0].content == "2"


# — Ctrl-C —

PROGRAM = """
import asyncio, sys, time
from toolkeel import Agent, RunContext, ToolCall, Toolset, tool

def say(word):
    sys.stdout.write(word + "\\n")  # in one piece: several threads say something
    sys.stdout.flush()

@tool
async def sleeps() -> str:
    "Sleep."
    say("begun")
    try:
        await asyncio.sleep(30)
    finally:
        await asyncio.sleep(0.01)
        say("cleaned up")

@tool
def blocks() -> str:
    "Hold a thread."
    say("begun")
    time.sleep(30)

@tool
async def resists() -> str:
    "Go on."
    say("begun")
    while True:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            pass

tools = Toolset([sleeps, blocks, resists])
calls = [ToolCall(str(n), name) for n, name in enumerate(sys.argv[2:])]
run = RunContext(listeners=(lambda event: say(event.type),))
try:
    if sys.argv[1] == "bridge":
        tools.run_sync(calls, run)
    else:
        asyncio.run(tools.run(calls, run))
except KeyboardInterrupt:
    say("interrupted")
    sys.exit(7)
"""


@pytest.mark.parametrize("way", ["bridge", "own loop"])
@pytest.mark.parametrize("names", ["sleeps", "blocks", "sleeps blocks sleeps", "resists sleeps"])
def test_ctrl_c_stops_the_calls_gives_each_its_end_and_then_raises(way: str, names: str) -> None:
    calls = names.split()
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), way, *calls],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    lines: list[str] = []
    try:
        while lines.count("begun\n") < len(calls):
            lines.append(program.stdout.readline())
            assert lines[-1], "the program ended early"
        # Between its last look for signals and the wait for events, the interpreter does not hear
        # of one until something wakes it: give the loop the time to be waiting.
        time.sleep(0.2)
        begun = time.monotonic()
        program.send_signal(signal.SIGINT)
        rest, _ = program.communicate(timeout=60)
    finally:
        program.kill()
        program.communicate()
    told = [*"".join(lines).split("\n"), *rest.split("\n")]
    assert time.monotonic() - begun < 20
    assert program.returncode == 7
    assert told.count("tool_started") == told.count("tool_finished") == len(calls)
    assert told.count("cleaned up") == calls.count("sleeps")
    assert told[-2:] == ["interrupted", ""]


def test_an_interrupt_that_is_raised_while_waiting_cancels_what_it_waited_for() -> None:
    """The main thread waits; a signal handler raises in it, as Ctrl-C does."""
    ended = threading.Event()

    @tool
    async def sleeps(context_is: Any = None) -> None:
        """Sleep."""
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    usual = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            Toolset([sleeps]).run_sync([ToolCall("1", "sleeps")], RunContext())
    finally:
        signal.signal(signal.SIGALRM, usual)
    assert ended.is_set()


def test_what_was_stopped_before_its_loop_was_free_never_starts() -> None:
    ran: list[int] = []

    async def body() -> None:
        ran.append(1)

    async def nothing() -> None:
        pass

    known: concurrent.futures.Future[None] = concurrent.futures.Future()
    known.set_result(None)
    work = _Work(body)
    work.stop()
    work.begin(known)
    run_sync(nothing)
    assert not ran
