"""Bodies on the nodes of a Ray cluster; what all executors hold is in `../test_executor.py`."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.executors import executor_tools as tools
from tests.executors.survivors import survivors
from tests.ray import ray_tools
from tests.ray.head import CPUS, joined, started
from tests.shared import PYTHONPATH
from tests.waiting import run, until, until_sync
from toolkeel import Tool, ToolCall, ToolMessage, Toolset, tool
from toolkeel.context import RunContext
from toolkeel.errors import DefinitionError, SetupError
from toolkeel.events import Emitted, Event, Progress

if TYPE_CHECKING:
    from toolkeel_studio.ray import Ray

pytestmark = pytest.mark.slow
GONE_WITHIN = 2.0


@pytest.fixture(scope="module")
def head() -> Iterator[str]:
    with started() as address:
        yield address


def ray_at(head: str, **options: Any) -> Ray:
    from toolkeel_studio.ray import Ray  # reads the token's variables when it is imported

    return Ray(head, **options)


def on(executor: object, tool: Tool[..., Any], **options: Any) -> Toolset:
    return Toolset([dataclasses.replace(tool, executor=executor, **{"timeout": 60, **options})])


def one(toolset: Toolset, **values: object) -> ToolMessage:
    [message] = toolset.run_sync([ToolCall("c", toolset.names[0], values)])
    return message


def workers_of_ray() -> list[int]:
    """Processes of Ray's that have an order at this moment, below a head of these tests."""
    return [pid for pid in survivors("ray::serve") if os.getpid() in ancestors(pid)]


def ancestors(pid: int) -> Iterator[int]:
    """The processes above one, as long as they are there."""
    with suppress(OSError):
        while pid > 1:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            yield pid


def bodies_of(folder: Path) -> list[int]:
    """Processes that ran `slow_number`, and are still there."""
    ran = (int(path.stem) for path in folder.glob("*.ran"))
    return [body for body in ran if os.path.exists(f"/proc/{body}")]


def test_ray_by_its_name_has_the_resources_given_beside_it() -> None:
    made = tool(executor="ray", resources={"num_gpus": 1})(print_nothing)
    assert isinstance(made.executor, type(ray_at("127.0.0.1:1")))
    assert made.executor._resources == {"num_cpus": 1, "num_gpus": 1}
    with pytest.raises(DefinitionError, match="resources"):
        tool(executor="ray", resources=["num_gpus"])(print_nothing)  # type: ignore[call-overload]


def print_nothing() -> None:
    """Do nothing."""


def test_a_thousand_calls_come_back_in_order_each_with_its_own_result(head: str) -> None:
    calls = [ToolCall(str(n), "number", {"n": n}) for n in range(1000)]
    messages = on(ray_at(head), tools.number).run_sync(calls)
    assert [message.text for message in messages] == [str(n) for n in range(1000)]


def test_a_storm_of_kills_ends_with_right_results(head: str, tmp_path: Path) -> None:
    toolset = on(ray_at(head, max_retries=20), ray_tools.slow_number)
    marks = {"folder": str(tmp_path)}
    calls = [ToolCall(str(n), "slow_number", {"n": n, **marks}) for n in range(60)]
    choose = random.Random(7)
    killed = []

    async def main() -> list[ToolMessage]:
        going = asyncio.create_task(toolset.run(calls))
        for turn in range(8):
            await asyncio.sleep(0.5)
            victims = workers_of_ray() if turn % 2 else bodies_of(tmp_path)
            if victims and not going.done():
                killed.append(choose.choice(victims))
                os.kill(killed[-1], signal.SIGKILL)
        return await going

    messages = run(main, 90)
    assert len(killed) >= 4
    assert [message.text for message in messages] == [str(n) for n in range(60)]


def test_a_killed_worker_of_rays_leaves_the_outcome_unknown_and_the_body_gone(head: str) -> None:
    mark = f"95{secrets.randbelow(10**9)}.5"

    async def main() -> ToolMessage:
        toolset = on(ray_at(head, max_retries=3), ray_tools.rests)  # not declared repeatable
        going = asyncio.create_task(toolset.run([ToolCall("c", "rests", {"mark": mark})]))
        await until(lambda: survivors(f"sleep\0{mark}"), 20)
        [worker] = workers_of_ray()
        os.kill(worker, signal.SIGKILL)
        [message] = await going
        return message

    message = run(main)
    assert message.kind == "unknown_outcome" and "WorkerCrashedError" in message.text
    until_sync(lambda: not survivors(mark), GONE_WITHIN)


def test_a_node_that_dies_in_mid_call_leaves_the_outcome_unknown(head: str) -> None:
    mark = f"97{secrets.randbelow(10**9)}.5"

    async def main(node: int) -> ToolMessage:
        executor = ray_at(head, resources={"other": 1}, max_retries=3, queue_timeout=60)
        toolset = on(executor, ray_tools.rests, timeout=120)
        going = asyncio.create_task(toolset.run([ToolCall("c", "rests", {"mark": mark})]))
        await until(lambda: survivors(f"sleep\0{mark}") or going.done(), 60)
        for pid in below(node):
            os.kill(pid, signal.SIGKILL)
        [message] = await going
        return message

    assert one(on(ray_at(head), tools.number), n=1).text == "1"  # this process is connected
    import ray

    with joined(head) as node:
        until_sync(lambda: ray.cluster_resources().get("other"), 60)
        message = run(lambda: main(node), 150)
    assert message.kind == "unknown_outcome", message.text
    until_sync(lambda: not survivors(mark), 30)


def below(above: int) -> list[int]:
    """A process and all that were started by it."""
    every = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    return [pid for pid in every if pid == above or above in ancestors(pid)]


