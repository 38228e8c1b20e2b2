"""The pipeline: one call in, one result message out, whatever happens in between.

Theory of operation. `run_call` takes a call through these stages; an exception in any of them becomes
the call's result message, so the caller gets one result per call::

    look up -> parse and validate -> handler ------------------------> render -> record
       |             |                 |                                 |
       |             |                 enabled? -> guards and steps      |
       |             |                 -> approval -> locks, limits      |
       |             |                 -> cache -> retry -> body         |
       v             v                 v                                 v
     unknown_tool  malformed_ or     disabled, refused, denied,        invalid_output
                   invalid_arguments limit_reached, timeout, crashed ...

A call with resources takes its place in the turn's order before its handler's other steps.

There is one shape of a call, the handler ``(prepared, context) -> Awaitable[value]``: a tool's steps and
its body are composed to one when the tool is registered (`compose_tool`). Arguments are prepared in one
way (`prepare`); those too large for the event loop in a thread, under the call's deadline.

Exactly two kinds of exception leave the pipeline, beside the result and not in its place: errors of the
host program (`SetupError`, `KeyboardInterrupt`, a cancellation from outside, the exception of a guard
that ends the run), and `Suspend`, by which a call waits for a person. `Batch` raises them once every
other call of the turn has its result. Every call has one start event and one end event, the end event
last.
"""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Protocol, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel.call.arguments.argument_errors import coercions_of
from toolkeel.call.arguments.edits import append_note, executed_arguments
from toolkeel.call.arguments.validate import argument_text, is_large, prepare
from toolkeel.call.body.run_in_thread import run_in_thread
from toolkeel.call.body.start_thread import run_beside
from toolkeel.call.body.stop_errors import not_started_error
from toolkeel.call.enclosing_run import find_stop, note_strangers
from toolkeel.call.failure_message import call_handler, failure_message, unknown_outcome_message
from toolkeel.call.result_message import needs_renderer, render, render_value
from toolkeel.call.steps.call_limits import record_result, refuse_failing
from toolkeel.call.steps.compose import Handler
from toolkeel.call.steps.label_sources import attach_labels, attach_strangers, record_stated
from toolkeel.call.truncate import Keeper
from toolkeel.context import ENCLOSING, RunContext, ToolContext
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import Cancelled, Crashed, RunStopped, SetupError, Suspend
from toolkeel.events import Coerced, ToolFinished, ToolStarted, ToolSuspended
from toolkeel.messages import ToolCall, ToolMessage

log = logging.getLogger("toolkeel")


@record
class Entry:
    """A tool registered in a toolset, with its composed steps.

    Args:
        tool: The tool.
        handler: Its steps and its body, composed.
        requested_name: The name in the call, if it differs from the tool's.
    """

    tool: AnyTool
    handler: Handler
    requested_name: str = ""


class ToolLookup(Protocol):
    """What the pipeline needs of a toolset: entries by name, handlers of tainted runs, a reader of long results."""

    @property
    def find(self) -> Callable[[str, Container[str]], Entry]:
        """Function that returns the entry of a name, or raises `UnknownTool`. See `Toolset.find`."""
        ...

    @property
    def has_barriers(self) -> bool:
        """True if a tool is `sequential`."""
        ...

    def tainted_handler(self, entry: Entry) -> Handler:
        """Return the handler of an entry for a run with taint labels."""
        ...

    @property
    def keeper(self) -> Keeper | None:
        """The tool that reads stored results, and what stores one; None if there is none."""
        ...


CallOutcome: TypeAlias = "tuple[ToolMessage, BaseException | None]"
"""A call's result, and what must be raised for it: see `run_call`."""


