"""Worker processes that stay warm: which are kept, which are not, and that none outlives us."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.executors import executor_tools as tools
from tests.executors.survivors import survivors
from tests.forking import fork
from tests.shared import PYTHONPATH
from tests.waiting import run, until, until_sync
from toolkeel import Tool, ToolCall, ToolMessage, Toolset
from toolkeel.executors import Process, warm_pool
from toolkeel.executors.command_limits import Limits
from toolkeel.executors.process_tree import Command
from toolkeel.executors.warm_pool import CrossLoopSemaphore


def on(tool: Tool[..., Any], **options: Any) -> Toolset:
    return Toolset([dataclasses.replace(tool, executor=Process(**options), timeout=60)])


def texts(toolset: Toolset, *values: dict[str, object]) -> list[str]:
    [name] = toolset.names
    return [toolset.run_sync([ToolCall("c", name, each)])[0].text for each in values]


@pytest.fixture(autouse=True)
def none_left() -> None:
    warm_pool.kill_idle_workers()


def test_a_worker_serves_call_after_call_also_of_other_loops_and_executors() -> None:
    first, second = texts(on(tools.where), {}, {})
    assert first == second != str(os.getpid())
    [message] = asyncio.run(on(tools.where).run([ToolCall("c", "where", {})]))
    assert message.text == first


def test_workers_of_other_limits_or_of_one_call_are_not_shared() -> None:
    [first] = texts(on(tools.where), {})
    [other] = texts(on(tools.where, limits=Limits(open_files=99)), {})
    alone = texts(on(tools.where, max_calls_per_worker=1, limits=Limits(open_files=98)), {}, {})
    assert len({first, other, *alone}) == 4


def test_a_worker_in_which_a_body_left_something_serves_no_other_call() -> None:
    first, second = texts(on(tools.leaves), {}, {})
    assert first != second
    until_sync(lambda: not survivors("sleep\x00600.25"))


def test_a_worker_that_died_while_it_waited_is_not_noticed() -> None:
    toolset = on(tools.where)
    [first] = texts(toolset, {})
    os.kill(int(first), signal.SIGKILL)
    [second] = texts(toolset, {})
    assert second != first


def test_a_call_whose_process_died_runs_again_only_if_it_may(tmp_path: Path) -> None:
    values: dict[str, object] = {"folder": str(tmp_path)}
    assert "not known" in texts(on(tools.dies_once), values)[0]
    (tmp_path / "died").unlink()
    assert texts(on(tools.dies_once, max_retries=1), values) == ["again"]
    [message] = on(tools.fails, max_retries=1).run_sync([ToolCall("c", "fails", {"how": "exit"})])
    assert message.kind == "unknown_outcome"


def test_a_call_that_finds_no_room_in_time_is_refused_and_never_starts(tmp_path: Path) -> None:
    async def main() -> list[ToolMessage]:
        toolset = on(tools.waits_for, max_concurrency=1, queue_timeout=0.05)
        a, b = tmp_path / "a", tmp_path / "b"
        a.touch()
        first = asyncio.create_task(toolset.run([ToolCall("1", "waits_for", {"path": str(a)})]))
        await until((tmp_path / "a.runs").exists)
        second = await toolset.run([ToolCall("2", "waits_for", {"path": str(b)})])
        a.unlink()
        return [*await first, *second]

    done, refused = run(main)
    assert done.text == "done"
    assert refused.kind == "limit_reached" and "has not started" in refused.text
    assert not (tmp_path / "b.runs").exists()


def test_room_that_was_given_up_goes_to_the_next_whatever_the_moment() -> None:
    async def main() -> None:
        room = CrossLoopSemaphore(1)
        await room.acquire()
        gone, waits = (asyncio.create_task(room.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        room.release()
        gone.cancel()  # its turn is on the way
        await waits
        late = asyncio.create_task(room.acquire())
        await asyncio.sleep(0)
        late.cancel()
        room.release()
        await asyncio.wait([late])
        await room.acquire()

    run(main)


SCRIPT = """
import sys, time
sys.path[:0] = {paths!r}
import dataclasses
from tests.executors import executor_tools as tools
from toolkeel.executors import Process
print(dataclasses.replace(tools.where, executor=Process(), timeout=60).invoke({{}}), flush=True)
{then}
"""


@pytest.mark.parametrize("then", ["time.sleep(600)", "import os; os._exit(0)", "pass"])
def test_warm_workers_die_with_their_parent_however_it_dies(then: str) -> None:
    script = SCRIPT.format(paths=PYTHONPATH.split(os.pathsep), then=then)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        if "sleep" in then:
            os.kill(worker, 0)
            parent.kill()
    until_sync(lambda: not Path(f"/proc/{worker}").exists() or _dead(worker))


def _dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_child_that_was_forked_begins_without_workers_and_leaves_ours_alone() -> None:
    [first] = texts(on(tools.where), {})
    child = fork()
    if child == 0:
        os._exit(0 if not warm_pool._idle and warm_pool._abandoned else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert texts(on(tools.where), {}) == [first]


def test_a_worker_that_cannot_start_closes_its_own_files_alone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        warm_pool.Worker(Command([str(tmp_path / "missing")], {}, ()), None)
    files = [os.open(tmp_path, os.O_RDONLY) for _ in range(9)]  # take the numbers that are free
    del caught
    gc.collect()
    for each in files:
        os.close(each)  # raises if the worker has closed it
