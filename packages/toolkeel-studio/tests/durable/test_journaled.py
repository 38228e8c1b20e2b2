"""A durable run begun twice, as by a worker that died or another that took over, is one run."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import Any

from tests.sessions.dict_store import DictStore
from tests.waiting import run
from toolkeel import Agent, tool
from toolkeel.model_interface import Model
from toolkeel.sessions import SessionInfo, Sessions
from toolkeel.testing.scripted import Scripted, call
from toolkeel_studio.durable.journaled import RunOrder, cancel_order, current_end, run_order


def order(prompt: str | None = "hello", since: int = 0, id: str = "one") -> RunOrder:
    return RunOrder(id=id, session="ada", scope="", prompt=prompt, since=since)


def done(sessions: Sessions, what: RunOrder, *lines: Any, **options: Any) -> dict[str, str]:
    """How a run ends that a worker begins, with a model that says these lines and no more."""
    return run(lambda: run_order(agent(Scripted(list(lines))), sessions, what, options))


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def agent(model: Model, **options: Any) -> Agent[Any, Any]:
    return Agent(model, [pay], **options)


def said(sessions: Sessions) -> list[str]:
    return [message.text for message in sessions["ada"].messages]


def test_a_run_that_has_ended_is_not_run_again() -> None:
    sessions = Sessions(":memory:")
    first = done(sessions, order(), "hi")
    assert first == {"reason": "answered", "text": "hi", "error": ""}
    assert done(sessions, order()) == first  # its model would have nothing to say
    assert said(sessions) == ["hello", "hi"]


def test_what_was_said_and_not_yet_taken_is_not_said_twice() -> None:
    sessions = Sessions(":memory:")
    sessions["ada"].say("hello", who="one")  # then its worker died
    assert done(sessions, order(), "hi")["text"] == "hi"
    assert said(sessions) == ["hello", "hi"]


def test_how_it_ended_is_told_though_later_runs_came_between() -> None:
    sessions = Sessions(":memory:")
    done(sessions, order(), "hi")
    later = order("and now?", sessions["ada"].info.head, "two")
    assert done(sessions, later, "later")["text"] == "later"
    assert done(sessions, order())["text"] == "hi"
    assert done(sessions, later)["text"] == "later"


def test_a_run_that_waits_says_so_again_until_it_is_decided() -> None:
    sessions = Sessions(":memory:")
    assert done(sessions, order("pay"), call("pay", {"amount": 5}))["reason"] == "waiting"
    assert done(sessions, order("pay"))["reason"] == "waiting"
    [ticket] = sessions["ada"].pending
    goes_on = order(None, sessions["ada"].info.head, f"decided-{ticket.id}")
    sessions["ada"].decide(ticket.approve())
    assert done(sessions, goes_on, "Paid.") == {"reason": "answered", "text": "Paid.", "error": ""}
    assert done(sessions, goes_on)["text"] == "Paid."
    assert said(sessions) == ["pay", "", "paid 5", "Paid."]


def test_what_somebody_else_has_gone_on_with_is_told_as_it_ended() -> None:
    sessions = Sessions(":memory:")
    done(sessions, order(), "hi")
    goes_on = order(None, sessions["ada"].info.head, "two")
    assert done(sessions, goes_on) == {"reason": "answered", "text": "hi", "error": ""}


def test_a_failure_is_how_it_ended_and_is_told_again() -> None:
    sessions = Sessions(":memory:")
    first = done(sessions, order(), ConnectionError("no line"))
    assert first["reason"] == "failed"
    assert "no line" in first["error"]
    again = done(sessions, order())
    assert again["reason"] == "failed"
    assert "no line" in again["error"]


def test_an_answer_of_a_type_is_told_as_json() -> None:
    sessions = Sessions(":memory:")
    made: Agent[Any, Any] = Agent(Scripted(["[1, 2]"]), output_type=list[int])
    said = run(lambda: run_order(made, sessions, order(), {}))
    assert said["reason"] == "answered"
    assert said["text"] == "[1,2]"


def test_nothing_to_go_on_with_is_a_failure_that_says_so() -> None:
    found = done(Sessions(":memory:"), order(None))
    assert found["reason"] == "failed"
    assert "no session 'ada'" in found["error"]


def test_a_run_that_was_canceled_before_its_worker_had_the_session_does_nothing() -> None:
    sessions = Sessions(":memory:")
    cancel_order(sessions, order("pay"), "closing time")
    assert done(sessions, order("pay")) == {"reason": "cancelled", "text": "", "error": ""}
    assert said(sessions) == []
    assert done(sessions, order("hello", id="two"), "hi")["text"] == "hi"


def test_a_run_that_was_canceled_in_the_inbox_does_nothing() -> None:
    sessions = Sessions(":memory:")
    sessions["ada"].say("pay", who="one")  # its worker was about to begin
    cancel_order(sessions, order("pay"), "closing time")
    assert done(sessions, order("pay"))["reason"] == "cancelled"
    assert said(sessions) == []


def test_a_waiting_run_that_is_canceled_has_ended_and_pays_nothing() -> None:
    sessions = Sessions(":memory:")
    assert done(sessions, order("pay"), call("pay", {"amount": 5}))["reason"] == "waiting"
    [ticket] = sessions["ada"].pending
    sessions["ada"].decide(ticket.approve())
    cancel_order(sessions, order("pay"), "closing time")
    assert current_end(sessions, order("pay")) == {
        "reason": "cancelled",
        "text": "",
        "error": "closing time",
    }
    goes_on = order(None, sessions["ada"].info.head, f"decided-{ticket.id}")
    assert done(sessions, goes_on)["reason"] == "cancelled"
    assert done(sessions, order("hello", id="two"), "hi")["text"] == "hi"
    assert not any("paid" in text for text in said(sessions))


def test_a_run_that_is_canceled_after_its_end_leaves_the_next_alone() -> None:
    sessions = Sessions(":memory:")
    done(sessions, order(), "hi")
    later = order("pay", sessions["ada"].info.head, "two")
    assert done(sessions, later, call("pay", {"amount": 5}))["reason"] == "waiting"
    cancel_order(sessions, order(), "closing time")
    assert done(sessions, later)["reason"] == "waiting"


def test_a_database_that_answers_late_holds_up_its_own_run_alone() -> None:
    turned = Event()

    class LateStore(DictStore):
        def find(self, scope: str, name: str) -> SessionInfo | None:
            assert turned.wait(10), "the event loop of all runs waited for the database"
            return super().find(scope, name)

    async def both() -> dict[str, str]:
        what = asyncio.create_task(run_order(agent(Scripted(["hi"])), sessions, order(), {}))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(turned.set)
        return await what

    sessions = Sessions(LateStore())
    assert run(both)["text"] == "hi"
