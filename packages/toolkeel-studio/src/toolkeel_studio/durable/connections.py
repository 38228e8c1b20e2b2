"""Connections to the engine's tables that end although the database has fallen silent."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from toolkeel._common.needs_extra import needs_extra
from toolkeel.sessions.stores.postgres import is_postgres

with needs_extra("Durable runs", "dbos"):
    import sqlalchemy as sa
    from sqlalchemy import event

    from toolkeel.sessions.stores.limited_connection import connect

_closed: WeakSet[sa.Engine] = WeakSet()


def open_engine(address: str, size: int, **options: Any) -> sa.Engine:
    """Return an engine with a pool of connections.

    Args:
        address: Of the tables, as the engine writes it.
        size: Most connections.
        options: Of `sqlalchemy.create_engine`.
    """
    if not is_postgres(address):
        return sa.create_engine(address, pool_size=size, max_overflow=0, **options)

    def make() -> object:
        """Connect, with limits on both sides."""
        made = connect(address)
        made.autocommit = False
        return made

    engine = sa.create_engine(
        "postgresql+psycopg://",
        creator=make,
        pool_size=size,
        max_overflow=0,
        pool_pre_ping=True,
        **options,
    )

    def check_in(_: object, record: Any) -> None:
        """Close a connection that a thread of the engine returns late."""
        if engine in _closed:
            record.invalidate()

    event.listen(engine, "checkin", check_in)
    return engine


def close_engine(engine: sa.Engine) -> None:
    """Close the connections, those in use when they are returned."""
    _closed.add(engine)
    engine.dispose()
