"""Ctrl-C and SIGTERM: the first stops the calls and lets the run end by itself, the second ends it.

The run has a thread of its own, so that the main thread, which receives signals, is always free to
handle them: the program can be stopped whatever a tool does.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, NoReturn, TypeVar

from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.context import CancelToken
from toolkeel_studio.cli.exit_codes import FAILED, INTERRUPTED, UNREAD
from toolkeel_studio.cli.exit_codes import TERMINATED as TERMINATED_CODE
from toolkeel_studio.cli.terminal.standard_streams import NO_READER
from toolkeel_studio.cli.terminal.streams import YELLOW, note

T = TypeVar("T")

BY_HAND = "interrupted by the user"
TERMINATED = "the program was asked to terminate (SIGTERM)"
TERM_GRACE = 8.0
"""Seconds that a run has to end after SIGTERM: supervisors kill after ten."""


def run_interruptible(
    make: Callable[[CancelToken], Coroutine[Any, Any, T]],
    timeout: float | None = None,
    *,
    returns_on_term: bool = False,
) -> T:
    """Run a coroutine to its end.

    Args:
        make: Creates the coroutine from the token that Ctrl-C and the timeout cancel.
        timeout: Seconds until the token is cancelled; None for never.
        returns_on_term: Return after SIGTERM as after Ctrl-C, so that the caller can say how to go on.

    Raises:
        KeyboardInterrupt: at the second Ctrl-C, after at most a few seconds for cleanup.
        SystemExit: after SIGTERM, unless `returns_on_term`; at the second SIGTERM, or if the coroutine
            does not end within `TERM_GRACE` seconds, in any case.
    """
    token = CancelToken()

    def interrupted(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        note("stopping the calls; Ctrl-C again to end now", YELLOW)
        token.cancel(BY_HAND)

    overdue = threading.Timer(TERM_GRACE, os.kill, (os.getpid(), signal.SIGTERM))
    overdue.daemon = True

    def terminated(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, _end_now)
        overdue.start()
        token.cancel(TERMINATED)

    handlers = (
        (signal.SIGINT, signal.signal(signal.SIGINT, interrupted)),
        (signal.SIGTERM, signal.signal(signal.SIGTERM, terminated)),
    )
    try:
        value = run_sync(lambda: _limited(make(token), token, timeout))
        if token.reason == TERMINATED and not returns_on_term:
            raise SystemExit(TERMINATED_CODE)
        return value
    finally:
        overdue.cancel()
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


def exit_code(token: CancelToken) -> int:
    """Return the exit code of a program whose run was cancelled."""
    codes = {BY_HAND: INTERRUPTED, TERMINATED: TERMINATED_CODE, NO_READER: UNREAD}
    return codes.get(token.reason, FAILED)


def _end_now(number: int, frame: FrameType | None) -> NoReturn:
    """End at once, but not without leaving the screen in order."""
    raise SystemExit(TERMINATED_CODE)
