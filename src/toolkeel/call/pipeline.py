"""The spine: one call in, one message out, whatever happens in between."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Container, Coroutine
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel.call.arguments.edits import what_ran, with_note
from toolkeel.call.arguments.validate import LooksLong, prepare
from toolkeel.call.body.run_in_thread import run_in_thread
from toolkeel.call.body.stopped_text import not_started, overdue
from toolkeel.call.failure_message import failed
from toolkeel.call.result_message import render
from toolkeel.call.steps.call_limits import note, repeats
from toolkeel.call.steps.compose import Begin, Rest
from toolkeel.call.steps.taint import carry
from toolkeel.call.truncate import Keeper
from toolkeel.call.watchdog import WATCHED
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import RunStopped, SetupError, Suspend
from toolkeel.events import Coerced, ToolFinished, ToolStarted, ToolSuspended
from toolkeel.messages import ToolCall, ToolMessage

log = logging.getLogger("toolkeel")

# Two steps in place of calling the class, which costs a third more.
_blank, _fill = object.__new__, ToolContext.__init__


@record
class Entry:
    """A registered tool.

    Args:
        tool: What it is.
        begin: Its steps and its body, composed.
        meant: The name it was called by, if that was mended to find it.
    """

    tool: AnyTool
    begin: Begin
    meant: str = ""


class Finds(Protocol):
    """Where tools are looked up."""

    @property
    def find(self) -> Callable[[str, Container[str]], Entry]: ...
    @property
    def has_barriers(self) -> bool: ...
    def watched(self, entry: Entry) -> Begin: ...
    @property
    def keeper(self) -> Keeper | None: ...


class Ready(NamedTuple):
    """Arguments that were looked at elsewhere, and when their call began; 0 if it has not."""

    prepared: Prepared
    began: float = 0.0


Ended: TypeAlias = "tuple[ToolMessage, BaseException | None]"
"""A call's result, and what must be raised for it: see `run_call`."""


async def run_call(
    call: ToolCall, tools: Finds, run: RunContext, ready: Ready | None = None
) -> Ended:
    """Run one call, whatever happens.

    Returns:
        Its result, failed or not; and what must be raised once every call of the turn has its
        result: a mistake of the program (`SetupError`), a cancellation from outside,
        `KeyboardInterrupt` and its like, the exception of a guard that ends the run. With a
        `Suspend` the call has no result yet.
    """
    done = start_call(call, tools, run, ready)
    return done if isinstance(done, tuple) else await done


def start_call(
    call: ToolCall, tools: Finds, run: RunContext, ready: Ready | None = None
) -> Ended | Coroutine[Any, Any, Ended]:
    """`run_call` up to where the call waits: how it ended, or what must be awaited for that."""
    started = perf_counter() if ready is None or not ready.began else ready.began
    if not WATCHED.runs:
        WATCHED.begin()
    if run.listeners and (ready is None or not ready.began):
        seq, at, run_id = run.next()  # passed on by `*` they would cost a third of an event more
        run.tell(ToolStarted(seq, at, run_id, call.id, call))
    tool: AnyTool | None = None
    context: ToolContext | None = None
    prepared: Prepared | None = None
    try:
        entry = tools.find(call.name, run.loop_state.disabled_tools)
        tool = entry.tool
        if run.loop_state.failed_calls:
            repeats(run, call)
        prepared = ready.prepared if ready else prepare(call, tool, at_once=True)
        if entry.meant or prepared.changes:
            prepared = _telling_changes(prepared, entry.meant, run)
        if run.scope.spending is not None and run.scope.spending.watches:
            run.scope.spending.take_call(tool.name)
        context = _blank(ToolContext)
        _fill(context, call, tool.name, run)
        context.started = started
        begin = entry.begin if not run.loop_state.visible_taint else tools.watched(entry)
        value = begin(prepared, context)
        if type(value) is Rest:
            return _finish(value.work, prepared, context, started, tools.keeper)
        duration = perf_counter() - started
        if tool.timeout is not None and duration > tool.timeout:
            raise overdue(tool.name, tool.timeout)
        message = render(prepared, value, duration, tools.keeper)
    except LooksLong:
        assert tool is not None
        return _look(call, tool, tools, run, started)
    except BaseException as error:
        message = _failed(call, tool, error, run, perf_counter() - started, tools.keeper)
        return _end(run, call, prepared, context, message, _fatal(error))
    return _end(run, call, prepared, context, message, None)


