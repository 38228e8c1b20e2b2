"""What is asked of the tables: pages in order, forks through their parents, rows of the list."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores import sql_queries, sql_tables
from toolkeel.sessions.stores.store import SessionInfo


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        sql_tables.ensure(made, "memory")
        yield made


def fill(connection: sqlite3.Connection, id: int, first: int, last: int, text: str) -> None:
    rows = [(seq, 0.0, "said", text) for seq in range(first, last + 1)]
    sql_queries.insert_entries(connection, id, rows)
    sql_queries.update_session(connection, id, {"head": last})


def fork(connection: sqlite3.Connection, parent: SessionInfo, name: str, seq: int) -> SessionInfo:
    made = sql_queries.create_session(connection, "", name, 0, seq)
    sql_queries.update_session(connection, made.id, {"parent": parent.id, "base": seq})
    return sql_queries.get_session(connection, made.id)


def test_a_page_is_bounded_and_the_next_one_goes_on(connection: sqlite3.Connection) -> None:
    info = sql_queries.create_session(connection, "", "ada", 0)
    fill(connection, info.id, 1, sql_queries.PAGE + 7, "x")
    first = sql_queries.read_page(connection, info.id, 0, sql_queries.PAGE + 7)
    assert len(first) == sql_queries.PAGE
    rest = sql_queries.read_page(connection, info.id, first[-1][0], sql_queries.PAGE + 7)
    assert [row[0] for row in rest] == list(range(sql_queries.PAGE + 1, sql_queries.PAGE + 8))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), max_size=5), st.integers(0, 20))
def test_a_fork_of_forks_is_read_as_one_row_of_entries(
    forks: list[tuple[int, int]], after: int
) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        sql_tables.ensure(connection, "memory")
        info = sql_queries.create_session(connection, "", "0", 0)
        fill(connection, info.id, 1, 5, "0")
        said = ["0"] * 5
        for number, (seq, more) in enumerate(forks, 1):
            info = sql_queries.get_session(connection, info.id)
            seq = min(seq, info.head)
            info = fork(connection, info, str(number), seq)
            fill(connection, info.id, seq + 1, seq + more, str(number))
            said = [*said[:seq], *[str(number)] * more]
        info = sql_queries.get_session(connection, info.id)
        rows = sql_queries.read_page(connection, info.id, after, info.head)
        expected = [(seq, text) for seq, text in enumerate(said, 1) if seq > after]
        assert [(row[0], row[3]) for row in rows] == expected


def test_an_entry_is_never_written_over(connection: sqlite3.Connection) -> None:
    info = sql_queries.create_session(connection, "", "ada", 0)
    fill(connection, info.id, 1, 1, "first")
    with pytest.raises(sqlite3.IntegrityError):
        fill(connection, info.id, 1, 1, "second")


def test_what_is_gone_cannot_be_written_to(connection: sqlite3.Connection) -> None:
    info = sql_queries.create_session(connection, "", "ada", 0)
    with pytest.raises(SessionError, match="already"):
        sql_queries.create_session(connection, "", "ada", 5)
    sql_queries.delete_session(connection, info.id)
    with pytest.raises(SessionError, match="deleted"):
        sql_queries.update_session(connection, info.id, {"head": 1})
    assert sql_queries.create_session(connection, "", "ada", 5).id != info.id


def test_a_large_value_is_let_go_when_nobody_names_it(connection: sqlite3.Connection) -> None:
    one, two = (sql_queries.create_session(connection, "", name, 0) for name in "ab")
    sql_queries.insert_references(connection, one.id, {"x": 1, "y": 1})
    sql_queries.insert_references(connection, two.id, {"y": 1})
    assert sql_queries.delete_session(connection, one.id) == ["x"]
    assert sql_queries.delete_session(connection, two.id) == ["y"]
