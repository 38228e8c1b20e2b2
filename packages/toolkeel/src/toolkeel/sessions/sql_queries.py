"""What is asked of the tables: sessions, their entries, what came in for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

from toolkeel._records.record import record
from toolkeel.sessions.errors import SessionError

Row: TypeAlias = tuple[int, float, str, str]
"""An entry as it is stored: its number, when (seconds since the epoch), its kind, its JSON."""
DELETED = "the session is gone: it was deleted"
PAGE = 500
"""Entries read at once: no read goes on for long, since that keeps the log from being cleared."""


@record
class SessionInfo:
    """What is known of a session without reading it.

    Args:
        id: Its number in this file.
        scope: Whose it is; a name means nothing outside its scope.
        name: Its name.
        created: When, in seconds since the epoch.
        updated: When something was last written.
        head: Number of its last entry.
        checkpoint: Number of its last checkpoint; 0 if there is none.
        base: Number of the last entry that it shares with its parent.
        parent: Which session it was forked from.
        turns: How often somebody said something.
        first: The beginning of what was said first.
        last: The beginning of what was answered last.
        tokens: Spent so far.
        requests: Made so far.
        ended: How its last run ended; empty while one goes on, or if it was killed.
    """

    id: int
    scope: str
    name: str
    created: float
    updated: float
    head: int
    checkpoint: int
    base: int
    parent: int | None
    turns: int
    first: str
    last: str
    tokens: int
    requests: int
    ended: str


@record
class Post:
    """A row of a session's inbox: sender, time and content, as JSON."""

    id: int
    at: float
    who: str
    kind: str
    body: str


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
        SessionError: it was deleted.
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


def get_or_create_session(
    connection: sqlite3.Connection, scope: str, name: str, now: float
) -> SessionInfo:
    """Return the session of a name, created if it does not exist."""
    connection.execute(
        "INSERT INTO session (scope, name, created, updated) VALUES (?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        (scope, name, now, now),
    )
    found = find_session(connection, scope, name)
    assert found is not None
    return found


def create_session(
    connection: sqlite3.Connection, scope: str, name: str, now: float
) -> SessionInfo:
    """Create the session of a name.

    Raises:
        SessionError: the name is taken.
    """
    if find_session(connection, scope, name) is not None:
        raise SessionError(f"there is a session {name!r} already; choose another name")
    return get_or_create_session(connection, scope, name, now)


def fork_session(
    connection: sqlite3.Connection, parent: SessionInfo, to: tuple[str, str], seq: int, now: float
) -> SessionInfo:
    """Create a session that starts as another was after its entry `seq`.

    Raises:
        SessionError: the name is taken.
    """
    made, told = (
        create_session(connection, *to, now),
        (parent.turns, parent.first, parent.last, parent.ended),
    )
    checkpoint = _last_checkpoint(connection, parent, seq)
    connection.execute(
        "UPDATE session SET parent = ?, base = ?, head = ?, checkpoint = ?, turns = ?, first = ?, "
        "last = ?, ended = ? WHERE id = ?",
        (parent.id, seq, seq, checkpoint, *told, made.id),
    )
    return get_session(connection, made.id)


def _last_checkpoint(connection: sqlite3.Connection, info: SessionInfo, seq: int) -> int:
    found = 0
    for id, low, high in _parts(connection, info.id, 0, seq):
        [last] = connection.execute(
            "SELECT max(seq) FROM entry WHERE session = ? AND kind = 'checkpoint' "
            "AND seq BETWEEN ? AND ?",
            (id, low, high),
        ).fetchone()
        found = max(found, last or 0)
    return found


def _parts(
    connection: sqlite3.Connection, id: int, after: int, upto: int
) -> list[tuple[int, int, int]]:
    """Return session and range of the entries to read, in order: a fork reads its start in its parent."""
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


