"""Queries of the tables: sessions, their entries and their inboxes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.store import (
    DELETED,
    NewPost,
    Post,
    Row,
    SessionInfo,
    Unchanged,
    Writer,
)

PAGE = 500
"""Entries read at once: no read goes on for long, since that keeps the log from being cleared."""


_COLUMNS = (
    "id, scope, name, created, updated, head, checkpoint, base, parent, turns, first, last, "
    "tokens, requests, ended"
)


def find_session(connection: sqlite3.Connection, scope: str, name: str) -> SessionInfo | None:
    """Return the session of a name, or None."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM session WHERE scope = ? AND name = ?", (scope, name)
    ).fetchone()
    return SessionInfo(*found) if found else None


def get_session(connection: sqlite3.Connection, id: int) -> SessionInfo:
    """Return the session of an id.

    Raises:
        SessionError: the session was deleted.
    """
    found = connection.execute(f"SELECT {_COLUMNS} FROM session WHERE id = ?", (id,)).fetchone()
    if not found:
        raise SessionError(DELETED)
    return SessionInfo(*found)


def list_sessions(connection: sqlite3.Connection, scope: str | None) -> list[SessionInfo]:
    """Return the sessions of a scope, or of all scopes for None, the last written first."""
    where, values = ("", ()) if scope is None else ("WHERE scope = ?", (scope,))
    sql = f"SELECT {_COLUMNS} FROM session {where} ORDER BY updated DESC, id DESC"
    return [SessionInfo(*row) for row in connection.execute(sql, values)]


def count_other_sessions(connection: sqlite3.Connection, scope: str) -> tuple[int, int]:
    """Return the number of sessions in other scopes, and of these scopes."""
    sql = "SELECT count(*), count(DISTINCT scope) FROM session WHERE scope <> ?"
    return tuple(connection.execute(sql, (scope,)).fetchone())


def create_session(
    connection: sqlite3.Connection, scope: str, name: str, now: float, head: int = 0
) -> SessionInfo:
    """Create the session of a name.

    Args:
        connection: In a transaction.
        scope: Of the session.
        name: Of the session.
        now: When it is created, in seconds since the epoch.
        head: Number of the last entry that it shares with its parent; 0 without one.

    Raises:
        SessionError: the name is taken.
    """
    made = connection.execute(
        "INSERT INTO session (scope, name, created, updated, head) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        (scope, name, now, now, head),
    )
    found = find_session(connection, scope, name)
    if not made.rowcount or found is None:
        raise SessionError(f"there is a session {name!r} already; choose another name")
    return found


def _parts(
    connection: sqlite3.Connection, id: int, after: int, upto: int
) -> list[tuple[int, int, int]]:
    """Return session and range of the entries to read, in order: a fork reads its start in its parent.

    Raises `SessionError` if the session was deleted.
    """
    parts: list[tuple[int, int, int]] = []
    at: int | None = id
    while at is not None and upto > after:
        info = get_session(connection, at)
        low = max(info.base, after) + 1
        if low <= upto:
            parts.append((at, low, upto))
        upto = min(upto, info.base)
        at = info.parent
    return parts[::-1]


def read_page(
    connection: sqlite3.Connection, id: int, after: int, upto: int, kind: str = ""
) -> list[Row]:
    """Return the next entries, at most `PAGE`; those of one kind if `kind` is not empty."""
    rows: list[Row] = []
    for part, low, high in _parts(connection, id, after, upto):
        rows += connection.execute(
            "SELECT seq, at, kind, body FROM entry WHERE session = ? AND seq BETWEEN ? AND ? "
            "AND kind = coalesce(nullif(?, ''), kind) ORDER BY seq LIMIT ?",
            (part, low, high, kind, PAGE - len(rows)),
        ).fetchall()
        if len(rows) == PAGE:
            break
    return rows


def read_times(connection: sqlite3.Connection, id: int, upto: int) -> list[tuple[int, float]]:
    """Return number and time of each entry up to a number, in order."""
    sql = "SELECT seq, at FROM entry WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq"
    return [
        row for part in _parts(connection, id, 0, upto) for row in connection.execute(sql, part)
    ]


def insert_entries(connection: sqlite3.Connection, id: int, rows: Sequence[Row]) -> None:
    """Add entries.

    Raises:
        sqlite3.IntegrityError: an entry of that number exists: another process has written to the
        session.
    """
    connection.executemany(
        "INSERT INTO entry (session, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)",
        [(id, *row) for row in rows],
    )


def update_session(
    connection: sqlite3.Connection, id: int, facts: Mapping[str, object], after: int | None = None
) -> None:
    """Update the facts of a session, in the transaction of its entries.

    Args:
        connection: A connection in a transaction.
        id: Number of the session.
        facts: The new values.
        after: Number that its last entry must have; None for any.

    Raises:
        SessionError: the session is deleted, or its last entry is another one.
    """
    names = ", ".join(f"{name} = ?" for name in facts) or "head = head"
    sql, values = f"UPDATE session SET {names} WHERE id = ?", (*facts.values(), id)
    if after is not None:
        sql, values = f"{sql} AND head = ?", (*values, after)
    if not connection.execute(sql, values).rowcount:
        head = get_session(connection, id).head
        raise SessionError(
            f"the session has {head} entries instead of {after}: a write before this one failed, or "
            "somebody else has written to the session"
        )


