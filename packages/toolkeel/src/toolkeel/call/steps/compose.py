"""Composing steps around a call, when a tool is registered and not when it is called.

A step receives arguments it cannot change in place. What it passes on instead is validated again, so
whatever reaches the body has passed validation as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from types import CoroutineType, MappingProxyType
from typing import TypeAlias, cast

from toolkeel.call.body.callback import CallbackTimeout, run_callback
from toolkeel.call.body.step_deadline import run_step, step_name, step_timeout
from toolkeel.call.body.stop_errors import late_step_error
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed, Step
from toolkeel.errors import Disabled, Refused

Handler: TypeAlias = Callable[[Prepared, ToolContext], Awaitable[object]]
"""Runs a call: what every step around a body, and the body itself, is composed to."""
Revise: TypeAlias = Callable[[Prepared, Prepared, ToolContext], Prepared]
"""Checks what a step has changed: the call as the step saw it, and as it passes it on."""

MAX_ROUNDS = 5
"""How often steps may answer each other's changes with changes."""


def compose(steps: Sequence[Step], last: Handler, revise: Revise) -> Handler:
    """Return a handler that runs steps around another handler.

    Args:
        steps: Outermost first.
        last: Runs the body.
        revise: Validates arguments that a step has changed; then the guards further out check them
            again.
    """
    handler = last
    for index in range(len(steps) - 1, -1, -1):
        handler = _wrap(steps[: index + 1], handler, revise)
    return handler


def _wrap(steps: Sequence[Step], inner: Handler, revise: Revise) -> Handler:
    """Return a handler that runs the last of `steps` around `inner`.

    Arguments that the step changes are revised, and the guards outside it check them again.
    """
    name = step_name(steps[-1])
    step, outer, everyone = steps[-1], argument_guards(steps[:-1]), argument_guards(steps)

    async def handler(prepared: Prepared, context: ToolContext) -> object:
        """Run the step with read-only arguments; raise `TypeError` if it returns no awaitable."""
        shown = read_only(prepared)

        async def proceed(passed: Prepared) -> object:
            """Run the inner handler; changed arguments are validated and guarded again first."""
            if passed.arguments is not shown.arguments or passed.tool is not shown.tool:
                passed = revise(shown, passed, context)
                if outer:
                    passed = await guard_changes(passed, context, outer, everyone)
            return await inner(passed, context)

        seconds = step_timeout(step, context.run)
        if seconds is None:
            return await _start(step, shown, context, proceed)
        begin, late = partial(_start, step, shown, context), partial(late_step_error, context, name)
        return await run_step(begin, proceed, seconds, late, context)

    return handler


def _start(
    step: Step, shown: Prepared, context: ToolContext, proceed: Proceed
) -> Awaitable[object]:
    """Call a step and return the awaitable that it returned.

    Raises:
        TypeError: it returned something else.
    """
    work: object = step(shown, context, proceed)
    if type(work) is CoroutineType or inspect.isawaitable(work):
        return cast("Awaitable[object]", work)
    name = step_name(step)
    raise TypeError(
        f"step {name!r} gave {type(work).__name__} at once; write async def {name}(...), or "
        "return what proceed(prepared) gives"
    )


def argument_guards(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that must see every change of the arguments, outermost first.

    Those are steps with a true attribute ``guards_arguments``: they only change or refuse arguments
    and pass the call on, so they can run again at any time before the body.
    """
    return tuple(step for step in steps if getattr(step, "guards_arguments", False))


async def _hand_back(prepared: Prepared, context: ToolContext) -> Prepared:
    """Return the call as it is: the innermost handler where only its arguments matter."""
    return prepared


def _unchanged(shown: Prepared, passed: Prepared, context: ToolContext) -> Prepared:
    """Return the call as a guard passes it on, which `guard_changes` compares."""
    return passed


async def guard_again(guard: Step, prepared: Prepared, context: ToolContext) -> Prepared:
    """Return the call as a guard passes it on, without running anything inside the guard.

    Raises:
        Refused: the guard refuses the call.
    """
    passed = await _wrap([guard], _hand_back, _unchanged)(prepared, context)
    assert isinstance(passed, Prepared)
    return passed


async def guard_changes(
    prepared: Prepared, context: ToolContext, guards: Sequence[Step], everyone: Sequence[Step]
) -> Prepared:
    """Run guards on changed arguments until none changes them again, and return the call.

    Args:
        prepared: The call, with valid arguments.
        context: The running call.
        guards: Guards that have not checked these arguments.
        everyone: All guards, which check what those change.

    Raises:
        Refused: a guard refuses, or the guards keep changing each other's arguments.
    """
    for _ in range(MAX_ROUNDS):
        changed = False
        for guard in guards:
            shown = read_only(prepared)
            passed = await guard_again(guard, shown, context)
            if passed is not shown:
                changed, prepared = True, passed
        if not changed:
            return prepared
        guards = everyone
    raise Refused(
        f"The call of {prepared.tool.name!r} was refused: its checks keep changing the arguments."
    )


def read_only(prepared: Prepared) -> Prepared:
    """Return the call with a read-only view of its arguments; lists and objects inside can still change."""
    if type(prepared.arguments) is MappingProxyType:
        return prepared
    arguments = MappingProxyType(prepared.arguments)  # a view of a dict that nothing else refers to
    return Prepared(prepared.call, prepared.tool, arguments, prepared.changes)


async def check_enabled(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
    """Run the call if its tool is enabled now, as a step.

    Raises:
        Disabled: the tool is disabled, or its predicate did not return in time.
    """
    tool = prepared.tool
    enabled, limit = tool.enabled, context.run.scope.callback_timeout
    if callable(enabled):
        name = f"the predicate `enabled` of {tool.name!r}"
        try:
            enabled = bool(await run_callback(enabled, context, seconds=limit, name=name))
        except CallbackTimeout as error:
            raise Disabled(f"The tool {tool.name!r} is not available now.") from error
    if not enabled:
        raise Disabled(f"The tool {tool.name!r} is not available now.")
    return await proceed(prepared)


check_enabled.step_timeout = None  # type: ignore[attr-defined]  # the predicate has a deadline
