"""Limits on calls: what a model may not do again and again."""

from __future__ import annotations

from typing import Any

from toolwright.context import Run
from toolwright.errors import LimitReached
from toolwright.messages import ToolCall, ToolMessage

REPEATS = 3
"""How often the same call may fail in the same way."""


def repeats(run: Run[Any], call: ToolCall) -> None:
    """Refuse a call that has failed in the same way `REPEATS` times.

    Raises:
        LimitReached: telling the model to stop.
    """
    error, count = run.failures.get(_key(call), ("", 0))
    if count >= REPEATS:
        raise LimitReached(
            f"This same call of {call.name!r} has failed {count} times with the same error, so it "
            f"was not run again. Change the arguments or take another way. The error was: {error}"
        )


def note(run: Run[Any], call: ToolCall, message: ToolMessage) -> None:
    """Count a failure, or forget the call's earlier ones if it went well."""
    if message.kind in ("limit_reached", "cancelled", "skipped"):  # no failure of its own
        return
    key = _key(call)
    if not message.failed:
        run.failures.pop(key, None)
        return
    error, count = run.failures.get(key, ("", 0))
    run.failures[key] = (message.text, count + 1 if error == message.text else 1)


def _key(call: ToolCall) -> tuple[str, str]:
    """What makes two calls the same; whatever a wire has put in the place of arguments."""
    arguments = call.arguments
    return call.name, arguments if isinstance(arguments, str) else repr(arguments)
