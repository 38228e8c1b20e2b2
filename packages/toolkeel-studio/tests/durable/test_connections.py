"""Connections to the engine's tables: a silent one ends, its pool makes others, and a pooler is refused."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from tests.sessions.postgres_server import serving
from tests.sessions.silent_server import falling_silent, pooling
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.limited_connection import limited_connection
from toolkeel_studio.durable.connections import open_engine
from toolkeel_studio.durable.engine import RunQueue


@pytest.mark.slow
def test_a_silent_database_ends_a_statement_and_a_pooler_of_transactions_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limited_connection(), "answer_seconds", 0.3)
    with serving() as server, falling_silent(server.new_database()) as (place, silence):
        engine = open_engine(place, 1)
        with engine.begin() as first:
            first.execute(sa.text("CREATE TABLE one (number INTEGER)"))
        with (
            pytest.raises(OperationalError, match=r"has not answered for 0\.3 s"),
            engine.begin() as second,
        ):
            second.execute(sa.text("INSERT INTO one VALUES (1)"))
            silence.fall()
            second.execute(sa.text("INSERT INTO one VALUES (2)"))
        with engine.begin() as third:
            assert third.execute(sa.text("SELECT count(*) FROM one")).scalar_one() == 0
        engine.dispose()
        with (
            pooling(server.new_database(), transactions=True) as place,
            pytest.raises(SessionError, match="write the address of the server itself"),
        ):
            RunQueue(place)
