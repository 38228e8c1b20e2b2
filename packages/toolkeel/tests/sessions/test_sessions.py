"""A file of sessions: listed, forked, edited, deleted from the disk, pruned only when told to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sessions.dict_store import DictStore
from tests.sessions.talking import agent, say
from toolkeel import Agent, tool
from toolkeel._records.entries import Entry, Forked, PersonSaid, StateChanged
from toolkeel.messages import UserMessage
from toolkeel.sessions import Batch, KeepTurns, Session, Sessions, session
from toolkeel.sessions.errors import DecisionRefused, SessionBusy, SessionError
from toolkeel.sessions.journal_state import JournalState
from toolkeel.testing.scripted import Line, Scripted, call


@pytest.fixture
def sessions(store: str | DictStore) -> Iterator[Sessions]:
    made = Sessions(store)
    for n in range(1, 4):
        say(made["ada"], f"q{n}", f"a{n}")
    yield made
    made.close()


def texts(session: Session) -> list[str]:
    return [message.text for message in session.messages]


def test_a_fork_has_what_was_said_up_to_its_turn_and_its_own_from_there(sessions: Sessions) -> None:
    fork = sessions.fork("ada", "other", turn=2)
    assert texts(fork) == ["q1", "a1", "q2", "a2"]
    say(fork, "q3'", "a3'")
    assert texts(fork) == ["q1", "a1", "q2", "a2", "q3'", "a3'"]
    assert texts(sessions["ada"]) == ["q1", "a1", "q2", "a2", "q3", "a3"]
    again = sessions.fork("other", "third")
    assert texts(again) == texts(fork)


def test_a_list_tells_of_a_fork_what_it_shares(sessions: Sessions) -> None:
    whole, two, none = (
        sessions.fork("ada", name, turn=turn).info
        for name, turn in (("whole", None), ("two", 2), ("none", 0))
    )
    assert [(info.turns, info.first) for info in (whole, two, none)] == [
        (3, "q1"),
        (2, "q1"),
        (0, ""),
    ]
    assert (whole.last, two.last, none.ended) == ("a3", "", "")
    say(sessions["none"], "q", "a")
    info = sessions["none"].info
    assert (info.turns, info.first, info.last) == (1, "q", "a")
    assert texts(sessions.fork("two", "one", turn=1)) == ["q1", "a1"]


def test_a_turn_is_edited_by_saying_something_else_in_its_place(sessions: Sessions) -> None:
    edited = sessions.edit("ada", 2, "edited")
    say(edited, "q2 better", "a2 better")
    assert texts(edited) == ["q1", "a1", "q2 better", "a2 better"]


def test_the_journal_of_a_fork_says_where_it_comes_from(sessions: Sessions) -> None:
    fork, edited = sessions.fork("ada", "b"), sessions.edit("ada", 2, "c")
    for made, last, is_edited in (
        (fork, sessions["ada"].info.head, False),
        (edited, None, True),
    ):
        first = made.entries()[-1]
        assert isinstance(first.entry, Forked) and first.seq == first.entry.seq + 1
        assert (first.entry.session, first.entry.edited) == ("ada", is_edited)
        assert last is None or first.entry.seq == last
    say(fork, "q", "a")
    assert [each.seq for each in fork.entries()] == list(range(1, fork.info.head + 1))


def test_a_fork_keeps_what_it_shares_when_its_parents_are_deleted(sessions: Sessions) -> None:
    say(sessions.fork("ada", "b", turn=1), "bq", "ba")
    say(sessions.fork("b", "c"), "cq", "ca")
    before = texts(sessions["c"])
    sessions.delete("b")
    assert texts(sessions["c"]) == before
    sessions.delete("ada")
    assert texts(sessions["c"]) == before == ["q1", "a1", "bq", "ba", "cq", "ca"]
    assert [info.name for info in sessions.list()] == ["c"]


@pytest.mark.parametrize(
    ("do", "told"),
    [
        (lambda s: s.fork("ada", "ada"), "already"),
        (lambda s: s.fork("nobody", "x"), "no session"),
        (lambda s: s.fork("ada", "x", turn=4), "has 3 turns"),
        (lambda s: s.edit("ada", 0, "x"), "counted from 1"),
        (lambda s: s.edit("ada", 4, "x"), "has 3 turns, and no turn 4"),
        (lambda s: s.delete("nobody"), "no session"),
        (lambda s: s.open(""), "cannot name"),
        (lambda s: s.open("a\nb"), "cannot name"),
        (lambda s: s.open("x" * 201), "cannot name"),
    ],
)
def test_what_cannot_be_done_is_told(sessions: Sessions, do: object, told: str) -> None:
    with pytest.raises(SessionError, match=told):
        do(sessions)  # type: ignore[operator]


def _payer(paid: list[int], *lines: Line) -> Agent:
    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    return Agent(Scripted(lines), [pay])


@pytest.mark.parametrize("turn", [None, 4])
@pytest.mark.parametrize("decided", [False, True])
def test_a_fork_of_a_waiting_session_waits_under_a_ticket_of_its_own(
    sessions: Sessions, turn: int | None, decided: bool
) -> None:
    paid: list[int] = []
    source = sessions["ada"]
    _payer(paid, call("pay", {"amount": 5})).run_sync("pay", session=source)
    [ticket] = source.pending
    if decided:
        source.decide(ticket.approve())
    fork = sessions.fork("ada", "fork", turn=turn)
    [own] = fork.pending
    assert own.id != ticket.id and own.arguments == ticket.arguments
    assert texts(fork) == texts(source) and isinstance(fork.entries()[-1].entry, Forked)
    assert fork.info.turns == source.info.turns

    with pytest.raises(DecisionRefused, match="no call waits for it"):
        _payer(paid, "no").run_sync(None, session=fork, decisions=[ticket.approve()])
    assert paid == []
    denied = _payer(paid, "Not paid.").run_sync(None, session=fork, decisions=[own.deny("no")])
    assert (denied.output, paid) == ("Not paid.", [])
    [left] = source.pending
    assert left == ticket
    done = _payer(paid, "Paid.").run_sync(None, session=source, decisions=[ticket.approve()])
    assert (done.output, paid) == ("Paid.", [5])
    say(fork, "again", "yes")
    assert texts(fork)[-1] == "yes" and texts(source)[-1] == "Paid."


def test_a_fork_of_a_session_whose_inner_agent_waits_can_be_decided(sessions: Sessions) -> None:
    paid: list[int] = []

    def desk(*lines: Line) -> Agent:
        inner = _payer(paid, *([call("pay", {"amount": 7})] if len(lines) == 1 else []), "Done.")
        return Agent(Scripted(lines), [inner.as_tool("clerk")])

    asked = desk(call("clerk", {"input": "pay"})).run_sync("pay", session=sessions["ada"])
    assert asked.reason == "waiting"
    fork = sessions.fork("ada", "fork")
    [own] = fork.pending
    assert own.id != sessions["ada"].pending[0].id
    result = Agent(Scripted(["All paid."]), [_payer(paid, "Done.").as_tool("clerk")]).run_sync(
        None, session=fork, decisions=[own.approve()]
    )
    assert (result.output, paid) == ("All paid.", [7])
    assert len(sessions["ada"].pending) == 1


def test_no_fork_is_made_of_a_run_that_goes_on(sessions: Sessions) -> None:
    @tool
    def look() -> str:
        """Look."""
        with pytest.raises(SessionError, match="has not ended"):
            sessions.fork("ada", "fork")
        return "looked"

    Agent(Scripted([call("look", {}), "ok"]), [look]).run_sync("look", session=sessions["ada"])
    assert not sessions["fork"].exists


def test_a_list_without_a_scope_names_other_scopes_once(
    sessions: Sessions, recwarn: pytest.WarningsRecorder
) -> None:
    assert [info.name for info in sessions.list()] == ["ada"]
    for scope in ("u1", "u2"):
        say(sessions.open("main", scope), "hi", "hello")
    assert [info.name for info in sessions.list(scope="")] == ["ada"] and not recwarn.list
    for _ in range(2):
        assert [info.name for info in sessions.list()] == ["ada"]
    [said] = recwarn.list
    assert said.filename == __file__
    assert "2 sessions in 2 other scopes" in str(said.message)
    assert "list(scope=None)" in str(said.message)
    assert [info.scope for info in sessions.list(scope="u1")] == ["u1"]
    assert sorted(info.scope for info in sessions.list(scope=None)) == ["", "u1", "u2"]


def test_a_search_finds_what_anybody_wrote_and_keeps_to_its_scope(sessions: Sessions) -> None:
    mine = sessions.open("main", "u1")
    say(mine, "Where is Größe 東京?", call("add", {"a": 4711, "b": 1}), "In the NORTH of it.")
    say(mine, "x" * 300_000 + " needle", "found")
    for text in ("größe", "東京 where", "4711", "4712", "north", "NEEDLE"):
        [match] = sessions.search(text, scope=None)
        assert (match.session.name, match.session.scope) == ("main", "u1")
        assert sessions.search(text) == () and sessions.search(text, "u1") == (match,)
        assert text.split()[0].casefold() in match.text.casefold()
        assert mine.entries(match.seq - 1, match.seq)[0].at == match.at
    assert [m.text for m in sessions.search("q2")] == ["q2"]
    assert len(sessions.search("q")) == 3 and len(sessions.search("q", limit=2)) == 2
    assert sessions.search("100%_") == () == sessions.search("q1 nothing")
    assert sessions["new"].search("x") == []
    with pytest.raises(SessionError, match="give a word"):
        sessions.search("  ")


def test_the_excerpt_of_a_match_has_the_word_behind_letters_that_fold_to_two() -> None:
    sessions = Sessions(":memory:")
    sessions["ada"].say("ß" * 200 + " Needle " + "z" * 300)
    Agent(Scripted(["ok"])).run_sync(None, session=sessions["ada"])
    [match] = sessions.search("needle")
    assert "Needle" in match.text


def test_a_search_finds_what_the_model_is_no_longer_shown_and_in_forks(sessions: Sessions) -> None:
    asyncio.run(sessions["ada"].compact(KeepTurns(1, at=1)))
    sessions.fork("ada", "fork", turn=1)
    assert {m.session.name for m in sessions.search("q1")} == {"ada", "fork"}


def test_a_deleted_session_is_gone_from_the_disk(sessions: Sessions, tmp_path: Path) -> None:
    private = "a very private matter"
    say(sessions["eve"], private, private * 2)
    sessions["eve"].say(private)
    sessions.delete("eve")
    assert not sessions["eve"].exists
    found = [p for p in tmp_path.rglob("*") if p.is_file() and private.encode() in p.read_bytes()]
    assert found == []
    assert texts(sessions["ada"])[-1] == "a3"


def test_a_name_means_nothing_outside_its_scope(sessions: Sessions) -> None:
    say(sessions.open("ada", "other"), "x", "y")
    assert [info.scope for info in sessions.list(scope="")] == [""]
    assert [info.scope for info in sessions.list("other")] == ["other"]
    assert len(sessions.list(None)) == 2
    sessions.delete("ada", "other")
    assert sessions["ada"].exists


@pytest.mark.parametrize(
    "name", ["a' OR 1=1 --", "x'; DELETE FROM session; --", 'ada" --', "%", "?"]
)
def test_no_name_of_a_session_is_a_query(sessions: Sessions, name: str) -> None:
    assert not sessions[name].exists and not sessions.open("ada", name).exists
    say(sessions[name], "x", "y")
    assert texts(sessions[name]) == ["x", "y"]
    assert len(sessions.list()) == 2
    sessions.delete(name)
    assert [info.name for info in sessions.list(None)] == ["ada"]
    assert texts(sessions["ada"])[-1] == "a3"


def _age(session: Session) -> None:
    """Let a session's last write be ninety days ago."""
    info = session.info
    batch = Batch(facts={"updated": info.updated - 90 * 86400}, after=info.head)
    session._storage.store.append(info.id, batch).result()


