"""Steps around a call, composed when a tool is registered, not when it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from toolwright.context import ToolContext
from toolwright.define.tool import Prepared, Step

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
        async def proceed(passed: Prepared) -> object:
            if passed.arguments is not prepared.arguments:
                passed = revalidate(passed)
            return await inner(passed, context)

        return await step(prepared, context, proceed)

    return handler
