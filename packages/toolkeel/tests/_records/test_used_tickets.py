"""A ticket that was decided is noted where other processes see it, and serves once for all."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from toolkeel import Agent, RunResult, SetupError, tool
from toolkeel._records import used_tickets
from toolkeel._records.tickets import EXTERNAL_LIFETIME, Ticket, new_id
from toolkeel._records.used_tickets import claim_decisions, mark_decided
from toolkeel.runs import RunState
from toolkeel.sessions import Sessions
from toolkeel.sessions.errors import DecisionRefused
from toolkeel.testing.scripted import Scripted, call


def test_a_ticket_is_noted_once(tmp_path: Path) -> None:
    one, other = new_id(), new_id()
    folder = tmp_path / "new" / "decided"
    mark_decided(folder, [one])
    mark_decided(folder, [other])
    with pytest.raises(SetupError, match="served already"):
        mark_decided(folder, [new_id(), one])


def test_of_many_at_once_one_wins(tmp_path: Path) -> None:
    ticket, won, lost = new_id(), [], []
    together = threading.Barrier(8)

    def note() -> None:
        together.wait()
        try:
            mark_decided(tmp_path, [ticket])
            won.append(1)
        except SetupError:
            lost.append(1)

    threads = [threading.Thread(target=note) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 7)


@pytest.mark.parametrize("id", ["../escaped", "", "A" * 32, "0" * 31, "0" * 32 + "\n"])
def test_what_is_no_id_names_no_file(tmp_path: Path, id: str) -> None:
    folder = tmp_path / "decided"
    with pytest.raises(SetupError, match="no ticket"):
        mark_decided(folder, [id])
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_means_no(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(SetupError, match="cannot be noted"):
        mark_decided(tmp_path / "file", [new_id()])


def test_marks_that_nobody_needs_any_more_go_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(used_tickets, "MAX_MARKS", 1)
    old, young = new_id(), new_id()
    mark_decided(tmp_path, [old, young])
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    long_ago = time.time() - 3 * EXTERNAL_LIFETIME
    for name in (old, "notes.txt"):
        os.utime(tmp_path / name, (long_ago, long_ago))
    mark_decided(tmp_path, [new_id()])
    assert {path.name for path in tmp_path.iterdir()} >= {young, "notes.txt"}
    assert not (tmp_path / old).exists()


def test_a_clock_that_was_ahead_for_a_while_lets_no_decision_serve_again(tmp_path: Path) -> None:
    ticket = new_id()
    mark_decided(tmp_path, [ticket])
    long_ago = time.time() - 3 * EXTERNAL_LIFETIME
    os.utime(tmp_path / ticket, (long_ago, long_ago))  # as it looks from there
    mark_decided(tmp_path, [new_id()])
    with pytest.raises(SetupError, match="served already"):
        mark_decided(tmp_path, [ticket])


def test_where_one_of_several_was_used_the_others_stay_unused(tmp_path: Path) -> None:
    used, other = new_id(), new_id()
    mark_decided(tmp_path, [used])
    with pytest.raises(SetupError, match="served already"):
        mark_decided(tmp_path, [other, used])
    mark_decided(tmp_path, [other])


@pytest.mark.parametrize("folder", [None, "decided"])
def test_agents_of_two_processes_that_share_a_folder_run_an_approved_call_once(
    folder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKEEL_DATA", str(tmp_path))
    ran = []

    @tool(approval=True)
    def remove(path: str) -> str:
        """Remove a file."""
        ran.append(path)
        return "removed"

    def agent(*replies: object) -> Agent:
        return Agent(Scripted(replies), [remove], used_tickets=folder and tmp_path / folder)  # type: ignore[arg-type]

    state = agent(call("remove", {"path": "a"})).run_sync("tidy").state
    decision = state.pending[0].approve()
    assert agent("Done.").run_sync(state, decisions=[decision]).reason == "answered"
    used_tickets._spent.clear()  # what another process knows
    with pytest.raises(SetupError, match="served already"):
        agent("Done.").run_sync(state, decisions=[decision])
    assert ran == ["a"]


# — a decision serves once, whatever route uses it —


def _paid(first: Sessions) -> tuple[Any, RunResult[Any], list[int]]:
    paid: list[int] = []

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    model = Scripted([[call("pay", {"amount": 7})], *["done"] * 5])
    clerk = Agent(model, [pay])
    return clerk, clerk.run_sync("go", session=first["ada"]), paid


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_a_decision_of_a_session_does_not_serve_in_its_saved_state(verdict: str) -> None:
    sessions = Sessions(":memory:")
    clerk, first, paid = _paid(sessions)
    [ticket] = first.pending
    saved = RunState.from_json(first.state.to_json())
    clerk.run_sync(None, session=sessions["ada"], decisions=[getattr(ticket, verdict)()])
    once = [7] * (verdict == "approve")
    for process in ("this", "another"):
        if process == "another":
            used_tickets._spent.clear()
        for again in (first.state, saved):
            with pytest.raises(SetupError, match=r"(used|served) already"):
                clerk.run_sync(again, decisions=[ticket.approve()])
    assert paid == once


@pytest.mark.parametrize("process", ["this", "another"])
@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("route", ["saved state", "session"])
def test_what_an_approver_has_decided_serves_on_no_other_route(
    route: str, answer: bool, process: str
) -> None:
    sessions = Sessions(":memory:")
    clerk, first, paid = _paid(sessions)
    [ticket] = first.pending
    if route == "session":
        clerk.run_sync(None, session=sessions["ada"], approver=lambda shown: answer)
    else:
        clerk.run_sync(first.state, approver=lambda shown: answer)
    once = [7] * answer
    if process == "another":
        used_tickets._spent.clear()
    with pytest.raises(SetupError, match=r"(used|served) already"):
        clerk.run_sync(first.state, decisions=[ticket.approve()])
    asked: list[Ticket] = []
    clerk.run_sync(first.state, approver=lambda shown: bool(asked.append(shown)))
    assert paid == once and [shown.id == ticket.id for shown in asked] == [False]
    if route != "session":
        again = clerk.run_sync(None, session=sessions["ada"], decisions=[ticket.approve()])
        assert paid == once and again.reason == "waiting"


def test_a_decision_of_a_saved_state_does_not_serve_in_its_session() -> None:
    for process in ("this", "another"):
        sessions = Sessions(":memory:")
        clerk, first, paid = _paid(sessions)
        [ticket] = first.pending
        clerk.run_sync(first.state, decisions=[ticket.approve()])
        if process == "another":
            used_tickets._spent.clear()
        again = clerk.run_sync(None, session=sessions["ada"], decisions=[ticket.approve()])
        assert paid == [7] and again.reason == "waiting"
        [new] = again.pending
        assert new.id != ticket.id
        clerk.run_sync(None, session=sessions["ada"], decisions=[new.deny("it was paid")])
        assert paid == [7]


def test_a_run_that_was_killed_uses_its_own_decision_again(tmp_path: Path) -> None:
    ticket = Ticket(new_id(), "1", "pay", {}, "", time.time() + 60)
    decisions = {ticket.id: (ticket, ticket.approve())}
    for _ in range(2):
        assert claim_decisions(tmp_path, decisions, "run") == decisions
        used_tickets._spent.clear()  # another process
    assert claim_decisions(tmp_path, decisions, "other") == {}
    with pytest.raises(SetupError, match="served already"):
        mark_decided(tmp_path, decisions)


def test_an_imported_copy_has_tickets_of_its_own(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s.db")
    clerk, first, paid = _paid(sessions)
    [ticket] = first.pending
    copies = [sessions.import_(list(sessions.export("ada")), name) for name in ("b", "c")]
    ids = {ticket.id, *(each.id for copy in copies for each in copy.pending)}
    assert len(ids) == 3
    for copy in copies:
        before = copy.pending
        with pytest.raises(DecisionRefused, match="no call waits for it"):
            clerk.run_sync(None, session=copy, decisions=[ticket.approve()])
        assert copy.pending == before and clerk.run_sync(None, session=copy).reason == "waiting"
    clerk.run_sync(None, session=sessions["ada"], decisions=[ticket.approve()])
    assert paid == [7]
    clerk.run_sync(None, session=copies[0], decisions=[copies[0].pending[0].approve()])
    assert paid == [7, 7]
    sessions.close()


def test_a_decision_on_a_call_of_an_inner_run_serves_once_as_well() -> None:
    paid: list[int] = []

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    sessions = Sessions(":memory:")
    inner = Agent(Scripted([[call("pay", {"amount": 7})], *["done"] * 5]), [pay], name="clerk")
    asks = [call("clerk", {"input": "go"})]
    boss = Agent(Scripted([asks, *["done"] * 5]), [inner.as_tool("clerk")])
    first = boss.run_sync("go", session=sessions["ada"])
    [ticket] = first.pending
    boss.run_sync(first.state, decisions=[ticket.approve()])
    again = boss.run_sync(None, session=sessions["ada"], decisions=[ticket.approve()])
    assert paid == [7] and again.reason == "waiting"
    assert [new.id for new in again.pending] != [ticket.id]
