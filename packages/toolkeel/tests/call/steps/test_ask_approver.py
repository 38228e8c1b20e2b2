"""Whoever is asked about a call decides that call, clearly and in time, or it is denied."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from toolkeel import RunContext
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.call.steps.ask_approver import ask
from toolkeel.errors import Suspend
from toolkeel.events import ApprovalDecided, ApprovalRequested, Event

TICKET = Ticket("1" * 32, "c1", "write", {"text": "猫"}, "d" * 64, time.time() + 86_400)
OTHER = dataclasses.replace(TICKET, id="2" * 32)
OUTSIDE = dataclasses.replace(TICKET, external=True)
LATE = dataclasses.replace(TICKET, expires=time.time() - 1)

Approver = Callable[[Ticket], Any]


def answer(ticket: Ticket, approver: Approver, *, can_wait: bool = False) -> Decision:
    run = RunContext(approver=approver)
    run.loop_state.can_suspend = can_wait
    return asyncio.run(ask(run, "c1", ticket))


@pytest.mark.parametrize("waits", [False, True])
def test_a_clear_answer_counts_awaited_or_not(waits: bool) -> None:
    async def later(ticket: Ticket) -> object:
        return ticket.edit({"text": "犬"})

    assert answer(TICKET, later, can_wait=waits).arguments == {"text": "犬"}
    assert answer(TICKET, lambda _: True, can_wait=waits).verdict == "approve"
    assert answer(TICKET, lambda _: False, can_wait=waits).verdict == "deny"


@pytest.mark.parametrize(
    ("ticket", "approver"),
    [
        (TICKET, lambda _: OTHER.approve()),
        (TICKET, lambda _: "yes"),
        (TICKET, lambda _: 1),
        (TICKET, lambda _: None),
        (TICKET, lambda _: 1 / 0),
        (OUTSIDE, lambda ticket: dataclasses.replace(OUTSIDE.answer("cat"), verdict="approve")),
        (LATE, lambda _: True),
    ],
    ids=["other", "text", "number", "none", "failure", "approved", "late"],
)
def test_what_is_no_clear_answer_in_time_denies(ticket: Ticket, approver: Approver) -> None:
    assert answer(ticket, approver).verdict == "deny"


def test_a_decision_on_another_call_is_logged_as_such(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "toolkeel"):
        answer(TICKET, lambda _: OTHER.approve())
    assert "the approver of write gave a decision on another ticket" in caplog.text


@pytest.mark.parametrize(("ticket", "given"), [(TICKET, None), (OUTSIDE, None), (OUTSIDE, True)])
def test_no_answer_suspends_a_run_that_can_wait(ticket: Ticket, given: object) -> None:
    with pytest.raises(Suspend) as suspended:
        answer(ticket, lambda _: given, can_wait=True)
    assert suspended.value.ticket == ticket


def test_the_request_and_the_decision_are_events_in_that_order() -> None:
    heard: list[Event] = []
    run = RunContext(approver=lambda ticket: ticket.deny("no cats"), listeners=(heard.append,))
    asyncio.run(ask(run, "c1", TICKET))
    requested, decided = heard
    assert isinstance(requested, ApprovalRequested) and requested.ticket == TICKET
    assert isinstance(decided, ApprovalDecided) and decided.verdict == "deny"


def test_a_sync_approver_leaves_the_loop_free_and_is_asked_one_question_at_a_time() -> None:
    open_questions: list[str] = []
    may_answer = threading.Event()

    def approver(ticket: Ticket) -> bool:
        open_questions.append(ticket.id)
        loops[0].call_soon_threadsafe(may_answer.set)  # once it runs what it was given before
        assert may_answer.wait(30) and open_questions == [ticket.id]
        open_questions.remove(ticket.id)
        return True

    async def main() -> list[Decision]:
        loops.append(asyncio.get_running_loop())
        run = RunContext(approver=approver)
        return await asyncio.gather(ask(run, "c1", TICKET), ask(run, "c2", OTHER))

    loops: list[asyncio.AbstractEventLoop] = []
    assert [each.verdict for each in asyncio.run(main())] == ["approve", "approve"]


def test_a_question_of_an_approver_that_is_asked_meanwhile_does_not_wait_for_it() -> None:
    def approver(ticket: Ticket) -> bool:
        if ticket is OTHER:
            return True
        question = ask(run, "c2", OTHER)  # of a run that it starts
        return asyncio.run_coroutine_threadsafe(question, loops[0]).result(30).verdict == "approve"

    async def main() -> Decision:
        loops.append(asyncio.get_running_loop())
        return await ask(run, "c1", TICKET)

    loops: list[asyncio.AbstractEventLoop] = []
    run = RunContext(approver=approver)
    assert asyncio.run(main()).verdict == "approve"


def test_a_run_that_is_cancelled_does_not_wait_for_a_sync_approver() -> None:
    release = threading.Event()

    async def main() -> None:
        def approver(ticket: Ticket) -> bool:
            loop.call_soon_threadsafe(question.cancel)
            return release.wait(30)

        loop = asyncio.get_running_loop()
        question = asyncio.create_task(ask(RunContext(approver=approver), "c1", TICKET))
        with pytest.raises(asyncio.CancelledError):
            await question

    asyncio.run(main())
    release.set()