def insert_references(connection: sqlite3.Connection, id: int, sizes: dict[str, int]) -> None:
    """Record which large values the entries of a session name, in the caller's transaction; known ones are kept."""
    connection.executemany(
        "INSERT INTO artifact (session, digest, size) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(id, digest, size) for digest, size in sizes.items()],
    )


def delete_session(connection: sqlite3.Connection, id: int) -> list[str]:
    """Delete a session with its rows. Return digests of large values that no entry names any more.

    Entries that forks share with it are copied to them. Raises `SessionError` if it is deleted already.
    """
    lock_session(connection, id)  # else a post that comes meanwhile would stay behind
    gone = get_session(connection, id)
    for [child] in connection.execute("SELECT id FROM session WHERE parent = ?", (id,)).fetchall():
        _adopt(connection, gone, get_session(connection, child))
    rows = connection.execute("SELECT digest FROM artifact WHERE session = ?", (id,))
    digests = [digest for [digest] in rows]
    for table in ("entry", "inbox", "holder", "artifact"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (id,))
    connection.execute("DELETE FROM session WHERE id = ?", (id,))
    return [digest for digest in digests if not is_referenced(connection, digest)]


def _adopt(connection: sqlite3.Connection, parent: SessionInfo, child: SessionInfo) -> None:
    """Copy a parent's shared entries and artifact references to its child, and link the grandparent."""
    connection.execute(
        "INSERT INTO entry (session, seq, at, kind, body) "
        "SELECT ?, seq, at, kind, body FROM entry WHERE session = ? AND seq <= ?",
        (child.id, parent.id, child.base),
    )
    connection.execute(
        "INSERT INTO artifact (session, digest, size) "
        "SELECT ?, digest, size FROM artifact WHERE session = ? ON CONFLICT DO NOTHING",
        (child.id, parent.id),
    )
    connection.execute(
        "UPDATE session SET parent = ?, base = ? WHERE id = ?",
        (parent.parent, min(parent.base, child.base), child.id),
    )


def is_referenced(connection: sqlite3.Connection, digest: str) -> bool:
    """Return True if any session refers to a large value."""
    found = connection.execute("SELECT 1 FROM artifact WHERE digest = ? LIMIT 1", (digest,))
    return found.fetchone() is not None


# — what others say —


def lock_session(connection: sqlite3.Connection, id: int) -> None:
    """Lock the row of a session until the transaction ends.

    Posts to one session are then numbered in the order of their commits, and no entry of it is
    committed in between.

    Raises:
        SessionError: the session is deleted.
    """
    locked = connection.execute("UPDATE session SET head = head WHERE id = ?", (id,))
    if not locked.rowcount:
        raise SessionError(DELETED)


def insert_post(
    connection: sqlite3.Connection, id: int, post: NewPost, condition: Unchanged | None
) -> bool:
    """Add a row to the inbox of a session, unless a condition does not hold. See `SessionStore.post`.

    Args:
        connection: In a transaction that locks no other session.
        id: Of the session.
        post: The row.
        condition: The condition; None for none.

    Raises:
        SessionError: the session is deleted.
    """
    lock_session(connection, id)
    if condition is not None and _has_changed(connection, id, condition):
        return False
    connection.execute(
        "INSERT INTO inbox (session, at, who, kind, body) VALUES (?, ?, ?, ?, ?)",
        (id, post.at, post.who, post.kind, post.body),
    )
    return True


def _has_changed(connection: sqlite3.Connection, id: int, read: Unchanged) -> bool:
    """Return True if the session has entries or posts of these kinds newer than those read."""
    found = connection.execute(
        "SELECT 1 FROM entry WHERE session = ? AND seq > ? AND kind = coalesce(nullif(?, ''), kind) "
        "UNION ALL SELECT 1 FROM inbox WHERE session = ? AND id > ? AND kind = ?",
        (id, read.head, read.entry, id, read.last, read.post),
    )
    return found.fetchone() is not None


def read_posts(connection: sqlite3.Connection, id: int) -> list[Post]:
    """Return the posts that are not consumed, in order."""
    rows = connection.execute(
        "SELECT id, at, who, kind, body FROM inbox WHERE session = ? ORDER BY id", (id,)
    )
    return [Post(*row) for row in rows]


def delete_posts(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Delete posts that became entries, in the transaction of these entries.

    Raises:
        SessionError: another process has removed one of them.
    """
    if not ids:
        return
    removed = connection.executemany("DELETE FROM inbox WHERE id = ?", [(id,) for id in ids])
    if removed.rowcount != len(ids):
        raise SessionError("another process has taken a post of the session's inbox")


# — who writes —


def set_writer(connection: sqlite3.Connection, id: int, writer: Writer) -> None:
    """Store the writing process of a session."""
    connection.execute(
        'INSERT INTO holder (session, pid, host, "user", program, since) VALUES (?, ?, ?, ?, ?, ?) '
        "ON CONFLICT (session) DO UPDATE SET pid = excluded.pid, host = excluded.host, "
        '"user" = excluded."user", program = excluded.program, since = excluded.since',
        (id, writer.pid, writer.host, writer.user, writer.program, writer.since),
    )


def read_writer(connection: sqlite3.Connection, id: int) -> Writer | None:
    """Return the process that last recorded itself as the writer, or None."""
    found = connection.execute(
        'SELECT pid, host, "user", program, since FROM holder WHERE session = ?', (id,)
    ).fetchone()
    return Writer(*found) if found else None
