"""After a crash or a bound: calls that began and have no outcome, and what becomes of them.

Calls that are declared safe run again. Others may have happened, and a model must not guess: a person
is asked as for an approval. Yes: it did not happen, run it. No: it happened, or do not run it; the
model gets the person's words, or that the outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from time import time
from typing import Any

from toolkeel._records.entries import CallEnded, CallIntended, Decided, Waits, call_key_of
from toolkeel._records.messages_json import json_text
from toolkeel._records.record_json import to_json_data
from toolkeel._records.tickets import LIFETIME, Decision, Ticket, new_id
from toolkeel.agent.handoff import find_agent
from toolkeel.agent.transcript import make_missing_result
from toolkeel.call.arguments.parse import parse_arguments
from toolkeel.call.body.run_body import check_output
from toolkeel.call.body.stop_errors import not_started_error
from toolkeel.call.failure_message import failure_message
from toolkeel.call.result_message import to_content
from toolkeel.call.steps.ask_approver import ask
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.errors import CallError, InvalidOutput, Suspend
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage
from toolkeel.sessions.journal import SessionJournal
from toolkeel.sessions.journal_state import JournalState

QUESTION = (
    "did this happen? It was stopped while it ran. Approve: it did not, run it. "
    "Deny: it did, or leave it; the reason is what the model is told. Answer: it did, with this result"
)


def end_call(journal: SessionJournal, call: ToolCall, reason: str) -> None:
    """Write the result of an unanswered call of the last run, which runs no more.

    A call that waits for a person has not begun, and its result says so. Of another one, of one that has
    begun, and of one whose result comes from outside, it is unknown if it ran.

    Args:
        journal: The journal of the session.
        call: The call.
        reason: Why it runs no more.
    """
    fold = journal.state
    asked = (t for t in fold.open_tickets.values() if t.call_id == call.id and not t.external)
    has_begun = any(each.call_id == call.id for each in fold.open_calls.values())
    if has_begun or next(asked, None) is None:
        message = make_missing_result(call)
    else:
        message = failure_message(call, None, not_started_error(call.name, reason), 0.0)
    place = fold.last_run.run, fold.turn, fold.position_of(call)
    journal.append(CallEnded(*place, message))


async def resolve_unknown_calls(
    journal: SessionJournal, run: RunContext, decisions: Mapping[str, Decision]
) -> list[Ticket]:
    """Determine the outcome of calls that a crash left open: run again, decided, or ask a person.

    Args:
        journal: The journal; outcomes, tickets and decisions are appended.
        run: The run that resumes; its approver is asked.
        decisions: Decisions so far, by ticket id.

    Returns:
        The tickets without a decision.
    """
    fold = journal.state
    undecided = []
    for call in fold.unknown_calls:
        has_outcome = call_key_of(call) not in fold.open_calls  # with the call whose code made it
        if has_outcome or call.repeatable or _is_answered(fold, call) or _waits_inside(fold, call):
            continue
        ticket = _open_ticket(fold, call)
        if ticket is None:
            ticket = _ticket(call, _original_call(fold, call))
            journal.append(Waits(call.run, ticket, outcome=True))
        decision = decisions.get(ticket.id)
        if decision is None and run.approver is not None:
            await journal.commit()
            with suppress(Suspend):  # it said neither yes nor no: the run waits
                decision = await ask(run, call.call_id, ticket)
        if decision is None:
            undecided.append(ticket)
        else:
            _write_decision(journal, call, ticket, decision, run)
    return undecided


def _open_ticket(fold: JournalState, call: CallIntended) -> Ticket | None:
    """Return an open ticket that asks about the call already, or None."""
    key = call_key_of(call)
    asked = (t for t in fold.outcome_tickets.values() if t.digest == key and not t.expired)
    return next(asked, None)


def _is_answered(fold: JournalState, call: CallIntended) -> bool:
    """Return True if a person has supplied the call's result, so that nothing has run."""
    given = (
        fold.decisions.get(t.id) for t in fold.open_tickets.values() if t.call_id == call.call_id
    )
    return any(each is not None and each.decision.verdict == "answer" for each in given)


def _waits_inside(fold: JournalState, call: CallIntended) -> bool:
    """Return True if a run inside the call waits for a person, and the call waits with it."""
    key = call_key_of(call)
    inside = [each for each in fold.nested_runs.values() if each.last_run.call == key]
    return any(each.open_tickets and not each.last_run.joined for each in inside)


def _original_call(fold: JournalState, call: CallIntended) -> ToolCall:
    """Return the call as the model made it, before any edit; as its intent says if it is not in the last reply."""
    said = fold.nested_runs.get(call.run, fold).view.messages
    replies = (m.tool_calls for m in reversed(said) if isinstance(m, AssistantMessage))
    calls = next(replies, ())
    if call.within or not 0 <= call.position < len(calls):  # a file may say what was never made
        return ToolCall(call.call_id, call.tool, call.arguments)
    return calls[call.position]


def _ticket(call: CallIntended, made: ToolCall) -> Ticket:
    """Make a ticket that asks for a call's outcome; text that is no JSON becomes ``{"arguments": text}``."""
    given = made.arguments
    try:
        arguments = parse_arguments(given).value if isinstance(given, str) else to_json_data(given)
    except CallError:
        arguments = {"arguments": str(given)}
    expires = time() + LIFETIME
    return Ticket(
        new_id(), call.call_id, call.tool, arguments, call_key_of(call), expires, QUESTION
    )


def _answered_result(
    fold: JournalState, call: CallIntended, value: object, run: RunContext
) -> ToolMessage:
    """Return the result that a person has supplied, of the tool's declared type; a failure if it does not fit."""
    first: Any = run.agent
    owner = fold.made_by.get(call.call_id) or fold.agent
    found = find_agent(first, owner) if call.run not in fold.nested_runs else None
    tools: Toolset | None = getattr(found[0] if found else first, "tools", None)
    if tools is None or call.tool not in tools:
        text = value if isinstance(value, str) else json_text(value)
        return ToolMessage(text, call.call_id, call.tool)
    tool = tools.find(call.tool).tool
    try:
        content = to_content(tool, check_output(tool, value, from_outside=True))
    except InvalidOutput as error:
        return failure_message(ToolCall(call.call_id, call.tool), tool, error, 0.0)
    return ToolMessage(content, call.call_id, call.tool)


def _write_decision(
    journal: SessionJournal,
    call: CallIntended,
    ticket: Ticket,
    decision: Decision,
    run: RunContext,
) -> None:
    """Write a person's decision on a call of unknown outcome, and its result, to the journal."""
    if decision.ticket not in journal.state.decisions:
        journal.append(Decided(call.run, decision))
    if decision.verdict == "approve" and decision.seal == ticket.seal:
        return
    if decision.verdict == "answer":
        done = _answered_result(journal.state, call, decision.value, run)
        journal.append(CallEnded(call.run, call.turn, call.position, done, call.within))
        return
    said = f" A person says: {decision.reason}" if decision.reason else ""
    text = f"It is unknown whether this call of {call.tool!r} happened: it was stopped.{said}"
    message = ToolMessage(text, call.call_id, call.tool, "error", "unknown_outcome")
    journal.append(CallEnded(call.run, call.turn, call.position, message, call.within))
