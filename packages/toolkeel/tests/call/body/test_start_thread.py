"""Where no thread can be started, calls have results, and gevent is refused by name."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from types import ModuleType

import pytest

from toolkeel import SetupError
from toolkeel.call.body.start_thread import run_beside, start_thread

NO_THREADS = """
import asyncio, threading
from toolkeel import ToolCall, Toolset, tool

def refuse(self):
    raise RuntimeError("can't start new thread")

threading.Thread.start = refuse

@tool
def double(n: int) -> int:
    '''Double.'''
    return 2 * n

@tool
async def triple(n: int) -> int:
    '''Triple.'''
    return 3 * n

@tool
async def in_thread() -> int:
    '''Use a thread of the standard library.'''
    return await asyncio.to_thread(int)

[crashed] = Toolset([in_thread]).run_sync([ToolCall("1", "in_thread", {})])
print(crashed.kind)

tools = Toolset([double, triple])
calls = [ToolCall(str(n), ("double", "triple")[n % 2], {"n": n}) for n in range(4)]
for results in (tools.run_sync(calls), asyncio.run(tools.run(calls))):
    print([(each.tool_call_id, each.kind or each.content) for each in results])

async def inside():
    return tools.run_sync(calls)

try:
    asyncio.run(inside())
except Exception as error:
    print(type(error).__mro__[1].__name__, error)
"""


def run(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_call_has_a_result_where_the_system_has_no_thread_left() -> None:
    in_thread, sync, awaited, inside = run(NO_THREADS)
    assert in_thread == "crashed"
    assert sync == awaited
    assert sync == "[('0', 'limit_reached'), ('1', '3'), ('2', 'limit_reached'), ('3', '9')]"
    assert inside.startswith("SetupError no thread can be started; raise the limit of threads")


def test_a_thread_runs_its_target_with_its_arguments() -> None:
    done = threading.Event()
    start_thread(done.set, "test")
    assert done.wait(10)


def test_a_short_function_runs_in_a_thread_or_else_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyError("x")

    async def main() -> list[bool]:
        with pytest.raises(KeyError):
            await run_beside(fail)
        beside = await run_beside(threading.current_thread)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(KeyError):
            await run_beside(fail)
        here = await run_beside(threading.current_thread)
        return [each is threading.current_thread() for each in (beside, here)]

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    assert asyncio.run(main()) == [False, True]


@pytest.mark.parametrize("patched", [True, False])
def test_gevents_greenlets_in_place_of_threads_are_refused(
    patched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkey = ModuleType("gevent.monkey")
    monkey.is_anything_patched = lambda: patched  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gevent.monkey", monkey)
    done = threading.Event()
    if patched:
        with pytest.raises(SetupError, match=r"gevent.*-k gthread"):
            start_thread(done.set, "test")
    else:
        start_thread(done.set, "test")
        assert done.wait(10)