def test_what_may_run_again_runs_again_if_it_is_asked_for(head: str, tmp_path: Path) -> None:
    again = one(on(ray_at(head, max_retries=1), tools.dies_once), folder=str(tmp_path))
    assert again.text == "again"
    (tmp_path / "died").unlink()
    once = one(on(ray_at(head), tools.dies_once), folder=str(tmp_path))
    assert once.kind == "unknown_outcome"


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_a_stopped_body_and_all_it_started_is_gone_within_two_seconds(head: str, how: str) -> None:
    mark = f"96{secrets.randbelow(10**9)}.5"
    one(on(ray_at(head), tools.number), n=1)  # workers are warm
    toolset = on(ray_at(head), ray_tools.waits, timeout=4 if how == "deadline" else 60)

    async def main() -> tuple[ToolMessage, float]:
        context: RunContext[None] = RunContext()
        call = ToolCall("c", "waits", {"mark": mark})
        going = asyncio.create_task(toolset.run([call], context))
        await until(lambda: survivors(f"sleep\0{mark}"), 20)
        if how == "cancel":
            context.cancel.cancel("enough")
        [message] = await going
        return message, time.monotonic()

    message, ended = run(main)
    assert message.details["may_still_be_running"] is False
    until_sync(lambda: not survivors(mark), GONE_WITHIN - (time.monotonic() - ended))


DRIVER = """
import dataclasses, sys
from tests.ray import ray_tools
from toolkeel import ToolCall, Toolset
from toolkeel_studio.ray import Ray
tool = dataclasses.replace(ray_tools.rests, executor=Ray(sys.argv[1]), timeout=600)
Toolset([tool]).run_sync([ToolCall("c", "rests", {"mark": sys.argv[2]})])
"""


def test_bodies_die_with_the_program_that_called_them(head: str) -> None:
    mark = f"97{secrets.randbelow(10**9)}.5"
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, head, mark], env=env)
    try:
        until_sync(lambda: survivors(f"sleep\0{mark}"), 30)
    finally:
        driver.kill()
        driver.wait()
    until_sync(lambda: not survivors(mark), GONE_WITHIN)


def test_what_no_node_has_is_refused_at_once(head: str) -> None:
    toolset = on(ray_at(head, resources={"num_gpus": 1, "sandbox": 2}), tools.number)
    one(on(ray_at(head), tools.number), n=1)
    since = time.monotonic()
    message = one(toolset, n=1)
    assert time.monotonic() - since < 1
    assert message.kind == "limit_reached"
    assert "num_gpus=1, sandbox=2" in message.text and "not started" in message.text


def test_a_call_waits_for_a_place_only_so_long_and_has_not_begun(head: str, tmp_path: Path) -> None:
    free = tmp_path / "free"

    async def main() -> ToolMessage:
        busy = on(ray_at(head, resources={"num_cpus": CPUS}), ray_tools.says_then_waits)
        events: list[Event] = []
        context: RunContext[None] = RunContext(listeners=(events.append,))
        call = ToolCall("c", "says_then_waits", {"path": str(free)})
        going = asyncio.create_task(busy.run([call], context))
        await until(lambda: [event for event in events if isinstance(event, Progress)])
        late = on(ray_at(head, queue_timeout=0.5), tools.number)
        [message] = await late.run([ToolCall("d", "number", {"n": 1})])
        free.touch()
        [seen] = await going
        assert seen.text == "seen"
        return message

    message = run(main)
    assert message.kind == "limit_reached" and "0.5 seconds for room" in message.text
    patient = one(on(ray_at(head, queue_timeout=30), tools.number), n=4)
    assert patient.text == "4"


def test_what_is_said_not_to_have_started_left_no_trace_whatever_the_moment(
    head: str, tmp_path: Path
) -> None:
    """A place gets free in a tenth of a second, a little before or after the call gives up."""

    async def ask(turn: int) -> ToolMessage:
        free = tmp_path / f"free-{turn}"
        busy = on(ray_at(head, resources={"num_cpus": CPUS}), ray_tools.says_then_waits)
        events: list[Event] = []
        context: RunContext[None] = RunContext(listeners=(events.append,))
        going = asyncio.create_task(
            busy.run([ToolCall("b", "says_then_waits", {"path": str(free)})], context)
        )
        await until(lambda: [event for event in events if isinstance(event, Progress)])
        asyncio.get_running_loop().call_later(0.1, free.touch)
        late = on(ray_at(head, queue_timeout=turn / 50), ray_tools.touches)
        call = ToolCall("t", "touches", {"path": str(tmp_path / str(turn))})
        [message] = await late.run([call])
        await going
        return message

    kinds = set()
    for turn in range(25):
        message = run(partial(ask, turn))
        kinds.add(message.kind)
        if message.kind == "limit_reached":
            assert "has not started" in message.text
            assert not (tmp_path / str(turn)).exists()
    assert {"limit_reached", None} <= kinds <= {"limit_reached", "unknown_outcome", None}


def test_of_much_that_is_reported_nothing_is_lost(head: str) -> None:
    events: list[Event] = []
    context: RunContext[None] = RunContext(listeners=(events.append,))
    toolset = on(ray_at(head), ray_tools.reports_much)
    [message] = toolset.run_sync([ToolCall("c", "reports_much", {"count": 20_000})], context)
    assert message.text == "20000"
    assert [event.value for event in events if isinstance(event, Emitted)] == list(range(20_000))


def test_addresses_and_widths_that_cannot_be_are_refused_when_it_is_made(head: str) -> None:
    with pytest.raises(SetupError, match="Ray's client mode, which cannot stop"):
        ray_at("ray://127.0.0.1:10001")
    with pytest.raises(SetupError, match="must be 1 or more"):
        ray_at(head, max_concurrency=0)
