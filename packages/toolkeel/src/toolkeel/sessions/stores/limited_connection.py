"""Connections of psycopg whose operations end although the server has fallen silent.

The server is asked to notice the reverse: it ends the transaction and frees the locks of a client that has
vanished.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import cache, partial
from importlib import import_module
from time import monotonic, sleep
from typing import Any, Final, TypeAlias, TypeVar, cast

from toolkeel._common.needs_extra import needs_extra
from toolkeel._common.postgres_link import (
    STATEMENT_SECONDS,
    deadlines,
    shares_connections,
    with_parameters,
)
from toolkeel.sessions.errors import SessionError

T = TypeVar("T")
ServerProcess: TypeAlias = tuple[int, str]
"""A process of the server: its id, and when it began."""
_SETTINGS: Final = {
    "client_connection_check_interval": "10s",
    "idle_in_transaction_session_timeout": "60s",
    "statement_timeout": f"{STATEMENT_SECONDS + 5:.0f}s",
    "tcp_keepalives_count": "3",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_user_timeout": "15s",
}
_ADOPT: Final = """
SELECT set_config(wanted.name, wanted.value, false)
FROM unnest(%s::text[], %s::text[]) AS wanted (name, value)
JOIN pg_settings USING (name) WHERE pg_settings.source = 'default'
"""
_ENDING_SECONDS: Final = 2.0
_SHARED: Final = (
    "a proxy between here and the server gives each transaction another connection, and locks and "
    "notifications belong to a connection: write the address of the server itself, or set the proxy's pool "
    "mode to session for this database"
)


def import_driver() -> Any:
    """Import psycopg, or raise MissingExtraError with the install line."""
    with needs_extra("PostgreSQL", "postgres"):
        return import_module("psycopg")


@cache
def limited_connection() -> Any:
    """Return the one class of connections that close themselves if an answer takes too long.

    They raise OperationalError then. Their `answer_seconds` may be set for the next operations.
    Raises `MissingExtraError` without psycopg.
    """
    driver = import_driver()

    class LimitedConnection(driver.Connection):  # type: ignore[misc,name-defined]
        answer_seconds = STATEMENT_SECONDS
        _is_listening = False

        def wait(self, gen: Generator[Any, Any, T], *words: Any, **options: Any) -> T:
            """Consume a generator of psycopg, as all operations but connecting do; raise OperationalError if late."""
            if self._is_listening:
                return cast("T", super().wait(gen, *words, **options))
            with deadlines.limit(self.fileno(), self.answer_seconds) as is_late:
                try:
                    return cast("T", super().wait(gen, *words, **options))
                except driver.Error as error:
                    if not is_late():
                        raise
                    text = f"the server has not answered for {self.answer_seconds:g} seconds"
                    raise driver.OperationalError(text) from error

        def notifies(self, **options: Any) -> Generator[Any]:
            """Yield notifications, which may come at any time."""
            self._is_listening = True
            try:
                yield from super().notifies(**options)
            finally:
                self._is_listening = False

    return LimitedConnection


def read_address(address: str) -> dict[str, str]:
    """Return the parameters of an address, as libpq reads it.

    Raises:
        SessionError: it is not one. The error does not quote it: it may contain a password.
        MissingExtraError: psycopg is not installed.
    """
    driver = import_driver()
    try:
        parts = driver.conninfo.conninfo_to_dict(address)
    except driver.Error:
        form = "postgresql://user@host/database, with %-escapes for what is special in a password"
        raise SessionError(f"the address of the database cannot be read: write {form}") from None
    return {key: str(value) for key, value in parts.items()}


def connect(address: str) -> Any:
    """Connect, with our default parameters and limits where the address, its role or operator has none.

    The server gives up the client if it vanishes.

    Raises:
        psycopg.Error: the server cannot be reached, or refuses.
        SessionError: a proxy shares the server's connections; nothing is left on them.
        MissingExtraError: psycopg is not installed.
    """
    make = partial(limited_connection().connect, with_parameters(address), autocommit=True)
    made = make()
    try:
        if shares_connections(made, make):
            raise SessionError(_SHARED)
        made.execute(_ADOPT, (list(_SETTINGS), list(_SETTINGS.values())), prepare=False)
    except BaseException:
        made.close()
        raise
    return made


def server_process(connection: Any) -> ServerProcess:
    """Return the server process of a connection: its id and the time of its start."""
    sql = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    [(pid, began)] = connection.execute(sql, prepare=False)
    return int(pid), str(began)


def end_server_process(connection: Any, process: ServerProcess) -> None:
    """End the server process of a lost connection, if it still runs; wait shortly until its locks are free.

    Args:
        connection: Another connection of the same role.
        process: The process.
    """
    sql = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid = %s AND backend_start::text = %s"
    )
    end = monotonic() + _ENDING_SECONDS
    while connection.execute(sql, process, prepare=False).fetchone() and monotonic() < end:
        sleep(0.01)
