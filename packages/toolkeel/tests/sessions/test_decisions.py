"""A decision on a call of a session counts, or whoever decides hears what happened instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import time

import pytest

from toolkeel import Agent, tool
from toolkeel.approvals import Decision, Ticket
from toolkeel.events import ApprovalDecided, Event
from toolkeel.sessions import Session, Sessions, SessionStore
from toolkeel.sessions.errors import DecisionRefused, SessionError
from toolkeel.testing.scripted import Scripted, call


@pytest.fixture
def sessions(store: str | SessionStore) -> Iterator[Sessions]:
    made = Sessions(store)
    yield made
    made.close()


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def waiting(session: Session) -> Ticket:
    """The ticket of a payment that waits in a session."""
    Agent(Scripted([call("pay", {"amount": 5})]), [pay]).run_sync("go", session=session)
    [ticket] = session.pending
    return ticket


def posts(session: Session) -> int:
    """How much a session has heard that no run has read."""
    return len(session._storage.store.read_posts(session.info.id))


def test_a_decision_that_cannot_count_is_refused_and_nothing_is_written(sessions: Sessions) -> None:
    session, other = sessions["ada"], sessions["bob"]
    ticket, foreign = waiting(session), waiting(other)
    cases: dict[str, Decision] = {
        "no call waits for it": foreign.approve(),
        "another ticket than the one for 'pay'": replace(ticket.approve(), seal=foreign.seal),
    }
    for why, decision in cases.items():
        with pytest.raises(DecisionRefused, match=f"the session 'ada': .*{why}"):
            session.decide(decision)
    assert posts(session) == 0 and session.decisions == {}
    assert session.decide(ticket.approve()) is None
    result = Agent(Scripted(["done"]), [pay]).run_sync(None, session=session)
    assert (result.output, session.messages[2].text) == ("done", "paid 5")


def test_a_run_with_a_decision_that_cannot_count_is_refused_and_nothing_is_written(
    sessions: Sessions,
) -> None:
    session, other = sessions["ada"], sessions["bob"]
    ticket, foreign = waiting(session), waiting(other)
    clerk, before = Agent(Scripted(["done", "again"]), [pay]), len(session.entries())
    for prompt in (None, "hello"):
        for decisions in ([foreign.approve()], [ticket.approve(), foreign.approve()]):
            with pytest.raises(DecisionRefused, match="no call waits for it"):
                clerk.run_sync(prompt, session=session, decisions=decisions)
    assert len(session.entries()) == before and posts(session) == 0
    for _ in range(2):  # a second click does no harm
        done = clerk.run_sync(None, session=session, decisions=[ticket.approve()])
        assert (done.output, session.messages[2].text) == ("done", "paid 5")
    with pytest.raises(DecisionRefused, match=r"has decided that call already.*'approve'"):
        clerk.run_sync(None, session=session, decisions=[ticket.deny("no")])
    with pytest.raises(DecisionRefused, match="no call waits for it"):
        clerk.run_sync("hello", session=session, decisions=[foreign.approve()])
    assert len(session.messages) == 4


@pytest.mark.parametrize("answer", [True, False, "deny"])
def test_of_an_approver_and_somebody_else_the_first_decision_counts(
    sessions: Sessions, answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    session, events = sessions["ada"], list[Event]()
    ticket = waiting(session)
    said: list[object] = []

    def approver(shown: Ticket) -> bool | Decision:
        assert shown == ticket
        if isinstance(answer, bool):
            said.append(session.decide(ticket.deny("too much"), "bob"))
            return answer
        return ticket.deny("too much")

    done = Agent(Scripted(["done"]), [pay]).run_sync(
        None, session=session, approver=approver, listeners=[events.append]
    )
    assert done.messages[2].text == "The call of 'pay' was not approved: too much"
    assert said == ([] if answer == "deny" else [None])
    [decided] = [each for each in events if isinstance(each, ApprovalDecided)]
    assert (decided.verdict, decided.reason) == ("deny", "too much")
    assert ("bob had decided it" in caplog.text) == (answer != "deny")
    first = session.decide(ticket.approve(), "eve")  # whoever comes later is given the decision
    assert first is not None and first.decision.verdict == "deny"


def test_an_expired_ticket_is_not_decided(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = waiting(sessions["ada"])
    monkeypatch.setattr("toolkeel._records.tickets.time", lambda: time() + 2 * 24 * 3600)
    with pytest.raises(DecisionRefused, match="has expired; it must be asked anew"):
        sessions["ada"].decide(ticket.approve())


def test_a_second_decision_returns_the_first_before_and_after_the_call_has_run(
    sessions: Sessions,
) -> None:
    session = sessions["ada"]
    ticket = waiting(session)
    assert session.decide(ticket.approve(), "ada") is None
    for _ in range(2):
        first = session.decide(ticket.deny("no"), "eve")
        assert first is not None and (first.who, first.decision.verdict) == ("ada", "approve")
        Agent(Scripted(["done"]), [pay]).run_sync(None, session=session)


def test_a_decided_call_that_has_begun_waits_for_nobody(sessions: Sessions) -> None:
    session = sessions["ada"]
    ticket, seen = waiting(session), list[tuple[Ticket, ...]]()

    @tool(name="pay", approval=True)
    def watched(amount: int) -> str:
        """Pay."""
        seen.append(session.pending)  # as after a kill here
        return f"paid {amount}"

    session.decide(ticket.approve())
    assert session.pending == (ticket,)
    assert Agent(Scripted(["done"]), [watched]).run_sync(None, session=session).output == "done"
    assert seen == [()]


def test_a_session_that_does_not_exist_is_not_made_by_a_decision(sessions: Sessions) -> None:
    ticket = waiting(sessions["ada"])
    with pytest.raises(SessionError, match="there is no session 'new'"):
        sessions["new"].decide(ticket.approve())
    assert not sessions["new"].exists
