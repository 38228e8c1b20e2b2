"""Approval of calls before they run: by the tool itself, or by rules for the run.

An approval is bound to what was shown. The step computes the digest of what would run now, and
compares; what does not match was not approved. An approval serves once, and expires. What runs is
rebuilt from the text that was digested, so changes to the shown values have no effect.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import partial
from time import time
from typing import Any

from toolkeel._records.taint_sources import SESSION
from toolkeel._records.tickets import (
    EXTERNAL_LIFETIME,
    LIFETIME,
    Decision,
    Ticket,
    call_digest,
    new_id,
)
from toolkeel.call.arguments.canonical_arguments import ArgumentsView, as_json, from_canonical
from toolkeel.call.arguments.edits import record_edit
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.body.callback import run_callback
from toolkeel.call.steps import taint
from toolkeel.call.steps.ask_approver import Judge, ask, report_decision
from toolkeel.call.steps.compose import Handler, guard_changes
from toolkeel.call.steps.join_approvals import takes_context, tool_reason
from toolkeel.call.steps.resources import resolve_argument
from toolkeel.call.steps.rules import Rule, Rules, find_rule, is_allowed
from toolkeel.call.steps.session_permits import (
    definition_of,
    effects_of,
    find_scope,
    is_permitted,
    record_session_permit,
)
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.options import PREVIEW, external
from toolkeel.define.tool import AnyTool, ApprovalOption, Prepared, Step
from toolkeel.errors import (
    Denied,
    InvalidArguments,
    MalformedArguments,
    Refused,
    Suspend,
    describe_error,
)
from toolkeel.events import ApprovalRequested
from toolkeel.messages import ToolCall


class Approval:
    """The approval step of one tool: it decides which calls need a person, and asks.

    Args:
        needs: The tool's `approval`: never, always, or a predicate; see `ApprovalOption`. A predicate
            that fails counts as yes. Its method `despite_rules` is called if a rule allows the
            call. None: the tool has none.
        rules: Rules of the run.
        guards: Guards that check arguments a person has edited; what they change is asked about
            again.
    """

    def __init__(
        self, needs: ApprovalOption | None, rules: Rules | None, guards: Sequence[Step]
    ) -> None:
        self._needs = needs
        self._sees = callable(needs) and takes_context(needs)
        self._rules, self._guards = rules, guards
        self._approved: dict[ToolContext, ApprovalQuestion] = {}
        self._passed: dict[ToolContext, str] = {}

    def require_approval(self, inner: Handler) -> Handler:
        """Return a handler that runs `inner` for allowed calls, and raises `Denied`, `Refused` or `Suspend` for others."""

        async def asking(prepared: Prepared, context: ToolContext) -> object:
            """Get approval if needed; run the call as edited, or return its answer. Raises as `_approved_call`."""
            prepared, question = await self._approved_call(prepared, context)
            if question is None:
                return await self._run_passed(inner, prepared, context)
            self._approved[context] = question
            run = inner if question.answer is None else self._answered
            try:
                return await run(from_canonical(prepared, json.loads(question.text)), context)
            except Suspend as wait:  # something within the call must be decided, not the call again
                wait.decision = question.lasting_decision()
                raise
            finally:
                del self._approved[context]

        return asking

    async def _run_passed(self, inner: Handler, prepared: Prepared, context: ToolContext) -> object:
        """Run a call that needs no approval; while it runs, store the arguments that a callback or rules passed."""
        if not callable(self._needs) and self._rules is None:
            return await inner(prepared, context)
        self._passed[context] = json.dumps(as_json(prepared), ensure_ascii=False)
        try:
            return await inner(prepared, context)
        finally:
            del self._passed[context]

    def run_approved(self, last: Handler) -> Handler:
        """Return a handler that runs `last` with exactly the approved arguments. `last` also runs answered calls."""

        async def approved(prepared: Prepared, context: ToolContext) -> object:
            """Run the call with the approved arguments, even if a step changed them in place."""
            question = self._approved.get(context)
            if question is not None:
                prepared = from_canonical(prepared, json.loads(question.text))
            elif text := self._passed.get(context):
                changed = json.dumps(as_json(prepared), ensure_ascii=False) != text  # in place
                prepared = from_canonical(prepared, json.loads(text)) if changed else prepared
            return await last(prepared, context)

        self._answered = last
        return approved

    def external_answer(self, context: ToolContext) -> Decision | None:
        """Return the decision that supplies the call's result in place of the body, or None."""
        question = self._approved.get(context)
        return None if question is None else question.answer

    async def _approved_call(
        self, prepared: Prepared, context: ToolContext
    ) -> tuple[Prepared, ApprovalQuestion | None]:
        """Ask for approval if needed. Return the call as it may run, and the approved question, if any.

        Emit events; record edits, and what was approved despite taint. Raise Denied (by a rule or a person,
        or for an invalid edit), Refused (a guard refuses the edit) or Suspend (the call waits for a person).
        """
        agreed = origin = ""
        answer: Decision | None = None
        while True:
            reason, touched = await self._judge(prepared, context)
            if reason is None:
                return prepared, None
            labels = taint.visible_labels(context.run) if touched else ()
            question = ApprovalQuestion(prepared, reason, origin, labels)
            question.hint = taint.words_to_allow(prepared) if touched else ""
            if question.digest == agreed:
                question.answer = answer
                return prepared, question
            if scope := find_scope(prepared, labels):
                question.scope = "" if await self._despite(prepared, context.run) else scope
            again = partial(self._judge, prepared, context)
            ticket, decision = await _decision(question, context.run, again)
            if decision.verdict == "deny":
                text = decision.reason or "no reason was given"
                why = f" It was asked because {touched}." if touched else ""
                raise Denied(f"The call of {prepared.tool.name!r} was not approved: {text}{why}")
            answer = decision if decision.verdict == "answer" else None
            if decision.verdict != "edit" and (ticket is None or question.matches(ticket)):
                if answer is None:
                    taint.record_approval(prepared, context.run, decision.reach)
                    shown = question.scope if ticket is None else ticket.scope
                    if decision.reach == SESSION and shown and shown == question.scope:
                        record_session_permit(prepared, context.run, shown)
                question.answer = answer
                return prepared, question
            edited = _apply_decision(prepared, ticket, decision)
            if edited is None:
                continue  # that was not what it was approved for: it is asked about anew
            record_edit(prepared, edited, context, "a person")
            agreed, origin = ApprovalQuestion(edited).digest, origin or question.digest
            guards = self._guards
            prepared = await guard_changes(edited, context, guards, guards) if guards else edited

    async def _judge(self, prepared: Prepared, context: ToolContext) -> tuple[str | None, str]:
        """Return why a call needs approval, None if it does not, and the part that is due to taint, if any.

        Raises what `_reason` raises.
        """
        run, rule = context.run, self._rule(prepared)
        reason = await self._reason(prepared, context, rule)
        if reason is not None and is_permitted(prepared, run):
            reason = await self._despite(prepared, run)
        touched = ""
        if run.loop_state.visible_taint:
            touched = taint.approval_reason(prepared, run, is_allowed(prepared.tool, rule))
            if touched and is_permitted(prepared, run, taint.visible_labels(run)):
                touched = ""
        return "; ".join(filter(None, (reason, touched))) or None, touched

    async def _despite(self, prepared: Prepared, run: RunContext) -> str | None:
        """Return the tool's reason that neither a rule nor a permit suppresses, or None."""
        return await tool_reason(getattr(self._needs, "despite_rules", False), prepared, run)

    def _rule(self, prepared: Prepared) -> Rule | None:
        """Return the first rule that matches a call, or None without a match or without rules."""
        if self._rules is None:
            return None
        tool = prepared.tool
        return find_rule(
            self._rules, tool, ArgumentsView(prepared), partial(resolve_argument, tool)
        )

    async def _reason(
        self, prepared: Prepared, context: ToolContext, rule: Rule | None
    ) -> str | None:
        """Return why a call needs approval, or None if it does not.

        Raises:
            Denied: a rule or the tool itself refuses the call.
            Refused: the tool's predicate did not return in time.
        """
        tool, needs = prepared.tool.name, self._needs
        outside = "its result comes from outside" if prepared.tool.executor is external else None
        if rule is not None:
            if rule.action == "deny":
                raise Denied(f"The call of {tool!r} is not allowed here (rule: {rule}).")
            # A tool may have a reason that no rule for the run could know of when it was written.
            despite = await self._despite(prepared, context.run)
            return despite or outside or (None if rule.action == "allow" else f"rule: {rule}")
        seen = [context][: self._sees]
        return await tool_reason(needs, prepared, context.run, *seen) or outside


