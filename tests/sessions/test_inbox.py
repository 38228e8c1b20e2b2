"""What others leave is taken once, in order, whoever dies in between."""

from __future__ import annotations

import asyncio

import pytest

from tests.sessions.talking import agent, say
from toolkeel import tool
from toolkeel._records.entries import Queued
from toolkeel.sessions import Sessions
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.inbox import leave, posted, take_all
from toolkeel.sessions.inbox import say as as_body
from toolkeel.sessions.journal import SessionJournal, load_fold
from toolkeel.testing.scripted import call


@pytest.fixture
def sessions(place: str) -> Sessions:
    return Sessions(place)


def _journal(sessions: Sessions) -> SessionJournal:
    kept, session = sessions["ada"]._storage, sessions["ada"]
    fold = load_fold(kept.database, kept.artifacts, session.info)
    return SessionJournal(kept.database, kept.artifacts, session.info, fold)


def test_what_was_taken_is_an_entry_and_no_row_in_one_transaction(sessions: Sessions) -> None:
    say(sessions["ada"], "hi", "hello")
    data, id = sessions["ada"]._storage.database, sessions["ada"].info.id
    for n in range(3):
        leave(data, id, "bob", "message", as_body(f"m{n}"))
    journal = _journal(sessions)
    assert list(take_all(journal, "r", posted(data, id))) == []
    assert len(posted(data, id)) == 3  # not before it is committed
    journal.commit_now()
    assert posted(data, id) == []
    queued = [e.entry for e in sessions["ada"].entries() if isinstance(e.entry, Queued)]
    assert [(each.message.text, each.who) for each in queued] == [
        (f"m{n}", "bob") for n in range(3)
    ]
    sessions.close()


def test_a_wish_to_stop_leaves_no_entry(sessions: Sessions) -> None:
    say(sessions["ada"], "hi", "hello")
    data, id = sessions["ada"]._storage.database, sessions["ada"].info.id
    leave(data, id, "bob", "cancel", {"reason": "late"})
    head = sessions["ada"].info.head
    journal = _journal(sessions)
    assert list(take_all(journal, "r", posted(data, id))) == ["late"]
    journal.commit_now()
    assert posted(data, id) == []
    assert sessions["ada"].info.head == head
    sessions.close()


def test_what_nobody_can_read_is_told_and_kept(sessions: Sessions) -> None:
    say(sessions["ada"], "hi", "hello")
    data, id = sessions["ada"]._storage.database, sessions["ada"].info.id
    leave(data, id, "eve", "message", {"message": {"role": "developer"}})
    with pytest.raises(SessionError, match="nobody can read"):
        agent("x").run_sync("hi", session=sessions["ada"])
    assert len(posted(data, id)) == 1
    sessions.close()


def test_nothing_is_left_for_a_session_that_is_gone(sessions: Sessions) -> None:
    with pytest.raises(SessionError, match="gone"):
        leave(sessions["ada"]._storage.database, 99, "bob", "message", as_body("x"))
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
