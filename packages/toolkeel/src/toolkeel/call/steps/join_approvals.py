"""Why a tool itself needs approval, and two approvals of one tool as one: a wrapper's does not replace its own."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from toolkeel.call.body.callback import CallbackTimeout, run_callback
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, ApprovalOption, Prepared
from toolkeel.errors import Denied, Refused, describe_error

log = logging.getLogger("toolkeel")
ALWAYS_ASKS, ASKS = "the tool always asks", "the tool asks for these arguments"
"""Reasons that say no more than that a tool's `approval` is True, for all calls or for this one."""


def takes_context(needs: Callable[..., object]) -> bool:
    """Return True if a predicate requires a second argument, the `ToolContext`; an optional one stays unset."""
    try:
        inspect.signature(needs).bind(None)
    except (TypeError, ValueError) as error:  # functions in C may have no signature
        return isinstance(error, TypeError)
    return False


def predicate_failure(error: Exception, tool: AnyTool) -> str:
    """Return why a call needs approval whose predicate failed, and log the error."""
    is_open = tool.arguments.mask is None  # else the error may quote a secret
    why = f"its approval predicate failed: {describe_error(error) if is_open else type(error).__name__}"
    log.error("%s is asked about: %s", tool.name, why, exc_info=is_open and error)
    return why


async def tool_reason(
    needs: ApprovalOption | None, prepared: Prepared, run: RunContext, *context: ToolContext
) -> str | None:
    """Return why the tool itself needs approval, or None. A predicate that fails is a reason, and is logged.

    Raises:
        Denied: the tool refuses the call.
        Refused: its predicate did not return in time.
    """
    if not callable(needs):
        return ALWAYS_ASKS if needs else None
    limit, name = run.scope.callback_timeout, f"the approval of {prepared.tool.name!r}"
    try:
        wanted = await run_callback(needs, prepared.arguments, *context, seconds=limit, name=name)
        why = wanted if isinstance(wanted, str) else ASKS
        return why if wanted else None
    except Denied:
        raise
    except CallbackTimeout as error:
        raise Refused(
            f"The call of {prepared.tool.name!r} did not run: whether a person must approve it was "
            f"not decided within {limit:g} seconds."
        ) from error
    except Exception as error:
        return predicate_failure(error, prepared.tool)


def join_approvals(
    own: ApprovalOption | None, more: ApprovalOption | None
) -> ApprovalOption | None:
    """Return an approval that asks if one of two asks.

    Questions that no rule can suppress (``despite_rules``), such as about protected files, remain. A
    predicate that refuses the call refuses it only if the tool's own asks nothing.

    Args:
        own: The tool's approval; None for none.
        more: The wrapper's approval; None for none.
    """
    if own is None or own is False:
        return more
    if more is None or more is False:
        return own
    return _Joined(own, more)


class _Joined:
    """An approval option that requires approval if either of two options does."""

    def __init__(self, own: ApprovalOption, more: ApprovalOption) -> None:
        self._parts = (own, more)

    async def __call__(
        self, arguments: Mapping[str, object], context: ToolContext[Any]
    ) -> bool | str:
        for needs in self._parts:
            wanted: Any = needs
            if callable(needs):
                about = (arguments, context) if takes_context(needs) else (arguments,)
                seconds = context.run.scope.callback_timeout
                wanted = await run_callback(needs, *about, seconds=seconds, name="approval")
            if wanted:
                return str(wanted) if isinstance(wanted, str) else True
        return False

    async def despite_rules(self, arguments: Mapping[str, object]) -> str:
        """Return why a call needs approval although a rule allows it, or empty if it does not."""
        for needs in self._parts:
            stated = getattr(needs, "despite_rules", None)
            why = stated(arguments) if callable(stated) else ""
            why = await why if inspect.isawaitable(why) else why
            if why:
                return str(why)
        return ""
