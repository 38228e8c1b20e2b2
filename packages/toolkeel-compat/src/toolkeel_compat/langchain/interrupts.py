"""`interrupt()` in a tool: the run waits for a value from outside, then the tool runs once more.

A call that is interrupted is a ticket whose result comes from outside; its answer is not the call's
result but what `interrupt` gives back. What was answered before is kept in the run's state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from toolkeel._records.record import record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.call.steps.approve import ApprovalQuestion
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.errors import Crashed, SetupError, Suspend

ANSWERS = "__interrupts__"
"""Where the run's state keeps what was answered, by call."""
_REASON = "interrupt: "
"""How the reason of a ticket begins; the value follows, as JSON."""
_running: ContextVar[_Running | None] = ContextVar("_running", default=None)


@record
class Interrupt:
    """What a run waits for; in the state under ``__interrupt__``.

    Args:
        value: What `interrupt` was given, or the requests of `HumanInTheLoopMiddleware`.
        id: The first ticket's.
    """

    value: Any
    id: str


class _Asked(Exception):
    """A tool has asked for a value that nobody has given yet: its argument."""


@dataclass
class _Running:
    """One running body, and how many values it has asked for."""

    answers: list[Any]
    emit: Callable[[object], None]
    asked: int = 0


def _current(what: str) -> _Running:
    if (running := _running.get()) is None:
        raise SetupError(f"{what} is for tools of an agent that has a checkpointer")
    return running


def interrupt(value: object) -> Any:
    """Wait for a value from outside: ``Command(resume=value)`` gives it, and the tool runs again.

    Args:
        value: What a person is shown; JSON data.

    Raises:
        SetupError: it is called outside of a tool of an agent.
    """
    running = _current("interrupt()")
    number, running.asked = running.asked, running.asked + 1
    if number < len(running.answers):
        return running.answers[number]
    raise _Asked(value)


def get_stream_writer() -> Callable[[object], None]:
    """What tells whoever watches the run something of the tool's own.

    Raises:
        SetupError: it is called outside of a tool of an agent.
    """
    return _current("get_stream_writer() without runtime.stream_writer").emit


async def interrupting(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
    """A step that lets a run wait where its body calls `interrupt`.

    Raises:
        Suspend: it waits.
        SetupError: it cannot: the agent has no checkpointer.
    """
    run, call = context.run, context.call.id
    kept: dict[str, list[Any]] = dict(cast("Any", run.state.get(ANSWERS)) or {})
    answers = list(kept.get(call, ()))
    digest = ApprovalQuestion(prepared).digest
    ticket, given = run.loop_state.decisions.get((call, digest), (None, None))
    if ticket is not None and given is not None and ticket.reason.startswith(_REASON):
        del run.loop_state.decisions[call, digest]
        answers.append(given.value)
        run.state[ANSWERS] = {**kept, call: answers}
    token = _running.set(_Running(answers, context.emit))
    try:
        return await proceed(prepared)
    except Crashed as crash:
        asked = crash.__cause__
        if not isinstance(asked, _Asked):
            raise
        if run.recorder is None or not run.can_wait:
            raise SetupError("interrupt() needs an agent with a checkpointer") from None
        why = _REASON + json.dumps(asked.args[0], ensure_ascii=False, allow_nan=False)
        raise Suspend(ApprovalQuestion(prepared, why).ticket(outside=True)) from None
    finally:
        _running.reset(token)


def interrupts(tickets: Sequence[Ticket]) -> list[Interrupt]:
    """What tools have asked for, of what waits."""
    own = [ticket for ticket in tickets if ticket.reason.startswith(_REASON)]
    return [Interrupt(json.loads(one.reason.removeprefix(_REASON)), one.id) for one in own]


def answered(resume: Any, tickets: Sequence[Ticket]) -> list[Decision] | None:
    """The answers of ``Command(resume=...)``; None if no tool has asked for one.

    Args:
        resume: The value, or by interrupt's id each.
        tickets: What waits.

    Raises:
        SetupError: several tools have asked, and it does not say whose the value is.
    """
    own = [ticket for ticket in tickets if ticket.reason.startswith(_REASON)]
    if not own:
        return None
    by_id = isinstance(resume, Mapping) and {*resume} == {ticket.id for ticket in own}
    if len(own) > 1 and not by_id:
        raise SetupError("several tools wait: give Command(resume={interrupt.id: value, ...})")
    return [ticket.answer(resume[ticket.id] if by_id else resume) for ticket in own]
