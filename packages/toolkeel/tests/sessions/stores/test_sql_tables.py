"""The tables are made once, whoever comes first, and in SQL that old versions know."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest

from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores import sql_tables


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


def test_nothing_is_used_that_came_after_the_oldest_version_meant() -> None:
    """RETURNING came with 3.35, STRICT with 3.37, ``->>`` with 3.38."""
    text = sql_tables.TABLES.upper()
    assert not re.search(r"RETURNING|STRICT|->>|JSONB", text)
