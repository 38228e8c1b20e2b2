"""Errors of calls that were stopped: why, and what became of the body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from toolkeel.context import ToolContext
from toolkeel.errors import Cancelled, TimedOut

Reason = Literal["", "timeout", "cancelled"]
WorkState = Literal["running", "stopped", "not started", "queued", "done", "ended", "late"]
_STATE_TEXTS: Mapping[WorkState, str] = {
    "running": "Its work may still be running and may still take effect.",
    "stopped": "Its work was stopped; what it had already done stays done.",
    "not started": "It has not started.",
    "queued": "It was still waiting for a free thread and has not started.",
    "done": "Its work was done by then, and stays done; only its result is lost.",
    "ended": "It never paused, so it could not be stopped, and has ended late; what it did stays done.",
    "late": "It has ended by now, but late; what it did stays done.",
}


def stop_error(
    context: ToolContext, reason: Reason, timeout: float | None, work: WorkState
) -> TimedOut | Cancelled:
    """Return the error for a call that was stopped.

    Args:
        context: The call.
        reason: Why it was stopped.
        timeout: Maximum seconds of the call, required for the reason ``timeout``.
        work: State of the body as observed, such as ``running`` or ``stopped``.
    """
    if work in ("running", "stopped"):
        work = _known_state(context, work)
    details = {"may_still_be_running": work == "running"}
    name, why = context.tool_name, context.run.cancel.reason
    if reason == "timeout":
        text = f"{name!r} did not finish within {timeout:g} seconds."
        return TimedOut(f"{text} {_STATE_TEXTS[work]}", details)
    if work in ("not started", "queued"):
        return not_started_error(name, why)
    text = f"{name!r} was cancelled{': ' + why if why else ''}."
    return Cancelled(f"{text} {_STATE_TEXTS[work]}", details)


def late_step_error(context: ToolContext, step: str, seconds: float, work: WorkState) -> TimedOut:
    """Return the error for a call whose step took too long.

    Args:
        context: The call.
        step: Name of the step.
        seconds: Maximum time of the step itself.
        work: ``running`` if the step resisted being stopped, or ``stopped``.
    """
    state = _known_state(context, work)
    text = (
        f"The call of {context.tool_name!r} was stopped: the step {step!r} around it did not return "
        f"within {seconds:g} seconds."
    )
    return TimedOut(f"{text} {_STATE_TEXTS[state]}", {"may_still_be_running": state == "running"})


def _known_state(context: ToolContext, observed: WorkState) -> WorkState:
    """Return what became of a stopped call's body: as its context knows, else as `observed`."""
    if context.body_state in ("", "done"):
        return "done" if context.body_state else "not started"
    return "running" if context.remote_count else observed


def detached_error(context: ToolContext, timeout: float | None) -> TimedOut | Cancelled:
    """Return the error for a stopped body whose executor cannot kill it.

    It is `Cancelled` if the run was cancelled or the call has no timeout, else `TimedOut`.

    Args:
        context: The call.
        timeout: Maximum seconds of the call.
    """
    cancelled = context.run.cancel.cancelled or timeout is None
    return stop_error(context, "cancelled" if cancelled else "timeout", timeout, "running")


def overdue_error(name: str, timeout: float) -> TimedOut:
    """Return the error for a body that ended after its deadline and never paused."""
    text = f"{name!r} did not finish within {timeout:g} seconds. {_STATE_TEXTS['ended']}"
    return TimedOut(text, {"may_still_be_running": False})


def self_cancelled_error(name: str) -> Cancelled:
    """Return the error for a body that cancelled itself."""
    return Cancelled(f"{name!r} cancelled itself before it had a result.")


def not_started_error(name: str, reason: str) -> Cancelled:
    """Return the error for a call that came after the cancellation of its run.

    Args:
        name: Name of the tool.
        reason: Why the run was cancelled; may be empty.
    """
    why = f": {reason}" if reason else ""
    text = f"{name!r} was not started, because its run was cancelled{why}."
    return Cancelled(text, {"may_still_be_running": False})
