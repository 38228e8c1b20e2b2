"""A watchdog for the event loop: finding the tool, guard or listener that blocks it, and its line.

A thread of its own looks at the frames of all threads, twice a second. Where an author's code, be
it a tool, guard, step, predicate or listener, stands in the same turn of an event loop as half a
second before, it blocks that loop. Calls pay nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from toolkeel._records.record import record
from toolkeel.call.body import invoke, stop
from toolkeel.call.steps import approve, compose, fast_guards, guard
from toolkeel.context import RunContext

PERIOD = 0.5
"""Seconds between two looks."""
IDLE = 1200
"""Looks without a call at work after which the thread ends; the next call starts another."""

_PACKAGE = f"{Path(str(stop.__file__)).parents[2]}{os.sep}"
_DRIVERS = {
    (str(file), name): kind
    for kind, file, names in (
        ("", invoke.__file__, ("begin_bare", "_run_other")),
        ("", stop.__file__, ("run_coroutine", "go_on")),
        ("", guard.__file__, ("ask",)),
        ("", fast_guards.__file__, ("begin", "judged")),
        ("approval predicate", approve.__file__, ("_asked_for",)),
        ("approver", approve.__file__, ("_ask",)),
        ("enabled predicate", compose.__file__, ("check_enabled",)),
        # by its path, since it is built on what begins the watchdog
        ("enabled predicate", f"{_PACKAGE}call{os.sep}enabled_tools.py", ("_enabled",)),
        ("listener", RunContext.tell.__code__.co_filename, ("tell",)),
    )
    for name in names
}
"""By file and name of the functions in which an author's code is at work on an event loop: what
that is; "" for tools, steps and guards."""
_FIXES = {
    "listener": "hand the event to a queue or a thread of your own, and return",
    "tool": "await what it waits for, or write a plain def, which runs in a thread",
}
_BLOCKED = (
    "the %s %r has blocked the event loop for %.1f s, at %s: nothing else runs meanwhile, and no "
    "deadline is kept; %s"
)
_TURN = asyncio.BaseEventLoop._run_once.__code__  # type: ignore[attr-defined]

Seen = dict[int, tuple[FrameType, float, bool]]
"""By thread: the turn of its loop, when that was first seen, and whether it was told about."""

log = logging.getLogger("toolkeel")


@record
class Blocker:
    """What keeps a loop from turning.

    Args:
        kind: "tool", "guard", "approval predicate", "enabled predicate", "approver" or "listener".
        name: Its name; of a predicate or approver, its tool's; of a listener, its qualified name.
        place: File and line, and the function there.
        turn: The frame of the loop's turn in which it is at work.
        guard: The guard, if it is one.
    """

    kind: str
    name: str
    place: str
    turn: FrameType
    guard: guard.InputGuard | guard.OutputGuard | None = None


def blocker_in(frame: FrameType | None) -> Blocker | None:
    """Who is at work in a thread, if it is something that a call or a run has begun.

    Args:
        frame: The innermost of the thread.
    """
    author: FrameType | None = None  # the outermost frame of theirs so far
    kind, name = None, ""
    while frame is not None:
        kind = _DRIVERS.get((frame.f_code.co_filename, frame.f_code.co_name))
        if kind == "" or (kind and author is not None and (name := _asked(kind, frame))):
            break
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            author = frame
        frame = frame.f_back
    if frame is None or author is None:
        return None
    place = f"{author.f_code.co_filename}:{author.f_lineno} ({author.f_code.co_name})"
    known, turn = frame.f_locals, frame
    while turn.f_code is not _TURN and (outer := turn.f_back) is not None:  # read once: it runs on
        turn = outer
    turn = turn if turn.f_code is _TURN else frame  # a loop that is not written in Python
    if kind:
        return Blocker(kind, name, place, turn)
    for name in ("guard", "self"):
        asked = known.get(name)
        if isinstance(asked, guard.InputGuard | guard.OutputGuard):
            return Blocker("guard", asked.name, place, turn, asked)
    context, tool = known.get("context"), known.get("tool")
    called = getattr(context, "tool_name", None) or getattr(tool, "name", "")
    return Blocker("tool", str(called), place, turn)


def _asked(kind: str, frame: FrameType) -> str:
    """The name of the listener, or of the predicate's tool, that is asked in a frame.

    It is "" if none is: steps are at work within `check_enabled`, too, which has its answer by
    then, and masks within `RunContext.tell`, before any listener is told.
    """
    known = frame.f_locals
    if kind == "listener":
        told = known.get("listener")
        return "" if told is None else getattr(told, "__qualname__", type(told).__qualname__)
    tool = known.get("item") or (known.get("prepared") or known["ticket"]).tool
    name = getattr(tool, "name", tool)  # a ticket has the name alone
    return str(name) if callable(known.get("enabled", callable)) else ""


def _tell(found: Blocker, seconds: float) -> None:
    fix = _FIXES.get(found.kind, "write an async def, and await what it waits for")
    if found.guard is not None:
        found.guard.took(seconds)
        found.guard.took(seconds)  # for ever
        fix = "from now on it is asked in a thread"
    log.warning(_BLOCKED, found.kind, found.name, seconds, found.place, fix)


class Watchdog:
    """One thread that looks at all others.

    Attributes:
        runs: Whether it does.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as a child process does."""
        self.runs = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Look from now on."""
        with self._lock:
            if not self.runs:
                self.runs = True
                threading.Thread(target=self._watch, name="toolkeel-watchdog", daemon=True).start()

    def _watch(self) -> None:
        seen: Seen = {}
        idle = 0
        while idle < IDLE:
            time.sleep(PERIOD)
            seen = _look(seen)
            idle = 0 if seen else idle + 1
        self.runs = False


def _look(before: Seen) -> Seen:
    """What is at work in each thread, and since when; what was so half a second ago is told."""
    seen: Seen = {}
    for thread, frame in sys._current_frames().items():
        if (found := blocker_in(frame)) is None:
            continue
        turn, since, told = before.get(thread, (None, 0.0, False))
        if turn is not found.turn:
            seen[thread] = (found.turn, time.monotonic(), False)
            continue
        if not told:
            _tell(found, time.monotonic() - since)
        seen[thread] = (found.turn, since, True)
    return seen


WATCHED = Watchdog()
"""The one there is."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WATCHED.forget)
