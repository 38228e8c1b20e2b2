"""Ctrl-C: the first stops the calls and lets the run end by itself, the second ends it.

The run has a thread of its own, so that the main thread, which receives signals, is always free to
handle them: the program can be stopped whatever a tool does.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, NoReturn, TypeVar

from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.context import CancelToken
from toolkeel_studio.cli.terminal.streams import YELLOW, note

T = TypeVar("T")

BY_HAND = "interrupted by the user"


def run_interruptible(
    make: Callable[[CancelToken], Coroutine[Any, Any, T]], timeout: float | None = None
) -> T:
    """Run a coroutine to its end.

    Args:
        make: Creates the coroutine from the token that Ctrl-C and the timeout cancel.
        timeout: Seconds until the token is cancelled; None for never.

    Raises:
        KeyboardInterrupt: at the second Ctrl-C, after at most a few seconds for cleanup.
        SystemExit: when the process is asked to terminate.
    """
    token = CancelToken()

    def interrupted(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        note("stopping the calls; Ctrl-C again to end now", YELLOW)
        token.cancel(BY_HAND)

    handlers = (
        (signal.SIGINT, signal.signal(signal.SIGINT, interrupted)),
        (signal.SIGTERM, signal.signal(signal.SIGTERM, _terminated)),
    )
    try:
        return run_sync(lambda: _limited(make(token), token, timeout))
    finally:
        for number, handler in handlers:
            signal.signal(number, handler)


async def _limited(work: Coroutine[Any, Any, T], token: CancelToken, timeout: float | None) -> T:
    """Wait for `work`, and cancel the token when its time is over."""
    if timeout is None:
        return await work
    reason = f"the time limit of {timeout:g} seconds is over"
    timer = asyncio.get_running_loop().call_later(timeout, token.cancel, reason)
    try:
        return await work
    finally:
        timer.cancel()


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """End at once, but not without leaving the screen in order."""
    raise SystemExit(128 + number)
