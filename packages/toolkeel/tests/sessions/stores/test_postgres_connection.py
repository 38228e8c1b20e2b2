"""A connection to PostgreSQL that speaks as `sqlite3` does; with a server: `test_postgres`."""

from __future__ import annotations

import socket

import pytest

from toolkeel.sessions.stores.postgres_connection import PostgresConnection, in_postgres_words
from toolkeel.sessions.stores.sqlite import Unreachable


@pytest.mark.parametrize(
    ("sql", "sent"),
    [
        ("BEGIN IMMEDIATE", "BEGIN"),
        ("SELECT seq FROM entries WHERE session = ? AND seq > ?",
         "SELECT seq FROM entries WHERE session = %s AND seq > %s"),
    ],
)  # fmt: skip
def test_a_statement_of_sqlite_becomes_one_of_postgresql(sql: str, sent: str) -> None:
    assert in_postgres_words(sql) == sent


def test_a_server_that_is_not_there_can_be_tried_again() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match="refused"):
        PostgresConnection(f"postgresql://nobody@127.0.0.1:{port}/none")
