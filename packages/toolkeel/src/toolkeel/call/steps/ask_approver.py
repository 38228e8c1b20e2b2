"""Asking a run's approver about a call: anything but a clear, timely answer for that call denies."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from toolkeel._records.tickets import Decision, Ticket, new_id
from toolkeel.call.body.callback import ask_person
from toolkeel.context import RunContext
from toolkeel.errors import Suspend
from toolkeel.events import ApprovalDecided, ApprovalRequested

Judge: TypeAlias = Callable[[], Awaitable[tuple[str | None, str]]]
"""Returns why a call needs approval, None if it does not, and which part of that is due to taint."""
log = logging.getLogger("toolkeel")


async def ask(
    run: RunContext, call_id: str, ticket: Ticket, judge: Judge | None = None
) -> Decision:
    """Ask the run's approver about a call, emit the question and the decision, and return it. Raises `Suspend`.

    Where others can decide the ticket, too, the decision that was first is returned. If another run has
    used the ticket meanwhile, the approver is asked again, with a new one. A call that had to wait for the
    answers to others is asked about only if `judge` says that it still needs approval; without a
    `judge`, always.
    """
    owner = run
    while owner.loop_state.settle_decision is None and owner.scope.outer_run is not None:
        owner = owner.scope.outer_run
    settle = owner.loop_state.settle_decision
    while True:
        if run.listeners:
            run.emit(ApprovalRequested(*run.next_event_fields(), call_id, ticket))
        decision: Decision | None = await _ask_approver(run, ticket, judge)
        if decision is not None and settle is not None:
            decision = await settle(ticket, decision)
        if decision is not None:
            report_decision(run, call_id, decision)
            return decision
        ticket = replace(ticket, id=new_id())


async def _ask_approver(run: RunContext, ticket: Ticket, judge: Judge | None) -> Decision:
    """Return the approver's decision; an invalid or late answer, or an exception, is logged and denies the call.

    Raises:
        Suspend: it answered None, or True for a result from outside, or the run ended meanwhile, but
            was not cancelled, and the run can wait.
    """
    assert run.approver is not None

    async def permitted() -> Decision | None:
        """Return an approval if what was answered meanwhile permits the call."""
        return ticket.approve("call") if judge and (await judge())[0] is None else None

    try:
        answer = await ask_person(run.approver, ticket, name="the approver", unless=permitted)
    except (asyncio.CancelledError, KeyboardInterrupt, SystemExit) as error:
        is_cancelled = run.cancel.cancelled and not run.scope.is_at_limit
        if run.can_wait and not is_cancelled:  # the person may answer later
            raise Suspend(ticket) from error
        raise
    except Exception as error:
        log.exception("the approver failed; the call of %s is denied", ticket.tool)
        return ticket.deny(f"the approver failed: {type(error).__name__}")
    if (answer is None or (answer is True and ticket.external)) and run.can_wait:
        raise Suspend(ticket)
    if answer is False:
        return ticket.deny()
    if ticket.expired:
        return ticket.deny("the answer came too late")
    if answer is True:
        return ticket.approve()
    if not isinstance(answer, Decision) or not _fits(answer, ticket):
        got = "a decision on another ticket" if isinstance(answer, Decision) else repr(answer)
        message = "the approver of %s gave %.80s: neither True, False nor a decision"
        log.error(message, ticket.tool, got)
        return ticket.deny("the answer was not for this call")
    return answer


def _fits(decision: Decision, ticket: Ticket) -> bool:
    """Return True if a decision is of this ticket, unchanged, and of a verdict that it allows."""
    same = (decision.ticket, decision.seal) == (ticket.id, ticket.seal)
    return same and decision.verdict in ticket.verdicts


def report_decision(run: RunContext, call_id: str, decision: Decision) -> None:
    """Emit the event of a decision, if there are listeners."""
    if run.listeners:
        fields = (decision.ticket, decision.verdict, decision.reason)
        run.emit(ApprovalDecided(*run.next_event_fields(), call_id, *fields))
