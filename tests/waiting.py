"""Waiting in tests: for something to come true, and never for ever."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
STEP = 0.002


def run(make: Callable[[], Coroutine[Any, Any, T]], seconds: float = 60) -> T:
    """Run in a fresh loop; what would hang fails instead."""

    async def main() -> T:
        async with asyncio.timeout(seconds):
            return await make()

    return asyncio.run(main())


async def until(true: Callable[[], object], seconds: float = 30) -> None:
    """Let the loop go on until `true()`.

    Raises:
        AssertionError: it did not come true in time.
    """
    for _ in range(int(seconds / STEP)):
        if true():
            return
        await asyncio.sleep(STEP)
    raise AssertionError("it never came true")


def until_sync(
    true: Callable[[], object], seconds: float = 30, state: Callable[[], object] = str
) -> None:
    """The same for plain threads; `state` is told when it never comes true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"it never came true {state()}"
        time.sleep(STEP)
