"""Asking before a call runs: by the tool's own word, or by rules for the run.

An approval is bound to what was shown. The step computes the digest of what would run now, and
compares; whatever does not match was not approved. It serves once, and expires.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import inspect
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import time
from typing import Any, Literal

from toolwright.approval import Decision, Ticket, digest_of, new_ticket
from toolwright.call.step import Recheck, settle
from toolwright.call.validate import as_json, from_shown, prepare
from toolwright.context import Run, ToolContext
from toolwright.define.tool import AnyTool, Needs, Prepared, Proceed, Step
from toolwright.errors import Denied, SetupError, Suspend
from toolwright.events import ApprovalDecided, ApprovalRequested
from toolwright.messages import ToolCall
from toolwright.record import record

Action = Literal["deny", "ask", "allow"]
ORDER: tuple[Action, ...] = ("deny", "ask", "allow")

_RULE = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


@record
class Rule:
    """Which calls a rule is about.

    Args:
        action: What happens to them.
        tool: Pattern of the tool's name, with ``*`` and ``?``.
        arguments: Pattern by argument name; all must match, an absent argument never does.
    """

    action: Action
    tool: str
    arguments: tuple[tuple[str, str], ...] = ()

    def matches(self, tool: str, arguments: Mapping[str, object]) -> bool:
        """Whether it is about this call."""
        if not fnmatch.fnmatchcase(tool, self.tool):
            return False
        return all(
            name in arguments and fnmatch.fnmatchcase(_text(arguments[name]), pattern)
            for name, pattern in self.arguments
        )

    def __str__(self) -> str:
        inner = ", ".join(f"{name}={pattern}" for name, pattern in self.arguments)
        return f"{self.action} {self.tool}" + (f"({inner})" if inner else "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value)


def parse_rule(action: Action, text: str) -> Rule:
    """A rule as people write it: ``tool``, ``tool*`` or ``tool(argument=pattern, ...)``.

    Raises:
        SetupError: if it is not of that form.

    >>> str(parse_rule("deny", "write(path=/etc/*)"))
    'deny write(path=/etc/*)'
    """
    found = _RULE.fullmatch(text)
    if not found:
        raise SetupError(f"{action} {text!r} is no rule; write tool or tool(argument=pattern)")
    arguments = []
    for part in filter(None, map(str.strip, (found[2] or "").split(","))):
        name, equals, pattern = part.partition("=")
        if not equals:
            raise SetupError(f"{action} {text!r}: {part!r} is not argument=pattern")
        arguments.append((name.strip(), pattern.strip()))
    return Rule(action, found[1], tuple(arguments))


class Rules:
    """Which calls are refused, asked about, or let through: deny before ask before allow.

    Where no rule is about a call, the tool's own `approval` decides.

    Args:
        deny, ask, allow: Rules of each kind, as `parse_rule` reads them.

    >>> Rules(deny=["rm"], allow=["*"]).action("rm", {})
    'deny'
    """

    def __init__(
        self, deny: Iterable[str] = (), ask: Iterable[str] = (), allow: Iterable[str] = ()
    ) -> None:
        given = {"deny": deny, "ask": ask, "allow": allow}
        self._rules = [parse_rule(action, text) for action in ORDER for text in given[action]]

    @classmethod
    def from_toml(cls, path: str | Path) -> Rules:
        """Rules of a file: lists ``deny``, ``ask`` and ``allow`` in its table ``[approval]``.

        Raises:
            SetupError: if the file cannot be read, or holds anything else there.
        """
        try:
            table = tomllib.loads(Path(path).read_text("utf-8")).get("approval", {})
        except (OSError, ValueError) as error:
            raise SetupError(f"{path}: {error}") from None
        unknown = set(table) - set(ORDER)
        lists_of_text = all(
            isinstance(rules, list) and all(isinstance(rule, str) for rule in rules)
            for rules in table.values()
        )
        if unknown or not lists_of_text:
            raise SetupError(f"{path}: [approval] holds lists of text: deny, ask and allow")
        return cls(**table)

    def __or__(self, other: Rules) -> Rules:
        """The rules of both, in the same order: deny, ask, allow.

        >>> both = Rules(ask=["write_*"]) | Rules(allow=["*"])
        >>> both.action("write_file", {}), both.action("read", {})
        ('ask', 'allow')
        """
        if not isinstance(other, Rules):
            return NotImplemented
        both = Rules()
        every = [*self._rules, *other._rules]
        both._rules = [rule for action in ORDER for rule in every if rule.action == action]
        return both

    def action(self, tool: str, arguments: Mapping[str, object]) -> Action | None:
        """What the rules say about a call; None if nothing."""
        rule = self.rule(tool, arguments)
        return rule.action if rule else None

    def rule(self, tool: str, arguments: Mapping[str, object]) -> Rule | None:
        """The rule that decides about a call."""
        return next((rule for rule in self._rules if rule.matches(tool, arguments)), None)


def approval(needs: Needs, rules: Rules | None, guards: Sequence[Recheck]) -> Step:
    """The step that asks.

    Args:
        needs: The tool's own word: never, always, or if a predicate over the validated arguments
            says so. A predicate that fails counts as yes.
        rules: Those of the run.
        guards: Look at arguments a person has edited; what they change is asked about anew.
    """

    async def approve(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        approved = ""
        while True:
            reason = await _why(needs, rules, prepared)
            if reason is None:
                return await proceed(prepared)
            shown = as_json(prepared)
            digest = digest_of(prepared.tool.name, definition_of(prepared.tool), shown)
            if approved == digest:
                break
            decision = await _decision(prepared, context.run, shown, digest, reason)
            if decision.verdict == "deny":
                text = decision.reason or "no reason was given"
                raise Denied(f"The call of {prepared.tool.name!r} was not approved: {text}")
            if decision.verdict == "approve":
                break
            edited = prepare(_edited(prepared.call, decision), prepared.tool)
            approved = _digest(edited)
            prepared = await settle(edited, context, guards, guards) if guards else edited
        # What runs is made anew from what was shown: nobody else holds it, so nobody changes it.
        return await proceed(from_shown(prepared, shown))

    return approve


async def _why(needs: Needs, rules: Rules | None, prepared: Prepared) -> str | None:
    """Why the call must be asked about; None if it need not be.

    Raises:
        Denied: a rule refuses it.
    """
    tool = prepared.tool.name
    rule = rules.rule(tool, as_json(prepared)) if rules else None
    if rule is not None:
        if rule.action == "deny":
            raise Denied(f"The call of {tool!r} is not allowed here (rule: {rule}).")
        return None if rule.action == "allow" else f"rule: {rule}"
    if not callable(needs):
        return "the tool always asks" if needs else None
    try:
        answer = needs(prepared.arguments)
        wanted = await answer if inspect.isawaitable(answer) else answer
    except Exception as error:
        return f"its approval predicate failed: {type(error).__name__}: {error}"
    return "the tool asks for these arguments" if wanted else None


async def _decision(
    prepared: Prepared,
    run: Run[Any],
    arguments: Mapping[str, object],
    digest: str,
    reason: str,
) -> Decision:
    """Take the decision that was given with the run, or ask for one.

    Raises:
        Suspend: nobody is there to ask, and the run can wait.
        Denied: nobody is there to ask, and it cannot.
    """
    name, call = prepared.tool.name, prepared.call
    known = run.decisions.pop((call.id, digest), None)
    if known is not None:
        _tell(run, call.id, known)
        return known
    effects = _effects(prepared.tool)
    ticket = new_ticket(call.id, name, arguments, digest, reason, effects)
    if run.listeners:
        run.emit(ApprovalRequested(*run.next(), call.id, ticket))
    if run.approver is not None:
        decision = await _ask(run, ticket)
        _tell(run, call.id, decision)
        return decision
    if run.suspends:
        raise Suspend(ticket)
    raise Denied(f"The call of {name!r} needs a person's approval, and nobody is there to give it.")


def _tell(run: Run[Any], call_id: str, decision: Decision) -> None:
    if run.listeners:
        given = (decision.ticket, decision.verdict, decision.reason)
        run.emit(ApprovalDecided(*run.next(), call_id, *given))


async def _ask(run: Run[Any], ticket: Ticket) -> Decision:
    """Ask the approver; whatever is unclear means no."""
    assert run.approver is not None
    try:
        answer = run.approver(ticket)
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:
        return ticket.deny(f"the approver failed: {type(error).__name__}")
    if answer is True:
        return ticket.approve()
    if not isinstance(answer, Decision) or answer.digest != ticket.digest or ticket.expired:
        return ticket.deny("" if answer is False else "the answer was not for this call")
    return answer


def _edited(call: ToolCall, decision: Decision) -> ToolCall:
    return ToolCall(call.id, call.name, decision.arguments)


def _digest(prepared: Prepared) -> str:
    return digest_of(prepared.tool.name, definition_of(prepared.tool), as_json(prepared))


def definition_of(tool: AnyTool) -> Mapping[str, object]:
    """What a person relies on when they approve a call of the tool."""
    return {
        "description": tool.description,
        "parameters": tool.parameters,
        "effects": _effects(tool),
    }


def _effects(tool: AnyTool) -> dict[str, object]:
    """The tool's hints as JSON-ready data."""
    hints = dataclasses.asdict(tool.effects)
    return {**hints, "resources": list(tool.effects.resources)}


_spent: dict[str, float] = {}
"""Tickets decided in this process, until they would have expired anyway."""


def accepted(
    tickets: Iterable[Ticket], decisions: Iterable[Decision]
) -> dict[tuple[str, str], Decision]:
    """The decisions that count, by call and digest: each for one ticket that waits.

    Raises:
        SetupError: for one that is for no such ticket; nothing is guessed.
    """
    for old in [key for key, expires in _spent.items() if expires < time()]:
        del _spent[old]
    waiting = {ticket.id: ticket for ticket in tickets}
    good = {}
    for decision in decisions:
        ticket = waiting.pop(decision.ticket, None)
        if ticket is None or ticket.digest != decision.digest:
            raise SetupError("a decision is for no ticket that waits, or was used already")
        if ticket.expired:
            raise SetupError(f"the ticket for {ticket.tool!r} has expired; it must be asked anew")
        if ticket.id in _spent:
            raise SetupError(f"the ticket for {ticket.tool!r} has been used already")
        _spent[ticket.id] = ticket.expires
        good[ticket.call_id, ticket.digest] = decision
    return good
