"""Which run that waits is next: fair between scopes, within limits, one of a session at a time.

Runs wait in a queue that the engine does not read, under the name of the agent's queue and `WAITING`.
As soon as a worker has room, it moves the next runs to the queue that the engine reads, all workers
together. So the engine never has more runs to choose from than it has room for, however many wait.

The next run is one of the scope that has the fewest in progress; of these, of the scope that has waited
longest. Within a scope it is the one with the highest priority, of these the oldest. A session's runs
come in the order in which they were started, whatever their priority. A flood of one scope therefore
delays the run of another until one place is free, and no longer.

One worker chooses at a time, so that limits hold for all of them together. Only `queue_name` is written,
and only in rows that still wait: a run that another worker has moved, or that was cancelled, stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from zlib import crc32

from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.record import record
from toolkeel.sessions.stores.postgres import is_postgres
from toolkeel_studio.durable.connections import close_engine, open_engine

with needs_extra("Durable runs", "dbos"):
    import sqlalchemy as sa

WAITING: Final = "+waiting"
"""Suffix of the name of the queue in which runs wait; no agent's queue has it."""
_LOCK: Final = 0x6B65656C
"""First number of the advisory locks of those who choose."""
_NEXT: Final = """
WITH live AS (
    SELECT workflow_uuid AS id, queue_partition_key AS part, coalesce(authenticated_user, '') AS scope,
        priority, created_at, queue_name = :waiting AS waits
    FROM {table}
    WHERE status IN ('ENQUEUED', 'PENDING')
        AND (queue_name = :active OR (queue_name = :waiting AND application_version = :version))
),
active AS (SELECT scope, count(*) AS number FROM live WHERE NOT waits GROUP BY scope),
recent AS (
    SELECT coalesce(authenticated_user, '') AS scope, count(*) AS number FROM {table}
    WHERE :rate > 0 AND queue_name = :active AND started_at_epoch_ms > {now} - :window
    GROUP BY coalesce(authenticated_user, '')
),
unclaimed AS (
    SELECT coalesce(authenticated_user, '') AS scope, count(*) AS number FROM {table}
    WHERE :rate > 0 AND queue_name = :active AND status = 'ENQUEUED'
    GROUP BY coalesce(authenticated_user, '')
),
heads AS (
    SELECT * FROM (
        SELECT live.*, row_number() OVER (PARTITION BY part ORDER BY created_at, id) AS place
        FROM live WHERE waits
    ) AS placed
    WHERE place = 1 AND part NOT IN (SELECT part FROM live WHERE NOT waits AND part IS NOT NULL)
),
ranked AS (
    SELECT id, scope, created_at,
        row_number() OVER (PARTITION BY scope ORDER BY priority, created_at, id) AS place
    FROM heads
)
SELECT ranked.id FROM ranked
LEFT JOIN active ON active.scope = ranked.scope
LEFT JOIN recent ON recent.scope = ranked.scope
LEFT JOIN unclaimed ON unclaimed.scope = ranked.scope
WHERE (:most = 0 OR place + coalesce(active.number, 0) <= :most)
    AND (:rate = 0 OR place + coalesce(recent.number, 0) + coalesce(unclaimed.number, 0) <= :rate)
ORDER BY place + coalesce(active.number, 0), created_at, id
LIMIT :room
"""


@record
class ScopeLimits:
    """Limits of each scope, in all workers together.

    Args:
        in_progress: Most runs in progress; None for no limit.
        per_second: Most runs that begin in a second; None for no limit.
    """

    in_progress: int | None = None
    per_second: float | None = None

    def start_window(self) -> tuple[int, int]:
        """Return how many runs of a scope may start in how many milliseconds; 0 for no limit.

        >>> ScopeLimits(per_second=20).start_window(), ScopeLimits(per_second=0.25).start_window()
        ((20, 1000), (1, 4000))
        """
        if self.per_second is None:
            return 0, 0
        number = max(1, int(self.per_second))
        return number, round(1000 * number / self.per_second)


