"""What of a run is not in the journal yet, and who decides first."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.inspector.serving import GATE, HELD, REMOVED, TOOLS, busy, in_loop
from toolkeel import Agent, Effects, ToolContext, tool
from toolkeel.events import Streamed
from toolkeel.model_interface import CallDelta, TextDelta
from toolkeel.sessions import Sessions
from toolkeel.sessions.errors import SessionUnavailable
from toolkeel.testing import Scripted, call
from toolkeel_studio.inspector.runs import DURABLE_THREADS, DurableAccess, Live, Runs
from toolkeel_studio.serve.errors import UnknownApproval


def test_a_reply_is_there_while_it_arrives_and_gone_when_it_is_whole() -> None:
    live = Live()
    for n, delta in enumerate(
        [
            TextDelta("Hel"),
            TextDelta("lo"),
            CallDelta(0, "1", "add", '{"a"'),
            CallDelta(0, "", "", ": 1}"),
        ]
    ):
        live(Streamed(n, 0.0, "r", delta))
    assert (live.text, live.calls, live.version) == ("Hello", {0: 'add{"a": 1}'}, 4)
    agent = Agent(Scripted([call("search", {"query": "x"}), "done"]), TOOLS)
    agent.run_sync("Hi", listeners=[live])
    assert (live.text, live.calls, live.progress) == ("", {}, {})


@in_loop
async def test_progress_of_a_running_call_is_kept_until_it_ends(tmp_path: Path) -> None:
    told: list[dict[str, str]] = []
    sessions = Sessions(tmp_path / "talk.db")

    @tool
    def work(context: ToolContext) -> str:
        """Work."""
        context.progress("half 猫", 1, 2)
        told.append(dict(runs.live["ada"].progress))
        return "done"

    runs = Runs(Agent(Scripted([call("work"), "ok"]), [work]), sessions)
    await runs.say("ada", "Work.")
    await runs.idle()
    assert [list(each.values()) for each in told] in ([["half 猫"]], [[]])
    assert runs.problem("ada") == "" and sessions["ada"].info.ended == "answered"
    sessions.close()


@in_loop
async def test_two_tickets_are_both_decided_before_it_goes_on(tmp_path: Path) -> None:
    REMOVED.clear()
    sessions = Sessions(tmp_path / "talk.db")
    lines = [[call("remove", {"path": "a"}), call("remove", {"path": "b"})], "ok"]
    runs = Runs(Agent(Scripted(lines), TOOLS), sessions)
    await runs.say("ada", "Both.")
    await runs.idle()
    first, second = (ticket for _, ticket in runs.waiting())
    assert await runs.decide("ada", first.id, first.seal, {"verdict": "approve"}) is None
    await runs.idle()
    assert [t.id for _, t in runs.waiting()] == [second.id]
    with pytest.raises(UnknownApproval, match="no longer pending"):
        await runs.decide("ada", "none", "", {"verdict": "approve"})
    await runs.decide("ada", second.id, second.seal, {"verdict": "deny", "reason": "not b"})
    await runs.idle()
    assert REMOVED == ["a"] and sessions["ada"].info.ended == "answered"
    sessions.close()


@in_loop
async def test_closing_leaves_what_runs_to_be_continued(tmp_path: Path) -> None:
    GATE.clear()
    HELD.clear()
    sessions = Sessions(tmp_path / "talk.db")
    runs = Runs(Agent(Scripted(busy()), TOOLS), sessions)
    await runs.say("ada", "Begin.")
    await asyncio.to_thread(HELD.wait)
    closing = asyncio.create_task(runs.close())
    await asyncio.sleep(0)
    GATE.set()
    await closing
    assert not sessions["ada"].info.ended and not sessions["ada"].load_state().is_at_rest
    sessions.close()


@in_loop
async def test_what_is_said_just_before_a_request_is_read_by_it(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")

    @tool
    async def work() -> str:
        """Work."""
        await runs.say("ada", "and hurry")
        return "done"

    runs = Runs(Agent(Scripted([call("work"), "Quickly."]), [work]), sessions)
    await runs.say("ada", "Work.")
    await runs.idle()
    texts = [message.text for message in sessions["ada"].messages]
    assert texts == ["Work.", "", "done", "and hurry", "Quickly."]
    assert sessions["ada"].unread == ()
    sessions.close()


@in_loop
async def test_what_is_said_too_late_for_a_run_begins_the_next(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")

    def last(request: object) -> str:
        sessions["ada"].say("and the other?", "bob")
        return "One."

    runs = Runs(Agent(Scripted([last, "The other."]), TOOLS), sessions)
    await runs.say("ada", "One?")
    await runs.idle()
    texts = [message.text for message in sessions["ada"].messages]
    assert texts == ["One?", "One.", "and the other?", "The other."]
    assert sessions["ada"].unread == ()
    sessions["ada"].say("later")
    assert [text for _, text in sessions["ada"].unread] == ["later"]
    sessions.close()


@in_loop
async def test_a_host_approved_for_the_session_covers_the_call_beside_it(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")

    @tool(approval=True, effects=Effects(read_only=True, target=("url",)))
    def get(url: str) -> str:
        """Get a page."""
        return url

    first, second, other = "https://a.example/1", "https://a.example/2", "https://b.example"
    lines = [[call("get", {"url": url}) for url in (first, second, other)], "ok"]
    runs = Runs(Agent(Scripted(lines), [get]), sessions)
    await runs.say("ada", "All.")
    await runs.idle()
    ticket = next(ticket for _, ticket in runs.waiting() if ticket.arguments["url"] == first)
    assert await runs.decide("ada", ticket.id, ticket.seal, {"verdict": "session"}) is None
    await runs.idle()
    assert [ticket.arguments["url"] for _, ticket in runs.waiting()] == [other]
    sessions.close()


@in_loop
async def test_an_approval_for_a_session_decides_no_call_of_another_agents_tool(
    tmp_path: Path,
) -> None:
    ran: list[str] = []
    inside = Effects(open_world=False, destructive=False)

    @tool(name="note", approval=True, effects=inside)
    def note(text: str) -> str:
        """Note something."""
        ran.append(text)
        return "noted"

    @tool(name="note", approval=True, effects=inside)
    def publish(text: str) -> str:
        """Note something where all can read it."""
        ran.append(text)
        return "noted"

    other = Agent(Scripted([call("note", {"text": "all"}), "ok"]), [publish], name="other")
    calls = [call("other", {"input": "Go."}), call("note", {"text": "own"})]
    sessions = Sessions(tmp_path / "talk.db")
    agent = Agent(Scripted([calls, "ok"]), [note, other.as_tool("other", "Ask it.")])
    runs = Runs(agent, sessions)
    await runs.say("ada", "Note it.")
    await runs.idle()
    tickets = {str(ticket.arguments["text"]): ticket for _, ticket in runs.waiting()}
    own = tickets["own"]
    assert tickets["all"].scope == own.scope == "tool"
    await runs.decide("ada", own.id, own.seal, {"verdict": "session"})
    await runs.idle()
    assert [ticket.arguments["text"] for _, ticket in runs.waiting()] == ["all"]
    assert "all" not in ran
    sessions.close()


class Waited:
    """Durable runs of which one waits, as the page asks for them; what it has queued is kept."""

    def __init__(self, sessions: Sessions, waits: bool = True) -> None:
        self.sessions, self.waits, self.queued = sessions, waits, list[str]()

    def awaits_decision(self, session: str, ticket: str) -> bool:
        return self.waits

    def decide(self, session: str, decision: Any, who: str) -> None:
        self.sessions[session].decide(decision, who)
        self.queued.append(decision.ticket)


@in_loop
async def test_a_decision_is_queued_only_for_a_durable_run_that_waits_and_again_if_its_run_is_missing(
    tmp_path: Path,
) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    durable: Any = Waited(sessions)
    agent = Agent(Scripted([call("remove", {"path": "a"}), "ok"]), TOOLS)
    await agent.run("Go.", session=sessions["ada"])
    runs = Runs(agent, sessions, DurableAccess(lambda: durable))
    ticket = sessions["ada"].pending[0]
    with pytest.raises(UnknownApproval):
        await runs.decide("ada", ticket.id, "another seal", {"verdict": "approve"})
    sessions["ada"].decide(ticket.approve(), "bo")  # and died before the run was in the queue
    with pytest.raises(UnknownApproval):
        await runs.decide("ada", ticket.id, "another seal", {"verdict": "deny"})
    first = await runs.decide("ada", ticket.id, ticket.seal, {"verdict": "deny"})
    assert (first and first.who, durable.queued) == ("bo", [ticket.id])
    durable.waits = False
    await runs.decide("ada", ticket.id, ticket.seal, {"verdict": "deny"})
    await runs.idle()
    assert len(durable.queued) == 1 and sessions["ada"].info.ended == "answered"
    sessions.close()


@in_loop
async def test_a_silent_database_of_durable_runs_is_an_error_after_a_while(
    tmp_path: Path,
) -> None:
    never = threading.Event()
    sessions = Sessions(tmp_path / "talk.db")
    silent: Any = SimpleNamespace(awaits_decision=lambda *_: never.wait())
    agent = Agent(Scripted([call("remove", {"path": "a"}), "ok"]), TOOLS)
    await agent.run("Go.", session=sessions["ada"])
    durable = DurableAccess(lambda: silent, 0.01)
    runs = Runs(agent, sessions, durable)
    ticket = sessions["ada"].pending[0]
    with pytest.raises(SessionUnavailable, match="does not answer"):
        await runs.decide("ada", ticket.id, ticket.seal, {"verdict": "approve"})
    assert sessions["ada"].find_decision(ticket.id) is None
    never.set()
    sessions.close()


@in_loop
async def test_few_threads_wait_for_a_silent_database_and_what_nobody_awaits_is_not_begun() -> None:
    never, begun, answered = threading.Event(), list[int](), ""
    some: Any = SimpleNamespace(close=never.set)
    durable = DurableAccess(lambda: some, 0.01)

    def ask(number: int) -> None:
        begun.append(number)
        never.wait()

    for number in range(3 * DURABLE_THREADS):
        with pytest.raises(SessionUnavailable):
            await durable.ask(lambda _, number=number: ask(number), None)  # type: ignore[misc]
    never.set()
    while not answered:
        with suppress(SessionUnavailable):
            answered = await durable.ask(lambda _: "again", "")
    assert len(begun) <= DURABLE_THREADS
    durable.close()
