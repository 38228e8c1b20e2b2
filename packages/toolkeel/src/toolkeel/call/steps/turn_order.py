"""Resource locks that keep conflicting calls of a turn in order.

A tool declares its resources in its effects, ``resources=("file:{path}",)``. Calls that only read one
share it; a call that writes has it exclusively, with all below it (`resources`). First come, first
served: two edits of one file keep their order, and a stream of readers cannot starve a writer.

There are two queues. A call takes its place in the *turn* before a guard or a person is asked, so a
question changes no order and other runs do not wait for it. It takes the *lock*, which every run of
the event loop respects, before its body starts. A body's own calls may use the resources it has, or
they would deadlock.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextvars import ContextVar
from typing import cast

from toolkeel.call.steps.compose import argument_guards, guard_again
from toolkeel.call.steps.resource_conflicts import Claim, ResourceLocks
from toolkeel.call.steps.resources import (
    Branch,
    branches_of,
    check_resources,
    is_within,
    is_write,
    overlaps,
    resource_keys,
)
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, Prepared, Proceed, Step
from toolkeel.errors import Refused, Skipped, Suspend


class _Known(threading.local):
    """The locks of each thread's event loop."""

    loop: asyncio.AbstractEventLoop | None = None
    locks: ResourceLocks


_known = _Known()
_holding: ContextVar[Claim | None] = ContextVar("toolkeel_holding", default=None)
_placed: ContextVar[Claim | None] = ContextVar("toolkeel_placed", default=None)


def loop_locks() -> ResourceLocks:
    """Return the locks of the loop that runs in this thread; each loop has its own."""
    loop = asyncio.get_running_loop()
    if _known.loop is not loop:
        _known.loop, _known.locks = loop, ResourceLocks()
    return _known.locks


class _Turn(ResourceLocks):
    """The queue of one turn.

    Attributes:
        suspended_claims: Claims of calls that wait for a person, until the turn ends.
    """

    def __init__(self) -> None:
        super().__init__()
        self.suspended_claims: list[Claim] = []

    def claim(self, places: Sequence[Branch], write: bool, outer: Claim | None = None) -> Claim:
        """Claim resources; record whether others come first, and the tool of a suspended call it conflicts with.

        `outer` is not used: no call of a turn is inside another of it.
        """
        claim = super().claim(places, write)
        claim.was_queued = not claim.is_granted
        for past in self.suspended_claims:
            if claim.conflicts_with(past):
                claim.suspended_tool = past.suspended_tool
        return claim

    def __bool__(self) -> bool:
        return bool(len(self) or self.suspended_claims)


def _turn(run: RunContext) -> tuple[object, ...]:
    """Return the key of a call's turn in the run's step state: its own, or that of the outer call."""
    hold = _holding.get()
    own = id(hold) if hold and hold.live else 0
    return take_turn, run.id, id(asyncio.get_running_loop()), own


def end_turn(run: RunContext) -> None:
    """Forget the order of the turn's calls, once all have ended or wait for a person."""
    run.scope.step_state.pop(_turn(run), None)


async def take_turn(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
    """Run the call as a step, with a place in its turn's order from now on.

    Nothing waits here: `lock_resources` waits for the place.
    """
    notes, key = context.run.scope.step_state, _turn(context.run)
    queue = cast("_Turn", notes.setdefault(key, _Turn()))
    claim = queue.claim(branches_of(resource_keys(prepared)), is_write(prepared))
    _placed.set(claim)
    try:
        return await proceed(prepared)
    except Suspend:
        claim.suspended_tool = prepared.tool.name
        queue.suspended_claims.append(claim)
        raise
    finally:
        _placed.set(None)
        queue.release(claim)
        if not queue and notes.get(key) is queue:
            del notes[key]


def add_locks(tool: AnyTool, outer: list[Step], inner: list[Step], needs_approval: bool) -> None:
    """Add the steps that order a tool's calls to its steps, in place.

    Args:
        tool: A tool that declares resources.
        outer: The steps before approval.
        inner: The steps after approval.
        needs_approval: True if approval is between them.

    Raises:
        DefinitionError: a resource names no parameter.
    """
    check_resources(tool)
    inner.insert(0, lock_resources(argument_guards(outer)))
    if outer or needs_approval:  # else nothing can make a call wait before its lock
        outer.insert(0, take_turn)


def lock_resources(guards: Sequence[Step]) -> Step:
    """Return the step that waits for the call's turn, locks its resources, and releases them at the end.

    Args:
        guards: Guards that check again after a wait, since files may have changed meanwhile.
    """

    async def lock(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Run the call once it holds its resources, after earlier calls of the turn that conflict.

        Raises `Skipped` if an earlier one is suspended. Guards check the call again if one came before it,
        even if that one has ended since: they may have looked before.
        """
        waited = False
        if (place := _placed.get()) is not None:
            waited = await place.wait() or place.was_queued
            if place.suspended_tool:
                raise _skipped_error(prepared.tool.name, place.suspended_tool)
            _placed.set(None)  # what the body calls has a turn of its own
        outer, write = _holding.get(), is_write(prepared)
        places = _drop_held(branches_of(resource_keys(prepared)), write, prepared.tool.name)
        locks = loop_locks()
        claim = locks.claim(places, write, outer)
        try:
            waited = await claim.wait() or waited
            _holding.set(claim)
            if waited:
                await _recheck(prepared, context, guards)
            return await proceed(prepared)
        finally:
            _holding.set(outer)
            locks.release(claim)

    async def locked(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Proceed once calls before it that share a resource have ended."""
        if _placed.get() is not None or _turn(context.run) not in context.run.scope.step_state:
            return await lock(prepared, context, proceed)
        # Nothing of its own can make it wait, but calls before it wait for a person or a guard.
        return await take_turn(prepared, context, lambda again: lock(again, context, proceed))

    locked.step_timeout = None  # type: ignore[attr-defined]  # it waits for other calls
    return locked


def _skipped_error(tool: str, first: str) -> Skipped:
    """Build the error for a call that conflicts with an earlier one that waits for a person."""
    return Skipped(
        f"The call of {tool!r} was not run: it touches what the call of {first!r} before it "
        "changes, and that one waits for a person. Call it again when that one has its result."
    )


def _drop_held(places: Sequence[Branch], write: bool, tool: str) -> list[Branch]:
    """Return the places that no outer call has locked already.

    Raises:
        Refused: an outer call has locked one for reading, and this call writes it.
    """
    wanted, hold = list(places), _holding.get()
    for claim in hold.with_outer() if hold is not None else ():
        for place in wanted if write and not claim.write else ():
            if any(overlaps(place, other) for other in claim.places):
                raise Refused(
                    f"The call of {tool!r} was refused: it writes {'/'.join(place)!r}, which the "
                    "tool that calls it has said it only reads. This is a fault of that tool."
                )
        wanted = [p for p in wanted if not any(is_within(p, other) for other in claim.places)]
    return wanted


async def _recheck(prepared: Prepared, context: ToolContext, guards: Sequence[Step]) -> None:
    """Run the guards again after a wait.

    Raises:
        Refused: a guard refuses now, or wants other arguments than the approved ones.
    """
    for guard in guards:
        checked = await guard_again(guard, prepared, context)
        if checked.arguments != prepared.arguments:
            raise Refused(
                f"The call of {prepared.tool.name!r} was refused: its checks asked for other "
                "arguments after it had waited for its resource. Call it again."
            )
