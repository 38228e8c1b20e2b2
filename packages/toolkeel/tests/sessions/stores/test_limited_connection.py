"""What a connection gives up, and what it asks the server to give up."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.sessions.postgres_server import serving
from tests.sessions.silent_server import falling_silent
from toolkeel.sessions.stores.limited_connection import (
    connect,
    end_server_process,
    limited_connection,
    server_process,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as server:
        yield server.new_database()


def test_a_silent_server_ends_a_statement_but_notifications_may_be_late(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limited_connection(), "answer_seconds", 0.2)
    with falling_silent(address) as (place, silence), connect(place) as connection:
        assert list(connection.notifies(timeout=0.4)) == []
        silence.fall()
        with pytest.raises(psycopg.OperationalError, match=r"not answered for 0\.2 seconds"):
            connection.execute("SELECT 1")
        assert connection.closed


def test_a_server_is_asked_to_give_up_clients_unless_its_operator_says_how(address: str) -> None:
    with connect(address) as connection:
        connection.execute("ALTER ROLE keel SET statement_timeout = '7s'")
        with connect(address) as made:
            names = ("idle_in_transaction_session_timeout", "statement_timeout")
            found = [made.execute(f"SHOW {name}").fetchall()[0][0] for name in names]
        connection.execute("ALTER ROLE keel RESET statement_timeout")
    assert found == ["1min", "7s"]


def test_the_process_of_a_lost_connection_is_ended_and_one_of_another_time_is_not(
    address: str,
) -> None:
    with connect(address) as lost, connect(address) as other:
        pid, began = server_process(lost)
        end_server_process(other, (pid, "2020-01-01 00:00:00+00"))
        assert lost.execute("SELECT pg_try_advisory_lock(7)").fetchall() == [(True,)]
        end_server_process(other, (pid, began))
        assert other.execute("SELECT pg_try_advisory_lock(7)").fetchall() == [(True,)]
        with pytest.raises(psycopg.OperationalError):
            lost.execute("SELECT 1")
