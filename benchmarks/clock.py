"""Timing: warmed up, in samples long enough to be read, garbage left alone, the
least told: whatever else the machine does can only add to it.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

SAMPLE = 0.02
"""Seconds a sample lasts."""
SAMPLES = 11


@contextmanager
def quiet() -> Iterator[None]:
    """No garbage is collected meanwhile."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    """Seconds one piece of work takes: the least of the samples."""
    times = 1
    while (spent := await _sample(work, times)) < SAMPLE / 4:
        times *= 2
    times = max(1, int(times * SAMPLE / spent))
    with quiet():
        return min([await _sample(work, times) / times for _ in range(SAMPLES)])


async def _sample(work: Callable[[], Awaitable[object]], times: int) -> float:
    begun = perf_counter()
    for _ in range(times):
        await work()
    return perf_counter() - begun


async def once(work: Callable[[], Awaitable[object]], times: int = 5) -> float:
    """Seconds of work too long to be sampled: the least of a few times, after one to warm up."""
    await work()
    spent = []
    for _ in range(times):
        gc.collect()
        spent.append(await _sample(work, 1))
    return min(spent)
