"""Ctrl-C: the first stops the calls and lets the run end by itself, the second ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, NoReturn, TypeVar

from toolwright.cli.terminal import YELLOW, note
from toolwright.context import CancelToken

T = TypeVar("T")

BY_HAND = "interrupted by the user"


def run_interruptible(
    make: Callable[[CancelToken], Coroutine[Any, Any, T]], timeout: float | None = None
) -> T:
    """Run a coroutine in a loop of its own, in the main thread.

    Args:
        make: Makes the coroutine, given the token that Ctrl-C and the timeout cancel.
        timeout: Seconds until the token is cancelled; None for never.

    Raises:
        KeyboardInterrupt: at the second Ctrl-C.
        SystemExit: when the process is asked to terminate.
    """
    token = CancelToken()
    with asyncio.Runner() as runner:
        loop = runner.get_loop()

        def stop_calls() -> None:
            note("stopping the calls; Ctrl-C again to end now", YELLOW)
            token.cancel(BY_HAND)

        def interrupted(number: int, frame: FrameType | None) -> None:
            # In a signal handler only the loop may be woken: the token's lock may be held below.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            loop.call_soon_threadsafe(stop_calls)

        before = signal.signal(signal.SIGINT, interrupted)
        before_end = signal.signal(signal.SIGTERM, _terminated)
        if timeout is not None:
            reason = f"the time limit of {timeout:g} seconds is over"
            loop.call_soon(lambda: loop.call_later(timeout, token.cancel, reason))
        try:
            return runner.run(make(token))
        finally:
            signal.signal(signal.SIGINT, before)
            signal.signal(signal.SIGTERM, before_end)


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """End at once, but not without leaving the screen in order."""
    raise SystemExit(128 + number)
