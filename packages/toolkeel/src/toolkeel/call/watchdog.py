"""A watchdog for the event loop: it reports code that blocks the loop, with its line.

Every half second a thread schedules a callback on each event loop that has run a call. If it has not
run half a second later, something blocks the loop. The stack of the loop's thread shows what: the
outermost function of the program that the library called, such as a tool, a step, a guard, a listener or
the instructions of an agent; or the one that called a sync function of the library, such as
`Sessions.delete`. Other code that blocks a loop is not reported.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import os
import sys
import sysconfig
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import accumulate, chain, repeat
from pathlib import Path
from time import monotonic, sleep
from types import FrameType
from typing import Any

from toolkeel.call.body.start_thread import NoThread, start_thread

PERIOD = 0.5
"""Seconds between two checks."""

_STANDARD = f"{sysconfig.get_path('stdlib')}{os.sep}"
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
_RUNNERS = frozenset(
    function.__code__
    for function in (
        asyncio.run,
        asyncio.Runner.run,
        asyncio.BaseEventLoop.run_forever,
        asyncio.BaseEventLoop.run_until_complete,
    )
)
"""What runs a loop: what is outside of it on the stack does not run on the loop."""
_BLOCKED = (
    "%s:%d (%s) has blocked the event loop for %.1f s: nothing else runs meanwhile, and no deadline "
    "is kept; write an async def and await what it waits for, or a plain def for a tool or a "
    "guard, which runs in a thread"
)

log = logging.getLogger("toolkeel")


def frames_of(thread: int) -> list[FrameType]:
    """Return the frames of a thread, the innermost first. The list is empty if it has ended.

    They are read in one step, in which no other thread runs: otherwise Python 3.11 may crash, as it
    reads frames that have ended from freed memory. Garbage collection, during which other threads run,
    is off meanwhile.
    """
    collects = sys.version_info < (3, 12) and gc.isenabled()
    now: Iterable[dict[int, FrameType]] = iter(sys._current_frames, {})
    steps: Iterable[Any] = chain(map(dict.get, now, (thread,)), repeat("f_back"))
    outward: Callable[[Any, Any], Any] = getattr
    found: deque[FrameType | None] = deque()
    if collects:
        gc.disable()
    try:
        with suppress(AttributeError):  # outside of the outermost is None
            found.extend(accumulate(steps, outward))
    finally:
        if collects:
            gc.enable()
    return [frame for frame in found if frame is not None]


def blocking_frame(frames: Sequence[FrameType]) -> FrameType | None:
    """Return the frame of the program that blocks, or None if the library blocks by itself.

    Args:
        frames: Frames of a thread, the innermost first.

    Returns:
        The outermost frame that the library called; where the library itself is at work, the one that
        called a sync function of it.
    """
    called: FrameType | None = None
    library: FrameType | None = None
    for frame in frames:
        if frame.f_code in _RUNNERS:
            return None
        if frame.f_code.co_filename.startswith(_PACKAGE):
            if called is not None and not _is_standard(called):
                return called
            library, called = frame, None
        elif library is None or _is_standard(frame):
            called = frame
        else:
            return None if library.f_code.co_flags & _ASYNC else frame
    return None


def _is_standard(frame: FrameType) -> bool:
    """Return True for code of the standard library."""
    name = frame.f_code.co_filename
    return name.startswith((_STANDARD, "<frozen")) and "site-packages" not in name


class _Heartbeat:
    """The check of one event loop: a callback that must run in time, or the delay is logged.

    Args:
        loop: The loop that runs in this thread.

    Attributes:
        thread: Id of the loop's thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.thread = threading.get_ident()
        self._sent_at = 0.0
        self._waits = self._is_reported = False

    def look(self) -> None:
        """Log once what blocks the event loop, or schedule the next callback if the last one has run.

        Raises:
            RuntimeError: the loop is closed.
        """
        if not self._waits:
            self._sent_at, self._waits, self._is_reported = monotonic(), True, False
            self.loop.call_soon_threadsafe(self._answer)
        elif not self._is_reported and (frame := blocking_frame(frames_of(self.thread))):
            self._is_reported = True
            code = frame.f_code
            seconds = monotonic() - self._sent_at
            log.warning(_BLOCKED, code.co_filename, frame.f_lineno, code.co_name, seconds)

    def _answer(self) -> None:
        """Record that the loop ran the callback, so that it is not blocked."""
        self._waits = False


class Watchdog:
    """A thread that logs what blocks the event loops that run calls, and on which line."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop all loops, as a child process must after a fork."""
        self._lock = threading.Lock()
        self._loops: dict[asyncio.AbstractEventLoop, _Heartbeat] = {}

    def watch(self) -> None:
        """Look for code that blocks the running loop, from now on, until it stops.

        The first loop starts the thread; where none can be started, nothing is watched.
        """
        loop = asyncio.get_running_loop()
        if loop in self._loops:
            return
        with self._lock:
            is_first = not self._loops
            self._loops[loop] = _Heartbeat(loop)
        if not is_first:
            return
        try:
            start_thread(self._look, "toolkeel-watchdog")
        except NoThread:  # calls run without it
            with self._lock:
                self._loops.clear()

    def _look(self) -> None:
        """Look at all loops, every `PERIOD` seconds; forget those that ended, and return after the last."""
        while True:
            sleep(PERIOD)
            for loop, heartbeat in list(self._loops.items()):
                with suppress(RuntimeError):  # it was closed just now
                    if loop.is_running():
                        heartbeat.look()
                        continue
                with self._lock:
                    del self._loops[loop]
                    if not self._loops:
                        return


WATCHDOG = Watchdog()
"""The only one of the process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WATCHDOG.forget)
