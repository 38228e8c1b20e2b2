"""The tables of a file of sessions, in SQL that SQLite 3.34 knows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

from toolkeel.sessions.errors import LaterTables, SessionError

APPLICATION: Final = 0x746B656C
"""``application_id`` of the file, which ``file`` and others tell it by."""
TABLES: Final = """
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    head INTEGER NOT NULL DEFAULT 0,
    checkpoint INTEGER NOT NULL DEFAULT 0,
    base INTEGER NOT NULL DEFAULT 0,
    parent INTEGER,
    turns INTEGER NOT NULL DEFAULT 0,
    first TEXT NOT NULL DEFAULT '',
    last TEXT NOT NULL DEFAULT '',
    tokens INTEGER NOT NULL DEFAULT 0,
    requests INTEGER NOT NULL DEFAULT 0,
    ended TEXT NOT NULL DEFAULT '',
    UNIQUE (scope, name)
);
CREATE TABLE entry (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session, seq)
) WITHOUT ROWID;
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    at REAL NOT NULL,
    who TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX inbox_of ON inbox (session, id);
CREATE TABLE holder (
    session INTEGER PRIMARY KEY,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    "user" TEXT NOT NULL,
    program TEXT NOT NULL,
    since REAL NOT NULL
);
CREATE TABLE artifact (
    session INTEGER NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (session, digest)
) WITHOUT ROWID;
CREATE INDEX artifact_of ON artifact (digest);
CREATE TABLE item (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    expires REAL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
"""


STEPS: Final = (TABLES,)
"""The step at N makes tables of version N + 1 of those before. One is added for a change, none is edited.

Programs of the version before go on for a while, so columns are added with a default, and none is removed.
Entries have versions of their own.
"""


def steps_since(version: int, place: str) -> Iterator[str]:
    """Yield the statements that bring tables up to date.

    Args:
        version: Their version; 0 if there are none.
        place: Where they are, for the error.

    Raises:
        LaterTables: they are of a later version.
    """
    if version > len(STEPS):
        raise LaterTables(
            f"{place} has tables of version {version}, and this is made for {len(STEPS)}: "
            "upgrade toolkeel"
        )
    for step in STEPS[version:]:
        yield from filter(str.strip, step.split(";"))


def ensure(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables of a new file, or bring those of an older version up to date.

    Raises:
        SessionError: the file is another program's, or of a later version.
    """
    if not any(steps_since(_version(connection, path), path)):
        return
    connection.execute("BEGIN IMMEDIATE")  # of several that open a file, one makes the tables
    try:
        for statement in steps_since(_version(connection, path), path):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(STEPS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # not after a full disk: SQLite has rolled back itself
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of the tables, or 0 for an empty database.

    Raises SessionError for tables of another program.
    """
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION:
        return int(version)
    if application or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise SessionError(f"{path} is a database of another program; give another path")
    return 0
