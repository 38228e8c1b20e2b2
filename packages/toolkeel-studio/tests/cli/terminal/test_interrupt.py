"""The first Ctrl-C stops the calls, the second ends the program, and a time limit does the first."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.cli.commandline import Terminal, readable, toolkeel
from toolkeel import CancelToken
from toolkeel_studio.cli.terminal.interrupt import BY_HAND, run_interruptible


async def cancelled(token: CancelToken) -> None:
    """Wait for the wish to stop, which comes from another thread."""
    seen, loop = asyncio.Event(), asyncio.get_running_loop()
    token.watch(lambda: loop.call_soon_threadsafe(seen.set))
    await seen.wait()


def test_a_signal_cancels_the_token_and_the_coroutine_goes_on() -> None:
    async def wait(token: CancelToken) -> tuple[bool, str]:
        os.kill(os.getpid(), signal.SIGINT)
        await cancelled(token)
        return token.cancelled, token.reason

    before = signal.getsignal(signal.SIGINT)
    assert run_interruptible(wait) == (True, BY_HAND)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_signal_ends_what_does_not_listen() -> None:
    async def ignore(token: CancelToken) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await cancelled(token)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(ignore)
    assert time.monotonic() - began < 20


def test_the_time_limit_cancels_with_its_reason() -> None:
    async def wait(token: CancelToken) -> str:
        await cancelled(token)
        return token.reason

    assert run_interruptible(wait, 0.05) == "the time limit of 0.05 seconds is over"


def test_what_a_coroutine_returns_or_raises_comes_through() -> None:
    async def give(token: CancelToken) -> int:
        return 3

    async def fail(token: CancelToken) -> None:
        raise LookupError("no")

    assert run_interruptible(give) == 3
    with pytest.raises(LookupError):
        run_interruptible(fail)


def test_ctrl_c_in_a_run_gives_every_call_its_end(folder: Path) -> None:
    words = ["run", "hi", "-t", "tools.py", "-m", "models.py:waiting"]
    terminal = Terminal(words, folder)
    terminal.until(lambda screen: "/600 working" in screen)
    terminal.interrupt(signal.SIGINT)
    ended = terminal.end()
    screen = readable(ended.err)
    assert ended.code == 130
    assert "stopping the calls; Ctrl-C again to end now" in screen
    last = screen.rstrip().splitlines()
    assert [line for line in last if line.startswith("✗ wait(seconds=60)")]
    assert [line for line in last if line.startswith("✗ steps(number=600)")]
    assert last[-3:-1] == ["stopped: interrupted by the user", "go on from here:"]
    assert last[-1].startswith("  toolkeel resume ")
    assert ended.err.rindex("\x1b[?25h") > ended.err.rindex("\x1b[?25l")  # the cursor is back


def test_a_program_that_is_terminated_leaves_the_cursor_visible(folder: Path) -> None:
    terminal = Terminal(["run", "hi", "-t", "tools.py", "-m", "models.py:waiting"], folder)
    terminal.until(lambda screen: "/600 working" in screen)
    terminal.interrupt(signal.SIGTERM)
    ended = terminal.end()
    assert ended.code == 143
    assert "\x1b[?25l" in ended.err
    assert ended.err.rindex("\x1b[?25h") > ended.err.rindex("\x1b[?25l")
    assert "Traceback" not in ended.err
    last = readable(ended.err).rstrip().splitlines()
    assert [line for line in last if line.startswith("✗ steps(number=600)")]
    assert last[-2] == "go on from here:" and last[-1].startswith("  toolkeel resume ")


def test_a_run_in_a_session_that_is_terminated_prints_how_to_go_on(folder: Path) -> None:
    words = ["run", "hi", "-t", "tools.py", "-m", "models.py:waiting", "--session", "ada"]
    terminal = Terminal(words, folder)
    terminal.until(lambda screen: "/600 working" in screen)
    terminal.interrupt(signal.SIGTERM)
    ended = terminal.end()
    last = readable(ended.err).rstrip().splitlines()
    assert ended.code == 143 and "--session ada" in last[-1]


def test_a_program_that_blocks_everything_ends_after_it_was_asked_to_terminate(
    folder: Path,
) -> None:
    terminal = Terminal(["call", "tools.py", "block"], folder)
    terminal.until(lambda screen: "block()" in screen)
    terminal.interrupt(signal.SIGTERM)
    ended = terminal.end()
    assert ended.code == 143 and "Traceback" not in ended.err


def test_what_cannot_go_on_ends_with_the_signal_once_its_run_has_ended() -> None:
    async def wait(token: CancelToken) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await cancelled(token)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended:
        run_interruptible(wait)
    assert ended.value.code == 143 and signal.getsignal(signal.SIGTERM) is before
    assert run_interruptible(wait, returns_on_term=True) is None


def test_one_ctrl_c_is_enough_for_a_call_that_resists(folder: Path) -> None:
    terminal = Terminal(["call", "tools.py", "stubborn"], folder)
    terminal.until(lambda screen: "stubborn()" in screen)
    began = time.monotonic()
    terminal.interrupt(signal.SIGINT)
    ended = terminal.end()
    assert ended.code == 130
    assert time.monotonic() - began < 30  # it would go on for a minute
    assert "may still be running" in " ".join(readable(ended.err).split())


def test_a_second_ctrl_c_ends_a_call_that_blocks_everything(folder: Path) -> None:
    terminal = Terminal(["call", "tools.py", "block"], folder)
    terminal.until(lambda screen: "block()" in screen)
    terminal.interrupt(signal.SIGINT)
    terminal.until(lambda screen: "again to end now" in screen)
    began = time.monotonic()
    terminal.interrupt(signal.SIGINT)
    ended = terminal.end()
    assert ended.code == 130
    assert time.monotonic() - began < 30
    assert "Traceback" not in ended.err


def test_a_run_ends_at_its_time_limit_with_its_events_whole(folder: Path) -> None:
    words = ["run", "hi", "-t", "tools.py", "-m", "models.py:waiting", "--timeout", "2", "--json"]
    ended = toolkeel(*words, cwd=folder)
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert ended.code == 1
    assert [e["type"] for e in events].count("tool_started") == 2
    kinds = [e["message"]["kind"] for e in events if e["type"] == "tool_finished"]
    assert kinds == ["cancelled", "cancelled"]
    assert (events[-1]["type"], events[-1]["reason"]) == ("run_finished", "cancelled")
    stopped, how, line = ended.err.splitlines()
    assert (stopped, how) == ("stopped: the time limit of 2 seconds is over", "go on from here:")
    assert line.startswith("  toolkeel resume ")
