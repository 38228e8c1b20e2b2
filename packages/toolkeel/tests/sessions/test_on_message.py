"""A message to a session in which a call waits: queued, answered, or in place of what waits."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.valid import problems
from tests.providers.test_long_runs import WIRES
from tests.sessions.conftest import STORES
from tests.sessions.dict_store import DictStore
from tests.waiting import run
from toolkeel import Agent, Effects, ToolMessage, UserMessage, tool
from toolkeel._records import tickets
from toolkeel.call.steps import approve
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.model_interface import ModelRequest
from toolkeel.runs import RunLimits
from toolkeel.sessions import KeepTurns, Session, Sessions
from toolkeel.sessions.errors import DecisionRefused
from toolkeel.sessions.run_from_journal import OnMessage
from toolkeel.testing.scripted import Scripted, call


class Clerk:
    """A model that pays what it is asked to pay, and repeats anything else.

    Each request that it gets must be a valid transcript, on every wire.
    """

    name = "clerk"

    def __init__(self) -> None:
        self.requests: list[list[Any]] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
        messages = list(request.messages)
        self.requests.append(messages)
        assert problems(messages) == []
        for wire, accepts in WIRES:
            accepts(wire.encode(request, "m"))
        last = messages[-1]
        new = takewhile(lambda message: isinstance(message, UserMessage), reversed(messages))
        amounts = [amount for m in new for amount in re.findall(r"pay (\d+)", m.text)]
        calls = tuple(ToolCall(f"call_{a}", "pay", {"amount": int(a)}) for a in amounts)
        if len(calls) > 1:
            calls = (*calls, ToolCall("call_look", "look", {}))
        yield AssistantMessage("" if calls else f"re: {last.text}", calls)


def clerk(paid: list[int], model: Any = None) -> Agent:
    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    @tool(effects=Effects(read_only=True))
    def look() -> str:
        """Look."""
        return "looked"

    return Agent(model or Clerk(), [pay, look])


@pytest.fixture
def sessions(store: str | DictStore) -> Iterator[Sessions]:
    made = Sessions(store)
    yield made
    made.close()


def results(session: Session, name: str = "pay") -> list[str]:
    """The results of the calls of a tool that have begun."""
    found = (m for m in session.messages if isinstance(m, ToolMessage) and m.name == name)
    return [m.text for m in found if m.kind not in ("skipped", "cancelled")]


def ids(session: Session) -> list[str]:
    return [ticket.id for ticket in session.pending]


@pytest.mark.parametrize("route", ["decisions", "decide", "with a message"])
@pytest.mark.parametrize("how", ["run", "stream", "say"])
def test_a_message_is_answered_while_a_call_waits_and_the_result_follows(
    sessions: Sessions, route: str, how: str
) -> None:
    paid: list[int] = []
    session, model = sessions.open("ada", on_message="answer"), Clerk()
    agent = clerk(paid, model)
    [ticket] = agent.run_sync("please pay 5", session=session).pending

    async def streamed() -> Any:
        going = agent.stream("hello", session=session)
        assert "streamed" not in [event.type async for event in going]
        return going.result

    if how == "stream":
        answered = run(streamed)
    elif how == "say":
        session.say("hello", "bob")
        answered = agent.run_sync(None, session=session)
    else:
        answered = agent.run_sync("hello", session=session)
    assert (answered.reason, answered.output, paid) == ("answered", "re: hello", [])
    placeholder = model.requests[-1][-2]
    assert placeholder.kind == "skipped" and "waits for a person" in placeholder.text
    assert ids(session) == [ticket.id]
    assert agent.run_sync(None, session=session).reason == "waiting"

    if route == "decisions":
        end = agent.run_sync(None, session=session, decisions=[ticket.approve()])
    else:
        assert session.decide(ticket.approve(), "bob") is None
        assert session.decide(ticket.deny("no"), "eve") is not None
        prompt = "and now?" if route == "with a message" else None
        end = agent.run_sync(prompt, session=session)
    assert paid == [5] and session.pending == ()
    assert results(session) == ["paid 5"]
    assert end.output == ("re: and now?" if route == "with a message" else "re: paid 5")
    shown = [m.text for m in model.requests[-1]]
    assert shown[:2] == ["please pay 5", ""] and shown.count("paid 5") == 1
    again = agent.run_sync(None, session=session, decisions=[ticket.approve()])
    assert (again.output, paid) == (end.output, [5])


@pytest.mark.parametrize("verdict", ["deny", "answer", "edit", "late"])
def test_every_verdict_reaches_the_model_after_the_answer(
    sessions: Sessions, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid: list[int] = []
    session = sessions.open("ada", on_message="answer")
    agent = clerk(paid)
    [ticket] = agent.run_sync("pay 5", session=session).pending
    assert agent.run_sync("hello", session=session).output == "re: hello"
    decision = {
        "deny": ticket.deny("too much"),
        "answer": ticket.answer("paid by hand"),
        "edit": ticket.edit({"amount": 3}),
        "late": ticket.approve(),
    }[verdict]
    if verdict == "late":
        later = ticket.expires + 1
        monkeypatch.setattr(tickets, "time", lambda: later)
        monkeypatch.setattr(approve, "time", lambda: later)
    end = agent.run_sync(None, session=session, decisions=[decision])
    if verdict == "late":
        assert (end.reason, paid) == ("waiting", [])
        [new] = session.pending
        assert new.id != ticket.id
        end = agent.run_sync(None, session=session, decisions=[new.approve()])
    assert end.reason == "answered"
    assert paid == {"deny": [], "answer": [], "edit": [3], "late": [5]}[verdict]
    assert len(results(session)) == 1


def test_an_expired_ticket_of_a_call_with_a_placeholder_is_asked_anew(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid: list[int] = []
    session = sessions.open("ada", on_message="answer")
    agent = clerk(paid)
    [ticket] = agent.run_sync("pay 5", session=session).pending
    later = ticket.expires + 1
    agent.run_sync("hello", session=session)
    monkeypatch.setattr(tickets, "time", lambda: later)
    monkeypatch.setattr(approve, "time", lambda: later)
    assert agent.run_sync("hello again", session=session).output == "re: hello again"
    assert agent.run_sync(None, session=session).reason == "waiting"
    [new] = session.pending
    assert new.id != ticket.id and not new.expired
    assert session.decide(new.approve()) is None
    assert (agent.run_sync(None, session=session).output, paid) == ("re: paid 5", [5])


def test_two_calls_of_a_turn_are_decided_one_after_the_other(sessions: Sessions) -> None:
    paid: list[int] = []
    session = sessions.open("ada", on_message="answer")
    agent = clerk(paid)
    first, second = agent.run_sync("pay 1, pay 2", session=session).pending
    assert results(session, "look") == ["looked"]
    assert agent.run_sync("hello", session=session).output == "re: hello"
    assert set(ids(session)) == {first.id, second.id}
    assert agent.run_sync(None, session=session, decisions=[second.approve()]).output
    assert (paid, ids(session)) == ([2], [first.id])
    assert agent.run_sync("well?", session=session).output == "re: well?"
    assert agent.run_sync(None, session=session, decisions=[first.approve()]).output
    assert (paid, session.pending, len(results(session))) == ([2, 1], (), 2)


def test_a_message_beside_a_decision_is_answered_after_the_result(sessions: Sessions) -> None:
    paid: list[int] = []
    session, model = sessions.open("ada", on_message="answer"), Clerk()
    agent = clerk(paid, model)
    first, second = agent.run_sync("pay 1, pay 2", session=session).pending
    end = agent.run_sync("hello", session=session, decisions=[second.approve()])
    assert (end.output, paid, ids(session)) == ("re: hello", [2], [first.id])


def test_a_cancel_denies_a_call_that_waits_while_the_conversation_continues(
    sessions: Sessions,
) -> None:
    paid: list[int] = []
    session, model = sessions.open("ada", on_message="answer"), Clerk()
    agent = clerk(paid, model)
    [ticket] = agent.run_sync("please pay 5", session=session).pending
    agent.run_sync("hello", session=session)
    session.cancel("never mind", "bob")
    [decided] = session.decisions.values()
    assert (decided.decision.verdict, decided.who) == ("deny", "bob")
    assert session.decide(ticket.approve(), "eve") is not None
    end = agent.run_sync(None, session=session)
    assert end.reason == "answered" and paid == [] and session.pending == ()
    assert "was not approved: never mind" in results(session)[0]
    session.cancel("again")  # nothing waits
    assert agent.run_sync("pay 6", session=session).pending and paid == []


def test_a_cancel_of_somebodys_message_leaves_a_call_that_waits(sessions: Sessions) -> None:
    session = sessions.open("ada", on_message="answer")
    agent = clerk([])
    agent.run_sync("please pay 5", session=session)
    agent.run_sync("hello", session=session)
    session.cancel_message("bob")
    assert session.decisions == {} and len(session.pending) == 1


def test_a_message_in_place_of_what_waits_cancels_it(sessions: Sessions) -> None:
    paid: list[int] = []
    session = sessions.open("ada", on_message="cancel")
    agent = clerk(paid)
    [ticket] = agent.run_sync("pay 5", session=session).pending
    assert agent.run_sync("hello", session=session).output == "re: hello"
    assert session.pending == ()
    cancelled = session.messages[2]
    assert isinstance(cancelled, ToolMessage) and cancelled.kind == "cancelled"
    assert cancelled.text.startswith("'pay' was not started, because its run was cancelled: a new")
    with pytest.raises(DecisionRefused, match="no call waits"):
        session.decide(ticket.approve())
    with pytest.raises(DecisionRefused, match="no call waits"):
        agent.run_sync(None, session=session, decisions=[ticket.approve()])
    assert agent.run_sync(None, session=session).output == "re: hello"
    assert (paid, results(session)) == ([], [])


def test_what_a_person_says_of_a_stopped_call_is_read_though_a_message_cancels_what_waits(
    sessions: Sessions,
) -> None:
    @tool
    def send() -> str:
        """Send."""
        return "sent"

    agent = Agent(Scripted([call("send"), "lost", "done"]), [send])
    agent.run_sync("send it", session=sessions["ada"])
    lines = list(sessions.export("ada"))
    last = next(n for n, line in enumerate(lines) if '"call_intended"' in line)
    sessions.import_(lines[: last + 1], "stopped")
    session = sessions.open("stopped", on_message="cancel")
    [question] = agent.run_sync("and?", session=session).pending
    session.decide(question.deny("it was sent"))
    agent.run_sync(None, session=session)
    [result] = [m for m in session.messages if isinstance(m, ToolMessage)]
    assert (result.kind, "it was sent" in result.text) == ("unknown_outcome", True)


def test_a_message_waits_with_the_call_if_nothing_else_is_said(sessions: Sessions) -> None:
    paid: list[int] = []
    session = sessions["ada"]
    agent = clerk(paid)
    [ticket] = agent.run_sync("pay 5", session=session).pending
    assert agent.run_sync("hello", session=session).reason == "waiting"
    end = agent.run_sync(None, session=session, decisions=[ticket.approve()])
    assert (end.output, paid) == ("re: hello", [5])


@pytest.mark.parametrize("stopped", ["failed", "cancelled", "limit"])
def test_a_message_whose_answer_broke_off_is_answered_by_the_next_run_though_a_call_waits(
    sessions: Sessions, stopped: str
) -> None:
    class Breaks(Clerk):
        async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
            if stopped != "limit" and request.messages[-1].text == "hello" and not broken:
                broken.append(1)
                raise ModelError("broken") if stopped == "failed" else asyncio.CancelledError
            async for reply in super().stream(request):
                yield reply

    paid: list[int] = []
    broken: list[int] = []
    agent, session = clerk(paid, Breaks()), sessions.open("ada", on_message="answer")
    agent.run_sync("pay 5", session=session)
    with suppress(ModelError, asyncio.CancelledError):
        limits = RunLimits(tokens=1) if stopped == "limit" else None
        agent.run_sync("hello", session=session, limits=limits)
    assert session.load_state().reason == stopped
    assert agent.run_sync(None, session=session).output == "re: hello"
    [ticket] = session.pending
    session.decide(ticket.approve())
    agent.run_sync(None, session=session)
    assert paid == [5] and problems(session.messages) == []


def test_a_call_of_an_inner_agent_keeps_the_message_waiting(sessions: Sessions) -> None:
    paid: list[int] = []
    session = sessions.open("ada", on_message="answer")

    class Desk(Clerk):
        async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
            last = request.messages[-1]
            calls = (ToolCall("c", "clerk", {"input": "pay 7"}),) if last.text == "go" else ()
            yield AssistantMessage("" if calls else f"re: {last.text}", calls)

    agent = Agent(Desk(), [clerk(paid).as_tool("clerk")])
    [ticket] = agent.run_sync("go", session=session).pending
    assert agent.run_sync("hello", session=session).reason == "waiting"
    end = agent.run_sync(None, session=session, decisions=[ticket.approve()])
    assert (end.output, paid) == ("re: hello", [7])
    cancels = sessions.open("bob", on_message="cancel")
    agent.run_sync("go", session=cancels)
    assert agent.run_sync("hello", session=cancels).output == "re: hello"
    assert (cancels.pending, paid) == ((), [7])


def test_two_deferred_calls_with_one_id_have_a_decision_each(sessions: Sessions) -> None:
    class Repeats(Clerk):
        async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
            last = request.messages[-1]
            calls = (ToolCall("same", "pay", {"amount": 5}),) if last.text == "pay" else ()
            yield AssistantMessage("" if calls else f"re: {last.text}", calls)

    paid: list[int] = []
    session, agent = sessions.open("ada", on_message="answer"), clerk(paid, Repeats())
    for _ in range(2):
        agent.run_sync("pay", session=session)
    agent.run_sync("hello", session=session)
    first, second = session.pending
    session.decide(first.approve())
    session.decide(second.deny("once is enough"))
    for _ in range(2):
        agent.run_sync(None, session=session)
    assert (paid, session.pending) == ([5], ())


def test_a_copy_of_a_session_with_a_deferred_call_has_a_ticket_of_its_own(
    sessions: Sessions,
) -> None:
    paid: list[int] = []
    session = sessions.open("ada", on_message="answer")
    agent = clerk(paid)
    [ticket] = agent.run_sync("pay 5", session=session).pending
    agent.run_sync("hello", session=session)
    copies = [
        sessions.fork("ada", "fork"),
        sessions.fork("ada", "early", turn=2),
        sessions.import_(sessions.export("ada"), "copy"),
    ]
    for copy in copies:
        [own] = copy.pending
        assert own.id != ticket.id
        with pytest.raises(DecisionRefused, match="no call waits for it"):
            agent.run_sync(None, session=copy, decisions=[ticket.approve()])
        assert paid == []
        assert agent.run_sync(None, session=copy, decisions=[own.deny("no")]).output
    agent.run_sync(None, session=session, decisions=[ticket.approve()])
    assert paid == [5]
    late = sessions.fork("ada", "late")
    assert late.pending == () and results(late) == ["paid 5"]


KILLED = """
import os, sys
from tests.sessions.conftest import STORES
from tests.sessions.dict_store import DictStore
from tests.sessions.test_on_message import Clerk, clerk
from toolkeel.sessions import Sessions

