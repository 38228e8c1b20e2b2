"""The tables of a file of sessions, in SQL that SQLite 3.34 knows."""

from __future__ import annotations

import sqlite3
from typing import Final

from toolkeel.sessions.errors import SessionError

APPLICATION: Final = 0x746B656C
"""``application_id`` of the file, which ``file`` and others tell it by."""
VERSION: Final = 1
"""``user_version``: of the tables. Entries have versions of their own."""

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


def ensure(connection: sqlite3.Connection, path: str) -> None:
    """Create the tables of a new file, or raise if an existing file is not ours.

    Raises:
        SessionError: the file is another program's, or of a later version.
    """
    if _version(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")  # of several that open a new file, one makes the tables
    try:
        if _version(connection, path) == 0:
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of the tables, or 0 for an empty database.

    Raises SessionError for tables of a newer version or of another program.
    """
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION and version > VERSION:
        raise SessionError(
            f"{path} has tables of version {version}, and this is made for {VERSION}: "
            "upgrade toolkeel"
        )
    if application == APPLICATION:
        return int(version)
    if application or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise SessionError(f"{path} is a database of another program; give another path")
    return 0
