"""A connection to PostgreSQL with the interface of `sqlite3`."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from toolkeel._common.postgres_link import STATEMENT_SECONDS
from toolkeel.sessions.stores.limited_connection import (
    ServerProcess,
    connect,
    end_server_process,
    import_driver,
    server_process,
)
from toolkeel.sessions.stores.sqlite import Unreachable

_PASSES: Final = re.compile("starting up|shutting down|recovery|too many|connection slots")
"""In a server's refusals that pass by themselves."""
PROMPT_SECONDS: Final = 5.0
"""Seconds for the first statement of a transaction, which waits for nothing but the connection."""
PROBE: Final = "SELECT 1"
"""Shows whether a connection is alive."""


class PostgresConnection:
    """A psycopg connection with the interface and exceptions of `sqlite3`, as far as our statements need.

    Args:
        address: URL of the database.

    Raises:
        sqlite3.OperationalError: the database cannot be reached.
        SessionError: a proxy shares the server's connections.
        MissingExtraError: psycopg is not installed.
    """

    def __init__(self, address: str) -> None:
        self._driver = import_driver()
        self._raw = self._connect(address)
        try:
            for setting in ("search_path TO toolkeel", "synchronous_commit TO on"):
                self.execute(f"SET {setting}")
        except BaseException:
            self._raw.close()
            raise

    def _connect(self, address: str) -> Any:
        """Connect, or raise sqlite3.OperationalError if the server refuses, or Unreachable if a retry may work."""
        try:
            return connect(address)
        except self._driver.Error as error:
            text = str(error).strip()
            refused = "FATAL" in text and not _PASSES.search(text)
            raise (sqlite3.OperationalError if refused else Unreachable)(text) from None

    @contextmanager
    def _as_sqlite(self) -> Iterator[None]:
        """Raise psycopg's errors in the block as sqlite3.IntegrityError or sqlite3.OperationalError."""
        try:
            yield
        except self._driver.IntegrityError as error:
            raise sqlite3.IntegrityError(str(error)) from error
        except self._driver.Error as error:
            raise sqlite3.OperationalError(str(error).strip()) from error

    def execute(self, sql: str, values: Sequence[object] = ()) -> Any:
        """Execute a statement in SQLite's spelling, within a time limit; return its cursor; raise SQLite's errors."""
        is_prompt = sql == PROBE or sql.startswith("BEGIN")
        self._raw.answer_seconds = PROMPT_SECONDS if is_prompt else STATEMENT_SECONDS
        with self._as_sqlite():
            return self._raw.execute(in_postgres_words(sql), values or None)

    def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> Any:
        """Execute a statement once for each row, and return its cursor, or raise SQLite's errors."""
        with self._as_sqlite():
            cursor = self._raw.cursor()
            cursor.executemany(in_postgres_words(sql), list(rows))
            return cursor

    def server_process(self) -> ServerProcess:
        """Return the process of the server that serves this connection."""
        with self._as_sqlite():
            return server_process(self._raw)

    def end_server_process(self, process: ServerProcess) -> None:
        """End the process of a lost connection, so that its locks are free."""
        with self._as_sqlite():
            end_server_process(self._raw, process)

    @property
    def in_transaction(self) -> bool:
        """True while a transaction is open."""
        return not self.broken and self._raw.info.transaction_status != 0

    @property
    def broken(self) -> bool:
        """True if the connection is closed or lost."""
        return bool(self._raw.closed)

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()


def in_postgres_words(sql: str) -> str:
    """Return a statement in PostgreSQL's spelling."""
    return "BEGIN" if sql == "BEGIN IMMEDIATE" else sql.replace("?", "%s")