def _telling_changes(prepared: Prepared, meant: str, run: RunContext) -> Prepared:
    """A call that was mended, after those who listen were told how.

    Args:
        meant: The name it came under, if that was mended too.
    """
    if meant:
        change = f"{meant!r:.100} was taken as the tool {prepared.tool.name!r}"
        prepared = replace(prepared, changes=(change, *prepared.changes))
    if run.listeners:
        run.tell(Coerced(*run.next(), prepared.call.id, prepared.changes))
    return prepared


async def _look(
    call: ToolCall, tool: AnyTool, tools: Finds, run: RunContext, began: float
) -> Ended:
    """Go on with a call whose arguments are looked at in a thread, under its deadline."""
    context: ToolContext = ToolContext(call, tool.name, run)
    context.started = began
    try:
        prepared: Any = await run_in_thread(tool, lambda: prepare(call, tool), context, None)
    except BaseException as error:
        stopped = isinstance(error, CancelledError)
        told = not_started(tool.name, run.cancel.reason) if stopped else error
        message = _failed(call, tool, told, run, perf_counter() - began, tools.keeper)
        return _end(run, call, None, context, message, _fatal(error))
    done = start_call(call, tools, run, Ready(prepared, began))
    return done if isinstance(done, tuple) else await done


async def _finish(
    work: Awaitable[object],
    prepared: Prepared,
    context: ToolContext,
    started: float,
    keeper: Keeper | None,
) -> Ended:
    run, fatal = context.run, None
    try:
        value = await work
        message = render(prepared, value, perf_counter() - started, keeper)
    except BaseException as error:
        # No other name for the error here: by its traceback it would hold itself.
        is_unbegun = not context.body and isinstance(error, CancelledError)
        message = _failed(
            prepared.call,
            prepared.tool,
            not_started(prepared.tool.name, run.cancel.reason) if is_unbegun else error,
            run,
            perf_counter() - started,
            keeper,
        )
        fatal = _fatal(error)
    return _end(run, prepared.call, prepared, context, message, fatal)


def _end(
    run: RunContext,
    call: ToolCall,
    prepared: Prepared | None,
    context: ToolContext | None,
    message: ToolMessage,
    fatal: BaseException | None,
) -> Ended:
    """Tell and note how a call ended, whose arguments may never have passed."""
    if context is not None:
        context.end()
        if context.edits:
            message = with_note(message, context.edits)
    if fatal is not None and isinstance(fatal, Suspend):
        _suspended(run, call, message.name, fatal)
        return message, fatal
    if message.kind is not None or run.loop_state.failed_calls:
        note(run, call, message)
    if run.listeners:
        seq, at, run_id = run.next()
        ran = None
        if context is not None and prepared is not None:
            arguments = prepared.tool.arguments
            exact = arguments.defaults is NOTHING and arguments.fill is None
            if not exact or context.edits or prepared.changes:
                ran = what_ran(prepared, context)
        run.tell(ToolFinished(seq, at, run_id, call.id, message, ran))
    if run.recorder is not None:
        if run.taint is not None:  # what is written now is not changed later
            [message] = carry(run, [message])
        run.recorder.call_ended(call, message, run.state)
    return message, fatal


def _suspended(run: RunContext, call: ToolCall, name: str, wait: Suspend) -> None:
    """Tell that a call waits, and give back what it would have counted."""
    if run.scope.spending is not None and run.scope.spending.watches:
        run.scope.spending.return_call(name)
    if run.listeners:
        run.tell(ToolSuspended(*run.next(), call.id, wait.ticket))


def _failed(
    call: ToolCall,
    tool: AnyTool | None,
    error: BaseException,
    run: RunContext,
    duration: float,
    keeper: Keeper | None,
) -> ToolMessage:
    """The result of a call that failed, without the secrets the run has seen.

    There is one even if an error cannot be reported, as one with broken attributes may not.
    """
    try:
        if run.mask is None:
            return failed(call, tool, error, duration, keeper)
        return run.mask.deep(failed(call, tool, error, duration))  # secrets are kept nowhere
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
