"""Which decisions count for which tickets, and which tickets were decided: none serves twice."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import monotonic, time

from toolkeel._common.data_folder import data_folder
from toolkeel._records.tickets import PATIENCE, Decision, Ticket
from toolkeel.errors import SetupError

_ID = re.compile("[0-9a-f]{32}")
LAST = 1000
"""Marks that are kept however old they are."""


def is_id(text: str) -> bool:
    """Whether a text can be the id of a ticket; only then it may name a file."""
    return _ID.fullmatch(text) is not None


def note_decided(folder: Path | None, tickets: Iterable[str]) -> None:
    """Leave a mark for each ticket, which other processes see.

    Args:
        folder: Where the marks are; it is made, and by default one of the user's data folder. Marks
            of tickets long expired are removed.
        tickets: Ids of those whose decisions are used now.

    Raises:
        SetupError: one of them was used before, here or in another process; or it cannot be noted.
            No new mark is left then.
    """
    wanted = list(tickets)
    if not all(map(is_id, wanted)):
        raise SetupError("a decision is for something that is no ticket")
    folder = folder or data_folder() / "decided"
    made: list[Path] = []
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        _sweep(folder)
        for path in map(folder.joinpath, wanted):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            made.append(path)
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        if isinstance(error, FileExistsError) and str(error.filename) != str(folder):
            raise SetupError(
                "a decision in this saved run has served already: it is a copy of one that was used"
            ) from None
        raise SetupError(
            f"what was decided cannot be noted, so it is not used: {error}; name a folder that can "
            "be written, and that all processes share, with Agent(used_tickets=...)"
        ) from None


def _sweep(folder: Path) -> None:
    """Remove old marks; the last stay, since a clock that runs ahead makes all of them old."""
    with contextlib.suppress(OSError):  # another process may do the same
        marks = [mark for mark in folder.iterdir() if is_id(mark.name)]
        made = {mark: mark.stat().st_mtime for mark in marks} if len(marks) > LAST else {}
        for mark in sorted(made, key=made.__getitem__)[:-LAST]:
            if made[mark] < time() - 2 * PATIENCE:
                mark.unlink()


_spent: dict[str, float] = {}
"""Tickets decided in this process, until they would have expired anyway: by the clock that nobody sets."""


def accepted(
    tickets: Iterable[Ticket], decisions: Iterable[Decision]
) -> dict[str, tuple[Ticket, Decision]]:
    """The decisions that count, by ticket: each for one that waits.

    Raises:
        SetupError: for one that is for no such ticket; nothing is guessed, and none is used up.
    """
    for old in [key for key, expires in _spent.items() if expires < monotonic()]:
        del _spent[old]
    waiting = {ticket.id: ticket for ticket in tickets}
    good: dict[str, tuple[Ticket, Decision]] = {}
    for decision in decisions:
        ticket = waiting.pop(decision.ticket, None)
        if ticket is None or (decision.ticket, decision.seal) != (ticket.id, ticket.seal):
            raise SetupError("a decision is for no ticket that waits, or was used already")
        check_decision(ticket, decision)
        if ticket.id in _spent:
            raise SetupError(f"the ticket for {ticket.tool!r} has been used already")
        good[ticket.id] = ticket, decision
    return good


def check_decision(ticket: Ticket, decision: Decision) -> None:
    """See that a ticket can be decided now, and like this.

    Raises:
        SetupError: it came too late, or nothing here runs the call that it lets run.
    """
    if ticket.expired:
        raise SetupError(f"the ticket for {ticket.tool!r} has expired; it must be asked anew")
    if decision.verdict not in ticket.verdicts:
        raise SetupError(
            f"the call of {ticket.tool!r} cannot be decided by {decision.verdict!r:.40}: nothing "
            "here runs it; use ticket.answer(value), or ticket.deny()"
        )


def spend(decisions: Mapping[str, tuple[Ticket, Decision]]) -> None:
    """Use decisions up that were `accepted`: none of them serves again.

    Raises:
        SetupError: one was used meanwhile; then none is used up.
    """
    for ticket, _ in decisions.values():
        if ticket.id in _spent:
            raise SetupError(f"the ticket for {ticket.tool!r} has been used already")
    ahead = monotonic() - time()
    _spent.update({ticket.id: ticket.expires + ahead for ticket, _ in decisions.values()})


def by_call(
    tickets: Iterable[Ticket], decisions: Mapping[str, tuple[Ticket, Decision]]
) -> dict[tuple[str, str], tuple[Ticket | None, Decision | None]]:
    """What `accepted` gave, by call and digest, for the calls of these tickets; None if nothing."""
    return {
        (ticket.call_id, ticket.origin or ticket.digest): decisions.get(ticket.id, (ticket, None))
        for ticket in tickets
    }
