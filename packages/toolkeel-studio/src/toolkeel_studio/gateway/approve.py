"""A person's word before a call is sent (approval): by a form in the host, and beside it.

Whoever handed in an `Approver` (a desk that terminals and pages share, a function of one's own) is
asked while the host shows its form. The first decision counts; the other is taken back.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolkeel._records.tickets import LIFETIME, Approver, Decision, Ticket, call_digest, new_id
from toolkeel.call.body.callback import ask_person
from toolkeel.define.returns import check_answer
from toolkeel.errors import CallError
from toolkeel.mcp.content import output_from_schema
from toolkeel.mcp.server.calling import Client, approval_question
from toolkeel.mcp.server.multi_round_calls import Exchange, is_modern

WRAP = "result"
"""Key under which servers put a result that is no object."""
PROGRESS_SECONDS = 10.0
"""Seconds between two signs of life to a host that waits."""
NO_PERSON = (
    "this host cannot ask one ({why}). A person can decide beside it: toolkeel gateway --store FILE, "
    "and toolkeel approvals --store FILE; or change the gateway's file of rules"
)
_FORM: Mapping[str, object] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Let this call run", "default": False}},
    "required": ["approve"],
}


def make_answered_result(definition: types.Tool, value: object) -> dict[str, Any]:
    """Return the result of a call that a person answered.

    Raises:
        ValueError: The answer does not fit the tool's output schema.
    """
    schema = definition.output_schema
    if schema is not None:
        try:
            value = check_answer(output_from_schema(schema), None, value)
        except ValueError:
            if WRAP not in (schema.get("properties") or {}) or isinstance(value, Mapping):
                raise
            value = check_answer(output_from_schema(schema), None, {WRAP: value})
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return result if schema is None else {**result, "structuredContent": value}


def make_ticket(
    tool: str, arguments: Mapping[str, object], why: str, definition: types.Tool
) -> Ticket:
    """Build the ticket that asks a person about a call.

    Args:
        tool: The name clients know it by.
        arguments: Of the call.
        why: They are asked.
        definition: Of the tool; its hints are shown, not believed.
    """
    hints = definition.annotations or types.ToolAnnotations()
    fields = hints.model_dump(exclude_none=True, exclude={"title"})
    shown = {key.removesuffix("_hint"): value for key, value in fields.items()}
    digest = call_digest(tool, definition.model_dump(mode="json"), arguments)
    end = time.time() + LIFETIME
    return Ticket(new_id(), "", tool, dict(arguments), digest, end, why, shown)


async def request_approval(
    ticket: Ticket, exchange: Exchange, approver: Approver | None
) -> Decision:
    """Ask the client's person and the approver, and return the first decision.

    Args:
        ticket: The call.
        exchange: By which the client can be asked.
        approver: Asked beside; None: nobody is.
    """
    request = exchange.request
    assert request is not None
    form: asyncio.Task[Decision | None] | None = None
    beside: asyncio.Task[Decision | None] | None = None
    if Client(exchange).supports("elicitation"):
        form = asyncio.create_task(_ask_by_form(ticket, exchange))
    if approver is not None:
        beside = asyncio.create_task(_ask_approver(ticket, approver))
    if form is None and beside is None:
        return ticket.deny(NO_PERSON.format(why=ticket.reason))
    try:
        await _wait_for_decision([task for task in (form, beside) if task is not None], exchange)
        found = await _take_decision(beside) or await _take_decision(form, is_modern(request))
    finally:
        for task in (form, beside):
            if task is not None:
                task.cancel()
    return found or ticket.deny()


async def _wait_for_decision(
    tasks: list[asyncio.Task[Decision | None]], exchange: Exchange
) -> None:
    """Wait until one has decided, or all have ended without a decision."""
    waited = 0
    while not any(task.done() and task.result() for task in tasks):
        if not (left := [task for task in tasks if not task.done()]):
            return
        done, _ = await asyncio.wait(left, timeout=PROGRESS_SECONDS, return_when="FIRST_COMPLETED")
        if not done and exchange.request is not None:
            waited += 1
            with suppress(MCPError):
                await exchange.request.session.report_progress(waited * 1e-6, None, "asks a person")


async def _take_decision(
    task: asyncio.Task[Decision | None] | None, patient: bool = False
) -> Decision | None:
    """Return the decision of a way to ask; cancel it if it is still waiting.

    Args:
        task: The way.
        patient: It cannot be taken back: the answer comes with the client's next request.
    """
    if task is None:
        return None
    if not (task.done() or patient):
        task.cancel()
    await asyncio.wait([task])
    return None if task.cancelled() else task.result()


async def _ask_by_form(ticket: Ticket, exchange: Exchange) -> Decision | None:
    """Return the decision of the client's person, or None if they made none."""
    try:
        found = await Client(exchange).elicit(approval_question(ticket), _FORM, key="approve")
    except CallError as error:
        return ticket.deny(error.text)
    if found.action == "cancel":
        return None
    approved = found.content is not None and found.content.get("approve") is True
    return ticket.approve() if approved else ticket.deny()


async def _ask_approver(ticket: Ticket, approver: Approver) -> Decision | None:
    found: Decision | bool | None = await ask_person(approver, ticket, name="the approver")
    if isinstance(found, bool):
        return ticket.approve() if found else ticket.deny()
    return found