async def run_call(call: ToolCall, tools: ToolLookup, run: RunContext) -> CallOutcome:
    """Run one call from its text to its result, also for an error; emit and record its start and end.

    Returns:
        The result message, failed or not, and the exception to raise once every call of the turn has
        its result, or None: `SetupError`, a cancellation from outside, `KeyboardInterrupt`, or that of
        a guard that ends the run. With a `Suspend` the call has no result yet.
    """
    started = perf_counter()
    if run.listeners:
        seq, at, run_id = run.next_event_fields()  # by `*` an event would cost a third more
        run.emit(ToolStarted(seq, at, run_id, call.id, call))
    tool: AnyTool | None = None
    context: ToolContext | None = None
    prepared, fatal, enclosing = None, None, ENCLOSING.get()
    try:
        entry = tools.find(call.name, run.loop_state.disabled_tools)
        tool = entry.tool
        context = ToolContext(call, tool.name, run)
        context.started_at = started
        ENCLOSING.set(context)
        refuse_failing(run, call, tool.name)
        text = argument_text(call, tool)
        if is_large(text, tool):
            prepared = await _prepare_in_thread(call, tool, text, context)
        else:
            prepared = prepare(call, tool, text)
        if entry.requested_name or prepared.changes:
            prepared = _report_changes(prepared, entry.requested_name, run)
        if run.scope.spending is not None and run.scope.spending.counts_calls:
            run.scope.spending.count_call(tool.name)
        is_tainted = run.loop_state.visible_taint
        handler = tools.tainted_handler(entry) if is_tainted else entry.handler
        value = await handler(prepared, context)
        if run.recorder is not None and run.state:
            run.recorder.revert_unsavable(run.state)
        if type(value) is not str and needs_renderer(value):
            value = await run_beside(render_value, value)
        message = render(prepared, value, perf_counter() - started, tools.keeper)
    except BaseException as error:
        cause = _find_cause(error, call, tool, context)
        handled, stop = await _call_handler(tool, cause, run)
        failed = call, tool, cause, perf_counter() - started, tools.keeper, handled
        message = _failure(failed, run)
        fatal = stop or _fatal_error(cause if isinstance(cause, Suspend) else error)
        if message.kind == "unknown_outcome" and run.recorder is None:
            fatal = cause.__cause__  # only a session asks what happened
        del cause, failed  # by its traceback an error would hold itself
    ENCLOSING.set(enclosing)  # no `reset`: a body left behind goes on in another context
    return _finish(run, call, prepared, context, message, fatal)


async def _prepare_in_thread(
    call: ToolCall, tool: AnyTool, text: str, context: ToolContext
) -> Prepared:
    """Validate large arguments in a thread by the call's deadline, then set the run's again.

    Raises as `prepare` and `run_in_thread`.
    """
    prepared = await run_in_thread(tool, partial(prepare, call, tool, text), context, None)
    assert isinstance(prepared, Prepared)
    context.deadline = context.run.scope.deadline  # the body has a deadline of its own
    return prepared


def _report_changes(prepared: Prepared, requested_name: str, run: RunContext) -> Prepared:
    """Emit the repairs and coercions of a call as an event, and return the call with all listed.

    Args:
        requested_name: The name in the call, if it differs from the tool's.
    """
    if requested_name:
        change = f"{requested_name!r:.100} was taken as the tool {prepared.tool.name!r}"
        prepared = replace(prepared, changes=(change, *prepared.changes))
    if run.listeners:
        run.emit(Coerced(*run.next_event_fields(), prepared.call.id, prepared.changes))
    return prepared


def _finish(
    run: RunContext,
    call: ToolCall,
    prepared: Prepared | None,
    context: ToolContext | None,
    message: ToolMessage,
    fatal: BaseException | None,
) -> CallOutcome:
    """End a call: emit and record that, or that it waits; return its message, with edits and labels, and what to raise."""
    if context is not None:
        context.end()
        if context.edits:
            message = append_note(message, context.edits)
    if fatal is not None and isinstance(fatal, Suspend):
        _report_suspension(run, call, message, fatal)
        return message, fatal
    if message.details and context is not None:
        record_stated(message.details, context)
    if context is not None and context.strangers:
        note_strangers(context.strangers, ENCLOSING.get())
        message = attach_strangers(message, prepared, context.strangers)
    if message.kind is not None or run.loop_state.failed_calls:
        record_result(run, call, message)
    if run.listeners:
        seq, at, run_id = run.next_event_fields()
        ran = None if context is None or prepared is None else _changed_arguments(prepared, context)
        run.emit(ToolFinished(seq, at, run_id, call.id, message, ran))
    if run.recorder is not None:
        if run.taint is not None:  # what is written now is not changed later
            [message] = attach_labels(run, [message])
        run.recorder.record_result(call, message, run.state)
    return message, fatal


