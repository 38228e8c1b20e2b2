"""The worker of this process: what it takes, and what becomes of it when a worker is told to end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.durable.working import done_in, working
from tests.waiting import until, until_sync
from toolkeel.errors import SetupError
from toolkeel.sessions.errors import LaterTables, SessionError
from toolkeel_studio.durable import Durable
from toolkeel_studio.durable import worker as worker_module
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


@pytest.mark.parametrize("is_outdated", [False, True])
def test_what_a_worker_cannot_do_is_left_unfinished_to_be_put_back(is_outdated: bool) -> None:
    """It ends already, or a later version has changed the tables."""
    begun = list[str]()

    async def work(order: RunOrder, _: object) -> dict[str, str]:
        begun.append(order["id"])
        raise LaterTables("upgrade toolkeel")

    worker = object.__new__(Worker)
    worker._lock, worker.running, worker._work = threading.Lock(), 0, work
    worker._is_stopping, worker._has_late = not is_outdated, False
    worker.is_outdated, worker._room_changed = False, threading.Event()
    worker.queue = SimpleNamespace(status=lambda _: None)  # type: ignore[assignment]

    async def take() -> None:
        late = asyncio.create_task(worker.work({"id": "late"}))  # type: ignore[typeddict-item]
        await until(lambda: worker._has_late and not worker.running)
        assert not (await asyncio.wait([late], timeout=0))[0]
        late.cancel()

    asyncio.run(take())
    assert (worker.is_outdated, begun) == (is_outdated, ["late"] * is_outdated)


def test_a_worker_ends_although_its_database_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers = threading.Event()
    worker = object.__new__(Worker)
    worker._lock, worker.running, worker.put_back, worker.id = threading.Lock(), 0, [], "w1"
    worker._is_reachable, worker._has_late = True, False
    worker._engine = SimpleNamespace(background_thread_stop_events=[])  # type: ignore[assignment]
    worker.queue = SimpleNamespace(unfinished=lambda _: answers.wait())  # type: ignore[assignment]
    monkeypatch.setattr(worker_module, "END_SECONDS", 0.05)
    assert not worker.stop(0)
    assert "continue when it is started again as w1" in caplog.text
    assert worker.put_back == []


def test_one_thread_asks_a_silent_database_how_many_runs_wait_however_often_it_is_scraped() -> None:
    answers, asked = threading.Event(), list[int]()
    worker = object.__new__(Worker)
    worker._lock, worker._counted = threading.Lock(), None

    def count() -> int:
        asked.append(1)
        answers.wait(60)
        return 7

    worker._fair = SimpleNamespace(count_waiting=count)  # type: ignore[assignment]
    assert [worker.count_queued(0.01) for _ in range(5)] == [None] * 5
    assert len(asked) <= 1
    answers.set()
    until_sync(lambda: worker.count_queued(60) == 7)


def test_what_fails_while_a_worker_ends_is_not_said_to_be_its_database(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker = object.__new__(Worker)
    worker._lock, worker.running, worker._is_reachable = threading.Lock(), 0, True
    worker._engine = SimpleNamespace(background_thread_stop_events=[])  # type: ignore[assignment]

    def fail(_: str) -> None:
        raise ValueError("a row of another program")

    worker.queue, worker.id = SimpleNamespace(unfinished=fail), "w1"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="another program"):
        worker.stop(0)
    assert "does not answer" not in caplog.text


def test_a_session_that_cannot_be_read_is_why_a_run_has_failed(
    make: Callable[..., Durable], monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = list[str]()

    async def run_order(*_: object) -> dict[str, str]:
        tries.append("tried")
        raise SessionError("its file is damaged")

    monkeypatch.setattr(worker_module, "ATTEMPTS", 2)
    monkeypatch.setattr("toolkeel_studio.durable.durable.run_order", run_order)
    durable = make()
    durable.start("run 1", id="first")
    with working(durable):
        end = durable.result("first", 20)
    assert (end.reason, end.error) == ("failed", "SessionError: its file is damaged")
    assert len(tries) == 2
    shown = durable._metrics.render(0, 0)
    assert 'reason="failed"} 1' in shown and 'reason="interrupted"} 1' in shown


def test_runs_of_one_session_come_one_after_the_other(make: Callable[..., Durable]) -> None:
    durable = make(width=4)
    ids = [durable.start(f"run {n}", session="ada") for n in range(3)]
    begun = time.monotonic()
    with working(durable):
        ends = [durable.result(id, 20) for id in ids]
    assert [end.reason for end in ends] == ["answered"] * 3, begun
    said = [m.text for m in durable.sessions["ada"].messages if m.text.startswith("run ")]
    assert sorted(said) == ["run 0", "run 1", "run 2"]