def test_nothing_is_pruned_unless_somebody_says_so(sessions: Sessions) -> None:
    say(sessions["new"], "x", "y")
    _age(sessions["ada"])
    assert [info.name for info in sessions.prune(30)] == ["ada"]
    assert len(sessions.list()) == 2
    assert [info.name for info in sessions.prune(30, dry=False)] == ["ada"]
    assert [info.name for info in sessions.list()] == ["new"]


def test_a_session_that_waits_for_a_person_or_a_run_is_pruned_only_on_request(
    sessions: Sessions,
) -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    Agent(Scripted([call("pay", {})]), [pay]).run_sync("pay", session=sessions["waits"])
    say(sessions["unread"], "x", "y")
    for name in ("ada", "waits", "unread"):
        _age(sessions[name])
    sessions["unread"].say("z")
    assert [info.name for info in sessions.prune(30, dry=False)] == ["ada"]
    assert {info.name for info in sessions.list()} == {"waits", "unread"}
    gone = sessions.prune(30, waiting=True, dry=False)
    assert {info.name for info in gone} == {"waits", "unread"}
    assert sessions.list() == ()


def test_a_session_in_memory_leaves_nothing_and_is_of_its_own(tmp_path: Path) -> None:
    one, other = session(":memory:"), session(":memory:")
    agent("hello").run_sync("hi", session=one)
    assert texts(one) == ["hi", "hello"]
    assert not other.exists