class FairQueue:
    """The runs of one agent that wait, and the choice of those that come next.

    Args:
        address: Of the engine's tables.
        name: Of the agent's queue.
        version: What workers must understand; runs of another version wait for other workers.
        limits: Limits of each scope.
    """

    def __init__(self, address: str, name: str, version: str, limits: ScopeLimits) -> None:
        self._is_postgres = is_postgres(address)
        self._engine = open_engine(address, 1, isolation_level="AUTOCOMMIT")
        self._table = "dbos.workflow_status" if self._is_postgres else "workflow_status"
        self._lock_number = crc32(name.encode()) - 2**31
        rate, window = limits.start_window()
        self._values = {
            "active": name,
            "waiting": name + WAITING,
            "version": version,
            "most": limits.in_progress or 0,
            "rate": rate,
            "window": window,
        }

    def move_next(self, places: int, worker: str) -> int:
        """Move runs that are next to the queue that the engine reads.

        Args:
            places: How many runs a worker has room for, those in progress included.
            worker: Its name.

        Returns:
            How many were moved.
        """
        with self._engine.connect() as connection:
            room = places - self._count_taken(connection, worker)
            if room <= 0 or not self._is_any_waiting(connection):
                return 0
            with self._choosing_alone(connection) as is_alone:
                return self._move(connection, room) if is_alone else 0

    def count_waiting(self) -> int:
        """Return how many runs wait."""
        with self._engine.connect() as connection:
            sql = f"SELECT count(*) FROM {self._table} WHERE queue_name = :waiting AND status = 'ENQUEUED'"
            return int(self._run(connection, sql).scalar_one())

    def close(self) -> None:
        """Close the connection."""
        close_engine(self._engine)

    def _count_taken(self, connection: sa.Connection, worker: str) -> int:
        """Return how many runs a worker has, and how many any worker may take."""
        sql = (
            f"SELECT count(*) FROM {self._table} WHERE queue_name = :active AND "
            "(status = 'ENQUEUED' OR (status = 'PENDING' AND executor_id = :worker))"
        )
        return int(self._run(connection, sql, worker=worker).scalar_one())

    def _is_any_waiting(self, connection: sa.Connection) -> bool:
        sql = f"SELECT 1 FROM {self._table} WHERE queue_name = :waiting AND status = 'ENQUEUED'"
        return self._run(connection, f"{sql} LIMIT 1").first() is not None

    def _move(self, connection: sa.Connection, room: int) -> int:
        now = "CAST(1000 * (julianday('now') - 2440587.5) * 86400 AS INTEGER)"
        if self._is_postgres:
            now = "CAST(1000 * extract(epoch FROM clock_timestamp()) AS BIGINT)"
        sql = _NEXT.format(table=self._table, now=now)
        ids = [row[0] for row in self._run(connection, sql, room=room)]
        for id in ids:
            self._run(
                connection,
                f"UPDATE {self._table} SET queue_name = :active "
                "WHERE workflow_uuid = :id AND queue_name = :waiting AND status = 'ENQUEUED'",
                id=id,
            )
        return len(ids)

    @contextmanager
    def _choosing_alone(self, connection: sa.Connection) -> Iterator[bool]:
        """Open a transaction in which no other worker chooses. Yield False if one does now."""
        self._run(connection, "BEGIN" if self._is_postgres else "BEGIN IMMEDIATE")
        try:
            if self._is_postgres:
                lock = f"SELECT pg_try_advisory_xact_lock({_LOCK}, {self._lock_number})"
                yield bool(self._run(connection, lock).scalar_one())
            else:
                yield True
            self._run(connection, "COMMIT")
        except BaseException:
            connection.invalidate()  # the transaction ends with the connection
            raise

    def _run(self, connection: sa.Connection, sql: str, **more: str | int) -> sa.CursorResult[Any]:
        return connection.execute(sa.text(sql), self._values | more)
