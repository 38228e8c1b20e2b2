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
from toolkeel._records.tickets import Ticket
from toolkeel.agent.run import Run
from toolkeel.call.enclosing_run import find_enclosing
from toolkeel.call.steps.approve import ApprovalQuestion
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.errors import Crashed, SetupError, Suspend
from toolkeel.messages import Message
from toolkeel.sessions.session import Session

ANSWERS_KEY = "__interrupts__"
"""Where the run's state keeps what was answered, by call."""
INNER_KEY = "__inner_interrupts__"
"""Where the run's state keeps the interrupts of agents that its tools run, by id."""
CHANGES_KEY = "__changed_messages__"
"""Where the run's state keeps changes of messages by hooks: see `message_ids.record_changes`."""
COUNTS_KEY = "__call_counts__"
"""Where the run's state keeps how many calls each limit has counted, by the limit's name."""
HIDDEN_KEYS = (ANSWERS_KEY, CHANGES_KEY, INNER_KEY, COUNTS_KEY)
"""Keys of the run's state that programs do not see."""
_REASON_PREFIX = "interrupt: "
"""How the reason of a ticket begins; the value follows, as JSON."""
_running: ContextVar[_RunningBody | None] = ContextVar("_running", default=None)


@record
class Interrupt:
    """A value that a run waits for; in the state under ``__interrupt__``.

    Args:
        value: The argument of `interrupt`, or the requests of `HumanInTheLoopMiddleware`.
        id: The id of the first ticket.
        ticket_ids: The tickets that it stands for.
        response_schema: JSON Schema of the answer, if the answer is one decision about a call.
        response_type: Its type, which checks it.
    """

    value: Any
    id: str
    ticket_ids: tuple[str, ...] = ()
    response_schema: Mapping[str, Any] | None = None
    response_type: Any = None


class GraphInterrupt(Exception):
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
    raise GraphInterrupt(value)


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
    if ticket is not None and decision is not None and is_interrupt(ticket):
        del run.loop_state.decisions[call, digest]
        answers.append(decision.value)
        run.state[ANSWERS_KEY] = {**all_answers, call: answers}
    token = _running.set(_RunningBody(answers, context.emit))
    try:
        return await proceed(prepared)
    except Crashed as crash:
        asked = crash.__cause__
        if not isinstance(asked, GraphInterrupt):
            raise
        if run.recorder is None or not run.can_wait:
            raise SetupError("interrupt() needs an agent with a checkpointer") from None
        why = _REASON_PREFIX + json.dumps(asked.args[0], ensure_ascii=False, allow_nan=False)
        raise Suspend(ApprovalQuestion(prepared, why).ticket(outside=True)) from None
    finally:
        _running.reset(token)


def list_interrupts(tickets: Sequence[Ticket]) -> list[Interrupt]:
    """Return the interrupts among the waiting tickets."""
    return [
        Interrupt(json.loads(one.reason.removeprefix(_REASON_PREFIX)), one.id, (one.id,))
        for one in tickets
        if is_interrupt(one)
    ]


def is_interrupt(ticket: Ticket) -> bool:
    """Return True if a ticket waits because a tool called `interrupt`."""
    return ticket.reason.startswith(_REASON_PREFIX)


def save_interrupts(interrupts: Sequence[Interrupt], call: ToolContext[Any]) -> None:
    """Keep the interrupts of an agent that a call runs, in the state of the call's run."""
    made = {
        one.id: {"value": one.value, "tickets": [*one.ticket_ids], "schema": one.response_schema}
        for one in interrupts
    }
    call.update(INNER_KEY, lambda old: {**old, **made}, {})


def load_interrupts(state: Mapping[str, Any], tickets: Sequence[Ticket]) -> list[Interrupt]:
    """Return the interrupts of inner agents whose tickets still wait."""
    waits = {ticket.id for ticket in tickets}
    saved: Mapping[str, Any] = state.get(INNER_KEY) or {}
    return [
        Interrupt(one["value"], id, tuple(one["tickets"]), one.get("schema"))
        for id, one in saved.items()
        if waits.issuperset(one["tickets"])
    ]


def list_inner_tickets(session: Session | None) -> set[str]:
    """Return the ids of the tickets of a thread that wait in agents inside its calls."""
    inner = [] if session is None else load_interrupts(session.state, session.pending)
    return {id for one in inner for id in one.ticket_ids}


def pair_answers(resume: Any, interrupts: Sequence[Interrupt]) -> list[tuple[Interrupt, Any]]:
    """Return each answered interrupt with its part of ``Command(resume=...)``.

    Args:
        resume: The value for the only interrupt, or a dict of values by interrupt id.
        interrupts: Those that wait.

    Raises:
        SetupError: Several wait, and `resume` does not say which value belongs to which.
    """
    ids = {one.id for one in interrupts}
    if isinstance(resume, Mapping) and resume and ids.issuperset(resume):
        return [(one, resume[one.id]) for one in interrupts if one.id in resume]
    if len(interrupts) > 1:
        raise SetupError("several interrupts wait: give Command(resume={interrupt.id: value, ...})")
    return [(one, resume) for one in interrupts]


def find_waiting_call() -> ToolContext[Any] | None:
    """Return the call whose body runs here, if its run can wait for a person; else None."""
    _, call = find_enclosing() or (None, None)
    return call if call is not None and call.run.can_wait else None


def start_within(
    agent: Any, prompt: Sequence[Message], options: Mapping[str, Any], call: ToolContext[Any]
) -> Run[Any]:
    """Create a run that waits with a call, and continues when the call's body runs again.

    Args:
        agent: The core's agent.
        prompt: What it begins with.
        options: ``deps``, ``inject``, ``state`` and ``store`` of the run.
        call: The call. A waiting run of this agent with this prompt is taken from its run.
    """
    inner_runs, key = call.run.loop_state.inner_runs, call.idempotency_key
    key = key if key in inner_runs else call.call.id
    waiting: Any = inner_runs.get(key)
    begun = () if waiting is None else waiting.state.messages[: len(prompt)]
    same = waiting is not None and waiting.state.agent == agent.name
    if same := same and [one.text for one in begun] == [one.text for one in prompt]:
        del inner_runs[key]
    run: Run[Any] = agent._start_inner_run(waiting if same else prompt, call, options["deps"])
    run.context.inject = options["inject"]
    run.context.store = options["store"] or call.run.store
    for name, value in options["state"].items():
        run.context.state.setdefault(name, value)
    return run
