"""Steps around a call, composed when a tool is registered, not when it is called.

A step sees arguments it cannot change in place. What it passes on instead is validated again, so
whatever reaches the body has passed validation as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from toolwright.context import ToolContext
from toolwright.define.tool import Prepared, Proceed, Step
from toolwright.errors import Disabled

Handler: TypeAlias = Callable[[Prepared, ToolContext[Any]], Awaitable[object]]
Revalidate: TypeAlias = Callable[[Prepared], Prepared]


def compose(steps: Sequence[Step], last: Handler, revalidate: Revalidate) -> Handler:
    """One handler of many steps.

    Args:
        steps: Outermost first.
        last: Runs the body.
        revalidate: Checks arguments again after a step has changed them.
    """
    handler = last
    for step in reversed(steps):
        handler = _around(step, handler, revalidate)
    return handler


def _around(step: Step, inner: Handler, revalidate: Revalidate) -> Handler:
    async def handler(prepared: Prepared, context: ToolContext[Any]) -> object:
        shown = _shown(prepared)

        async def proceed(passed: Prepared) -> object:
            if passed.arguments is not shown.arguments or passed.tool is not shown.tool:
                passed = revalidate(passed)
            return await inner(passed, context)

        return await step(shown, context, proceed)

    return handler


def _shown(prepared: Prepared) -> Prepared:
    """The same call with arguments that cannot be changed in place."""
    if type(prepared.arguments) is MappingProxyType:
        return prepared
    arguments = MappingProxyType(dict(prepared.arguments))
    return Prepared(prepared.call, prepared.tool, arguments, prepared.changes)


async def check_enabled(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
    """The step of a tool that is not always enabled.

    Raises:
        Disabled: it is not now.
    """
    enabled = prepared.tool.enabled
    if callable(enabled):
        answer = enabled(context)
        enabled = await answer if inspect.isawaitable(answer) else bool(answer)
    if not enabled:
        raise Disabled(f"The tool {prepared.tool.name!r} is not available now.")
    return await proceed(prepared)
