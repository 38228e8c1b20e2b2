"""Asking before a call runs: by the tool's own word, or by rules for the run.

An approval is bound to what was shown. The step computes the digest of what would run now, and
compares; whatever does not match was not approved. It serves once, and expires. What runs is made
from the text that was digested, so nobody who holds the shown values can change it.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from time import time
from typing import Any

from toolwright.approval import LIFETIME, VERDICTS, Decision, Ticket, digest_of, new_id
from toolwright.call.rules import Rules
from toolwright.call.step import Handler, Recheck, settle
from toolwright.call.validate import as_json, effective, from_shown, prepare
from toolwright.context import Run, ToolContext
from toolwright.define.tool import AnyTool, Needs, Prepared
from toolwright.errors import (
    Denied,
    InvalidArguments,
    MalformedArguments,
    Refused,
    SetupError,
    Suspend,
    describe,
)
from toolwright.events import ApprovalDecided, ApprovalRequested, Coerced
from toolwright.messages import ToolCall


class Approval:
    """What asks about the calls of one tool.

    Args:
        needs: The tool's own word: never, always, or if a predicate over the validated arguments
            says so, perhaps with the reason as a text. A predicate that fails counts as yes. One
            with a method `despite_rules` is asked by that where a rule allows the call.
        rules: Those of the run.
        guards: Look at arguments a person has edited; what they change is asked about anew.
    """

    def __init__(self, needs: Needs, rules: Rules | None, guards: Sequence[Recheck]) -> None:
        self._needs = needs
        self._rules = rules
        self._guards = guards
        self._approved: dict[ToolContext[Any], str] = {}

    def around(self, inner: Handler) -> Handler:
        """`inner`, for calls that may run."""

        async def asking(prepared: Prepared, context: ToolContext[Any]) -> object:
            prepared, question = await self._settled(prepared, context)
            if question is None:
                return await inner(prepared, context)
            self._approved[context] = text = question.text
            try:
                return await inner(from_shown(prepared, json.loads(text)), context)
            except Suspend as wait:  # something within the call must be decided, not the call again
                wait.decision = question.standing()
                raise
            finally:
                del self._approved[context]

        return asking

    def seal(self, last: Handler) -> Handler:
        """`last`, run with what was approved, whatever was done to the values since."""

        async def sealed(prepared: Prepared, context: ToolContext[Any]) -> object:
            text = self._approved.get(context)
            if text is not None:
                prepared = from_shown(prepared, json.loads(text))
            return await last(prepared, context)

        return sealed

    async def _settled(
        self, prepared: Prepared, context: ToolContext[Any]
    ) -> tuple[Prepared, _Question | None]:
        """The call as it may run, and what somebody said yes to if they had to.

        Raises:
            Denied, Suspend: it may not, or not yet.
        """
        agreed = origin = ""
        while True:
            reason = await _why(self._needs, self._rules, prepared)
            if reason is None:
                return prepared, None
            question = _Question(prepared, reason, origin)
            if question.digest == agreed:
                return prepared, question
            ticket, decision = await _decision(question, context.run)
            if decision.verdict == "deny":
                text = decision.reason or "no reason was given"
                raise Denied(f"The call of {prepared.tool.name!r} was not approved: {text}")
            if decision.verdict == "approve" and (ticket is None or question.is_of(ticket)):
                return prepared, question
            edited = _edited(prepared, ticket, decision)
            if edited is None:
                continue  # that was not what it was approved for: it is asked about anew
            if context.run.listeners:
                changes = ("arguments edited by a person",)
                context.run.emit(Coerced(*context.run.next(), prepared.call.id, changes))
            agreed, origin = _Question(edited).digest, origin or question.digest
            guards = self._guards
            prepared = await settle(edited, context, guards, guards) if guards else edited


class _Question:
    """What somebody is asked: exactly this call.

    Args:
        prepared: The call.
        reason: Why it must be asked about.
        origin: The digest of the call as the model made it, if it was edited since.
    """

    def __init__(self, prepared: Prepared, reason: str = "", origin: str = "") -> None:
        shown = as_json(prepared)
        self.prepared = prepared
        self.reason = reason
        self.origin = origin
        self.text = json.dumps(shown, ensure_ascii=False)
        self.digest = digest_of(prepared.tool.name, definition_of(prepared.tool), shown)

    @property
    def shown(self) -> Mapping[str, object]:
        """The arguments as people may see them, a new copy."""
        shown: dict[str, object] = json.loads(self.text)
        mask = self.prepared.tool.arguments.mask
        return shown if mask is None else dict(mask.apply(shown))

    def standing(self) -> Decision:
        """The decision by which exactly this may run, for the call as the model made it."""
        if not self.origin:
            return Decision("", self.digest, "approve")
        return Decision("", self.origin, "edit", arguments=json.loads(self.text))

    def ticket(self) -> Ticket:
        """A ticket for it, with values of its own; secrets are masked."""
        call, tool = self.prepared.call, self.prepared.tool
        until, effects = time() + LIFETIME, effects_of(tool)
        about = (call.id, tool.name, self.shown, self.digest, until, self.reason, effects)
        return Ticket(new_id(), *about, self.origin)

    def is_of(self, ticket: Ticket) -> bool:
        """Whether the ticket is for exactly this, and shows it: what it shows may be forged."""
        return self.digest == ticket.digest and self.shown == ticket.arguments


async def _why(needs: Needs, rules: Rules | None, prepared: Prepared) -> str | None:
    """Why the call must be asked about; None if it need not be.

    Raises:
        Denied: a rule refuses it.
    """
    tool = prepared.tool.name
    shell = str(prepared.tool.metadata.get("shell", ""))
    rule = rules.rule(tool, effective(prepared), shell) if rules else None
    if rule is not None:
        if rule.action == "deny":
            raise Denied(f"The call of {tool!r} is not allowed here (rule: {rule}).")
        # A tool may have a reason that no rule for the run could know of when it was written.
        despite = await _asked_for(getattr(needs, "despite_rules", False), prepared)
        return despite or (None if rule.action == "allow" else f"rule: {rule}")
    return await _asked_for(needs, prepared)


async def _asked_for(needs: Needs, prepared: Prepared) -> str | None:
    """Why the tool itself asks; None if it does not."""
    if not callable(needs):
        return "the tool always asks" if needs else None
    try:
        answer = needs(prepared.arguments)
        wanted = await answer if inspect.isawaitable(answer) else answer
        if isinstance(wanted, str):
            return wanted or None
        return "the tool asks for these arguments" if wanted else None
    except Exception as error:
        masked = prepared.tool.arguments.mask is not None
        told = type(error).__name__ if masked else describe(error)
        return f"its approval predicate failed: {told}"


async def _decision(question: _Question, run: Run[Any]) -> tuple[Ticket | None, Decision]:
    """Take the decision that was given with the run, or ask for one.

    Returns:
        The saved ticket that was decided on, unless it was asked just now, or the call goes on
        after what it waited for within; and the decision.

    Raises:
        Suspend: nobody is there to ask, and the run can wait.
        Denied: nobody is there to ask, and it cannot.
    """
    name, call = question.prepared.tool.name, question.prepared.call
    known = run.decisions.pop((call.id, question.digest), None)
    if known is not None and (known[0] is None or _names(known[0], question.prepared.tool)):
        _tell(run, call.id, known[1])
        return known
    ticket = question.ticket()
    if run.approver is not None:
        return None, await ask(run, call.id, ticket)
    if run.listeners:
        run.emit(ApprovalRequested(*run.next(), call.id, ticket))
    if run.suspends:
        raise Suspend(ticket)
    raise Denied(f"The call of {name!r} needs a person's approval, and nobody is there to give it.")


def _names(ticket: Ticket, tool: AnyTool) -> bool:
    """Whether the ticket shows the name and the hints of the tool."""
    effects = json.dumps(effects_of(tool), sort_keys=True)
    return ticket.tool == tool.name and json.dumps(dict(ticket.effects), sort_keys=True) == effects


def _tell(run: Run[Any], call_id: str, decision: Decision) -> None:
    if run.listeners:
        given = (decision.ticket, decision.verdict, decision.reason)
        run.emit(ApprovalDecided(*run.next(), call_id, *given))


async def ask(run: Run[Any], call_id: str, ticket: Ticket) -> Decision:
    """Ask the run's approver, and tell of it.

    Args:
        run: One that has an approver.
        call_id: The call that is the reason.
        ticket: What is asked.
    """
    if run.listeners:
        run.emit(ApprovalRequested(*run.next(), call_id, ticket))
    decision = await _ask(run, ticket)
    _tell(run, call_id, decision)
    return decision


async def _ask(run: Run[Any], ticket: Ticket) -> Decision:
    """Ask the approver; whatever is unclear means no."""
    assert run.approver is not None
    try:
        answer = run.approver(ticket)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:
        return ticket.deny(f"the approver failed: {type(error).__name__}")
    if answer is False:
        return ticket.deny()
    if ticket.expired:
        return ticket.deny("the answer came too late")
    if answer is True:
        return ticket.approve()
    if not isinstance(answer, Decision) or not _fits(answer, ticket):
        return ticket.deny("the answer was not for this call")
    return answer


def _fits(decision: Decision, ticket: Ticket) -> bool:
    same = (decision.ticket, decision.seal) == (ticket.id, ticket.seal)
    return same and decision.verdict in VERDICTS


def _edited(prepared: Prepared, ticket: Ticket | None, decision: Decision) -> Prepared | None:
    """The call with the arguments a person wants instead; None if they were not shown those.

    Raises:
        Denied: they are not valid.
    """
    if decision.verdict == "edit" or ticket is None:
        return _edit(prepared, decision.arguments)
    # The transcript holds the call as the model made it, and the ticket what it was edited to.
    edited = _edit(prepared, ticket.arguments) if ticket.origin else prepared
    return edited if _Question(edited, "").is_of(ticket) else None


def _edit(prepared: Prepared, wanted: Mapping[str, object]) -> Prepared:
    """The call with other arguments.

    Raises:
        Denied: they are not valid.
    """
    call, tool = prepared.call, prepared.tool
    if tool.arguments.mask is not None:  # what is still masked stays as it was
        wanted = tool.arguments.mask.restore(wanted, as_json(prepared))
    try:
        edited = prepare(ToolCall(call.id, call.name, wanted), tool)
    except (InvalidArguments, MalformedArguments) as error:
        raise Denied(
            f"The call of {tool.name!r} did not run: a person edited its arguments, but so that "
            "they are not valid.",
            {"error": error.text},
        ) from None
    return Prepared(call, tool, edited.arguments, prepared.changes)


def unchangeable(prepared: Prepared) -> Prepared:
    """What becomes of a call that a step changes after the place where it was approved.

    Raises:
        Refused: always.
    """
    raise Refused(
        f"The call of {prepared.tool.name!r} was refused: a step changed its arguments after the "
        "place where they are approved. This is a fault of the program, not of the call."
    )


def definition_of(tool: AnyTool) -> Mapping[str, object]:
    """What a person relies on when they approve a call of the tool."""
    return {
        "description": tool.description,
        "parameters": tool.parameters,
        "effects": effects_of(tool),
    }


def effects_of(tool: AnyTool) -> dict[str, object]:
    """The tool's hints, by name."""
    effects = tool.effects
    return {field.name: getattr(effects, field.name) for field in dataclasses.fields(effects)}


