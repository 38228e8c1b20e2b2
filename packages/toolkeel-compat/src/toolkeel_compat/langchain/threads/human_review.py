"""`HumanInTheLoopMiddleware`: a person decides about calls. A call that waits is a ticket."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import TypeAdapter

from toolkeel._records.tickets import Decision, Ticket
from toolkeel.call.steps.join_approvals import ALWAYS_ASKS, ASKS, join_approvals
from toolkeel.content import Text
from toolkeel.context import ToolContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.errors import Denied, SetupError
from toolkeel.messages import ToolMessage
from toolkeel.sessions.unknown_outcomes import QUESTION
from toolkeel_compat.langchain.command import Command, to_tool_output
from toolkeel_compat.langchain.threads.decisions import (
    DECISIONS,
    list_allowed,
    make_decision_type,
)
from toolkeel_compat.langchain.threads.interrupts import Interrupt, is_interrupt, pair_answers
from toolkeel_compat.langchain.tool_calls import ToolCall

EDIT_NOTICE = (
    "Note: a human reviewer replaced this tool call before it ran. The call recorded in your "
    "message is the one you produced, not the one that executed. This was intentional and "
    "authorized. Do not re-issue your original call."
)
"""What a model reads before the result of a call that a person has edited, word for word as there."""
CALL_REVIEW = "tool_approval"
"""Type of an interrupt about one call."""
NO_REASON = "no reason was given"  # what the core says of it
REJECTED_WITHOUT_REASON = (
    "id {id}. The tool was not executed. Do not retry this tool call unless the user explicitly "
    "requests it."
)
"""The same of a call that was rejected without a word."""


class HumanInTheLoopMiddleware:
    """Asks a person to decide about calls of some tools.

    Args:
        interrupt_on: By tool name: True or False, or a dict with ``allowed_decisions`` and a
            ``description``, which is a string or a function of the call, the state and the runtime.
        description_prefix: First line of a request without its own description.
        edit_notice: Text before the result of an edited call; None for none.
        interrupt_mode: ``batched``: one interrupt for the calls of a turn, resumed with all
            decisions; ``per_call``: one for each call, resumed with one decision by its id.

    Raises:
        SetupError: An option is not supported.
    """

    def __init__(
        self,
        interrupt_on: Mapping[str, Any],
        *,
        description_prefix: str = "Tool execution requires approval",
        edit_notice: str | None = EDIT_NOTICE,
        interrupt_mode: Literal["batched", "per_call"] = "batched",
    ) -> None:
        if interrupt_mode not in ("batched", "per_call"):
            raise SetupError(
                f"HumanInTheLoopMiddleware(interrupt_mode={interrupt_mode!r}): write 'batched' or "
                "'per_call'"
            )
        self.interrupt_mode = interrupt_mode
        self._tools: dict[str, Any] = {}
        self.interrupt_on = interrupt_on
        self.description_prefix = description_prefix
        self.edit_notice = edit_notice
        self._review_options = {
            tool: _read_review_options(tool, how) for tool, how in interrupt_on.items()
        }

    def require_approval(self, tools: Sequence[Any]) -> list[Any]:
        """Return the tools, with approval required for those in `interrupt_on`.

        Raises:
            SetupError: `interrupt_on` names a tool that does not exist.
        """
        made = [as_tool(tool) for tool in tools]
        if strange := sorted({*self.interrupt_on} - {tool.name for tool in made}):
            raise SetupError(f"interrupt_on names {', '.join(strange)}, which is no tool here")
        self._tools |= {tool.name: tool for tool in made}
        return [
            dataclasses.replace(tool, approval=join_approvals(tool.approval, True))
            if self.interrupt_on.get(tool.name)
            else tool
            for tool in made
        ]

    def pauses(self, reply: Any) -> bool:
        """Return True if a person is asked about a call of a reply, before any of its calls."""
        return self.interrupt_mode == "batched" and any(
            self.interrupt_on.get(call.name) for call in reply.tool_calls
        )

    async def report_decision(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        """Word the result of a rejected or edited call as LangChain does, as a step around the call.

        Raises:
            Denied: The call was rejected.
        """
        name = prepared.tool.name
        try:
            value = await proceed(prepared)
        except Denied as denied:
            reason = denied.text.partition(" was not approved: ")[2]
            if not reason:
                raise
            why = (
                REJECTED_WITHOUT_REASON.format(id=context.call.id)
                if reason == NO_REASON
                else f"reason: {reason}"
            )
            raise Denied(f"User rejected the tool call for `{name}` with {why}") from None
        edits = [edit for edit in context.edits if edit.by == "a person"]
        if not edits or isinstance(value, ToolMessage | Command):
            return value
        quiet = [dataclasses.replace(e, told=False) if e in edits else e for e in context.edits]
        context.edits = tuple(quiet)  # the note tells it
        ran = json.dumps(_leave_out_defaults(edits[-1].arguments, prepared), ensure_ascii=False)
        ran = f"Executed instead: {name} with arguments {ran}."
        note = f"{self.edit_notice} {ran}\n\nTool response:\n" if self.edit_notice else ""
        made: Any = to_tool_output(value)
        is_text = isinstance(made.content, str)
        content = note + made.content if is_text else (Text(note), *made.content)
        return dataclasses.replace(made, content=content)

    def make_interrupts(
        self, tickets: Sequence[Ticket], state: Mapping[str, Any], runtime: Any
    ) -> list[Interrupt]:
        """Build the interrupts that describe the waiting calls: one for all, or one for each."""
        if self.interrupt_mode == "per_call":
            return [self._make_call_interrupt(one, state, runtime) for one in tickets]
        requests, reviews = [], []
        for ticket in tickets:
            arguments = self._read_arguments(ticket, state)
            description = self._describe(ticket, arguments, state, runtime)
            requests.append({"name": ticket.tool, "args": arguments, "description": description})
            allowed = self._list_allowed(ticket)
            reviews.append({"action_name": ticket.tool, "allowed_decisions": [*allowed]})
        value = {"action_requests": requests, "review_configs": reviews}
        ids = tuple(one.id for one in tickets)
        return [Interrupt(value, ids[0], ids)] if ids else []

    def _make_call_interrupt(
        self, ticket: Ticket, state: Mapping[str, Any], runtime: Any
    ) -> Interrupt:
        arguments = self._read_arguments(ticket, state)
        value = {
            "type": CALL_REVIEW,
            "tool_call_id": ticket.call_id,
            "name": ticket.tool,
            "args": arguments,
            "description": self._describe(ticket, arguments, state, runtime),
        }
        form = make_decision_type(self._list_allowed(ticket), self._tools.get(ticket.tool))
        return Interrupt(value, ticket.id, (ticket.id,), TypeAdapter(form).json_schema(), form)

    def _list_allowed(self, ticket: Ticket) -> Sequence[str]:
        """Return the decisions that are allowed about a call."""
        if ticket.reason == QUESTION:
            return ("approve", "reject", "respond")
        allowed = self._review_options.get(ticket.tool, {}).get("allowed_decisions", DECISIONS)
        return tuple(dict.fromkeys(allowed))

    def _read_arguments(self, ticket: Ticket, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return a call's arguments, without the defaults of those that the model left out."""
        tool = self._tools.get(ticket.tool)
        fields = {} if tool is None else properties_of(tool.parameters)
        calls = (call for one in state["messages"] for call in getattr(one, "tool_calls", ()))
        written = next((one.args for one in calls if one.id == ticket.call_id), ticket.arguments)
        return {
            name: value
            for name, value in ticket.arguments.items()
            if name in written or fields.get(name, {}).get("default", ticket) != value
        }

    def _describe(
        self, ticket: Ticket, arguments: dict[str, Any], state: Mapping[str, Any], runtime: Any
    ) -> Any:
        """Return what a person reads about a call: also why it waits beside being in `interrupt_on`."""
        description = self._review_options.get(ticket.tool, {}).get("description")
        if callable(description):
            call = ToolCall(ticket.call_id, ticket.tool, arguments)
            description = description(call, state, runtime)
        is_usual = ticket.tool in self.interrupt_on and ticket.reason != QUESTION
        why = self.description_prefix if is_usual else ticket.reason
        if description and not is_usual:
            return f"{why}\n\n{description}"
        if is_usual and (more := _find_further_reason(ticket)):
            why = f"{why}\n\n{more}"
            if isinstance(description, str) and description:
                return f"{description}\n\n{more}"
        return description or f"{why}\n\nTool: {ticket.tool}\nArgs: {arguments}"


