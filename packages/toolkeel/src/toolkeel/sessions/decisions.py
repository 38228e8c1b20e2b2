"""Decisions on the calls of a session that wait: the first counts, and one that cannot count is refused."""

from __future__ import annotations

import json

from toolkeel._records.entries import Decided
from toolkeel._records.tickets import Decision, Ticket
from toolkeel._records.used_tickets import check_decision
from toolkeel.errors import SetupError
from toolkeel.sessions.errors import DecisionRefused
from toolkeel.sessions.inbox import Fields, add_post
from toolkeel.sessions.journal import Storage, load_state, read_entries
from toolkeel.sessions.stores.store import SessionInfo


def read_decisions(storage: Storage, info: SessionInfo) -> tuple[dict[str, Decided], int]:
    """Return the decisions on open tickets, by ticket id, and the number of the last post read."""
    fold = load_state(storage.store, info)
    found, last = dict(fold.decisions), 0
    for post in storage.store.read_posts(info.id):
        last = post.id
        if post.kind == "decision":
            decision = Decision.from_dict(json.loads(post.body)["decision"])
            if not fold.rejects(decision):
                found.setdefault(decision.ticket, Decided(fold.last_run.run, decision, post.who))
    return found, last


def find_decision(storage: Storage, info: SessionInfo, ticket: str) -> Decided | None:
    """Return the decision that counts for a ticket, whether or not its call has run; None for none."""
    known, _ = read_decisions(storage, info)
    return _past_decision(storage, info, ticket) or known.get(ticket)


def _past_decision(storage: Storage, info: SessionInfo, ticket: str) -> Decided | None:
    """Return the entry that decided a ticket whose call has run since, or None."""
    fold = load_state(storage.store, info)
    if ticket in (*fold.open_tickets, *fold.outcome_tickets, *fold.deferred):
        return None
    entries = read_entries(storage.store, info, 0, info.head, Decided.kind)
    decided = (each.entry for each in entries if isinstance(each.entry, Decided))
    return next((each for each in decided if each.decision.ticket == ticket), None)


def post_decision(
    storage: Storage, info: SessionInfo, decision: Decision, who: str
) -> Decided | None:
    """Post a decision. Return an earlier one on the same ticket, or None if this one counts.

    Raises:
        DecisionRefused: See `Session.decide`.
    """
    fields: Fields = who, "decision", {"decision": decision.to_dict()}
    while True:
        known, last = read_decisions(storage, info)
        # The journal first: a later decision on a call that has run may be in the inbox still.
        first = _past_decision(storage, info, decision.ticket) or known.get(decision.ticket)
        if first is not None:
            add_post(storage.store, info.id, fields)  # the journal records it, too
            return first
        _check_waiting(load_state(storage.store, info).find_ticket(decision.ticket), decision, info)
        if add_post(storage.store, info.id, fields, (info.head, last)):
            return None
        info = storage.store.get(info.id)


def _check_waiting(ticket: Ticket | None, decision: Decision, info: SessionInfo) -> None:
    """Raise unless a ticket waits in a session and a decision can count for it.

    Raises:
        DecisionRefused: See `Session.decide`.
    """
    problem = ""
    if ticket is None:
        problem = "no call waits for it: it is of another session or copy, or its run has ended"
    elif decision.seal != ticket.seal:
        problem = f"it is for another ticket than the one for {ticket.tool!r} that waits"
    else:
        try:
            check_decision(ticket, decision)
        except SetupError as error:
            problem = str(error)
    if problem:
        raise DecisionRefused(
            f"the decision does not count in the session {info.name!r}: {problem}. What waits is in "
            "session.pending"
        )
