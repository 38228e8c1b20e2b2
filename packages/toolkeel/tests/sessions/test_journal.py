"""A journal is durable when a commit returns, and opens again to a prefix whatever happened."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sessions.talking import opened, say
from tests.sessions.test_journal_state import entries
from toolkeel import Agent, AssistantMessage, UserMessage
from toolkeel._records.entries import (
    ModelReplied,
    PersonSaid,
    RunBegan,
    RunEnded,
    StateChanged,
    UnknownEntry,
)
from toolkeel.sessions import KeepTurns, Sessions
from toolkeel.sessions.checkpoint import window_start
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.journal import load_state, read_entries
from toolkeel.testing.scripted import Scripted


def test_what_was_committed_is_read_back_as_it_was(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "a.db")
    journal = opened(sessions)
    made = entries(300)
    for entry in made:
        journal.append(entry)
    journal.commit_now()
    assert [each.entry for each in sessions["ada"].entries()] == made
    assert sessions["ada"].info.head == len(made)
    sessions.close()


def test_a_commit_that_is_cancelled_is_written_all_the_same(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "a.db")
    journal = opened(sessions)

    async def main() -> None:
        journal.append(StateChanged("r", "k", 1))
        task = asyncio.create_task(journal.commit())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        journal.append(StateChanged("r", "k", 2))
        await journal.commit()

    asyncio.run(main())
    assert [each.seq for each in sessions["ada"].entries()] == [1, 2]
    sessions.close()


def test_a_writer_that_was_frozen_cannot_write_between_anothers_entries(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "a.db")
    frozen, other = opened(sessions), opened(sessions)
    other.append(StateChanged("r", "k", "other"))
    other.commit_now()
    frozen.append(StateChanged("r", "k", "frozen"))
    with pytest.raises(SessionError, match="somebody else has written"):
        frozen.commit_now()
    frozen.append(StateChanged("r", "k", "again"))
    with pytest.raises(SessionError, match="failed, so it ends here"):
        frozen.commit_now()
    assert sessions["ada"].state == {"k": "other"}
    sessions.close()


def test_entries_of_a_later_version_are_kept_and_skipped(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "a.db")
    journal = opened(sessions)
    dreamt = UnknownEntry({"v": 9, "kind": "dreamt", "of": ["sheep"]})
    journal.append(dreamt)
    journal.append(StateChanged("r", "k", 1))
    journal.commit_now()
    assert sessions["ada"].entries()[0].entry == dreamt
    assert sessions["ada"].state == {"k": 1}
    sessions.close()


def test_going_on_reads_a_checkpoint_and_the_window_and_not_the_rest(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "a.db")
    for n in range(30):
        say(sessions["ada"], f"q{n}", f"a{n}")
    kept, info = sessions["ada"]._storage, sessions["ada"].info
    fold = load_state(kept.store, info)
    assert fold.is_at_rest
    tail = read_entries(kept.store, info, info.checkpoint - 1, info.head)
    assert [each.seq for each in tail] == [info.head]
    sessions.close()


def _journal_of(path: Path) -> list[Any]:
    sessions = Sessions(path)
    try:
        return [each.entry for each in sessions["ada"].entries()] if sessions["ada"].exists else []
    finally:
        sessions.close()


@pytest.mark.slow
def test_a_log_cut_at_any_byte_of_its_tail_opens_again_to_a_prefix(tmp_path: Path) -> None:
    """What a power cut leaves: the log up to some byte. All that was whole before it is there."""
    sessions = Sessions(tmp_path / "a.db")
    journal = opened(sessions)
    made = entries(4)
    sizes = []
    for entry in made:
        journal.append(entry)
        journal.commit_now()
        sizes.append((tmp_path / "a.db-wal").stat().st_size)
    (tmp_path / "copy").mkdir()
    for name in ("a.db", "a.db-wal"):
        shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    sessions.close()
    whole = (tmp_path / "copy" / "a.db-wal").read_bytes()
    first = sizes[-4]
    for cut in [*range(first, len(whole), 61), len(whole)]:
        place = tmp_path / f"cut{cut}"
        place.mkdir()
        shutil.copy(tmp_path / "copy" / "a.db", place / "a.db")
        (place / "a.db-wal").write_bytes(whole[:cut])
        found = _journal_of(place / "a.db")
        committed = sum(size <= cut for size in sizes)
        assert found == made[:committed]
        connection = sqlite3.connect(place / "a.db")
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
        shutil.rmtree(place)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=1, max_size=6))
def test_a_thread_that_writes_beside_the_loop_loses_nothing(batches: list[list[int]]) -> None:
    sessions = Sessions(":memory:")
    journal = opened(sessions)

    async def main() -> None:
        for batch in batches:
            writes = (
                asyncio.to_thread(journal.append, StateChanged("r", f"{n}", n)) for n in batch
            )
            await asyncio.gather(*writes)
            await journal.commit()

    asyncio.run(main())
    found = sessions["ada"].entries()
    assert [each.seq for each in found] == list(range(1, sum(map(len, batches)) + 1))
    sessions.close()


def test_of_a_thousand_turns_only_the_window_is_read_to_go_on(tmp_path: Path) -> None:
    """What lies before it may be damaged, and nobody notices."""
    sessions = Sessions(tmp_path / "talk.db", history=KeepTurns(20, at=40))
    journal = opened(sessions)
    for n in range(1000):
        journal.append(RunBegan(f"r{n}", "agent"))
        journal.append(PersonSaid(f"r{n}", UserMessage(f"question {n}")))
        journal.append(ModelReplied(f"r{n}", 1, AssistantMessage(f"answer {n}")))
        journal.append(RunEnded(f"r{n}", "answered"))
    journal.commit_now()
    say(sessions["ada"], "and now?", "the window is cut")
    first = window_start(sessions["ada"].entries()[-1].entry)  # type: ignore[arg-type]
    assert sessions["ada"].info.head - first < 4 * 25
    spoilt = partial(_spoil, before=first)
    assert sessions._storage.store.database.write_now(spoilt) == first - 1
    model = Scripted(["yes"])
    Agent(model).run_sync("still there?", session=sessions["ada"])
    told = [message.text for message in model.requests[0].messages]
    assert told[-3:] == ["and now?", "the window is cut", "still there?"]
    assert "question 999" in told
    assert len(told) < 2 * 23
    with pytest.raises(SessionError, match="damaged"):
        sessions["ada"].entries()
    sessions.close()


def _spoil(connection: sqlite3.Connection, before: int) -> int:
    return connection.execute("UPDATE entry SET body = 'gone' WHERE seq < ?", (before,)).rowcount


def test_a_list_of_sessions_shows_the_beginning_of_what_was_said() -> None:
    sessions = Sessions(":memory:")
    for said, shown in (("x" * 80, "x" * 80), ("x" * 81, "x" * 79 + "…"), (" a \n b ", "a b")):
        session = sessions[f"ada {len(said)}"]
        say(session, said, "ok")
        assert session.info.first == shown


def test_a_damaged_checkpoint_is_computed_again_from_the_other_entries(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    for n in range(3):
        say(sessions["ada"], f"q{n}", f"a{n}")

    def spoil(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE entry SET body = '{' WHERE kind = 'checkpoint'")

    sessions._storage.store.database.write_now(spoil)  # type: ignore[attr-defined]
    model = Scripted(["fine"])
    assert Agent(model).run_sync("q3", session=sessions["ada"]).output == "fine"
    told = [message.text for message in model.requests[0].messages]
    assert told == ["q0", "a0", "q1", "a1", "q2", "a2", "q3"]
    say(sessions["ada"], "q4", "a4")
    sessions.close()