_spent: dict[str, float] = {}
"""Tickets decided in this process, until they would have expired anyway."""


def accepted(
    tickets: Iterable[Ticket], decisions: Iterable[Decision]
) -> dict[str, tuple[Ticket, Decision]]:
    """The decisions that count, by ticket: each for one that waits.

    Raises:
        SetupError: for one that is for no such ticket; nothing is guessed, and none is used up.
    """
    for old in [key for key, expires in _spent.items() if expires < time()]:
        del _spent[old]
    waiting = {ticket.id: ticket for ticket in tickets}
    good: dict[str, tuple[Ticket, Decision]] = {}
    used: dict[str, float] = {}
    for decision in decisions:
        ticket = waiting.pop(decision.ticket, None)
        if ticket is None or not _fits(decision, ticket):
            raise SetupError("a decision is for no ticket that waits, or was used already")
        if ticket.expired:
            raise SetupError(f"the ticket for {ticket.tool!r} has expired; it must be asked anew")
        if ticket.id in _spent:
            raise SetupError(f"the ticket for {ticket.tool!r} has been used already")
        used[ticket.id] = ticket.expires
        good[ticket.id] = ticket, decision
    _spent.update(used)
    return good


def by_call(
    tickets: Iterable[Ticket], decisions: Mapping[str, tuple[Ticket, Decision]]
) -> dict[tuple[str, str], tuple[Ticket | None, Decision]]:
    """What `accepted` gave, by call and digest, for the calls of these tickets."""
    return {
        (ticket.call_id, ticket.origin or ticket.digest): decisions[ticket.id]
        for ticket in tickets
        if ticket.id in decisions
    }
