"""A watchdog for the event loop: finding what of a program blocks it, be it a tool or a guardrail, and its line.

A thread of its own looks at the frames of all threads, twice a second. Where an author's code, be
it a tool, step, listener or the instructions of an agent, stands in the same turn of an event loop as half a
second before, it blocks that loop. Calls pay nothing.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import accumulate, chain, repeat
from pathlib import Path
from types import FrameType
from typing import Any

from toolkeel._records.record import record
from toolkeel.call.body import coroutine_deadline, run_body
from toolkeel.call.steps import approve, compose, fast_guards, guard
from toolkeel.context import RunContext

PERIOD = 0.5
"""Seconds between two looks."""
IDLE = 1200
"""Looks without a call at work after which the thread ends; the next call starts another."""

_PACKAGE = f"{Path(str(coroutine_deadline.__file__)).parents[2]}{os.sep}"


def _file(*path: str) -> str:
    return f"{_PACKAGE}{os.sep.join(path)}.py"


_DRIVERS = {
    (str(file), name): kind
    for kind, file, names in (
        ("", run_body.__file__, ("begin_bare", "_run_other")),
        ("", coroutine_deadline.__file__, ("run_coroutine", "go_on")),
        ("", guard.__file__, ("ask",)),
        ("", fast_guards.__file__, ("_verdicts",)),
        ("approval predicate", approve.__file__, ("_asked_for",)),
        ("approver", approve.__file__, ("_ask",)),
        ("enabled predicate", compose.__file__, ("check_enabled",)),
        ("listener", RunContext.tell.__code__.co_filename, ("tell",)),
        # by their paths, since they are built on what begins the watchdog
        ("enabled predicate", _file("call", "enabled_tools"), ("_enabled",)),
        ("tool source", _file("call", "tool_sources"), ("_ask",)),
        ("function of instructions", _file("agent", "prompt"), ("_evaluated",)),
        ("guardrail", _file("agent", "guardrail"), ("judge",)),
        ("history policy", _file("agent", "history"), ("shorten",)),
        ("filter of the handoff", _file("agent", "handoff"), ("seen",)),
        ("model step", _file("agent", "turn", "steps"), ("_through",)),
        ("model", _file("agent", "turn", "ask_model"), ("send",)),
    )
    for name in names
}
"""By file and name of the functions in which an author's code is at work on an event loop: what
that is; "" for tools, steps and guards."""
_NAMED_BY = {
    "listener": "listener",
    "tool source": "source",
    "function of instructions": "instructions",
    "history policy": "policy",
    "guardrail": "self",
    "model step": "step",
    "model": "model",
}
"""The local variable that holds what is asked; of the other kinds it is a tool's."""
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
        kind: What it is, such as "tool", "guard", "approver" or "model step".
        name: Its name; of a predicate, approver or filter, its tool's; else its qualified name or its class's.
        place: File and line, and the function there.
        turn: The frame of the loop's turn in which it is at work.
        guard: The guard, if it is one.
    """

    kind: str
    name: str
    place: str
    turn: FrameType
    guard: guard.InputGuard | guard.OutputGuard | None = None


def frames_of(thread: int) -> list[FrameType]:
    """The frames of a thread, the innermost first; none if it has ended.

    All in one step, in which no other thread runs: which frame is outside of one that ends or waits
    meanwhile is read from memory that is no more (a crash, seen on Python 3.11). There a frame that
    is asked for may begin a collection of garbage, within which others run; so none may begin.
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


def blocker_in(frames: Sequence[FrameType]) -> Blocker | None:
    """Who is at work in a thread, if it is something that a call or a run has begun.

    Args:
        frames: Of the thread, the innermost first.
    """
    author: FrameType | None = None  # the outermost frame of theirs so far
    kind, name = None, ""
    for frame in frames:
        kind = _DRIVERS.get((frame.f_code.co_filename, frame.f_code.co_name))
        if kind == "" or (kind and author is not None and (name := _asked(kind, frame))):
            break
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            author = frame
    else:
        return None
    if author is None:
        return None
    place = f"{author.f_code.co_filename}:{author.f_lineno} ({author.f_code.co_name})"
    known = frame.f_locals
    # else a loop that is not written in Python
    turn = next((outer for outer in frames[frames.index(frame) :] if outer.f_code is _TURN), frame)
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
    """The name of what is asked in a frame, or of its tool.

    It is "" if none is: steps are at work within `check_enabled`, too, which has its answer by
    then, and masks within `RunContext.tell`, before any listener is told.
    """
    known = frame.f_locals
    if kind in _NAMED_BY:
        asked = known.get(_NAMED_BY[kind])
        names = (getattr(asked, name, None) for name in ("__qualname__", "called", "name"))
        found = next((name for name in names if isinstance(name, str)), type(asked).__qualname__)
        return "" if asked is None else found
    tool = known.get("item") or (known.get("prepared") or known.get("ticket") or known["self"]).tool
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
    for thread in sys._current_frames():
        if (found := blocker_in(frames_of(thread))) is None:
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