def test_a_fork_before_a_request_asks_the_model_again_and_repeats_no_call(
    sessions: Sessions,
) -> None:
    ran: list[str] = []

    @tool
    def look() -> str:
        """Look."""
        ran.append("look")
        return "seen"

    model = Scripted([call("look"), "One.", "Two."])
    Agent(model, [look]).run_sync("Look.", session=sessions["eve"])
    asked = [e.seq for e in sessions["eve"].entries() if e.entry.kind == "model_asked"]
    fork = sessions.fork("eve", "again", before=asked[1])
    assert texts(fork) == ["Look.", "", "seen"]
    assert Agent(model, [look]).run_sync(None, session=fork).output == "Two."
    assert texts(fork) == ["Look.", "", "seen", "Two."] and ran == ["look"]
    assert texts(sessions["eve"])[-1] == "One."
    for wrong in (0, asked[0] + 1, 999):
        with pytest.raises(SessionError, match="no request"):
            sessions.fork("eve", "x", before=wrong)


def test_a_fork_has_no_message_that_the_next_turn_took_from_the_inbox(sessions: Sessions) -> None:
    sessions["eve"].say("q1", "eve", id="u1")
    model = Scripted(["a1", "a2", "b2"])
    Agent(model).run_sync(None, session=sessions["eve"])
    sessions["eve"].say("q2", "eve", id="u2")
    Agent(model).run_sync(None, session=sessions["eve"])
    fork = sessions.fork("eve", "other", turn=1)
    assert texts(fork) == ["q1", "a1"] and fork.say("q2'", id="u2")
    Agent(model).run_sync(None, session=fork)
    assert texts(fork) == ["q1", "a1", "q2'", "b2"]
    empty = sessions.edit("eve", 1, "third")
    assert texts(empty) == [] and empty.load_state().queued == {}


