"""Decisions as clients send them, checked against the ticket before anything is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from toolkeel._records.record import record
from toolkeel._records.tickets import Decision, Reach, Ticket
from toolkeel.agent.resume import fits_tool
from toolkeel.call.arguments.canonical_arguments import as_json
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.toolset import Toolset
from toolkeel.define.schema.json_schema_validator import compile_json_schema
from toolkeel.errors import CallError, SetupError
from toolkeel.messages import ToolCall
from toolkeel.sessions.session import Session
from toolkeel_studio.serve.errors import InvalidDecision, UnknownApproval

Verdict: TypeAlias = Literal["approve", "deny", "edit", "answer", "cancel"]


@record
class Choice:
    """What a client decides.

    Args:
        verdict: What it decides; ``cancel`` only of a question.
        reason: For the model, of a denial.
        arguments: All arguments of an edited call, or the fields of a form.
        value: The result of an answered call.
        reach: How far an approval extends.
    """

    verdict: Verdict
    reason: str = ""
    arguments: Mapping[str, object] | None = None
    value: object = None
    reach: Reach = "call"


def collect_choices(made: Iterable[tuple[str, Choice]]) -> dict[str, Choice]:
    """Return the decisions of one request by approval id.

    Raises:
        InvalidDecision: two of them on one call differ.
    """
    choices: dict[str, Choice] = {}
    for id, choice in made:
        if choices.setdefault(id, choice) != choice:
            raise InvalidDecision("the request decides a call in two ways")
    return choices


def find_ticket(session: Session, id: str, seal: str) -> Ticket:
    """Return the ticket of a call that waits, as it was shown.

    Raises:
        UnknownApproval: none waits.
    """
    for ticket in session.pending:
        if ticket.id == id and ticket.seal == seal:
            return ticket
    raise UnknownApproval("the call that was shown is no longer pending")


def find_external(session: Session, call_id: str) -> Ticket:
    """Return the ticket of a call that waits for its result from outside.

    Raises:
        UnknownApproval: none waits.
    """
    for ticket in session.pending if session.exists else ():
        if ticket.external and ticket.call_id == call_id:
            return ticket
    raise UnknownApproval("no call of this id waits for a result")


def decide_ticket(ticket: Ticket, choice: Choice, tools: Toolset) -> Decision:
    """Return the decision on a call that waits.

    Args:
        ticket: Of the call.
        choice: What the client decides.
        tools: The agent's tools; edited arguments must fit the call's tool.

    Raises:
        InvalidDecision: the ticket does not permit it, or the arguments do not fit.
    """
    if choice.verdict not in ticket.verdicts:
        permitted = ", ".join(ticket.verdicts)
        raise InvalidDecision(
            f"this call does not permit {choice.verdict!r}; it permits {permitted}"
        )
    try:
        if choice.verdict == "approve":
            return ticket.approve(choice.reach)
        if choice.verdict == "answer":
            return ticket.answer(choice.value)
        if choice.verdict == "edit":
            return ticket.edit(_fit(ticket, choice.arguments, tools))
    except (CallError, SetupError, TypeError, ValueError) as error:
        raise InvalidDecision(str(error)) from None
    return ticket.deny(choice.reason)


def decide_question(ticket: Ticket, choice: Choice) -> Decision | None:
    """Return the answer to a server's question; None cancels it.

    Raises:
        InvalidDecision: the fields do not fit the form, or a question does not permit the verdict.
    """
    if choice.verdict == "edit":
        fields = dict(choice.arguments or {})
        if errors := compile_json_schema(ticket.form).errors(fields):
            raise InvalidDecision(f"the answer does not fit the form: {errors[0]}")
        return ticket.edit(fields)
    if choice.verdict not in ("deny", "cancel"):
        raise InvalidDecision(f"a question permits edit, deny and cancel, not {choice.verdict!r}")
    return ticket.deny() if choice.verdict == "deny" else None


def _fit(
    ticket: Ticket, arguments: Mapping[str, object] | None, tools: Toolset
) -> Mapping[str, object]:
    """Return edited arguments as they would run."""
    if arguments is None:
        raise TypeError("decide('edit'): give arguments=, all arguments of the call")
    if not fits_tool(ticket, tools):  # of a source or another agent: checked when it runs
        return arguments
    call = ToolCall(ticket.call_id, ticket.tool, json.dumps(arguments))
    return as_json(prepare(call, tools[ticket.tool]))
