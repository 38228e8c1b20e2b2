"""The run around a run: code of a run that starts another one makes it a part of the first.

Code runs inside a call (a tool's body, a step, a predicate) or beside the calls of a run (a guardrail,
instructions, a tool source, a history policy, a model step). `ENCLOSING` names that call or run in
the context variables, which tasks and threads copy. A run that starts there obeys the rules, bounds, approver,
deadline and cancel token of the run around it, shares its taint, adds to its usage and journal, and
emits its events there as `Nested`. ``standalone=True`` starts a run that shares nothing. Tools that such
code calls without naming a run belong to the run around it; a `RunContext` of their own shares nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from toolkeel._common.reporter import running_loop
from toolkeel._records.record import NOTHING
from toolkeel._records.taint_sources import Source
from toolkeel._records.tickets import Approver, Decision, Ticket
from toolkeel.call.body.callback import ask_person
from toolkeel.call.watched_state import WatchedState
from toolkeel.context import (
    ENCLOSING,
    WITHIN_BODY,
    CancelToken,
    Listener,
    RunContext,
    ToolContext,
)
from toolkeel.errors import CallError, LimitReached, SetupError, Suspend
from toolkeel.events import Event

MAX_DEPTH = 5
"""How many runs may be inside each other, if nothing else is set."""
MOST_STRANGERS = 20
"""Sources that are noted for a call: the last ones."""


def find_enclosing() -> tuple[RunContext, ToolContext | None] | None:
    """Return the run whose code is executing, with its call if that has not ended; None without a run.

    For code that an ended run left behind, that is the run around it, if any.
    """
    found = ENCLOSING.get()
    if found is None:
        return None
    if isinstance(found, ToolContext):
        if not found.ended:
            return found.run, found
        found = found.run
    run: RunContext | None = found
    while run is not None and run.loop_state.event_loop is None:
        run = run.scope.outer_run
    return None if run is None else (run, None)


@contextmanager
def enclose(run: RunContext) -> Iterator[None]:
    """Make `run` the enclosing run of a block, then add its usage to its outer run, if any.

    Its `event_loop` is set meanwhile; at the end its `end` is resolved for those who wait for it, and
    the strangers' texts that it has read are noted for the call or run around the block.
    """
    before = ENCLOSING.get()
    ENCLOSING.set(run)
    run.loop_state.event_loop = asyncio.get_running_loop()
    try:
        yield
    finally:
        ENCLOSING.set(before)
        note_strangers(run.loop_state.strangers, before)
        run.loop_state.event_loop = None
        if run.loop_state.end is not None:
            run.loop_state.end.set_result(None)
        if (outer := run.scope.outer_run) is not None:
            with outer.lock:
                outer.usage = outer.usage + run.usage


def note_strangers(sources: tuple[Source, ...], reader: RunContext | ToolContext | None) -> None:
    """Note which strangers' text a call or run has read: its result names no targets (`mentioned_targets`)."""
    if sources and reader is not None:
        place = reader if isinstance(reader, ToolContext) else reader.loop_state
        place.strangers = tuple(dict.fromkeys((*place.strangers, *sources)))[-MOST_STRANGERS:]


def join_run(run: RunContext | None) -> RunContext:
    """Return `run`, or if it is None the run whose code is executing, or a new one.

    Raises:
        SetupError: `run` is something else.
    """
    if run is None:
        enclosing = find_enclosing()
        return RunContext() if enclosing is None else enclosing[0]
    if not isinstance(run, RunContext):
        raise SetupError(f"{run!r:.80} is no run; give RunContext(deps=...)")
    return run


@contextmanager
def refuse_waiting(run: RunContext) -> Iterator[None]:
    """Refuse, in the block, calls of an agent's run that would wait for a person; do nothing for other runs."""
    if not run.can_wait:
        yield
        return
    token = WITHIN_BODY.set(True)
    try:
        yield
    finally:
        WITHIN_BODY.reset(token)


def make_run_context(
    agent: object, name: str, listeners: tuple[Listener, ...], options: Mapping[str, Any]
) -> RunContext:
    """Return the context of a new run, inside the run whose code starts it unless it is standalone.

    The run can be suspended. It has a new watched `state`, unless one is given.

    Args:
        agent: The agent of the run.
        name: Its name.
        listeners: Listeners of this run.
        options: Further options of the run; see `toolkeel.agent.options.RunOptions`.

    Raises:
        LimitReached: too many runs are nested.
    """
    given = dict(options)
    enclosing = None if given.pop("standalone", False) else find_enclosing()
    if enclosing is None:
        run = RunContext(given.pop("deps", None), agent=agent, listeners=listeners, **given)
    else:
        run = _make_joined(*enclosing, name, given)
        run.agent, run.listeners = agent, (*listeners, *run.listeners)
    run.loop_state.can_suspend = True
    if "state" not in given:  # what the caller gives stays its own object
        run.state = WatchedState()
    return run


def find_enclosing_call() -> ToolContext | None:
    """Return the call whose body is executing here, or None."""
    enclosing = find_enclosing()
    return None if enclosing is None else enclosing[1]


