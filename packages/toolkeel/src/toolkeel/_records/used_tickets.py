"""Matching of decisions to tickets, and marks of decided tickets, so that none serves twice."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import monotonic, time
from typing import TypeAlias

from toolkeel._common.cancel import get_logger
from toolkeel._common.data_folder import data_folder, explain_data_folder
from toolkeel._records.tickets import EXTERNAL_LIFETIME, Decision, Ticket
from toolkeel.errors import SetupError

_ID = re.compile("[0-9a-f]{32}")
MAX_MARKS = 1000
"""Marks that are kept however old they are."""


def is_id(text: str) -> bool:
    """Return True if a text has the form of a ticket id, so that it may name a file."""
    return _ID.fullmatch(text) is not None


def mark_decided(folder: Path | None, tickets: Iterable[str]) -> None:
    """Write a file for each decided ticket, so that no process uses its decision again.

    Args:
        folder: Folder of the marks, created if missing; by default one in the user's data folder.
            Marks of tickets that expired long ago are removed.
        tickets: Ids of the tickets whose decisions are used now.

    Raises:
        SetupError: an id is no ticket's, a ticket was used before, in this or another process, or a
            mark cannot be written. No new mark is left in that case.
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
    """Remove marks twice as old as any ticket can become, except the newest `MAX_MARKS`.

    A clock that runs ahead makes all marks old.
    """
    with contextlib.suppress(OSError):  # another process may do the same
        marks = [mark for mark in folder.iterdir() if is_id(mark.name)]
        made = {mark: mark.stat().st_mtime for mark in marks} if len(marks) > MAX_MARKS else {}
        for mark in sorted(made, key=made.__getitem__)[:-MAX_MARKS]:
            if made[mark] < time() - 2 * EXTERNAL_LIFETIME:
                mark.unlink()


Matched: TypeAlias = Mapping[str, tuple[Ticket, Decision]]
"""Decisions with their tickets, by ticket id."""
_spent: dict[str, tuple[float, str]] = {}
"""Tickets used in this process: when they expire by the monotonic clock, and the session's run that
used them, if one did."""


def _monotonic_expiry(ticket: Ticket) -> float:
    """Return the time of the monotonic clock at which a ticket expires."""
    return ticket.expires + monotonic() - time()


def claim_decisions(folder: Path | None, decisions: Matched, owner: str) -> Matched:
    """Mark decisions as used by one run of a session. Return those that no other run has used.

    A run that was killed finds its own marks and goes on. A decision that was used elsewhere, as in a
    saved copy of the run, is omitted with a warning. If marks cannot be written, no saved run can use
    the decision either.

    Args:
        folder: See `mark_decided`.
        decisions: Decisions that are used now, with their tickets, by ticket id.
        owner: Id of the run.

    Raises:
        SetupError: `folder` is None, and no home folder is known.
    """
    folder, claimed = folder or data_folder() / "decided", {}
    for id, (ticket, decision) in decisions.items():
        _, first = _spent.setdefault(id, (_monotonic_expiry(ticket), owner))
        if first == owner and is_id(id) and _claim(folder, id, owner):
            claimed[id] = ticket, decision
        else:
            get_logger().warning(
                "the ticket for %r was used elsewhere; it is asked anew", ticket.tool
            )
    return claimed


def is_used_elsewhere(folder: Path | None, ticket: str, owner: str) -> bool:
    """Return True if a ticket was used by another run than `owner`, in any process; mark nothing.

    Marks are those of `claim_decisions`, in `folder`: None is the one in the user's data folder. Raises as it does.
    """
    if _spent.get(ticket, (0.0, owner))[1] != owner:
        return True
    with contextlib.suppress(OSError):  # no mark
        mark = (folder or data_folder() / "decided") / ticket
        return is_id(ticket) and mark.read_text("utf-8") != owner
    return False


def _claim(folder: Path, ticket: str, owner: str) -> bool:
    """Write a mark with its owner in one step. Return False if another owner has written it.

    If no mark can be written, a warning is logged and the result is True.
    """
    name = ""
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        _sweep(folder)
        descriptor, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(owner)
        os.link(name, folder / ticket)
    except FileExistsError:
        return (folder / ticket).read_text("utf-8") == owner
    except OSError as error:
        get_logger().warning(
            "a used ticket cannot be noted: %s%s", error, explain_data_folder(folder)
        )
    finally:
        if name:
            os.unlink(name)
    return True


def match_decisions(
    tickets: Iterable[Ticket], decisions: Iterable[Decision], *, in_session: bool = False
) -> dict[str, tuple[Ticket, Decision]]:
    """Return each decision with the waiting ticket that it is for, by ticket id; mark none as used.

    Args:
        tickets: The tickets that wait.
        decisions: The decisions.
        in_session: True to accept decisions used before; `claim_decisions` then checks them.

    Raises:
        SetupError: a decision is for no waiting ticket, is not possible, or was used; none is used up
            then.
    """
    for old in [key for key, (expires, _) in _spent.items() if expires < monotonic()]:
        del _spent[old]
    waiting = {ticket.id: ticket for ticket in tickets}
    good: dict[str, tuple[Ticket, Decision]] = {}
    for decision in decisions:
        ticket = waiting.pop(decision.ticket, None)
        if ticket is None or (decision.ticket, decision.seal) != (ticket.id, ticket.seal):
            raise SetupError("a decision is for no ticket that waits, or was used already")
        check_decision(ticket, decision)
        if not in_session and ticket.id in _spent:
            raise SetupError(f"the ticket for {ticket.tool!r} has been used already")
        good[ticket.id] = ticket, decision
    return good


def check_decision(ticket: Ticket, decision: Decision) -> None:
    """Raise unless a ticket can be decided now and with this verdict.

    Raises:
        SetupError: the ticket has expired, or the decision approves a call that nothing here runs.
    """
    if ticket.expired:
        raise SetupError(f"the ticket for {ticket.tool!r} has expired; it must be asked anew")
    if decision.verdict not in ticket.verdicts:
        raise SetupError(
            f"the call of {ticket.tool!r} cannot be decided by {decision.verdict!r:.40}: nothing "
            "here runs it; use ticket.answer(value), or ticket.deny()"
        )


def mark_used(decisions: Mapping[str, tuple[Ticket, Decision]]) -> None:
    """Remember in this process that decisions were used, so that `match_decisions` refuses them.

    Raises:
        SetupError: one was used meanwhile; no decision is used up in that case.
    """
    for ticket, _ in decisions.values():
        if ticket.id in _spent:
            raise SetupError(f"the ticket for {ticket.tool!r} has been used already")
    _spent.update({t.id: (_monotonic_expiry(t), "") for t, _ in decisions.values()})


def decisions_by_call(
    tickets: Iterable[Ticket], decisions: Mapping[str, tuple[Ticket, Decision]]
) -> dict[tuple[str, str], tuple[Ticket | None, Decision | None]]:
    """Return each ticket with its decision, None if undecided, by call id and digest before any edit."""
    return {
        (ticket.call_id, ticket.origin or ticket.digest): decisions.get(ticket.id, (ticket, None))
        for ticket in tickets
    }
