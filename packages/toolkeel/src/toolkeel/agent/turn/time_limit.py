"""A run's time limit: at its end all that runs is cancelled, and the run ends with ``limit``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

from toolkeel.context import CancelToken, RunContext


def start_time_limit(run: RunContext) -> Callable[[], object] | None:
    """Start a run's time limit. At its end, everything that runs is cancelled, with reason ``limit``.

    Side effect: the run gets a cancel token and deadline of its own.

    Args:
        run: The run.

    Returns:
        A function that stops the timer; None if the run has no time limit of its own.
    """
    pool = run.scope.spending
    if pool is None or (seconds := pool.limits.seconds) is None or not run.scope.owns_spending:
        return None
    outer, run.cancel = run.cancel, (inner := CancelToken())
    forget = outer.watch(lambda: inner.cancel(outer.reason))
    run.scope.deadline = min(filter(None, (perf_counter() + seconds, run.scope.deadline)))

    def expire() -> None:
        """Cancel the run, and record the reached limit."""
        pool.reached_limit = pool.reached_limit or f"seconds: {seconds:g}"
        inner.cancel(f"its {seconds:g} seconds are over")

    if seconds <= 0:  # before anything is asked or run
        expire()
    timer = asyncio.get_running_loop().call_later(seconds, expire)

    def end() -> None:
        """Stop the timer, and stop watching the outer cancel token."""
        timer.cancel()
        forget()

    return end