def _find_further_reason(ticket: Ticket) -> str:
    """Return why a call waits beside that its tool is listed; empty for no other reason."""
    first = ticket.reason.partition("\n")[0]
    return first.removeprefix(ALWAYS_ASKS).removeprefix(ASKS).removeprefix("; ")


def _leave_out_defaults(arguments: Mapping[str, Any], prepared: Prepared) -> dict[str, Any]:
    """Return arguments without the defaults that the model's call of the tool does not have."""
    asked, fields = prepared.call.arguments, properties_of(prepared.tool.parameters)
    shown: dict[str, Any] = json.loads(asked or "{}") if isinstance(asked, str) else dict(asked)
    return {
        name: value
        for name, value in arguments.items()
        if name in shown or value != fields.get(name, {}).get("default", ...)
    }


def is_review(interrupt: Interrupt) -> bool:
    """Return True if an interrupt asks about calls, not for a value."""
    value = interrupt.value
    own = isinstance(value, Mapping) and "review_configs" in value
    return own or interrupt.response_schema is not None


def decide_tickets(
    resume: Any, interrupts: Sequence[Interrupt], tickets: Sequence[Ticket]
) -> list[Decision]:
    """Convert ``Command(resume=...)`` to decisions on the waiting calls.

    Args:
        resume: The value for the only interrupt, or a dict of values by interrupt id. For calls to
            review, the value is ``{"decisions": [...]}``; for a call of its own interrupt, a decision.
        interrupts: Those that wait.
        tickets: Their tickets.

    Raises:
        SetupError: The value does not fit what waits.
        ValidationError: The decision on a call of its own interrupt is not one of its type.
    """
    known = {ticket.id: ticket for ticket in tickets}
    decided: list[Decision] = []
    for one, value in pair_answers(resume, interrupts):
        calls = [known[id] for id in one.ticket_ids]
        if is_interrupt(calls[0]):
            decided.append(calls[0].answer(value))
        elif one.response_schema is not None:
            if one.response_type is not None:
                TypeAdapter(one.response_type).validate_python(value)
            decided.append(_make_decision(value, list_allowed(one.response_schema), calls[0]))
        else:
            decided += _decide_review(value, one.value["review_configs"], calls)
    return decided


