"""A store in SQL, as SQLite and PostgreSQL have it, and the one in a SQLite file."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path

from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores import sql_queries
from toolkeel.sessions.stores.artifacts import Artifacts
from toolkeel.sessions.stores.file_lock import FileLock
from toolkeel.sessions.stores.sqlite import MEMORY, Database
from toolkeel.sessions.stores.store import (
    Batch,
    NewPost,
    Post,
    Row,
    SessionInfo,
    SessionStore,
    Unchanged,
    Writer,
)


class SqlStore(SessionStore):
    """Sessions in the tables of a database. See `SessionStore`.

    Args:
        database: The database.
        artifacts: Its large values.
    """

    def __init__(self, database: Database, artifacts: Artifacts) -> None:
        self.database = database
        self.artifacts = artifacts
        self.display_name = database.display_name

    def list_sessions(self, scope: str | None) -> list[SessionInfo]:
        """Return the sessions of a scope, or of all scopes for None, the last written first."""
        return self.database.read(partial(sql_queries.list_sessions, scope=scope))

    def find(self, scope: str, name: str) -> SessionInfo | None:
        """Return the session's record, or None if there is none of this name in the scope."""
        return self.database.read(partial(sql_queries.find_session, scope=scope, name=name))

    def get(self, id: int) -> SessionInfo:
        """Return the session of an id, or raise `SessionError` with `DELETED`."""
        return self.database.read(partial(sql_queries.get_session, id=id))

    def create(
        self, scope: str, name: str, at: float, batch: Batch, parent: SessionInfo | None = None
    ) -> SessionInfo:
        """Create a session, a copy of `parent` if that is set, and write a first batch, durably.

        Raises `SessionError` if its name is taken.
        """

        def do(connection: sqlite3.Connection) -> SessionInfo:
            """Insert the session and its first entries in this transaction, and return its record."""
            made = sql_queries.create_session(connection, scope, name, at, batch.after)
            if parent is not None:  # it reads its first entries there
                shared = {"parent": parent.id, "base": batch.after}
                sql_queries.update_session(connection, made.id, shared)
            self._write(made.id, batch, connection)
            return sql_queries.get_session(connection, made.id)

        try:
            return self.database.write_now(do)
        except SessionError:  # the name may be taken by a write of the same transaction
            self.database.write_now(lambda connection: None)
            raise

    def append(self, id: int, batch: Batch) -> Future[None]:
        """Schedule a batch.

        The future is done when it is durable; it fails if another process has written to the
        session.
        """
        return self.database.write(partial(self._write, id, batch))

    def _write(self, id: int, batch: Batch, connection: sqlite3.Connection) -> None:
        """Insert a batch's entries and artifacts, delete the posts it consumed, and update the session.

        Raises:
            SessionError: the session's head is not the batch's, or another process has taken a post.
        """
        for digest, data in batch.large.items():
            self.artifacts.save(digest, data)
        sql_queries.insert_entries(connection, id, batch.rows)
        if batch.large:
            sizes = {digest: len(data) for digest, data in batch.large.items()}
            sql_queries.insert_references(connection, id, sizes)
        sql_queries.delete_posts(connection, batch.taken)
        sql_queries.update_session(connection, id, batch.facts, batch.after)

    def read(self, id: int, after: int, upto: int, kind: str = "") -> Sequence[Row]:
        """Return the next entries above `after` and up to `upto`, a page at most; empty only if there are no more."""
        ask: Callable[[sqlite3.Connection], list[Row]] = partial(
            sql_queries.read_page, id=id, after=after, upto=upto, kind=kind
        )
        return self.database.read(ask)

    def post(self, id: int, post: NewPost, condition: Unchanged | None = None) -> bool:
        """Add a post durably and return True; return False if there is a condition that does not hold."""
        do = partial(sql_queries.insert_post, id=id, post=post, condition=condition)
        return self.database.write_now(do, separate=True)

    def read_posts(self, id: int) -> list[Post]:
        """Return the posts of an inbox, in order."""
        return self.database.read(partial(sql_queries.read_posts, id=id))

    def set_writer(self, id: int, writer: Writer) -> None:
        """Schedule the record of a session's writer; it need not be durable when this returns."""
        self.database.write(partial(sql_queries.set_writer, id=id, writer=writer))

    def get_writer(self, id: int) -> Writer | None:
        """Return the process that last wrote the session, or None if none is recorded."""
        return self.database.read(partial(sql_queries.read_writer, id=id))

    def count_other_sessions(self, scope: str) -> tuple[int, int]:
        """Return the number of sessions in other scopes, and of these scopes."""
        return self.database.read(partial(sql_queries.count_other_sessions, scope=scope))

    def read_times(self, id: int, upto: int) -> list[tuple[int, float]]:
        """Return number and time of each entry up to a number, in order."""
        return self.database.read(partial(sql_queries.read_times, id=id, upto=upto))

    def delete(self, id: int) -> None:
        """Delete a session with its posts, from the disk too, and its large values that no other session names."""
        left = self.database.write_now(partial(sql_queries.delete_session, id=id), erases=True)
        self.database.write_now(partial(self._remove, left))

    def _remove(self, digests: Sequence[str], connection: sqlite3.Connection) -> None:
        """Remove large values without a reference. New references must wait for this transaction."""
        for digest in digests:
            if not sql_queries.is_referenced(connection, digest):
                self.artifacts.remove(digest)

    def close(self) -> None:
        """Write pending entries, and close the database."""
        self.database.close()


class SqliteStore(SqlStore):
    """Sessions in a SQLite file, or in memory. See `SessionStore`.

    Args:
        database: The file.
    """

    poll_seconds = 0.02

    def __init__(self, database: Database) -> None:
        in_memory = database.path == MEMORY
        folder = None if in_memory else Path(f"{database.path}.artifacts")
        super().__init__(database, Artifacts(folder))
        self._lock = FileLock(None if in_memory else f"{database.path}.lock")
        if in_memory:  # its thread would keep it for ever
            weakref.finalize(self, database.close)

    def try_lock(self, id: int) -> bool:
        """Lock a session for this process. Return False if another process has it; in memory, always True."""
        return self._lock.try_lock(id)

    def unlock(self, id: int) -> None:
        """Release a session that `try_lock` has locked."""
        self._lock.unlock(id)
