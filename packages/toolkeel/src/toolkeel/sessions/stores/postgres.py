"""Sessions and stores in PostgreSQL: the same tables, asked by the same statements as in SQLite.

::

    sessions = Sessions("postgresql://user@host/database")

All is in a schema ``toolkeel`` of that database. A process has one connection that writes, in one
transaction for all that waits, and others that read. The lock of a session belongs to the connection
that writes: when it is lost the locks are free, and the numbers of the entries keep two writers apart.
"""

from __future__ import annotations

import queue
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import BoundedSemaphore, Lock, get_ident
from time import monotonic, sleep
from typing import Any, Final, TypeVar, cast

from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.artifacts import Artifacts
from toolkeel.sessions.stores.database_store import SqliteStore, SqlStore
from toolkeel.sessions.stores.limited_connection import read_address
from toolkeel.sessions.stores.postgres_connection import PROBE, PostgresConnection
from toolkeel.sessions.stores.sql_tables import APPLICATION, STEPS, steps_since
from toolkeel.sessions.stores.sqlite import (
    BUSY_SECONDS,
    MEMORY,
    Database,
    shared_database,
)

T = TypeVar("T")
_MORE: Final = """
CREATE TABLE large (digest TEXT PRIMARY KEY, data BYTEA NOT NULL);
CREATE TABLE version (number INTEGER NOT NULL);
INSERT INTO version (number) VALUES (0);
"""
READERS: Final = 4
"""Connections of a process that read; who finds them taken waits, as a server has few."""
_BIND = "SELECT pg_{}advisory_{}lock(?::int, ?::int)"


def is_postgres(path: str) -> bool:
    """Return True if a path is the address of a PostgreSQL database."""
    return path.startswith(("postgresql://", "postgres://"))


def open_database(path: str) -> Database:
    """Return this process's one database at a path or an address. Raises as `shared_database`."""
    return shared_database(path, PostgresDatabase if is_postgres(path) else None)


def _display_name(address: str) -> str:
    """Return host and name of a database, without user and password. Raises as `read_address`."""
    parts = read_address(address)
    place = ":".join(parts[key] for key in ("host", "port") if key in parts)
    return f"{place}/{parts.get('dbname', '')}"


