"""The spine: one call in, one message out, whatever happens in between."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from time import perf_counter
from typing import Any, Protocol, TypeAlias

from toolwright.call.failure import failed
from toolwright.call.limit import note, repeats
from toolwright.call.render import render
from toolwright.call.step import Begin, Rest
from toolwright.call.validate import prepare
from toolwright.context import Run, ToolContext
from toolwright.define.tool import AnyTool, Prepared
from toolwright.errors import RunStopped, SetupError, Suspend
from toolwright.events import Coerced, ToolFinished, ToolStarted, ToolSuspended
from toolwright.messages import ToolCall, ToolMessage
from toolwright.record import maker, record

log = logging.getLogger("toolwright")

_started, _finished = maker(ToolStarted), maker(ToolFinished)
# Two steps in place of calling the class, which costs a third more.
_blank, _fill = object.__new__, ToolContext.__init__


@record
class Entry:
    """A registered tool.

    Args:
        tool: What it is.
        begin: Its steps and its body, composed.
    """

    tool: AnyTool
    begin: Begin


class Finds(Protocol):
    """Where tools are looked up."""

    @property
    def find(self) -> Callable[[str], Entry]: ...
    @property
    def has_barriers(self) -> bool: ...


Ended: TypeAlias = "tuple[ToolMessage, BaseException | None]"
"""A call's result, and what must be raised for it: see `run_call`."""


async def run_call(call: ToolCall, tools: Finds, run: Run[Any]) -> Ended:
    """Run one call, whatever happens.

    Returns:
        Its result, failed or not; and what must be raised once every call of the turn has its
        result: a mistake of the program (`SetupError`), a cancellation from outside,
        `KeyboardInterrupt` and its like, the exception of a guard that ends the run. With a
        `Suspend` the call has no result yet.
    """
    done = start_call(call, tools, run)
    return done if isinstance(done, tuple) else await done


def start_call(call: ToolCall, tools: Finds, run: Run[Any]) -> Ended | Coroutine[Any, Any, Ended]:
    """`run_call` up to where the call waits: how it ended, or what must be awaited for that."""
    started = perf_counter()
    if run.listeners:
        seq, at, run_id = run.next()  # passed on by `*` they would cost a third of an event more
        run.emit(_started(seq, at, run_id, call.id, call))
    tool: AnyTool | None = None
    context: ToolContext[Any] | None = None
    try:
        entry = tools.find(call.name)
        tool = entry.tool
        if run.failures:
            repeats(run, call)
        prepared = prepare(call, tool)
        if prepared.changes and run.listeners:
            run.emit(Coerced(*run.next(), call.id, prepared.changes))
        context = _blank(ToolContext)
        _fill(context, call, tool.name, run)
        value = entry.begin(prepared, context)
        if type(value) is Rest:
            return _finish(value.work, prepared, context, started)
        message = render(prepared, value, perf_counter() - started)
    except BaseException as error:
        message = _failed(call, tool, error, run, perf_counter() - started)
        return _end(run, call, context, message, _fatal(error))
    return _end(run, call, context, message, None)


async def _finish(
    work: Awaitable[object], prepared: Prepared, context: ToolContext[Any], started: float
) -> Ended:
    call, run, fatal = prepared.call, context.run, None
    try:
        value = await work
        message = render(prepared, value, perf_counter() - started)
    except BaseException as error:
        message = _failed(call, prepared.tool, error, run, perf_counter() - started)
        fatal = _fatal(error)
    return _end(run, call, context, message, fatal)


def _end(
    run: Run[Any],
    call: ToolCall,
    context: ToolContext[Any] | None,
    message: ToolMessage,
    fatal: BaseException | None,
) -> Ended:
    """Tell and note how a call ended."""
    if context is not None:
        context.end()
    if fatal is not None and isinstance(fatal, Suspend):
        if run.listeners:
            run.emit(ToolSuspended(*run.next(), call.id, fatal.ticket))
        return message, fatal
    if message.kind is not None or run.failures:
        note(run, call, message)
    if run.listeners:
        seq, at, run_id = run.next()
        run.emit(_finished(seq, at, run_id, call.id, message))
    return message, fatal


def _failed(
    call: ToolCall, tool: AnyTool | None, error: BaseException, run: Run[Any], duration: float
) -> ToolMessage:
    """The result of a call that failed, without the secrets the run has seen.

    There is one even if an error cannot be reported, as one with broken attributes may not.
    """
    try:
        message = failed(call, tool, error, duration)
        return message if run.mask is None else run.mask.deep(message)
    except Exception as again:
        log.warning("a failure of %r cannot be reported", call.name, exc_info=again)
        text = f"The call of {call.name!r} failed, and what went wrong cannot be told."
        name = tool.name if tool else call.name
        return ToolMessage(text, call.id, name, "error", "crashed", duration=duration)


def _fatal(error: BaseException) -> BaseException | None:
    """What ends the run because of it: nothing, for all that the model can mend."""
    if isinstance(error, RunStopped):
        return error.error
    return error if isinstance(error, SetupError) or not isinstance(error, Exception) else None
