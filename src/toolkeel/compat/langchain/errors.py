"""`handle_tool_errors` of a `ToolNode`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, get_args, get_type_hints

from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed, Step
from toolkeel.errors import Crashed, RunStopped, SetupError, ToolError

HandleErrors: TypeAlias = (
    bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[[Any], str]
)
"""What a model is told when a tool raises: True, the error's own text; a text; what a function of
the error says, for the errors its annotation names. Errors of other types than those named, and
all of them with False, end the run."""

_TOLD = "Error: {error}\n Please fix your mistakes."


def handling(wanted: HandleErrors) -> Step:
    """The step that does it.

    Raises:
        SetupError: it is none of these.
    """
    kinds = _kinds(wanted)

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        try:
            return await proceed(prepared)
        except (Crashed, ToolError) as failure:
            error = failure.__cause__ if isinstance(failure, Crashed) else failure
            if isinstance(failure, ToolError) and prepared.tool.on_error:
                raise  # the tool has its own words
            if not isinstance(error, Exception):
                raise
            if not isinstance(error, kinds):
                name = prepared.tool.name
                raise RunStopped(f"{name!r} failed, and the run was ended.", error) from error
            raise ToolError(_text(wanted, error)) from error

    return step


def _kinds(wanted: HandleErrors) -> tuple[type[Exception], ...]:
    """The errors that are told."""
    if isinstance(wanted, bool | str):
        return () if wanted is False else (Exception,)
    if isinstance(wanted, tuple):
        return wanted
    if isinstance(wanted, type):
        return (wanted,)
    if not callable(wanted):
        raise SetupError(
            f"handle_tool_errors is {wanted!r:.80}; give True, False, a text, a function of the "
            "error, or types of exceptions"
        )
    named = list(inspect.signature(wanted).parameters)[:1]
    hint = get_type_hints(wanted).get(named[0]) if named else None
    found = tuple(kind for kind in (get_args(hint) or (hint,)) if isinstance(kind, type))
    return found or (Exception,)


def _text(wanted: HandleErrors, error: Exception) -> str:
    if isinstance(wanted, str):
        return wanted
    if isinstance(wanted, bool | tuple | type):
        return _TOLD.format(error=repr(error))
    return str(wanted(error))
