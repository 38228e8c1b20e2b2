"""What a piece of work costs, in numbers that no clock and no busy machine has a part in."""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

Work = Callable[[], Awaitable[object]]


def calls(work: Work) -> int:
    """Functions entered, Python's and C's, by the second time the work is done."""
    return asyncio.run(_calls(work))


async def _calls(work: Work) -> int:
    counted = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    await work()  # what is made once is made now
    coroutine: Any = work()
    gc.collect()
    gc.disable()  # the garbage of other tests has finalizers of its own
    sys.setprofile(count)
    try:
        await coroutine
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def kept(make: Callable[[int], object], size: int) -> float:
    """Bytes that stay for each of the things made, as Python's allocators count them."""
    make(20)  # what is made once is made now
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        made = make(size)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    del made
    return (after - before) / size


def taken(work: Callable[[], Awaitable[object]], times: int) -> float:
    """Blocks of memory in use at the worst moment of one piece of work, beyond those before it."""
    return asyncio.run(_taken(work, times))


async def _taken(work: Work, times: int) -> float:
    await work()
    gc.collect()
    worst = 0
    tracemalloc.start()
    try:
        for _ in range(times):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            await work()
            worst = max(worst, tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    return worst