def note(state: JournalState) -> Iterator[Entry]:
    yield PersonSaid(state.last_run.run, UserMessage("a note"))
    yield StateChanged(state.last_run.run, "user", "ada")


def test_a_program_appends_entries_to_a_session_and_a_run_goes_on_from_them(
    sessions: Sessions,
) -> None:
    for name, before in (("ada", texts(sessions["ada"])), ("new", [])):
        sessions.append(name, note)
        assert texts(sessions[name]) == [*before, "a note"]
        assert sessions[name].state == {"user": "ada"}
        say(sessions[name], "more", "yes")
        assert texts(sessions[name]) == [*before, "a note", "more", "yes"]


def test_nothing_is_appended_if_the_entries_cannot_be_made_or_a_run_is_active(
    sessions: Sessions,
) -> None:
    def fail(state: JournalState) -> Iterator[Entry]:
        yield from note(state)
        raise RuntimeError("no")

    for name in ("ada", "new"):
        with pytest.raises(RuntimeError, match="no"):
            sessions.append(name, fail)
    assert not sessions["new"].exists

    @tool
    def try_it() -> str:
        """Try."""
        with pytest.raises(SessionBusy, match="a run of the session 'ada' goes on"):
            sessions.append("ada", note)
        return "refused"

    model = Scripted([call("try_it"), "done"])
    Agent(model, tools=[try_it]).run_sync("go", session=sessions["ada"])
    assert texts(sessions["ada"])[-2:] == ["refused", "done"]