class ApprovalQuestion:
    """A call that needs approval, with all that a person is shown.

    Args:
        prepared: The call.
        reason: Why it needs approval.
        origin: Digest of the call as the model made it, if it was edited since.
        labels: Taint labels of the run, if they are the reason.
    """

    def __init__(
        self, prepared: Prepared, reason: str = "", origin: str = "", labels: tuple[str, ...] = ()
    ) -> None:
        shown = as_json(prepared)
        self.prepared = prepared
        self.reason = reason
        self.origin = origin
        self.labels = labels
        self.answer: Decision | None = None
        self.hint = self.scope = ""
        self.text = json.dumps(shown, ensure_ascii=False)
        self.digest = call_digest(prepared.tool.name, definition_of(prepared.tool), shown)

    @property
    def masked(self) -> Mapping[str, object]:
        """The arguments with secrets masked, a new copy."""
        shown: dict[str, object] = json.loads(self.text)
        mask = self.prepared.tool.arguments.mask
        return shown if mask is None else dict(mask.apply(shown))

    def lasting_decision(self) -> Decision:
        """Return a decision that approves exactly this call when it runs again after a suspension."""
        if not self.origin:
            return Decision("", self.digest, "approve")
        return Decision("", self.origin, "edit", arguments=json.loads(self.text))

    def ticket(self, change: str = "", *, outside: bool = False) -> Ticket:
        """Build a ticket for the call, with secrets masked.

        Args:
            change: A preview of its changes, shown below the reason.
            outside: True to ask for an external answer in place of running the tool.
        """
        call, tool = self.prepared.call, self.prepared.tool
        outside, effects = outside or tool.executor is external, effects_of(tool)
        until = time() + (EXTERNAL_LIFETIME if outside else LIFETIME)
        reason = "\n".join(filter(None, (self.reason, self.hint, change)))
        about = (call.id, tool.name, self.masked, self.digest, until, reason, effects)
        server = taint.server_of(tool)
        return Ticket(
            new_id(), *about, self.origin, self.labels, outside, server=server, scope=self.scope
        )

    def matches(self, ticket: Ticket) -> bool:
        """Return True if a ticket is for exactly this call and shows it."""
        return self.digest == ticket.digest and self.masked == ticket.arguments


