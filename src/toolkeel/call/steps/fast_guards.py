"""Guards that say yes at once, asked without a coroutine around each of them.

Most guards are plain functions that allow most calls as they are. Those are asked one after the
other, here; the first that says anything else, or has to be awaited, or fails, falls back to the
guards as steps, which are given the answers there are already: what a guard may do, and what
follows from it, is written in `guard.py` alone.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Sequence
from typing import Any

from toolkeel.call.arguments.edits import revise
from toolkeel.call.body.coroutine_deadline import watched
from toolkeel.call.result_message import plain_text
from toolkeel.call.steps.compose import Begin, Rest, awaited, compose, read_only
from toolkeel.call.steps.guard import SAME, Allow, InputGuard, Outcome, OutputGuard
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Step

Guard = InputGuard | OutputGuard
Told = Callable[..., Any]
Within = Callable[[Prepared, Prepared, ToolContext], object]


def as_guards(steps: Sequence[Step]) -> Sequence[Guard]:
    """The steps, if they are guards and nothing else; else none."""
    guards: list[Guard] = [s for s in steps if type(s) is InputGuard or type(s) is OutputGuard]
    return guards if len(guards) == len(steps) else ()


def guarding(guards: Sequence[Guard], inner: Begin) -> Begin:
    """`inner`, for calls that the guards let pass.

    Args:
        guards: Outermost first.
        inner: Everything within them.
    """
    inputs = [guard for guard in guards if type(guard) is InputGuard]
    outputs = [guard for guard in reversed(guards) if type(guard) is OutputGuard]
    within: Within = _judged(outputs, inner) if outputs else lambda p, _, c: inner(p, c)

    def begin(prepared: Prepared, context: ToolContext) -> object:
        seen = read_only(prepared)
        verdicts = _verdicts(inputs, seen, context) if inputs else None
        if verdicts is not None:
            steps = [_replaying(each, InputGuard, verdicts) for each in guards]
            return _slowly(steps, inner, prepared, context)
        return within(prepared, seen, context)

    return begin


def _verdicts(guards: Sequence[Guard], *about: Any) -> list[Told] | None:
    """What guards say, as far as they say it at once; None if all of them allow it."""
    for number, guard in enumerate(guards):
        told = None
        if guard.quick:
            try:
                verdict: object = guard.check(*about)
                if type(verdict) is Allow and verdict.modified is SAME:
                    continue
                told = _giving(verdict)
            except (Exception, CancelledError) as error:
                told = _raising(error)
        return [_allowed] * number + ([told] if told else [])
    return None


def _judged(outputs: Sequence[OutputGuard], inner: Begin) -> Within:
    """What is left when every input guard has allowed the call.

    Args:
        outputs: Innermost first.
        inner: Everything within them.
    """

    def judged(prepared: Prepared, seen: Prepared, context: ToolContext) -> object:
        try:
            value = inner(prepared, context)
        except Exception as error:
            return _slowly(outputs[::-1], _raising(error), prepared, context)
        plain = plain_text(prepared, value) if type(value) is str else None
        if plain is None:  # it waits, or its text is not at hand
            return _slowly(outputs[::-1], _giving(value), prepared, context)
        verdicts = _verdicts(outputs, seen, Outcome(value, plain), context)
        if verdicts is not None:
            steps = [_replaying(each, OutputGuard, verdicts) for each in outputs]
            return _slowly(steps[::-1], _giving(value), prepared, context)
        return value

    return judged


def _giving(value: object) -> Told:
    return lambda *_: value


def _raising(error: BaseException) -> Told:
    def fail(*_: object) -> Any:
        raise error

    return fail


def _allowed() -> Allow:
    return Allow()


def _replaying(guard: Any, kind: type[Guard], verdicts: list[Told]) -> Any:
    """The guard, which when it is first asked gives the next of the answers there are already.

    Args:
        guard: One of some.
        kind: Of those who have been asked.
        verdicts: Theirs, in order; what is given is taken out.
    """
    if type(guard) is not kind or not verdicts:
        return guard
    first = [verdicts.pop(0)]

    def check(*about: Any) -> Any:
        return first.pop()() if first else guard.ask(*about)

    made = kind(check, guard.name)
    made.quick = True
    return made


def _slowly(steps: Sequence[Step], inner: Begin, prepared: Prepared, context: ToolContext) -> Rest:
    """The call by way of the steps, which may wait."""
    handle = watched(compose(steps, awaited(inner), revise))
    return Rest(handle(prepared, context))