class Dies(Clerk):
    async def stream(self, request):
        os._exit(9)
        yield

class Paid(list):
    def append(self, amount):
        open(sys.argv[2], "a").write(f"{amount}\\n")
        if sys.argv[3] == "body":
            os._exit(9)

session = Sessions(sys.argv[1]).open("ada", on_message="answer")
clerk(Paid(), Dies()).run_sync(None, session=session)
"""


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES, indirect=True)
@pytest.mark.parametrize("at", ["body", "request"])
def test_a_deferred_call_whose_program_is_killed_does_not_run_twice(
    sessions: Sessions, store: str, tmp_path: Path, at: str
) -> None:
    log, paid = tmp_path / "log", list[int]()
    session = sessions.open("ada", on_message="answer")
    agent = clerk(paid)
    [ticket] = agent.run_sync("pay 5", session=session).pending
    agent.run_sync("hello", session=session)
    session.decide(ticket.approve())
    words = [sys.executable, "-c", KILLED, store, str(log), at]
    assert subprocess.run(words, timeout=60, check=False).returncode == 9
    assert log.read_text() == "5\n"
    end = agent.run_sync(None, session=session)
    if at == "body":
        assert end.reason == "waiting"
        [outcome] = [each for each in session.pending if "did this happen?" in each.reason]
        end = agent.run_sync(None, session=session, decisions=[outcome.deny("it did")])
        assert "unknown whether" in end.messages[-2].text
    else:
        assert end.output == "re: paid 5"
    assert paid == [] and problems(session.messages) == []


OPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(1, 2)),
        st.tuples(st.just("message"), st.sampled_from(["run", "say"])),
        st.tuples(st.just("decide"), st.sampled_from(["approve", "deny", "posted"])),
        st.tuples(st.just("go on"), st.none()),
        st.tuples(st.just("restart"), st.none()),
    ),
    min_size=2,
    max_size=12,
)


class Talk:
    """One session through any order of messages, decisions and restarts."""

    def __init__(self, path: Path, how: OnMessage, keeps: bool) -> None:
        self.place, self.how, self.keeps = path / "talk.db", how, keeps
        self.sessions = Sessions(self.place)
        self.paid: list[int] = []
        self.agent = clerk(self.paid)
        self.said: list[str] = []
        self.approved: set[int] = set()
        self.asked = 0

    @property
    def session(self) -> Session:
        history = KeepTurns(2, at=3) if self.keeps else None
        return self.sessions.open("ada", on_message=self.how, history=history)

    def step(self, name: str, value: Any) -> None:
        if name == "ask":
            amounts = range(self.asked + 1, self.asked + 1 + value)
            self.asked += value
            self.say(", ".join(f"pay {amount}" for amount in amounts), "run")
        elif name == "message":
            self.say(f"hello {len(self.said)}", value)
        elif name == "decide" and self.session.pending:
            ticket = self.session.pending[-1]
            decision = ticket.deny("no") if value == "deny" else ticket.approve()
            if value != "deny":
                self.approved.add(ticket.arguments["amount"])  # type: ignore[arg-type]
            if value == "posted":
                self.session.decide(decision)
            else:
                with suppress(DecisionRefused):  # another one was posted before it
                    self.agent.run_sync(None, session=self.session, decisions=[decision])
        elif name == "go on" and self.session.exists and self.said:
            self.agent.run_sync(None, session=self.session)
        elif name == "restart":
            self.sessions.close()
            self.sessions = Sessions(self.place)
        self.check()

    def say(self, text: str, how: str) -> None:
        self.said.append(text)
        if how == "say":
            self.session.say(text)
            self.agent.run_sync(None, session=self.session)
        else:
            self.agent.run_sync(text, session=self.session)

    def check(self) -> None:
        waiting = {t.call_id for t in self.session.pending}
        found = problems(self.session.messages)
        assert all(any(id in each for id in waiting) for each in found), found
        assert len(self.paid) == len(set(self.paid)) and set(self.paid) <= self.approved

    def finish(self) -> None:
        for _ in range(100):
            if not self.session.pending:
                break
            self.step("decide", "approve")
        if self.said:
            self.agent.run_sync(None, session=self.session)
        people = [m.text for m in self.session.messages if isinstance(m, UserMessage)]
        assert people == self.said
        if self.how != "cancel":
            assert set(self.paid) == self.approved
            assert len(results(self.session)) == self.asked
        assert problems(self.session.messages) == []
        self.sessions.close()


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(OPS, st.sampled_from(["queue", "answer", "cancel"]), st.booleans())
def test_in_any_order_nothing_is_lost_or_paid_twice_and_every_transcript_is_valid(
    ops: list[tuple[str, Any]], how: OnMessage, keeps: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        talk = Talk(Path(folder), how, keeps)
        for name, value in ops:
            talk.step(name, value)
        talk.finish()


@pytest.mark.parametrize("verdict", ["approve", "deny", "later"])
def test_an_answer_accepted_beside_the_waiting_call_remains_the_result(
    sessions: Sessions, verdict: str
) -> None:
    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    first = ToolCall("f", "final_result", {"result": 1}), ToolCall("p", "pay", {"amount": 1})
    model = Scripted(
        [AssistantMessage(tool_calls=first)]
        + [call("final_result", {"result": number}) for number in (2, 3, 4)]
    )
    agent = Agent(model, [pay], output_type=int)
    session = sessions.open("ada", on_message="answer")
    [ticket] = agent.run_sync("please", session=session).pending
    assert agent.run_sync("hello", session=session).output == 2
    if verdict == "later":
        assert agent.run_sync("hello again", session=session).output == 3
    session.decide(ticket.deny("no") if verdict == "deny" else ticket.approve())
    asked = len(model.requests)
    for _ in range(2):
        end = agent.run_sync(None, session=session)
        assert (end.reason, end.output, end.pending) == ("answered", 1, ())
    assert len(model.requests) == asked
    assert results(session) == ["paid"] or verdict == "deny"
    assert agent.run_sync("and now?", session=session).output == asked + 1