async def _preview(prepared: Prepared, run: RunContext) -> str:
    """Return the tool's preview of a call, "" if it has none; one that fails gives a text that says so."""
    tell: Any = prepared.tool.metadata.get(PREVIEW)
    if not callable(tell):
        return ""
    try:
        limit, name = run.scope.callback_timeout, f"the preview of {prepared.tool.name!r}"
        return str(await run_callback(tell, prepared.arguments, seconds=limit, name=name))
    except Exception as error:
        text = (str(getattr(error, "text", "")) or describe_error(error)).partition("\n")[0]
        masked = prepared.tool.arguments.mask is not None
        return f"What it would change cannot be shown: {type(error).__name__ if masked else text}"


async def _decision(
    question: ApprovalQuestion, run: RunContext, judge: Judge
) -> tuple[Ticket | None, Decision]:
    """Take the saved decision on a call, or ask the approver; emit which, or the request of approval.

    A saved decision is used up. If its ticket fits the tool no more, the call is asked about anew.

    Args:
        question: The question.
        run: The run of the call.
        judge: Judges the call again, if other questions were answered before this one.

    Returns:
        The saved ticket, or None if the approver was asked now or the call continues after a
        suspension; and the decision.

    Raises:
        Suspend: There is no approver, it puts the answer off (None), or the run ends meanwhile; and the run can wait.
        Denied: There is no approver, and the run cannot wait.
    """
    name, call = question.prepared.tool.name, question.prepared.call
    old, decision = run.loop_state.decisions.pop((call.id, question.digest), (None, None))
    if decision is not None and (old is None or _matches_tool(old, question.prepared.tool)):
        report_decision(run, call.id, decision)
        return old, decision
    ticket = question.ticket(await _preview(question.prepared, run))
    if decision is None and old is not None and _is_same_question(old, ticket):
        ticket = old  # somebody may be about to decide it, while others were decided
    if run.approver is not None:
        return None, await ask(run, call.id, ticket, judge)
    if run.listeners:
        run.emit(ApprovalRequested(*run.next_event_fields(), call.id, ticket))
    if run.can_wait:
        raise Suspend(ticket)
    why = f" It is asked because {question.reason}." if question.labels else ""
    raise Denied(
        f"The call of {name!r} needs a person's approval, and nobody is there to give it.{why}"
    )


def _is_same_question(old: Ticket, new: Ticket) -> bool:
    """Return True if an old ticket is valid and shows the same as a new one."""
    same = dataclasses.replace(new, id=old.id, expires=old.expires).seal == old.seal
    return same and not old.expired and old.expires <= new.expires


def _matches_tool(ticket: Ticket, tool: AnyTool) -> bool:
    """Return True if a ticket shows the tool's name, effects and place of execution."""
    effects = json.dumps(effects_of(tool), sort_keys=True)
    same = ticket.tool == tool.name and ticket.external == (tool.executor is external)
    return same and json.dumps(dict(ticket.effects), sort_keys=True) == effects


def _apply_decision(
    prepared: Prepared, ticket: Ticket | None, decision: Decision
) -> Prepared | None:
    """Return the call with the approved arguments, or None if the ticket shows other arguments.

    Raises:
        Denied: the edited arguments are not valid.
    """
    if decision.verdict == "edit" or ticket is None:
        return _edit_arguments(prepared, decision.arguments)
    # The transcript holds the call as the model made it, and the ticket what it was edited to.
    edited = _edit_arguments(prepared, ticket.arguments) if ticket.origin else prepared
    return edited if ApprovalQuestion(edited, "").matches(ticket) else None


def _edit_arguments(prepared: Prepared, wanted: Mapping[str, object]) -> Prepared:
    """Return the call with other arguments, validated.

    Raises:
        Denied: the new arguments are invalid.
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


def refuse_change(before: Prepared, passed: Prepared, context: ToolContext) -> Prepared:
    """Refuse a call whose arguments a step changed after approval.

    Raises:
        Refused: always.
    """
    raise Refused(
        f"The call of {before.tool.name!r} was refused: a step changed its arguments after the "
        "place where they are approved. This is a fault of the program, not of the call."
    )
