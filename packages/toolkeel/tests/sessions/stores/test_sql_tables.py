"""The tables are made once, brought up to date, and in SQL that old versions know."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from toolkeel import Agent, tool
from toolkeel.sessions import Sessions
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores import sql_tables
from toolkeel.testing import Scripted, call


def test_tables_are_made_once_and_found_the_second_time() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        sql_tables.ensure(connection, "a.db")
        sql_tables.ensure(connection, "a.db")
        tables = {
            n for [n] in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        }
    assert {"session", "entry", "inbox", "holder", "artifact", "item"} <= tables


def test_tables_of_another_program_are_not_added_to() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE diary (day TEXT)")
        with pytest.raises(SessionError, match="another program"):
            sql_tables.ensure(connection, "diary.db")


def test_what_ended_the_transaction_by_itself_is_what_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As SQLite does on a full disk: it rolls back, and then the statement fails.
    monkeypatch.setattr(sql_tables, "STEPS", ("ROLLBACK; SELECT full_disk",))
    with (
        closing(sqlite3.connect(":memory:", isolation_level=None)) as connection,
        pytest.raises(sqlite3.OperationalError, match="full_disk"),
    ):
        sql_tables.ensure(connection, "a.db")


def test_older_tables_are_brought_up_to_date_and_later_ones_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, paid = str(tmp_path / "talk.db"), list[int]()

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    agent = Agent(Scripted([call("pay", {"amount": 5}), "Paid."]), [pay])
    sessions = Sessions(place)
    agent.run_sync("pay", session=sessions["ada"])
    sessions.close()
    step = "ALTER TABLE session ADD COLUMN color TEXT NOT NULL DEFAULT 'red';"
    with monkeypatch.context() as later:
        later.setattr(sql_tables, "STEPS", (*sql_tables.STEPS, f"{step} ALTER TABLE none ADD x;"))
        with pytest.raises(SessionError, match="no such table"):  # nothing of the step remains
            Sessions(place)
    with monkeypatch.context() as later:
        later.setattr(sql_tables, "STEPS", (*sql_tables.STEPS, step))
        sessions = Sessions(place)
        [ticket] = sessions["ada"].pending
        sessions["ada"].decide(ticket.approve())
        assert agent.run_sync(None, session=sessions["ada"]).output == "Paid."
        sessions.close()
    assert paid == [5]
    with closing(sqlite3.connect(place, isolation_level=None)) as rows:
        assert rows.execute("SELECT name, color FROM session").fetchall() == [("ada", "red")]
        rows.execute("BEGIN IMMEDIATE")  # a later program writes
        with pytest.raises(SessionError, match=r"tables of version 2.*upgrade toolkeel"):
            Sessions(place)


def test_nothing_is_used_that_came_after_the_oldest_version_meant() -> None:
    """RETURNING came with 3.35, STRICT with 3.37, ``->>`` with 3.38."""
    text = sql_tables.TABLES.upper()
    assert not re.search(r"RETURNING|STRICT|->>|JSONB", text)
