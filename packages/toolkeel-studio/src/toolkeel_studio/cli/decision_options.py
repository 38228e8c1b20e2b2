"""The options that decide calls which wait, and the decisions that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import typer

from toolkeel._records.tickets import Decision, Ticket
from toolkeel._records.used_tickets import check_decision
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.suspended_run import find_ticket

Approved = Annotated[
    list[str] | None,
    typer.Option("--approve", metavar="ID", help="Let this call run, as it was shown."),
]
Denied = Annotated[list[str] | None, typer.Option("--deny", metavar="ID", help="Refuse this call.")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for the model; of every --deny.")]
Answered = Annotated[
    list[str] | None,
    typer.Option("--answer", metavar="ID=TEXT", help="This is the call's result: run nothing."),
]


def read_decisions(
    waiting: Sequence[Ticket],
    approved: Iterable[str] | None,
    denied: Iterable[str] | None,
    reason: str,
    answered: Iterable[str] | None,
) -> list[Decision]:
    """Return the decisions that the options of a command make.

    Raises:
        UsageProblem: an id names no ticket that waits, or a reason comes without a denial.
    """
    if reason and not denied:
        raise UsageProblem("--reason says why of --deny, and there is none")
    made = [find_ticket(waiting, id).approve() for id in approved or ()]
    made += [find_ticket(waiting, id).deny(reason) for id in denied or ()]
    made += [find_ticket(waiting, id).answer(text) for id, text in _answers(answered)]
    return made


def check_decisions(waiting: Sequence[Ticket], decisions: Sequence[Decision]) -> list[Decision]:
    """Return decisions that can all be applied, at least one.

    Raises:
        UsageProblem: there is none.
        SetupError: one comes too late, or its call does not permit it.
    """
    if not decisions:
        raise UsageProblem("say --approve ID, --deny ID or --answer ID=TEXT")
    tickets = {ticket.id: ticket for ticket in waiting}
    for decision in decisions:
        check_decision(tickets[decision.ticket], decision)
    return list(decisions)


def _answers(words: Iterable[str] | None) -> Iterator[tuple[str, str]]:
    """Yield ticket ids and answers, read from words such as ``ID=TEXT``."""
    for word in words or ():
        id, equals, text = word.partition("=")
        if not equals:
            raise UsageProblem("--answer takes ID=TEXT: ID=yes")
        yield id, text
