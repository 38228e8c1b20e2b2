"""A body that resists goes on without its call, and ends with its loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.waiting import until
from toolkeel.call.body import detached_tasks, task_cancels


def _first(body: Coroutine[Any, Any, object]) -> None:
    """Let it wait for the first time."""
    body.send(None)


def test_a_body_left_behind_runs_to_its_end() -> None:
    seen: list[str] = []

    async def stubborn() -> None:
        try:
            await asyncio.sleep(0)
        except ValueError as sent:
            seen.append(str(sent))
        await asyncio.sleep(0)
        seen.append("done")

    async def main() -> None:
        body = stubborn()
        _first(body)
        detached_tasks.detach(body, ValueError("enough"), asyncio.get_running_loop())
        await until(lambda: not detached_tasks._detached)

    asyncio.run(main())
    assert seen == ["enough", "done"]


def test_a_body_left_behind_holds_no_loop_up_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_cancels, "GRACE", 0.05)
    seen: list[str] = []

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(0)
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("resisted")

    async def main() -> None:
        body = stubborn()
        _first(body)
        detached_tasks.detach(body, asyncio.CancelledError(), asyncio.get_running_loop())
        await until(lambda: seen)

    asyncio.run(main())  # which ends
    assert seen and not detached_tasks._detached
