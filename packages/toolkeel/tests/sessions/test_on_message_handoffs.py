"""A call that waits while the conversation continues and another agent takes it over."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.valid import problems
from tests.waiting import run
from toolkeel import Agent, ToolMessage, tool
from toolkeel._records.entries import Deferred
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent.handoff import Handoff, HandoffHistory
from toolkeel.agent.run_state import RunState
from toolkeel.define.options import external
from toolkeel.messages import AssistantMessage, ToolCall, UserMessage
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call


class Desk:
    """Three agents in a session: the first pays, and each hands over to the next.

    Options: `waits`, `second` (first replies of the second agent), its `tools`, `on_message`.
    """

    def __init__(self, path: Path, first: list[Any], **options: Any) -> None:
        waits = options.get("waits", "approval")
        second = [*options.get("second", ()), "one", "two", "three"]
        self.on_message: Any = options.get("on_message", "answer")
        self.paid: list[int] = []
        self.place = path / "desk.db"
        self.sessions = Sessions(self.place)

        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        how: Any = {"approval": True} if waits == "approval" else {"executor": external}
        self.waits = waits
        self.models = [Scripted(first), Scripted(second)]
        self.third = Agent(Scripted(["one", "two", "three"]), name="third")
        self.second = Agent(
            self.models[1], options.get("tools", ()), name="second", handoffs=[self.third]
        )
        self.first = Agent(self.models[0], [tool(**how)(pay)], handoffs=[self.second], name="first")

    @property
    def session(self) -> Any:
        return self.sessions.open("ada", on_message=self.on_message)

    def restart(self) -> None:
        self.sessions.close()
        self.sessions = Sessions(self.place)

    def decision(self, ticket: Ticket, verdict: str = "approve") -> Decision:
        if verdict == "deny":
            return ticket.deny("too much")
        return ticket.approve() if self.waits == "approval" else ticket.answer("paid")

    def say(self, text: str | None, *, how: str = "run", **options: Any) -> Any:
        if how == "run":
            return self.first.run_sync(text, session=self.session, **options)

        async def streamed() -> Any:
            going = self.first.stream(text, session=self.session, **options)
            async for _ in going:
                pass
            return going.result

        return run(streamed)

    def last_result(self) -> str:
        assert problems(self.session.messages) == []
        results = [m for m in self.session.messages if isinstance(m, ToolMessage)]
        assert results[-1].name == "pay"
        return results[-1].text


PAY, HAND_OVER = call("pay", {"amount": 5}), call("transfer_to_second")


@pytest.mark.parametrize("waits", ["approval", "external"])
@pytest.mark.parametrize("verdict", ["approve", "deny"])
@pytest.mark.parametrize("how", ["run", "stream"])
@pytest.mark.parametrize("route", ["posted", "decisions", "restart"])
def test_a_call_of_an_agent_that_has_handed_over_gets_its_result(
    tmp_path: Path, waits: str, verdict: str, how: str, route: str
) -> None:
    desk = Desk(tmp_path, [PAY, HAND_OVER], waits=waits)
    [ticket] = desk.say("go", how=how).pending
    assert desk.say("hi", how=how).output == "one"
    decision = desk.decision(ticket, verdict)
    if route == "decisions":
        end = desk.say(None, how=how, decisions=[decision])
    else:
        desk.session.decide(decision)
        if route == "restart":
            desk.restart()
        end = desk.say(None, how=how)
    assert (end.reason, end.output, end.agent.name) == ("answered", "two", "second")
    assert desk.paid == ([5] if (waits, verdict) == ("approval", "approve") else [])
    assert ("paid" if verdict == "approve" else "too much") in desk.last_result()
    assert [each.name for each in desk.models[1].requests[-1].tools] == ["transfer_to_third"]
    assert desk.session.pending == ()


def test_a_call_of_an_agent_two_handoffs_ago_gets_its_result(tmp_path: Path) -> None:
    desk = Desk(tmp_path, [PAY, HAND_OVER], second=[call("transfer_to_third")])
    [ticket] = desk.say("go").pending
    end = desk.say("hi")
    assert (end.output, end.agent.name) == ("one", "third")
    desk.session.decide(ticket.approve())
    end = desk.say(None)
    assert (end.output, end.agent.name, desk.paid) == ("two", "third", [5])


def test_the_repeated_call_runs_the_tool_of_the_agent_that_made_it(tmp_path: Path) -> None:
    @tool
    def pay(amount: int, currency: str = "") -> str:
        """Pay in another way."""
        desk.paid.append(-amount)
        return "other"

    desk = Desk(tmp_path, [PAY, HAND_OVER], second=["one", PAY, "two"], tools=[pay])
    [ticket] = desk.say("go").pending
    assert desk.say("hi").output == "one"
    desk.session.decide(ticket.approve())
    end = desk.say(None)
    assert (end.output, desk.paid) == ("two", [5, -5])


@pytest.mark.parametrize("route", ["session", "export", "fork", "saved", "old journal"])
def test_a_waiting_call_runs_with_the_tool_of_its_own_agent_though_both_define_it_alike(
    tmp_path: Path, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        desk.paid.append(-amount)
        return "paid"

    if route == "old journal":
        monkeypatch.setattr("toolkeel.sessions.run_from_journal.Deferred", _without_agent)
    desk = Desk(
        tmp_path, [PAY, HAND_OVER], second=[call("pay", {"amount": 7}, id="q")], tools=[pay]
    )
    desk.say("go")
    desk.say("hi")
    desk.say("and?")
    session = desk.session
    assert [each.arguments["amount"] for each in session.pending] == [5, 7]
    if route == "export":
        session = desk.sessions.import_(list(desk.sessions.export("ada")), "copy")
    if route == "fork":
        session = desk.sessions.fork("ada", "copy")
    if route == "saved":
        waiting = desk.first.run_sync(None, session=session, approver=lambda ticket: None)
        saved = RunState.from_json(waiting.state.to_json())
        end = desk.first.run_sync(saved, decisions=[each.approve() for each in saved.pending])
    else:
        for ticket in session.pending:
            session.decide(ticket.approve())
        end = desk.first.run_sync(None, session=session)
        assert session.pending == ()
    assert (end.output, end.agent.name) == ("two", "second")
    assert sorted(desk.paid) == ([-7, -5] if route == "old journal" else [-7, 5])


def _without_agent(*fields: Any) -> Deferred:
    return Deferred(*fields[:6])


def test_a_call_of_an_agent_that_had_the_run_for_one_message_gets_its_result(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, [PAY])
    triage = Agent(
        Scripted([call("transfer_to_first"), "back", "done"]),
        name="triage",
        handoffs=[Handoff(desk.first, sticky=False)],
    )
    [ticket] = triage.run_sync("go", session=desk.session).pending
    assert triage.run_sync("hi", session=desk.session).output == "back"
    desk.session.decide(ticket.approve())
    end = triage.run_sync(None, session=desk.session)
    assert (end.output, end.agent.name, desk.paid) == ("done", "triage", [5])


def test_a_saved_run_whose_waiting_call_another_agent_made_goes_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path, [PAY])
    waiting = desk.first.run_sync("go")
    [ticket] = waiting.pending
    saved = replace(waiting.state, agent="second", previous_agents=("first",))
    state = RunState.from_json(saved.to_json(b"k" * 32), b"k" * 32)
    end = desk.first.run_sync(state, decisions=[ticket.approve()])
    assert (end.output, end.agent.name, desk.paid) == ("one", "second", [5])


@pytest.mark.parametrize("how", ["run", "stream"])
@pytest.mark.parametrize("on_message", ["answer", "cancel"])
def test_a_handoff_beside_a_waiting_call_is_made_before_a_message_is_answered(
    tmp_path: Path, on_message: str, how: str
) -> None:
    both = (ToolCall("h", "transfer_to_second"), ToolCall("p", "pay", {"amount": 5}))
    desk = Desk(tmp_path, [AssistantMessage(tool_calls=both)], on_message=on_message)
    [ticket] = desk.say("go", how=how).pending
    desk.restart()
    end = desk.say("hi", how=how)
    assert (end.output, end.agent.name) == ("one", "second")
    if on_message == "answer":
        desk.session.decide(ticket.approve())
        end = desk.say(None, how=how)
        assert (end.output, end.agent.name, desk.paid) == ("two", "second", [5])
    end = desk.say("and now?", how=how)
    assert (end.agent.name, problems(desk.session.messages)) == ("second", [])
    said = [m.text for m in desk.session.messages if isinstance(m, UserMessage)]
    assert said == ["go", "hi", "and now?"]


@pytest.mark.parametrize("said", [None, "hi"])
@pytest.mark.parametrize("broken", ["input_filter", "instructions", "cancelled", "killed"])
def test_a_handoff_that_ended_behind_its_result_is_made_once_by_the_next_run(
    tmp_path: Path, broken: str, said: str | None
) -> None:
    """Two calls make the handoff's result durable before the handoff itself is."""
    faults, calls = [broken], []

    def fail(where: str) -> None:
        if where in faults:
            faults.clear()
            raise asyncio.CancelledError if where == "cancelled" else ValueError(where)

    async def see_all(history: HandoffHistory) -> Any:
        fail("input_filter")
        fail("cancelled")
        return history.messages

    def instruct(context: Any) -> str:
        fail("instructions")
        return "Bill."

    second = Agent(Scripted(["one", "two", "three"]), name="second", instructions=instruct)
    handoff = Handoff(second, input_filter=see_all, on_handoff=lambda run, given: calls.append(1))
    first = Agent(Scripted([HAND_OVER, "lost"]), name="first", handoffs=[handoff])
    sessions = Sessions(tmp_path / "desk.db")
    session = sessions["ada"]
    with suppress(ValueError, asyncio.CancelledError):
        first.run_sync("go", session=session)
    if broken == "killed":
        lines = list(sessions.export("ada"))
        end = next(n for n, line in enumerate(lines) if '"call_ended"' in line)
        session = sessions.import_(lines[: end + 1], "copy")
    end_of_run = first.run_sync(said, session=session)
    assert (end_of_run.agent.name, calls) == ("second", [1])
    texts = [m.text for m in session.messages if isinstance(m, UserMessage)]
    assert texts == ["go", *([said] if said else [])]
    assert problems(session.messages) == []
    assert first.run_sync("more", session=session).agent.name == "second"
