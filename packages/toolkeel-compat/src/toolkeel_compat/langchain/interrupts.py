"""`interrupt()` in a tool: the run waits for a value from outside, then the tool runs again.

An interrupted call becomes a ticket that is answered from outside; `interrupt` returns that answer when
the tool runs again. Answers of one call are stored in the run's state, under `ANSWERS_KEY`.
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

ANSWERS_KEY = "__interrupts__"
"""Where the run's state keeps what was answered, by call."""
_REASON_PREFIX = "interrupt: "
"""How the reason of a ticket begins; the value follows, as JSON."""
_running: ContextVar[_RunningBody | None] = ContextVar("_running", default=None)


@record
class Interrupt:
    """A value that a run waits for; in the state under ``__interrupt__``.

    Args:
        value: The argument of `interrupt`, or the requests of `HumanInTheLoopMiddleware`.
        id: The id of the first ticket.
    """

    value: Any
    id: str


class _InterruptRequested(Exception):
    """Signals that a tool called `interrupt` and no answer exists yet. The argument is the value."""


@dataclass
class _RunningBody:
    """A running tool body, its answers, and the number of its `interrupt` calls so far."""

    answers: list[Any]
    emit: Callable[[object], None]
    interrupt_count: int = 0


def _get_running_body(what: str) -> _RunningBody:
    """Return the running body. Raise `SetupError` outside of an agent's tool."""
    if (running := _running.get()) is None:
        raise SetupError(f"{what} is for tools of an agent that has a checkpointer")
    return running


def interrupt(value: object) -> Any:
    """Wait for a value from outside: ``Command(resume=value)`` supplies it, and the tool runs again.

    Args:
        value: JSON data to show a person.

    Raises:
        SetupError: It was called outside of an agent's tool.
    """
    running = _get_running_body("interrupt()")
    number, running.interrupt_count = running.interrupt_count, running.interrupt_count + 1
    if number < len(running.answers):
        return running.answers[number]
    raise _InterruptRequested(value)


def get_stream_writer() -> Callable[[object], None]:
    """Return a function that emits a value to the run's listeners.

    Raises:
        SetupError: It was called outside of an agent's tool.
    """
    return _get_running_body("get_stream_writer() without runtime.stream_writer").emit


async def handle_interrupts(
    prepared: Prepared, context: ToolContext[Any], proceed: Proceed
) -> object:
    """Suspend the run where the tool's body calls `interrupt`, as a step around the call.

    Raises:
        Suspend: The run waits for an answer.
        SetupError: The agent has no checkpointer, so it cannot wait.
    """
    run, call = context.run, context.call.id
    all_answers: dict[str, list[Any]] = dict(cast("Any", run.state.get(ANSWERS_KEY)) or {})
    answers = list(all_answers.get(call, ()))
    digest = ApprovalQuestion(prepared).digest
    ticket, decision = run.loop_state.decisions.get((call, digest), (None, None))
    if ticket is not None and decision is not None and ticket.reason.startswith(_REASON_PREFIX):
        del run.loop_state.decisions[call, digest]
        answers.append(decision.value)
        run.state[ANSWERS_KEY] = {**all_answers, call: answers}
    token = _running.set(_RunningBody(answers, context.emit))
    try:
        return await proceed(prepared)
    except Crashed as crash:
        asked = crash.__cause__
        if not isinstance(asked, _InterruptRequested):
            raise
        if run.recorder is None or not run.can_wait:
            raise SetupError("interrupt() needs an agent with a checkpointer") from None
        why = _REASON_PREFIX + json.dumps(asked.args[0], ensure_ascii=False, allow_nan=False)
        raise Suspend(ApprovalQuestion(prepared, why).ticket(outside=True)) from None
    finally:
        _running.reset(token)


def list_interrupts(tickets: Sequence[Ticket]) -> list[Interrupt]:
    """Return the interrupts among the waiting tickets."""
    own = [ticket for ticket in tickets if ticket.reason.startswith(_REASON_PREFIX)]
    return [Interrupt(json.loads(one.reason.removeprefix(_REASON_PREFIX)), one.id) for one in own]


def decide_interrupts(resume: Any, tickets: Sequence[Ticket]) -> list[Decision] | None:
    """Return decisions for ``Command(resume=...)``, or None if no tool called `interrupt`.

    Args:
        resume: The value, or a dict of values by interrupt id.
        tickets: The waiting tickets.

    Raises:
        SetupError: Several tools wait, and `resume` does not say which value belongs to which.
    """
    own = [ticket for ticket in tickets if ticket.reason.startswith(_REASON_PREFIX)]
    if not own:
        return None
    by_id = isinstance(resume, Mapping) and {*resume} == {ticket.id for ticket in own}
    if len(own) > 1 and not by_id:
        raise SetupError("several tools wait: give Command(resume={interrupt.id: value, ...})")
    return [ticket.answer(resume[ticket.id] if by_id else resume) for ticket in own]
