"""A task's cancellations are ours or foreign, and a wait ends with the time of grace."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Generator
from typing import Any

import pytest

from tests.waiting import run
from toolkeel.call.body import task_cancels
from toolkeel.call.body.task_cancels import GRACE_ONLY, TaskCancels


def this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


@types.coroutine
def wait(cancels: TaskCancels, waiting: object) -> Generator[Any, Any, None]:
    yield from cancels.wait_for(waiting)


@pytest.mark.parametrize("foreign", [0, 1, 2])
def test_only_our_own_cancellations_are_taken_back(foreign: int) -> None:
    async def main() -> None:
        cancels = TaskCancels()
        assert not cancels.has_any()
        cancels.cancel()
        for _ in range(foreign):
            this_task().cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(0)
        assert cancels.has_any()
        assert cancels.take_back() is bool(foreign)
        assert this_task().cancelling() == foreign
        for _ in range(foreign):
            this_task().uncancel()
        assert not cancels.has_any()

    run(main)


@pytest.mark.parametrize("ours", [True, False])
def test_a_future_that_ignores_its_cancellation_is_waited_for_within_the_time_of_grace(
    ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_cancels, "GRACE", 0.02)

    class Deaf(asyncio.Future[None]):
        def cancel(self, msg: object = None) -> bool:
            return True

    async def main() -> None:
        cancels, deaf = TaskCancels(), Deaf()
        loop = asyncio.get_running_loop()
        loop.call_soon(cancels.cancel if ours else lambda: task.cancel(GRACE_ONLY))
        task = this_task()
        with pytest.raises(asyncio.CancelledError):
            await wait(cancels, deaf)
        assert cancels.is_grace_over(ValueError(), None) and not deaf.done()
        assert cancels.take_back() is not ours
        if not ours:
            task.uncancel()

    run(main)


def test_no_cancellation_follows_once_the_watch_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_cancels, "GRACE", 0.0)

    async def main() -> None:
        cancels = TaskCancels()
        cancels.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.Event().wait()
        cancels.take_back()
        cancels.close()
        for _ in range(3):
            await asyncio.sleep(0)
        assert this_task().cancelling() == 0

    run(main)
