"""The worker of this process: what it takes, and what becomes of it when a worker is told to end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.durable.working import done_in, working
from tests.waiting import until_sync
from toolkeel.errors import SetupError
from toolkeel_studio.durable import Durable
from toolkeel_studio.durable.orders import RunOrder
from toolkeel_studio.durable.worker import Worker

pytestmark = pytest.mark.slow


def test_a_worker_that_is_told_to_end_ends_its_runs_and_takes_no_more(
    make: Callable[..., Durable], tmp_path: Path
) -> None:
    durable = make(pause=0.1)
    durable.start("run 1", id="first")
    with working(durable) as ended:
        until_sync(lambda: len(done_in(tmp_path)) >= 2)
        durable.start("run 2", id="second")
        with pytest.raises(SetupError, match="one worker"):
            durable.work("two")
    assert ended == [True]
    assert durable.result("first", 1).reason == "answered"
    with pytest.raises(TimeoutError):
        durable.result("second", 0)
    with working(durable, "another"):
        assert durable.result("second", 20).reason == "answered"


def test_a_run_that_is_taken_while_its_worker_ends_does_not_begin() -> None:
    begun = list[str]()

    async def work(order: RunOrder, _: object) -> dict[str, str]:
        begun.append(order["id"])
        return {}

    worker = object.__new__(Worker)
    worker._lock, worker.running, worker._work = threading.Lock(), 0, work
    worker._is_stopping, worker._has_late = True, False
    coroutine = worker.work({"id": "late"})  # type: ignore[typeddict-item]
    loop = asyncio.new_event_loop()
    late = loop.create_task(coroutine)
    loop.run_until_complete(asyncio.sleep(0))
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(late)
    loop.close()
    assert (worker._has_late, begun, worker.running) == (True, [], 0)


def test_runs_of_one_session_come_one_after_the_other(make: Callable[..., Durable]) -> None:
    durable = make(width=4)
    ids = [durable.start(f"run {n}", session="ada") for n in range(3)]
    begun = time.monotonic()
    with working(durable):
        ends = [durable.result(id, 20) for id in ids]
    assert [end.reason for end in ends] == ["answered"] * 3, begun
    said = [m.text for m in durable.sessions["ada"].messages if m.text.startswith("run ")]
    assert sorted(said) == ["run 0", "run 1", "run 2"]