class PostgresDatabase(Database):
    """A PostgreSQL database of sessions. See `Database`.

    Args:
        path: Its address, ``postgresql://...``, as libpq reads it.

    Attributes:
        held_locks: Numbers of the sessions that this process has locked.
    """

    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, path: str) -> None:
        self.held_locks: set[int] = set()
        self._lost: set[int] = set()
        self._room = BoundedSemaphore(READERS)
        self.display_name = _display_name(path)
        super().__init__(path)

    def _open(self) -> sqlite3.Connection:
        """Return a new connection to the database, whose tables exist; close it if creating them fails."""
        made = PostgresConnection(self.path)
        try:
            _ensure(made, self.display_name)
            self._server_process = made.server_process()
        except BaseException:
            made.close()
            raise
        return cast("sqlite3.Connection", made)

    def lock_writes(self, connection: sqlite3.Connection) -> None:
        """Lock the tables for writing until the transaction ends. See `Database`."""
        connection.execute(_BIND.format("", "xact_"), (APPLICATION, -1))

    def read(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """Read committed data, with one retry on a new connection. See `Database`."""
        thread = get_ident()
        self._lost.discard(thread)
        try:
            return super().read(do)
        except SessionError:
            if thread not in self._lost:
                raise
        return super().read(do)

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """Yield a reading connection; wait while all `READERS` are taken. Raises `SessionError` once closed."""
        with self._room:
            self._check_open()
            yield from self._borrow_reader()

    def _borrow_reader(self) -> Iterator[sqlite3.Connection]:
        """Yield an idle connection or a new one; if it broke, close the idle ones and request a retry."""
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = cast("sqlite3.Connection", PostgresConnection(self.path))
        try:
            yield connection
        finally:
            if not cast("PostgresConnection", connection).broken:
                self._idle.put(connection)
            else:
                self._lost.add(get_ident())
                self._forget_idle()

    def _forget_idle(self) -> None:
        """Close the idle connections, since they were lost together with one that was used."""
        with suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def _commit(self, works: list[Any]) -> None:
        """Commit the works in one transaction, those marked `separate` in one of their own; reconnect before."""
        try:
            self._connect_again()
        except SessionError as error:  # a proxy, or later tables: no retry helps
            for work in works:
                work.done.set_exception(error)
            return
        except sqlite3.Error:
            pass  # then the transaction says it
        together: list[Any] = []
        for work in works:
            if work.separate:
                self._commit_all(together)
                self._commit_all([work])
                together = []
            else:
                together.append(work)
        self._commit_all(together)

    def _commit_all(self, works: list[Any]) -> None:
        """Commit the works in one transaction; do nothing without any."""
        if works:
            super()._commit(works)

    def _connect_again(self) -> None:
        """Reconnect if the connection is lost, and drop locks that others took.

        The server process of the lost connection is ended.

        Raises:
            sqlite3.Error: no connection could be made for `BUSY_SECONDS`.
        """
        end = monotonic() + BUSY_SECONDS
        with suppress(sqlite3.Error):
            self._connection.execute(PROBE)
            return
        lost = self._server_process
        self._connection.close()
        while True:
            try:
                self._connection = self._open()
                break
            except sqlite3.Error:
                if monotonic() > end:
                    raise
                sleep(0.1)
        with suppress(sqlite3.Error):  # a role that may not: the server notices by itself
            cast("PostgresConnection", self._connection).end_server_process(lost)
        for id in self.held_locks.copy():  # other threads remove what they release
            if not _try_lock(id, self._connection):
                self.held_locks.discard(id)

    def _clear_log(self) -> None:
        """Do nothing: the server removes deleted data from its disk when it vacuums."""


def _ensure(connection: PostgresConnection, shown: str) -> None:
    """Create the tables, or bring them up to date; raise SessionError if they are of a later version."""
    connection.execute("BEGIN")
    try:
        lock = "SELECT pg_advisory_xact_lock(?::int, 0)"
        connection.execute(lock, (APPLICATION,))  # of several, one makes the tables
        found = connection.execute("SELECT to_regclass('toolkeel.version')::text").fetchone()[0]
        if found is None:
            connection.execute("CREATE SCHEMA IF NOT EXISTS toolkeel")
            for statement in filter(str.strip, _MORE.split(";")):
                connection.execute(statement)
        [version] = connection.execute("SELECT number FROM version").fetchone()
        for statement in steps_since(version, shown):
            connection.execute(_translated(statement))
        if version < len(STEPS):
            connection.execute("UPDATE version SET number = ?", (len(STEPS),))
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _translated(tables: str) -> str:
    """Translate the tables to PostgreSQL's dialect, with text compared by bytes, as in SQLite."""
    for ours, theirs in (
        (
            "INTEGER PRIMARY KEY AUTOINCREMENT",
            "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        ),
        (" WITHOUT ROWID", ""),
        ("INTEGER", "BIGINT"),
        ("REAL", "DOUBLE PRECISION"),
        (" TEXT", ' TEXT COLLATE "C"'),
    ):
        tables = tables.replace(ours, theirs)
    return tables


class PostgresArtifacts(Artifacts):
    """Large values, each a row of the database."""

    def __init__(self, kept: PostgresDatabase) -> None:
        super().__init__(None)
        self._database = kept

    def save(self, digest: str, data: bytes) -> None:
        """Save one value in the transaction of its entry. See `Artifacts`."""
        self._database.writing.execute(
            "INSERT INTO large (digest, data) VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, data)
        )

    def find(self, digest: str) -> bytes | None:
        """Return the artifact's bytes, or None if it is not stored."""
        ask = "SELECT data FROM large WHERE digest = ?"
        row = self._database.read(lambda connection: connection.execute(ask, (digest,)).fetchone())
        return None if row is None else bytes(row[0])

    def remove(self, digest: str) -> None:
        """Remove one value, in the writing thread. See `Artifacts`."""
        self._database.writing.execute("DELETE FROM large WHERE digest = ?", (digest,))


class PostgresStore(SqlStore):
    """Sessions in PostgreSQL, with one writer each by advisory locks of the connection that writes."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database, PostgresArtifacts(database))
        self._postgres = database

    def try_lock(self, id: int) -> bool:
        """Lock a session for this process. Return False if another process has it.

        Raises:
            SessionError: the database cannot be written; the session is not locked then.
        """
        try:
            return self.database.write_now(partial(self._try, id))
        except SessionError:
            self.unlock(id)  # only the commit may have failed
            raise

    def _try(self, id: int, connection: sqlite3.Connection) -> bool:
        """Try to lock a session, and record the lock to take again on reconnection. Return True if locked."""
        taken = _try_lock(id, connection)
        if taken:
            self._postgres.held_locks.add(id)
        return taken

    def unlock(self, id: int) -> None:
        """Schedule the release of a session that `try_lock` has locked; do nothing if the database is closed.

        If the connection is lost before, the lock is lost with it, and is not taken again.
        """
        self._postgres.held_locks.discard(id)
        with suppress(SessionError):  # it is closed: its locks are free
            self.database.write(partial(self._free, id))

    def _free(self, id: int, connection: sqlite3.Connection) -> None:
        """Unlock a session."""
        connection.execute(_BIND.format("", "un"), (APPLICATION, id))


def _try_lock(session: int, connection: sqlite3.Connection) -> bool:
    """Try to take a session's advisory lock. Return False if another connection has it."""
    asked = connection.execute(_BIND.format("try_", ""), (APPLICATION, session))
    return bool(asked.fetchone()[0])


_stores: dict[Database, SqlStore] = {}
_opening = Lock()


def open_store(path: str) -> SqlStore:
    """Return this process's one store at a path or an address. Each ``:memory:`` is separate.

    Raises `SessionError` if it cannot be opened, `SetupError` for a relative path without its folder.
    """
    database = open_database(path)
    if path == MEMORY:
        return SqliteStore(database)
    with _opening:  # the locks of a file belong to the process
        if database not in _stores:
            is_server = isinstance(database, PostgresDatabase)
            kind: Any = PostgresStore if is_server else SqliteStore
            _stores[database] = kind(database)
        return _stores[database]
