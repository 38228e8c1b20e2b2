"""Guards that say yes at once, asked without a coroutine around each of them.

Most guards are plain functions that allow most calls as they are. Those are asked one after the
other, here; the first that says anything else, or has to be awaited, or fails, hands over to the
steps the guards are, which are given the answers there are already: what a guard may do, and what
follows from it, is written there alone.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from toolwright.call.guard import SAME, Allow, InputGuard, Outcome, OutputGuard
from toolwright.call.render import plain_text
from toolwright.call.step import Begin, Rest, compose, shown
from toolwright.call.stop import watched
from toolwright.call.validate import revalidate
from toolwright.context import ToolContext
from toolwright.define.tool import Prepared, Step
from toolwright.record import maker

Guard = InputGuard | OutputGuard
Told = Callable[[], Any]
_outcome = maker(Outcome)


def as_guards(steps: Sequence[Step]) -> list[Guard]:
    """The steps, if they are guards and nothing else; else none."""
    guards = [step for step in steps if type(step) is InputGuard or type(step) is OutputGuard]
    return guards if len(guards) == len(steps) else []


def guarding(guards: Sequence[Guard], inner: Begin) -> Begin:
    """`inner`, for calls that the guards let pass.

    Args:
        guards: Outermost first.
        inner: Everything within them.
    """
    inputs = [guard for guard in guards if type(guard) is InputGuard]
    outputs = [guard for guard in reversed(guards) if type(guard) is OutputGuard]

    def begin(prepared: Prepared, context: ToolContext[Any]) -> object:
        seen = shown(prepared)
        for number, guard in enumerate(inputs):
            try:
                answer: object = guard.check(seen, context)
                if type(answer) is Allow and answer.modified is SAME:
                    continue
                told = _giving(answer)
            except Exception as error:
                told = _raising(error)
            answers = [_allowed] * number + [told]
            steps = [_answering(each, InputGuard, answers) for each in guards]
            return _slowly(steps, inner, prepared, context)
        if not outputs:
            return inner(prepared, context)
        try:
            value = inner(prepared, context)
        except Exception as error:
            return _slowly(outputs[::-1], _raising(error), prepared, context)
        plain = plain_text(prepared, value) if type(value) is str else None
        if plain is None:
            return _slowly(outputs[::-1], lambda *_: value, prepared, context)
        outcome = _outcome(value, plain)
        for number, guard in enumerate(outputs):
            try:
                answer: object = guard.check(seen, outcome, context)
                if type(answer) is Allow and answer.modified is SAME:
                    continue
                told = _giving(answer)
            except Exception as error:
                told = _raising(error)
            answers = [_allowed] * number + [told]
            steps = [_answering(each, OutputGuard, answers) for each in outputs]
            return _slowly(steps[::-1], lambda *_: value, prepared, context)
        return value

    return begin


def _giving(answer: object) -> Told:
    return lambda: answer


def _raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


def _allowed() -> Allow:
    return Allow()


def _answering(guard: Any, kind: type[Guard], answers: list[Told]) -> Any:
    """The guard, which when it is first asked gives the next of the answers there are already.

    Args:
        guard: One of some.
        kind: Of those who have been asked.
        answers: Theirs, in order; what is given is taken out.
    """
    if type(guard) is not kind or not answers:
        return guard
    first = [answers.pop(0)]

    def check(*about: Any) -> Any:
        return first.pop()() if first else guard.check(*about)

    return kind(check, guard.name)


def _slowly(
    steps: Sequence[Step], inner: Begin, prepared: Prepared, context: ToolContext[Any]
) -> Rest:
    """The call by way of the steps, which may wait."""

    async def last(passed: Prepared, context: ToolContext[Any]) -> object:
        value = inner(passed, context)
        return await value.work if type(value) is Rest else value

    work: Coroutine[Any, Any, object] = watched(compose(steps, last, revalidate))(prepared, context)
    return Rest(work)
