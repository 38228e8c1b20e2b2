"""The result message of a call that failed."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping

from toolkeel.call.arguments.argument_errors import coercions_of
from toolkeel.call.body.callback import run_callback
from toolkeel.call.result_message import clean_text
from toolkeel.call.truncate import Keeper, shorten
from toolkeel.context import RunContext
from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.define.tool import AnyTool, ErrorHandler
from toolkeel.errors import (
    CallError,
    Cancelled,
    Crashed,
    InvalidArguments,
    MalformedArguments,
    ToolError,
    describe_error,
)
from toolkeel.messages import ToolCall, ToolMessage

MASKED = (
    "The tool {name!r} failed with an internal error. The same call will most likely fail again; "
    "try another way or say that it did not work."
)
TEXT_LIMIT = 10_000
"""Characters of an error's text; a tool's own errors may be as long as its results."""

log = logging.getLogger("toolkeel")


def failure_message(
    call: ToolCall,
    tool: AnyTool | None,
    error: BaseException,
    duration: float,
    keeper: Keeper | None = None,
    handled: str | None = None,
) -> ToolMessage:
    """Build the result message of a call that failed.

    The text for the model is limited in length; stack traces are in the details and the log.

    Args:
        call: The call.
        tool: The tool it names; None if there is no such tool.
        error: What went wrong. Another `Exception` counts as a crash, others as an interruption.
        duration: Seconds since the call's start event.
        keeper: Name and function of the tool that reads texts too long to show; None for none.
        handled: The text of the tool's own function for its failures; see `call_handler`.
    """
    name = tool.name if tool else clean_text(str(call.name))
    if not isinstance(error, Exception):
        return interrupted_message(call, name, duration)
    error = error if isinstance(error, CallError) else crash_error(error)
    details: Mapping[str, object] = error.details
    text = str(error.text)
    if isinstance(error, InvalidArguments) and _names_another(text, name):
        text = invalid_arguments(name, error.errors, coercions_of(error)).text
    handler = _handler(tool, error)
    if handler is not True:
        details = {**details, "error": text}
        text = _handled(handler, error, name) if handled is None else handled
    if not text.strip():
        text = MASKED.format(name=name)
    cause = error.__cause__
    if isinstance(cause, Exception | SystemExit):
        place = _find_place(cause)
        details = {
            **details,
            "exception": type(cause).__name__,
            **place,
            "traceback": "".join(traceback.format_exception(cause)),
        }
        _log_cause(call, name, error, cause, place)
    limit = _text_limit(tool, error)
    if limit is not None and len(text) > limit:
        text = shorten(text, limit, keeper)
    return ToolMessage(
        clean_text(text), call.id, name, "error", error.kind, None, details, duration
    )


def _log_cause(
    call: ToolCall,
    name: str,
    error: CallError,
    cause: BaseException,
    place: Mapping[str, object],
) -> None:
    """Log an exception behind a failure with its traceback: a warning, or info for a `ToolError`.

    The record has the call's id as `call_id`.
    """
    level = logging.INFO if isinstance(error, ToolError) else logging.WARNING
    where = f" ({place['file']}, line {place['line']})" if place else ""
    text, about = "%r failed: %s: %s%s", (name, error.kind, describe_error(cause), where)
    log.log(level, text, *about, exc_info=cause, extra={"call_id": call.id})


def _find_place(cause: BaseException) -> dict[str, object]:
    """Return file and line where the tool's own code raised, or called what raised; {} without a traceback."""
    frames = [
        (frame.f_globals.get("__name__", ""), frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(cause.__traceback__)
    ]
    own = [row for row in frames if str(row[0]).partition(".")[0] != "toolkeel"]
    if not frames:
        return {}
    first = (own or frames[-1:])[0]
    _, file, line = [row for row in frames if row[1] == first[1]][-1]
    return {"file": file, "line": line}


def _text_limit(tool: AnyTool | None, error: CallError) -> int | None:
    """Return the maximum length of an error's text: `TEXT_LIMIT`, for a body's own errors that of its results if longer.

    None: no limit.
    """
    if tool is None or not isinstance(error, ToolError | Cancelled):
        return TEXT_LIMIT
    return None if tool.max_output is None else max(TEXT_LIMIT, tool.max_output)


def _names_another(text: str, name: str) -> bool:
    """Return True if a text begins as `invalid_arguments` writes it, but with a name that does not begin with `name`."""
    begins = "The arguments of "
    return text.startswith(begins) and not text.startswith(begins + name[:99])


def interrupted_message(call: ToolCall, name: str, duration: float = 0.0) -> ToolMessage:
    """Return the result of a call that was unfinished when its run was stopped."""
    text = f"The call of {name!r} was cancelled with its run. Its work may have taken effect."
    details = {"may_still_be_running": True}
    return ToolMessage(text, call.id, name, "error", "cancelled", None, details, duration)


def unknown_outcome_message(call: ToolCall) -> ToolMessage:
    """Return the result of a call that may or may not have taken effect."""
    text = (
        f"It is not known what became of the call of {call.name!r}: its run was stopped while it "
        "was running. Look before you call it again."
    )
    return ToolMessage(text, call.id, clean_text(str(call.name)), "error", "unknown_outcome")


def crash_error(error: Exception) -> Crashed:
    """Wrap an unexpected exception as `Crashed`, with its description."""
    crash = Crashed(describe_error(error))
    crash.__cause__ = error
    return crash


def _handler(tool: AnyTool | None, error: CallError) -> ErrorHandler:
    """Return the tool's error option for this kind of error; True, for the error's own text, if none applies."""
    if tool is None:
        return True
    if isinstance(error, (InvalidArguments, MalformedArguments)):
        return tool.on_invalid
    if isinstance(error, Crashed):
        return tool.on_crash
    return tool.on_error if isinstance(error, ToolError) else True


async def call_handler(tool: AnyTool | None, error: BaseException, run: RunContext) -> str | None:
    """Return what the tool's function for a failure gives the model, or None if it has no such function.

    A function that fails, or takes longer than the run's `callback_timeout`, does not hide the failure:
    the model gets the masked text, the log why.

    Args:
        tool: The tool.
        error: What went wrong.
        run: The run of the call.
    """
    if tool is None or not isinstance(error, Exception):
        return None
    error = error if isinstance(error, CallError) else crash_error(error)
    handler = _handler(tool, error)
    if not callable(handler) or _list_exceptions(handler) is not None:
        return None
    cause = error.__cause__ if isinstance(error, Crashed) else error
    about, name = cause if isinstance(cause, Exception) else error, f"a handler of {tool.name!r}"
    try:
        return str(
            await run_callback(handler, about, seconds=run.scope.callback_timeout, name=name)
        )
    except Exception as problem:
        log.warning("%s: %s", name, describe_error(problem), exc_info=problem)
        return MASKED.format(name=tool.name)


def _handled(handler: ErrorHandler, error: CallError, name: str) -> str:
    """Return the text that the tool's `on_error`, `on_invalid` or `on_crash` gives, if it is no function.

    The error's own text is given only for the classes that the handler lists; any other is masked.
    """
    if isinstance(handler, str):
        return handler
    cause = error.__cause__ if isinstance(error, Crashed) else error
    shown = _list_exceptions(handler)
    if shown is not None:
        return str(error.text) if isinstance(cause, shown) else MASKED.format(name=name)
    return MASKED.format(name=name)


def _list_exceptions(handler: ErrorHandler) -> tuple[type[Exception], ...] | None:
    """Return the exception classes that a handler lists, or None if it is no list or class."""
    if isinstance(handler, tuple | list):
        return tuple(handler)
    if isinstance(handler, type) and issubclass(handler, Exception):
        return (handler,)
    return None
