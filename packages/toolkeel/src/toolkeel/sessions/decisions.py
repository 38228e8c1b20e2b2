"""Decisions on the calls of a session that wait: the first counts, and one that cannot count is refused.

Each decision is a post in the inbox, whichever way it comes: from `Session.decide`, with a run, or from
the approver of a run. So all are compared in one place, and whoever comes second is told.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

from toolkeel._common.cancel import get_logger
from toolkeel._records.entries import Decided
from toolkeel._records.tickets import Decision, Ticket
from toolkeel._records.used_tickets import check_decision
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.sessions.errors import DecisionRefused
from toolkeel.sessions.inbox import Fields, add_post, take_posts
from toolkeel.sessions.journal import SessionJournal, load_state, read_entries
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.session_lock import user_name
from toolkeel.sessions.stores.store import Post, SessionInfo, SessionStore


def read_decisions(store: SessionStore, info: SessionInfo) -> tuple[dict[str, Decided], int]:
    """Return the first decision by ticket id, and the number of the last post read; 0 if there is none.

    Those are the decisions that the journal has on calls that have not run, then those in the inbox
    that no open ticket rejects.

    Raises:
        SessionError: the session cannot be read.
        ValueError, KeyError: a posted decision is damaged.
    """
    fold = load_state(store, info)
    found, last = dict(fold.decisions), 0
    for post in store.read_posts(info.id):
        last = post.id
        if post.kind == "decision":
            decision = Decision.from_dict(json.loads(post.body)["decision"])
            if not fold.rejects(decision):
                found.setdefault(decision.ticket, Decided(fold.last_run.run, decision, post.who))
    return found, last


def pending_tickets(fold: JournalState) -> tuple[Ticket, ...]:
    """Return what waits for a person: not a decided call that has begun, of which it may be asked if it happened."""
    begun = {each.call_id for each in fold.open_calls.values()}
    open = fold.open_tickets.values()
    done = {each.id for each in open if each.call_id in begun and each.id in fold.decisions}
    deferred = (each.ticket for each in fold.deferred.values())
    waiting = (each for each in open if each.id not in done)
    return (*fold.outcome_tickets.values(), *waiting, *deferred)


def find_decision(store: SessionStore, info: SessionInfo, ticket: str) -> Decided | None:
    """Return the decision that counts for a ticket, whether or not its call has run; None for none.

    Raises as `read_decisions`.
    """
    known, _ = read_decisions(store, info)
    return _past_decision(store, info, ticket) or known.get(ticket)


def _past_decision(store: SessionStore, info: SessionInfo, ticket: str) -> Decided | None:
    """Return the entry that decided a ticket whose call has run since, or None. Raises as `load_state`."""
    fold = load_state(store, info)
    if ticket in (*fold.open_tickets, *fold.outcome_tickets, *fold.deferred):
        return None
    entries = read_entries(store, info, 0, info.head, Decided.kind)
    decided = (each.entry for each in entries if isinstance(each.entry, Decided))
    return next((each for each in decided if each.decision.ticket == ticket), None)


def post_decision(
    store: SessionStore, info: SessionInfo, decision: Decision, who: str
) -> Decided | None:
    """Post a decision. Return an earlier one on the same ticket, or None if this one counts.

    A decision that does not count is posted, too, so that the journal has it.

    Raises:
        DecisionRefused: See `Session.decide`.
        SessionError: the session is deleted, or cannot be read.
    """
    fields: Fields = who, "decision", {"decision": decision.to_dict()}
    while True:
        known, last = read_decisions(store, info)
        # The journal first: a later decision on a call that has run may be in the inbox still.
        first = _past_decision(store, info, decision.ticket) or known.get(decision.ticket)
        if first is not None:
            add_post(store, info.id, fields)  # the journal records it, too
            return first
        _check_waiting(load_state(store, info).find_ticket(decision.ticket), decision, info)
        if add_post(store, info.id, fields, (info.head, last)):
            return None
        info = store.get(info.id)


def read_inbox(
    store: SessionStore, info: SessionInfo, decisions: Sequence[Decision]
) -> tuple[list[Decision], list[Post]]:
    """Post the decisions that a run was started with, as `post_decision` does, and read the inbox.

    Returns:
        The decisions that came too late, which are not posted: their calls are asked about again. And
        all posts.

    Raises:
        DecisionRefused: one cannot count, and none is posted; or another decision on its ticket was first.
    """
    fold = load_state(store, info) if decisions else JournalState()
    late = []
    for each in decisions:
        ticket = fold.find_ticket(each.ticket)
        if ticket is not None and ticket.expired and not fold.rejects(each):
            late.append(each)
        elif _past_decision(store, info, each.ticket) is None:
            _check_waiting(ticket, each, info)
    for each in decisions:
        first = None if each in late else post_decision(store, info, each, user_name())
        if first is not None and replace(first.decision, reason=each.reason) != each:
            who, verdict = first.who or "another person", first.decision.verdict
            raise DecisionRefused(
                f"the decision does not count in the session {info.name!r}: {who} has decided that "
                f"call already (verdict {verdict!r})"
            )
    return late, store.read_posts(info.id)


def deferred_to_ask(fold: JournalState, run: RunContext) -> set[str]:
    """Return the tickets of deferred calls about which a run asks: all by its approver, else expired ones."""
    by_approver, deferred = run.approver is not None, fold.deferred.items()
    return {id for id, each in deferred if by_approver or each.ticket.expired}


async def settle_decision(
    journal: SessionJournal, run: str, ticket: Ticket, decision: Decision
) -> Decision:
    """Return which decision counts for a ticket: an approver's, or an earlier one that was posted.

    Side effect: where the ticket is one of the session's, which others can decide, too, the decision
    that counts is written to the journal. A warning is logged if it differs from the approver's.

    Args:
        journal: The journal of the session.
        run: Id of the run.
        ticket: What the approver was asked.
        decision: The answer of the approver.
    """
    if journal.state.find_ticket(ticket.id) is None or ticket.expired:
        return decision
    await journal.commit()
    info = await asyncio.to_thread(journal.load_info)
    who = user_name()
    first = await asyncio.to_thread(post_decision, journal.store, info, decision, who)
    posts = await asyncio.to_thread(journal.store.read_posts, info.id)
    for _ in take_posts(journal, run, [each for each in posts if each.kind == "decision"]):
        """No decision is a cancel."""
    if first is None or first.decision == decision:
        return decision
    get_logger().warning(
        "the approver's answer on %r does not count: %s had decided it (%s)",
        ticket.tool,
        first.who or "another person",
        first.decision.verdict,
    )
    return first.decision


def _check_waiting(ticket: Ticket | None, decision: Decision, info: SessionInfo) -> None:
    """Raise unless a ticket waits in a session (None: it does not) and a decision can count for it.

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