def count_activity(
    connection: sqlite3.Connection, id: int, upto: int, parts: int
) -> list[tuple[int, int, int]]:
    """Count entries over time, in equal parts from the first entry to the last.

    Returns:
        For each part with entries: its index, the number of entries, and the number of the last.
    """
    kept = _parts(connection, id, 0, upto)
    spans = [
        connection.execute(
            "SELECT min(at), max(at) FROM entry WHERE session = ? AND seq BETWEEN ? AND ?", part
        ).fetchone()
        for part in kept
    ]
    spans = [span for span in spans if span[0] is not None]
    if not spans:
        return []
    begin = min(first for first, _ in spans)
    width = (max(last for _, last in spans) - begin) / parts or 1.0
    found: dict[int, tuple[int, int]] = {}
    for part in kept:
        rows = connection.execute(
            "SELECT round((at - ?) / ? - 0.5) AS place, count(*), max(seq) FROM entry "
            "WHERE session = ? AND seq BETWEEN ? AND ? GROUP BY 1",
            (begin, width, *part),
        )
        for place, count, last in rows:
            place = min(max(int(place), 0), parts - 1)
            before = found.get(place, (0, 0))
            found[place] = before[0] + count, max(before[1], last)
    return [(place, *found[place]) for place in sorted(found)]


def insert_entries(connection: sqlite3.Connection, id: int, rows: Sequence[Row]) -> None:
    """Add entries.

    Raises:
        sqlite3.IntegrityError: one of them is there: somebody else has written to the session.
    """
    connection.executemany(
        "INSERT INTO entry (session, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)",
        [(id, *row) for row in rows],
    )


def update_session(connection: sqlite3.Connection, id: int, facts: dict[str, object]) -> None:
    """Update the facts of a session, without reading them, in the transaction of its entries."""
    names = ", ".join(f"{name} = ?" for name in facts)
    changed = connection.execute(f"UPDATE session SET {names} WHERE id = ?", (*facts.values(), id))
    if not changed.rowcount:
        raise SessionError(DELETED)


def insert_references(connection: sqlite3.Connection, id: int, sizes: dict[str, int]) -> None:
    """Note which large values the entries of a session name."""
    connection.executemany(
        "INSERT INTO artifact (session, digest, size) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(id, digest, size) for digest, size in sizes.items()],
    )


def delete_session(connection: sqlite3.Connection, id: int) -> list[str]:
    """Delete a session with its rows. Return the large values without any reference left.

    What a fork shares with it becomes the fork's own.
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
    connection: sqlite3.Connection, id: int, at: float, fields: tuple[str, str, str]
) -> None:
    """Add a row to the inbox of a session.

    Args:
        connection: In a transaction that locks no other session.
        id: Of the session.
        at: When, in seconds since the epoch.
        fields: Who, of which kind, and the body as JSON.

    Raises:
        SessionError: the session is deleted.
    """
    lock_session(connection, id)
    connection.execute(
        "INSERT INTO inbox (session, at, who, kind, body) VALUES (?, ?, ?, ?, ?)",
        (id, at, *fields),
    )


def has_changed(
    connection: sqlite3.Connection, id: int, read: tuple[int, int], kinds: tuple[str, str]
) -> bool:
    """Return whether entries or posts of a kind were added since they were read.

    Args:
        connection: In a transaction that has locked the session.
        id: Of the session.
        read: The last entry and the last post that were read.
        kinds: Which kind of entries, and which kind of posts.
    """
    (head, last), (entry, kind) = read, kinds
    found = connection.execute(
        "SELECT 1 FROM entry WHERE session = ? AND seq > ? AND kind = ? "
        "UNION ALL SELECT 1 FROM inbox WHERE session = ? AND id > ? AND kind = ?",
        (id, head, entry, id, last, kind),
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


def set_writer(connection: sqlite3.Connection, id: int, writer: Sequence[object]) -> None:
    """Store the writing process of a session: id, host, user, program, start."""
    connection.execute(
        'INSERT INTO holder (session, pid, host, "user", program, since) VALUES (?, ?, ?, ?, ?, ?) '
        "ON CONFLICT (session) DO UPDATE SET pid = excluded.pid, host = excluded.host, "
        '"user" = excluded."user", program = excluded.program, since = excluded.since',
        (id, *writer),
    )


def read_writer(connection: sqlite3.Connection, id: int) -> tuple[int, str, str, str, float] | None:
    """Return the process that last recorded itself as the writer, or None."""
    found: tuple[int, str, str, str, float] | None = connection.execute(
        'SELECT pid, host, "user", program, since FROM holder WHERE session = ?', (id,)
    ).fetchone()
    return found