def _changed_arguments(prepared: Prepared, context: ToolContext) -> Mapping[str, object] | None:
    """Return the arguments that a call ran with, or None if they are certainly those that the model wrote."""
    arguments = prepared.tool.arguments
    exact = arguments.defaults is NOTHING and arguments.fill_defaults is None
    if exact and not context.edits and not prepared.changes:
        return None
    return executed_arguments(prepared, context)


def _report_suspension(
    run: RunContext, call: ToolCall, message: ToolMessage, wait: Suspend
) -> None:
    """Emit that a call waits or has not finished, and give its place in the call limits back."""
    if run.scope.spending is not None and run.scope.spending.counts_calls:
        run.scope.spending.uncount_call(message.name)
    if run.listeners and not wait.tickets:
        run.emit(ToolFinished(*run.next_event_fields(), call.id, message))
    elif run.listeners:
        run.emit(ToolSuspended(*run.next_event_fields(), call.id, wait.ticket))


def _find_cause(
    error: BaseException, call: ToolCall, tool: AnyTool | None, context: ToolContext | None
) -> BaseException:
    """Return what a call's result reports: what stopped the call, `Cancelled` if it never began, else its own error."""
    ends = Crashed | Cancelled | CancelledError | KeyboardInterrupt
    if isinstance(error, ends) and context is not None:
        stop = find_stop(context, error)
        if stop is not None and (isinstance(stop, Suspend) or isinstance(error, Crashed)):
            return stop
    if isinstance(error, CancelledError) and context is not None and not context.body_state:
        name = call.name if tool is None else tool.name
        return not_started_error(name, context.run.cancel.reason)
    return error


async def _call_handler(
    tool: AnyTool | None, error: BaseException, run: RunContext
) -> tuple[str | None, BaseException | None]:
    """Return the text of the tool's own function for failures, and None; if it was stopped: "", and what must be raised."""
    try:
        return await call_handler(tool, error, run), None
    except BaseException as stop:  # the call has its result nevertheless
        return "", stop


def _failure(
    failed: tuple[ToolCall, AnyTool | None, BaseException, float, Keeper | None, str | None],
    run: RunContext,
) -> ToolMessage:
    """Return the result of a call that failed, without secrets. If it cannot be reported, log why.

    There is one even if an error cannot be reported, as one with broken attributes may not. Emit the
    coercions of refused arguments.
    """
    call, tool, error, duration, keeper, handled = failed
    if run.listeners and (changes := coercions_of(error)):
        run.emit(Coerced(*run.next_event_fields(), call.id, changes))
    if isinstance(error, Suspend) and not error.tickets:
        if error.inner is None and not run.loop_state.is_repeatable(call):
            return unknown_outcome_message(call)
        error = Cancelled(f"The call of {call.name!r} continues when the run does.")
    try:
        if run.mask is None:
            return failure_message(call, tool, error, duration, keeper, handled)
        return run.mask.mask_value(
            failure_message(call, tool, error, duration, None, handled)
        )  # secrets are stored nowhere
    except Exception as again:
        log.warning("a failure of %r cannot be reported", call.name, exc_info=again)
        text = f"The call of {call.name!r} failed, and what went wrong cannot be told."
        name = tool.name if tool else call.name
        return ToolMessage(text, call.id, name, "error", "crashed", duration=duration)


def _fatal_error(error: BaseException) -> BaseException | None:
    """Return the error to raise for a call: `SetupError`, no `Exception`, or a `RunStopped`'s own; else None."""
    if isinstance(error, RunStopped):
        return error.error
    return error if isinstance(error, SetupError) or not isinstance(error, Exception) else None
