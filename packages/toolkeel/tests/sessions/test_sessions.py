"""A file of sessions: listed, forked, edited, deleted from the disk, pruned only when told to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sessions.talking import agent, say
from toolkeel import Agent, tool
from toolkeel._records.entries import Forked
from toolkeel.sessions import Session, Sessions, session
from toolkeel.sessions.errors import SessionError
from toolkeel.testing.scripted import Scripted, call


@pytest.fixture
def sessions(place: str) -> Iterator[Sessions]:
    made = Sessions(place)
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
        (lambda s: s.delete("nobody"), "no session"),
        (lambda s: s.open(""), "cannot name"),
        (lambda s: s.open("a\nb"), "cannot name"),
        (lambda s: s.open("x" * 201), "cannot name"),
    ],
)
def test_what_cannot_be_done_is_told(sessions: Sessions, do: object, told: str) -> None:
    with pytest.raises(SessionError, match=told):
        do(sessions)  # type: ignore[operator]


def test_no_fork_takes_a_call_along_that_waits(sessions: Sessions) -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    Agent(Scripted([call("pay", {})]), [pay]).run_sync("pay", session=sessions["ada"])
    with pytest.raises(SessionError, match="has not ended"):
        sessions.fork("ada", "x")
    assert texts(sessions.fork("ada", "y", turn=3))[-1] == "a3"


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
    assert [info.scope for info in sessions.list()] == [""]
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


def test_nothing_is_pruned_unless_somebody_says_so(sessions: Sessions) -> None:
    say(sessions["new"], "x", "y")
    age = "UPDATE session SET updated = updated - 90 * 86400 WHERE name = 'ada'"
    sessions._storage.database.write_now(lambda connection: connection.execute(age))
    assert [info.name for info in sessions.prune(30)] == ["ada"]
    assert len(sessions.list()) == 2
    assert [info.name for info in sessions.prune(30, dry=False)] == ["ada"]
    assert [info.name for info in sessions.list()] == ["new"]


def test_a_session_in_memory_leaves_nothing_and_is_of_its_own(tmp_path: Path) -> None:
    one, other = session(":memory:"), session(":memory:")
    agent("hello").run_sync("hi", session=one)
    assert texts(one) == ["hi", "hello"]
    assert not other.exists