def _decide_review(
    resume: Any, reviews: Sequence[Mapping[str, Any]], tickets: Sequence[Ticket]
) -> list[Decision]:
    """Convert ``{"decisions": [...]}`` to decisions on the calls to review, in order.

    Raises:
        SetupError: The number of decisions differs from that of the calls, or one is not allowed.
    """
    decisions = resume.get("decisions", ()) if isinstance(resume, Mapping) else ()
    if len(decisions) != len(tickets):
        raise SetupError(
            'Command(resume={"decisions": [...]}) takes one decision for each call that waits: '
            f"{len(tickets)}, not {len(decisions)}"
        )
    rows = zip(decisions, reviews, tickets, strict=True)
    return [
        _make_decision(one, review["allowed_decisions"], ticket) for one, review, ticket in rows
    ]


def _make_decision(decision: Mapping[str, Any], allowed: Sequence[str], ticket: Ticket) -> Decision:
    """Convert one of LangChain's decisions; raise `SetupError` if it is not allowed."""
    kind = decision.get("type")
    if kind not in allowed:
        problem = f"{kind!r:.40}; allowed_decisions has {', '.join(allowed)}"
        raise SetupError(f"a call of {ticket.tool!r} is not decided by {problem}")
    if kind == "edit":
        action = decision["edited_action"]
        if action.get("name", ticket.tool) != ticket.tool:
            raise SetupError(f"a call of {ticket.tool!r} cannot become one of another tool")
        return ticket.edit(action["args"])
    if kind == "respond":
        return ticket.answer(decision["message"])
    return ticket.approve() if kind == "approve" else ticket.deny(decision.get("message") or "")


def _read_review_options(tool: str, options: Any) -> Mapping[str, Any]:
    """Validate and return the `interrupt_on` options of a tool."""
    how = options if isinstance(options, Mapping) else {}
    where, known = f"interrupt_on[{tool!r}]", ("allowed_decisions", "description", "args_schema")
    if not isinstance(options, Mapping | bool) or (isinstance(options, Mapping) and not options):
        raise SetupError(f"{where}: True, False, or a dict with allowed_decisions")
    if strange := sorted({*how} - {*known}):
        hint = f"it has {', '.join(known)}; a predicate is written as @tool(approval=...)"
        raise SetupError(f"{where} has no {', '.join(strange)}; {hint}")
    allowed = how.get("allowed_decisions", () if how else DECISIONS)
    if not allowed or not {*allowed} <= {*DECISIONS}:
        raise SetupError(f"{where}: allowed_decisions are some of {', '.join(DECISIONS)}")
    return how
