"""What others leave is taken once, in order, whoever dies in between."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sessions.dict_store import DictStore
from tests.sessions.posting import at_once, paid, payer
from tests.sessions.talking import agent, say
from toolkeel import Agent, UserMessage, tool
from toolkeel._records.entries import Decided, Queued
from toolkeel.sessions import Session, Sessions
from toolkeel.sessions.errors import DecisionRefused, SessionError
from toolkeel.sessions.inbox import add_post, take_posts
from toolkeel.sessions.inbox import message_body as as_body
from toolkeel.sessions.journal import SessionJournal, StoredEntry, load_state
from toolkeel.testing.scripted import Scripted, call


@pytest.fixture
def sessions(store: str | DictStore) -> Sessions:
    return Sessions(store)


def _journal(sessions: Sessions) -> SessionJournal:
    kept, session = sessions["ada"]._storage, sessions["ada"]
    fold = load_state(kept.store, session.info)
    return SessionJournal(kept.store, session.info, fold)


def test_what_was_taken_is_an_entry_and_no_row_in_one_transaction(sessions: Sessions) -> None:
    say(sessions["ada"], "hi", "hello")
    data, id = sessions["ada"]._storage.store, sessions["ada"].info.id
    for n in range(3):
        add_post(data, id, ("bob", "message", as_body(f"m{n}")))
    journal = _journal(sessions)
    assert list(take_posts(journal, "r", data.read_posts(id))) == []
    assert len(data.read_posts(id)) == 3  # not before it is committed
    journal.commit_now()
    assert data.read_posts(id) == []
    queued = [e.entry for e in sessions["ada"].entries() if isinstance(e.entry, Queued)]
    assert [(each.message.text, each.who) for each in queued] == [
        (f"m{n}", "bob") for n in range(3)
    ]
    sessions.close()


def test_a_wish_to_stop_leaves_no_entry(sessions: Sessions) -> None:
    say(sessions["ada"], "hi", "hello")
    data, id = sessions["ada"]._storage.store, sessions["ada"].info.id
    add_post(data, id, ("bob", "cancel", {"reason": "late"}))
    head = sessions["ada"].info.head
    journal = _journal(sessions)
    assert [each.reason for each in take_posts(journal, "r", data.read_posts(id))] == ["late"]
    journal.commit_now()
    assert data.read_posts(id) == []
    assert sessions["ada"].info.head == head
    sessions.close()


def test_what_nobody_can_read_is_told_and_kept(sessions: Sessions) -> None:
    say(sessions["ada"], "hi", "hello")
    data, id = sessions["ada"]._storage.store, sessions["ada"].info.id
    add_post(data, id, ("eve", "message", {"message": {"role": "developer"}}))
    with pytest.raises(SessionError, match="nobody can read"):
        agent("x").run_sync("hi", session=sessions["ada"])
    assert len(data.read_posts(id)) == 1
    sessions.close()


def test_nothing_is_left_for_a_session_that_is_gone(sessions: Sessions) -> None:
    with pytest.raises(SessionError, match="gone"):
        add_post(sessions["ada"]._storage.store, 99, ("bob", "message", as_body("x")))
    sessions.close()


@pytest.mark.parametrize(("given", "told"), [("", "somebody asked to stop"), ("enough", "enough")])
def test_a_run_that_is_stopped_from_outside_says_why(
    sessions: Sessions, given: str, told: str
) -> None:
    session = sessions["ada"]

    @tool
    async def wait() -> str:
        """Wait to be stopped."""
        session.cancel(given)
        await asyncio.sleep(30)
        return "never"

    result = agent([call("wait")], "never", tools=(wait,)).run_sync("go", session=session)
    assert result.reason == "cancelled"
    assert told in result.messages[-1].text


# — a slow database —


@pytest.mark.slow
def test_messages_are_consumed_once_however_slow_a_commit_is(slow_place: str) -> None:
    sessions = Sessions(slow_place)

    async def talk(name: str) -> None:
        await asyncio.to_thread(sessions[name].say, f"before {name}", "bob")

        @tool
        async def step(n: int) -> str:
            """Do a step."""
            if n == 0:
                await asyncio.to_thread(sessions[name].say, f"meanwhile {name}", "eve")
            await asyncio.sleep(0.4)
            return f"did {n}"

        lines = [[call("step", {"n": n})] for n in range(3)]
        result = await agent(*lines, *["done"] * 4, tools=(step,)).run("go", session=sessions[name])
        assert result.reason == "answered"

    async def talk_all() -> None:
        await asyncio.gather(*(talk(f"s{n}") for n in range(3)))

    asyncio.run(talk_all())
    for n in range(3):
        queued = [e.entry for e in sessions[f"s{n}"].entries() if isinstance(e.entry, Queued)]
        assert Counter(each.who for each in queued) == {"bob": 1, "eve": 1}
        texts = Counter(message.text for message in sessions[f"s{n}"].messages)
        assert (texts[f"before s{n}"], texts[f"meanwhile s{n}"]) == (1, 1)
        assert sessions[f"s{n}"].unread == ()
    sessions.close()


def test_a_post_that_is_read_again_before_its_commit_is_consumed_once(sessions: Sessions) -> None:
    say(sessions["ada"], "hi", "hello")
    data, id = sessions["ada"]._storage.store, sessions["ada"].info.id
    for kind, body in (
        ("message", as_body("m")),
        ("cancel", {"reason": "late"}),
        ("decision", {"decision": {"ticket": "t", "seal": "s", "verdict": "approve"}}),
    ):
        add_post(data, id, ("bob", kind, body))  # type: ignore[arg-type]
    journal = _journal(sessions)
    read = data.read_posts(id)
    assert [each.reason for each in take_posts(journal, "r", read)] == ["late"]
    assert list(take_posts(journal, "r", data.read_posts(id))) == []
    journal.commit_now()
    assert list(take_posts(journal, "r", read)) == []  # a read that was older than the commit
    journal.commit_now()
    kinds = Counter(e.entry.kind for e in sessions["ada"].entries())
    assert (kinds["queued"], kinds["decided"]) == (1, 1)
    sessions.close()


def test_a_post_that_another_process_took_fails_the_write(sessions: Sessions) -> None:
    say(sessions["ada"], "hi", "hello")
    data, id = sessions["ada"]._storage.store, sessions["ada"].info.id
    add_post(data, id, ("bob", "cancel", {"reason": ""}))
    one, two = _journal(sessions), _journal(sessions)
    [post] = data.read_posts(id)
    one.drop_post(post)
    two.drop_post(post)
    one.commit_now()
    with pytest.raises(
        SessionError, match=r"another process has taken a post|somebody else has written"
    ):
        two.commit_now()
    sessions.close()


@pytest.mark.slow
def test_of_two_people_who_decide_at_once_the_same_one_counts_for_both(
    slow_place: str, place: str, tmp_path: Path
) -> None:
    sessions = Sessions(place)
    names = [f"s{n}" for n in range(3)]
    for name in names:
        assert payer(tmp_path / name).run_sync("3", session=sessions[name]).reason == "waiting"
    told = at_once("decide", [slow_place] * 2, tmp_path, names)
    for name, *of_each in zip(names, *told, strict=True):
        entries = [e.entry for e in sessions[name].entries()]
        counted: dict[str, str] = {}
        for each in entries:
            if isinstance(each, Decided):
                counted.setdefault(each.decision.ticket, each.who)
        for seen in of_each:
            assert seen == {id: counted[id] for id in seen}  # type: ignore[attr-defined]
        assert paid(tmp_path / name) == ["0", "1", "2"]
    sessions.close()


@pytest.mark.slow
def test_a_decision_after_the_call_has_run_is_told_what_counted(
    sessions: Sessions, tmp_path: Path
) -> None:
    payer(tmp_path / "log").run_sync("1", session=sessions["ada"])
    [ticket] = sessions["ada"].pending
    assert sessions["ada"].decide(ticket.approve(), "bob") is None
    payer(tmp_path / "log").run_sync(None, session=sessions["ada"])
    first = sessions["ada"].decide(ticket.deny(), "eve")
    assert first is not None and (first.who, first.decision.verdict) == ("bob", "approve")
    sessions.close()


@pytest.mark.slow
def test_two_workers_that_begin_one_order_say_its_prompt_once(
    slow_place: str, place: str, tmp_path: Path
) -> None:
    names = [f"s{n}" for n in range(3)]
    told = at_once("begin", [slow_place] * 2, tmp_path, names)
    assert {end["reason"] for ends in told for end in ends} == {"answered"}  # type: ignore[index]
    sessions = Sessions(place)
    for name in names:
        assert [m.text for m in sessions[name].messages] == ["2", "", "paid 0", "paid 1", "done"]
        assert paid(tmp_path / name) == ["0", "1"]
    sessions.close()


# — canceled is canceled —


@pytest.mark.parametrize("cancel_first", [True, False])
def test_a_waiting_run_can_be_canceled_and_what_was_decided_for_it_never_runs(
    sessions: Sessions, tmp_path: Path, *, cancel_first: bool
) -> None:
    session, log = sessions["ada"], tmp_path / "log"
    assert payer(log).run_sync("1", session=session).reason == "waiting"
    [ticket] = session.pending
    if not cancel_first:
        session.decide(ticket.approve(), "bob")
    session.cancel("too late")
    assert (session.pending, session.info.ended, session.writer) == ((), "cancelled", None)
    if cancel_first:
        with pytest.raises(DecisionRefused, match="its run has ended"):
            session.decide(ticket.approve(), "bob")
    session.resumes_only = True
    with pytest.raises(SessionError, match="nothing waits"):
        payer(log).run_sync(None, session=session)
    session.resumes_only = False
    assert payer(log).run_sync(None, session=session).output == "done"
    assert agent("Hello").run_sync("and now?", session=session).output == "Hello"
    assert paid(log) == []
    assert [m.text[:11] for m in session.messages[2:]] == [
        "'pay' was n",
        "done",
        "and now?",
        "Hello",
    ]
    sessions.close()


def test_a_cancel_counts_though_the_run_has_written_nothing_yet(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = sessions["ada"]
    say(session, "hi", "hello")
    record = Session._record_writer

    def cancel(self: Session, id: int) -> None:  # the run has just taken its turn
        record(self, id)
        sessions["ada"].cancel("enough")

    monkeypatch.setattr(Session, "_record_writer", cancel)
    assert agent("never").run_sync("go", session=session).reason == "cancelled"
    monkeypatch.undo()
    assert agent("fine").run_sync("again", session=session).output == "fine"
    sessions.close()


def test_a_cancel_between_the_end_of_a_run_and_its_release_does_not_stop_the_next(
    sessions: Sessions,
) -> None:
    session, storage = sessions["ada"], sessions["ada"]._storage
    say(session, "hi", "hello")
    assert storage.locks.try_acquire(session.info.id)  # a run that has ended, not let go
    session.cancel("enough")
    assert [post.kind for post in storage.store.read_posts(session.info.id)] == ["cancel"]
    storage.locks.release(session.info.id)
    assert agent("fine").run_sync("go", session=session).output == "fine"
    assert storage.store.read_posts(session.info.id) == []
    sessions.close()


def test_a_cancel_of_a_run_that_ended_meanwhile_does_not_end_the_next(sessions: Sessions) -> None:
    say(sessions["ada"], "hi", "hello")
    session = sessions["ada"]
    fields = "bob", "cancel", {"head": session.info.head - 1}
    add_post(session._storage.store, session.info.id, fields)
    assert agent("fine").run_sync("go", session=session).output == "fine"
    session.cancel("nothing goes on")
    assert session._storage.store.read_posts(session.info.id) == []
    assert agent("fine").run_sync("go", session=session).output == "fine"
    sessions.close()


def test_a_cancel_that_comes_while_another_process_looks_is_applied_by_that_one(
    sessions: Sessions, tmp_path: Path
) -> None:
    session = sessions["ada"]
    payer(tmp_path / "log").run_sync("1", session=session)
    locks, id = session._storage.locks, session.info.id
    assert locks.try_acquire(id)
    session.cancel("enough")
    assert session.pending  # the one that looks has it still
    locks.release(id)
    assert session.writer is None  # it lets go
    assert (session.pending, session.info.ended) == ((), "cancelled")
    sessions.close()


def test_a_message_is_withdrawn_or_the_run_that_it_joined_is_canceled(sessions: Sessions) -> None:
    session = sessions["ada"]

    @tool
    async def wait(for_whom: str) -> str:
        """Wait to be stopped."""
        await asyncio.to_thread(session.cancel_message, for_whom, "enough")
        await asyncio.sleep(0.6)
        return "went on"

    session.say("first", "one")
    session.say("second", "two")
    session.cancel_message("two")
    lines = [call("wait", {"for_whom": "two"})], [call("wait", {"for_whom": "one"})]
    result = agent(*lines, "never", tools=(wait,)).run_sync(None, session=session)
    assert result.reason == "cancelled"
    texts = [message.text for message in session.messages]
    assert (texts[0], texts[2], "second" in texts) == ("first", "went on", False)
    sessions.close()


def test_a_message_with_an_id_is_posted_once_by_whoever_sends_it(sessions: Sessions) -> None:
    session = sessions["ada"]
    assert session.say("Hi", "ben", id="u1")
    assert not session.say("Hi", "eve", id="u1")
    assert session.say("Hi", "ben", id="u2") and session.say("Hi", "ben")
    Agent(Scripted(["Hello."])).run_sync(None, session=session)
    assert not session.say("Hi", id="u2")  # after it was taken, too
    assert [m.text for m in session.messages] == ["Hi", "Hi", "Hi", "Hello."]
    assert [each.id for each in session.inbox] == []


def test_a_run_takes_its_inbox_at_once_when_it_is_told_to(sessions: Sessions) -> None:
    session = sessions["ada"]
    delivered: list[bool] = []

    @tool
    async def work() -> str:
        """Work."""
        session.say("and hurry", "ben", id="u1")
        delivered.append(session.deliver())
        return "done"

    model = Scripted([call("work"), "Quickly."])
    Agent(model, [work]).run_sync("Work.", session=session)
    assert delivered == [True] and session.deliver() is False
    assert [m.text for m in session.messages] == ["Work.", "", "done", "and hurry", "Quickly."]


def test_a_watcher_gets_every_entry_of_this_process_in_order_once_it_is_durable(
    sessions: Sessions,
) -> None:
    session = sessions["ada"]
    seen: list[StoredEntry] = []

    def watch(written: Sequence[StoredEntry]) -> None:
        seen.extend(written)

    stop = session.watch(watch)
    Agent(Scripted(["one", "two"])).run_sync("One?", session=session)
    assert seen == session.entries()
    stop()
    session.say("not watched")
    Agent(Scripted(["two"])).run_sync(None, session=session)
    assert len(seen) < session.info.head


def test_the_decision_that_counted_is_told_even_while_a_later_one_is_in_the_inbox(
    sessions: Sessions, tmp_path: Path
) -> None:
    session = sessions["ada"]
    payer(tmp_path / "log").run_sync("1", session=session)
    [ticket] = session.pending
    assert session.decide(ticket.approve(), "ada") is None
    payer(tmp_path / "log").run_sync(None, session=session)
    for _ in range(2):  # the first of these is in the inbox when the second comes
        first = session.decide(ticket.deny(), "eve")
        assert first is not None and (first.who, first.decision.verdict) == ("ada", "approve")
    known = session.find_decision(ticket.id)
    assert known is not None and known.who == "ada" and session.find_decision("none") is None


def test_a_decision_on_another_form_of_a_ticket_does_not_stand_in_the_way_of_the_right_one(
    sessions: Sessions, tmp_path: Path
) -> None:
    session = sessions["ada"]
    payer(tmp_path / "log").run_sync("1", session=session)
    [ticket] = session.pending
    with pytest.raises(DecisionRefused, match="another ticket than the one for 'pay'"):
        session.decide(replace(ticket.approve(), seal="another"))
    assert payer(tmp_path / "log").run_sync(None, session=session).reason == "waiting"
    assert paid(tmp_path / "log") == []
    assert session.decide(ticket.approve()) is None
    payer(tmp_path / "log").run_sync(None, session=session)
    assert paid(tmp_path / "log") == ["0"]
    sessions.close()


@pytest.mark.parametrize("id", ["u1", 'a"b\\c', "猫", "é" * 3, "x" * 2000])
def test_a_message_that_is_in_the_journal_is_known_by_its_id(sessions: Sessions, id: str) -> None:
    session = sessions.open("s")
    answering = Agent(Scripted(["One.", "Two."]))
    for n, other in enumerate((id, f"{id}+"), 1):
        assert session.say(f"Say {n}, {id}", id=other)
        answering.run_sync(None, session=session)
    assert not session.say("Again.", id=id)
    assert session.say("Another.", id=f"{id}-")


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("how", ["say", "queue"])
def test_a_message_to_a_run_that_has_not_begun_follows_its_prompt_and_outlives_a_wait(
    sessions: Sessions, how: str, waits: bool
) -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent(Scripted([call("pay") if waits else "one", "two", "three"]), [pay])
    session = sessions["ada"]

    async def main() -> None:
        begun = agent.start("go", session=session)
        assert begun.say("late") if how == "say" else begun.queue("late")
        await begun

    asyncio.run(main())
    if waits:
        session.decide(session.pending[0].approve())
        agent.run_sync(None, session=session)
    said = [each.text for each in session.messages if isinstance(each, UserMessage)]
    assert (said, session.unread) == (["go", "late"], ())


def test_of_several_messages_after_an_entry_the_first_is_posted(sessions: Sessions) -> None:
    session = sessions["ada"]
    assert [session.say(text, after=0) for text in ("a", "b")] == [True, False]
    assert session.say("c")  # who names no entry is not refused
    agent("hello", "hello").run_sync(None, session=session)
    assert not session.say("d", after=0)
    assert session.say("e", after=session.info.head)
    assert [each.message.text for each in session.inbox] == ["e"]