async def stop_enclosing_call(call: ToolContext) -> None:
    """Suspend the call whose body started a run, if a limit of the outer run has stopped that run.

    Other runs of the body in this event loop end first, at the same limit at the latest. Otherwise
    nothing is done.

    Raises:
        Suspend: the call has no result, and its body runs again when the outer run is resumed.
    """
    outer = call.run
    can_wait = outer.can_wait and not call.ended
    if not (outer.scope.is_at_limit and can_wait and outer.loop_state.is_repeatable(call.call)):
        return
    here = asyncio.get_running_loop()
    for each in outer.loop_state.joined_runs.get(call.call.id, ()):
        state = each.context.loop_state
        if state.event_loop is here:
            state.end = state.end or here.create_future()
            await asyncio.shield(state.end)
    raise Suspend


def find_stop(call: ToolContext, error: BaseException) -> BaseException | None:
    """Return why a body has failed that started a run which the run around it stopped; None if it did not.

    Args:
        call: The call of the body.
        error: How the body has failed.

    Returns:
        `Suspend`, if the call has not finished: at a shared bound, but at one of time only if the body
        may run again or a person was asked; and where the program or a caller stopped all while a
        person was asked, with `error` as its cause. `CancelledError` for a cancel.
    """
    outer = call.run
    joined = outer.loop_state.joined_runs.get(call.call.id, ())
    ends = {each.reason for each in joined}
    asks = outer.can_wait and any(each.pending and each.reason == "cancelled" for each in joined)
    is_at_limit = outer.can_wait and outer.scope.is_at_limit
    if "cancelled" in ends and outer.cancel.cancelled:
        goes_on = is_at_limit and (asks or outer.loop_state.is_repeatable(call.call))
        return Suspend() if goes_on else asyncio.CancelledError()
    if "limit" in ends and is_at_limit:
        return Suspend()
    if not asks or isinstance(error, CallError):  # the body's own
        return None
    wait = Suspend()
    wait.__cause__ = error
    return wait


def check_depth(name: str, depth: int, max_depth: int = MAX_DEPTH) -> None:
    """Raise if a run of the agent `name` would be inside `max_depth` others or more.

    Raises:
        LimitReached: there are `max_depth` runs around it already.
    """
    if depth >= max_depth:
        raise LimitReached(
            f"The agent {name!r} was not asked: {max_depth} agents call each other already. "
            "Answer with what is known."
        )


def _make_joined(
    outer: RunContext, call: ToolContext | None, name: str, given: Mapping[str, Any]
) -> RunContext:
    """Return the context of a run inside another; its own approver replaces the outer one, its token is added.

    Raises `LimitReached` if too many runs are nested.
    """
    check_depth(name, outer.scope.depth)
    run = outer.make_inner(call, name, given.get("deps"))
    run.store, run.inject = given.get("store"), given.get("inject", NOTHING)
    if "state" in given:
        run.state = given["state"]
    if run.recorder is not None:
        run.recorder.is_joined = True
    if (own := given.get("cancel")) is not None:
        run.cancel = _join_tokens(run, own)
    loop = outer.loop_state.event_loop
    if (
        loop is not None and running_loop() is None
    ):  # a thread, beside the loop of the run around it
        run.listeners = tuple(_emit_on(loop, each) for each in run.listeners)
        if run.approver is not None:
            run.approver = _ask_on(loop, run.approver)
    run.approver = given.get("approver", run.approver)
    return run


def _join_tokens(run: RunContext, own: CancelToken) -> CancelToken:
    """Return a token that either of two tokens sets, until the run ends."""
    token, outer = CancelToken(), run.cancel
    forget = [each.watch(_canceller(token, each)) for each in (own, outer)]

    async def close() -> None:
        """Stop watching both tokens."""
        for each in forget:
            each()

    run.loop_state.cleanups.append(close)
    return token


def _canceller(token: CancelToken, cause: CancelToken) -> Callable[[], None]:
    """Return a function that cancels `token` with the reason of `cause`."""
    return lambda: token.cancel(cause.reason)


def _emit_on(loop: asyncio.AbstractEventLoop, listener: Listener) -> Listener:
    """Return a listener that forwards events to `listener` on its own loop, until that closes."""

    def emit(event: Event) -> None:
        """Schedule the listener on its loop; do nothing once that has closed."""
        with suppress(RuntimeError):  # the loop has closed: no one listens any more
            loop.call_soon_threadsafe(listener, event)

    return emit


def _ask_on(loop: asyncio.AbstractEventLoop, approver: Approver) -> Approver:
    """Return an approver that runs `approver` on its own loop and waits for its answer."""

    async def ask_there(ticket: Ticket) -> Decision | bool | None:
        """Ask on the approver's loop; return its answer, None if it leaves the call undecided."""
        question = ask_person(approver, ticket, name="the approver")
        asked = asyncio.run_coroutine_threadsafe(question, loop)
        return await asyncio.wrap_future(asked)

    return ask_there
