"""A store for tools: memory that outlives runs, by namespace and key (put, get, search, delete, TTL).

Give it to an agent, ``agent.run(..., store=store)``, and tools read it as ``context.store``. Values are
JSON objects. What a search filters by is compared here and never becomes part of an SQL text. A value that
code of a run puts has the run's labels with it, and labels the run whose code reads it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import time
from typing import Any, Final, Protocol, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._common.data_folder import data_folder
from toolkeel._records.record import NOTHING, record
from toolkeel._records.taint_sources import Source, dump_sources, load_sources
from toolkeel.call.stored_labels import labels_to_store, record_stored_labels
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.postgres import open_database
from toolkeel.sessions.stores.sqlite import MEMORY

Namespace: TypeAlias = tuple[str, ...]
SEPARATOR: Final = "\x1f"
"""Between the parts of a namespace in a row; a part cannot hold it."""


@record
class Item:
    """One value of a store.

    Args:
        namespace: Where it is, such as ``("users", "ada")``.
        key: Its name there.
        value: A JSON object.
        created: When it was first put, in seconds since the epoch.
        updated: When it was last put.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    created: float
    updated: float


_Loaded: TypeAlias = tuple[Item, list[Source]]


class Store(Protocol):
    """The interface through which tools remember values."""

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        seconds: float | None = None,
    ) -> None:
        """Store a value, which expires after `seconds` if that is set."""
        ...

    def get(self, namespace: Namespace, key: str) -> Item | None:
        """Return the value of a key; None if it is missing or expired."""
        ...

    def search(
        self, namespace: Namespace, where: Mapping[str, Any] = NOTHING, limit: int = 10
    ) -> list[Item]:
        """Return values in a namespace and those below it, the latest first.

        Args:
            namespace: ``("users",)`` also finds values of ``("users", "ada")``.
            where: Values that top-level fields must have, by name.
            limit: Maximum number of values.
        """
        ...

    def delete(self, namespace: Namespace, key: str) -> bool:
        """Delete a key. Return True if it existed and had not expired."""
        ...


@checked
class KeyValueStore:
    """A `Store` in SQLite, in memory or in PostgreSQL. Any thread may use it, and any process the same file.

    Args:
        path: Path of the file; ``store.db`` in the user's data folder by default, ``:memory:`` for
            none. It may be a file of sessions; or ``postgresql://...``, a PostgreSQL database.
        clock: Returns the time in seconds since the epoch.

    Raises:
        SetupError: no path was passed, and no home folder is known.
        SessionError: the file or database cannot be opened.

    >>> store = KeyValueStore(":memory:")
    >>> store.put(("users", "ada"), "likes", {"drink": "tea"})
    >>> store.get(("users", "ada"), "likes").value
    {'drink': 'tea'}
    >>> [item.key for item in store.search(("users",), {"drink": "tea"})]
    ['likes']
    >>> store.close()
    """

    def __init__(
        self, path: str | Path | None = None, *, clock: Callable[[], float] = time
    ) -> None:
        self._database = open_database(
            MEMORY if path == MEMORY else str(path or data_folder() / "store.db")
        )
        self._clock = clock

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        seconds: float | None = None,
    ) -> None:
        """Store a value, with the labels of the run whose code does it. It is durable when this returns.

        Args:
            namespace: Namespace of the key.
            key: The key; an earlier value is replaced.
            value: A JSON object.
            seconds: Lifetime; unlimited by default.

        Raises:
            SessionError: the value is no JSON object, the namespace is invalid, or it cannot be written.
        """
        self.put_all(namespace, {key: value}, seconds=seconds)

    def put_all(
        self,
        namespace: Namespace,
        values: Mapping[str, Mapping[str, Any]],
        *,
        seconds: float | None = None,
    ) -> None:
        """Store many values, all or none, in one transaction, with the labels of the run whose code does it.

        They expire after `seconds`, if that is set.

        Raises:
            SessionError: JSON would change a value, or it cannot be written.
        """
        now, place = self._clock(), _namespace_text(namespace, *values)
        expires, labels = _expiry(now, seconds), labels_to_store()
        rows = [
            (place, key, _dump_item(key, value, labels), now, now, expires)
            for key, value in values.items()
        ]

        def do(connection: sqlite3.Connection) -> None:
            """Insert or replace the rows."""
            self._database.lock_writes(
                connection
            )  # else two that wait for each other's rows end in error
            _insert(connection, now, rows)

        self._database.write_now(do)

    def change(
        self,
        namespace: Namespace,
        key: str,
        make: Callable[[dict[str, Any]], Mapping[str, Any] | None],
        *,
        seconds: float | None = None,
    ) -> None:
        """Replace a value by a function's result, atomically across threads and processes.

        The run whose code does it gets the labels of the old value, and the new one has both's.

        Args:
            namespace: Namespace of the key.
            key: The key.
            make: Returns the new value for the old one, which is empty if there is none; None changes
                nothing.
            seconds: Lifetime; unlimited by default.

        Raises:
            SessionError: as `put`.

        >>> store = KeyValueStore(":memory:")
        >>> for _ in range(2):
        ...     store.change(("visits",), "ada", lambda value: {"n": value.get("n", 0) + 1})
        >>> store.get(("visits",), "ada").value
        {'n': 2}
        >>> store.close()
        """
        now, place = self._clock(), _namespace_text(namespace, key)
        expires, own = _expiry(now, seconds), labels_to_store()

        def do(connection: sqlite3.Connection) -> list[Source]:
            """Store what `make` returns for the item, unless that is None. Return the item's labels before."""
            self._database.lock_writes(connection)
            found = connection.execute(
                f"SELECT {_COLUMNS} FROM item WHERE namespace = ? AND key = ? "
                "AND (expires IS NULL OR expires > ?)",
                (place, key, now),
            ).fetchone()
            item, labels = _load(found) if found else (None, [])
            made = make({} if item is None else dict(item.value))
            if made is not None:
                text = _dump_item(key, made, dict.fromkeys((*labels, *own)))
                _insert(connection, now, [(place, key, text, now, now, expires)])
            return labels

        record_stored_labels(self._database.write_now(do))

    def get(self, namespace: Namespace, key: str) -> Item | None:
        """Return the value of a key; None if it is missing or expired. The run whose code reads it gets its labels.

        Raises:
            SessionError: the store cannot be read.
        """
        return self.get_all(namespace, [key]).get(key)

    def get_all(self, namespace: Namespace, keys: Sequence[str]) -> dict[str, Item]:
        """Return the values of many keys, without missing and expired ones. The run gets their labels.

        Raises:
            SessionError: the store cannot be read.
        """
        place, now = _namespace_text(namespace, *keys), self._clock()

        def do(connection: sqlite3.Connection) -> list[_Loaded]:
            """Return the unexpired items of the keys, without those that are missing."""
            rows: list[_Loaded] = []
            for key in keys:
                found = connection.execute(
                    f"SELECT {_COLUMNS} FROM item WHERE namespace = ? AND key = ? "
                    "AND (expires IS NULL OR expires > ?)",
                    (place, key, now),
                ).fetchall()
                rows += map(_load, found)
            return rows

        return {item.key: item for item in _read(self._database.read(do))}

    def search(
        self, namespace: Namespace, where: Mapping[str, Any] = NOTHING, limit: int = 10
    ) -> list[Item]:
        """Return values in a namespace and those below it, the latest first. The run gets their labels.

        Args:
            namespace: ``("users",)`` also finds values of ``("users", "ada")``.
            where: Values that top-level fields must have, by name.
            limit: Maximum number of values.

        Raises:
            SessionError: the store cannot be read.
        """
        place, now = _namespace_text(namespace), self._clock()

        def do(connection: sqlite3.Connection) -> list[_Loaded]:
            """Return up to `limit` unexpired items in or below the namespace that match, latest first."""
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM item WHERE namespace >= ? AND (? = '' OR namespace < ?) "
                "AND (expires IS NULL OR expires > ?) ORDER BY updated DESC, namespace, key",
                (place, place, place[:-1] + chr(ord(SEPARATOR) + 1), now),
            )
            return _select_first(map(_load, rows), where, limit)

        return _read(self._database.read(do))

    def delete(self, namespace: Namespace, key: str) -> bool:
        """Delete a key, also from the disk. Return True if it existed and had not expired.

        Raises:
            SessionError: the key cannot be deleted.
        """
        place, now = _namespace_text(namespace, key), self._clock()

        def do(connection: sqlite3.Connection) -> bool:
            """Delete all expired items, then this one. Return True if there still was one."""
            self._database.lock_writes(connection)
            _delete_expired(connection, now)
            gone = connection.execute(
                "DELETE FROM item WHERE namespace = ? AND key = ?", (place, key)
            )
            return gone.rowcount > 0

        return self._database.write_now(do, erases=True)

    def close(self) -> None:
        """Close the file or database, for all of this process that use it."""
        self._database.close()


_COLUMNS = "namespace, key, value, created, updated"


def _delete_expired(connection: sqlite3.Connection, now: float) -> None:
    """Delete the items that have expired before or at `now`."""
    connection.execute("DELETE FROM item WHERE expires <= ?", (now,))


def _insert(connection: sqlite3.Connection, now: float, rows: Sequence[Sequence[object]]) -> None:
    """Delete all expired items, and insert or replace the rows (creation times of existing items remain)."""
    _delete_expired(connection, now)
    connection.executemany(
        "INSERT INTO item (namespace, key, value, created, updated, expires) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, key) DO UPDATE SET "
        "value = excluded.value, updated = excluded.updated, expires = excluded.expires",
        rows,
    )


def _load(row: tuple[str, str, str, float, float]) -> _Loaded:
    """Return the item of a row with its labels, which are on the second line of its value."""
    place, key, text, created, updated = row
    value, _, labels = text.partition("\n")
    item = Item(tuple(place.split(SEPARATOR)[:-1]), key, json.loads(value), created, updated)
    return item, load_sources({"taint": json.loads(labels)}) if labels else []


def _read(found: Iterable[_Loaded]) -> list[Item]:
    """Return items, and label the run whose code reads them."""
    found = list(found)
    record_stored_labels(source for _, labels in found for source in labels)
    return [item for item, _ in found]


def _select_first(rows: Iterable[_Loaded], where: Mapping[str, Any], limit: int) -> list[_Loaded]:
    """Return the first `limit` items whose values equal each field of `where`."""
    found: list[_Loaded] = []
    for item, labels in rows:
        if len(found) >= limit:
            break
        if all(name in item.value and _equal(item.value[name], where[name]) for name in where):
            found.append((item, labels))
    return found


def _equal(value: object, wanted: object) -> bool:
    """Return True if two values are equal in JSON, where true is not 1."""
    return json.dumps(value, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def _namespace_text(namespace: Namespace, *keys: str) -> str:
    """Return a namespace as text, a prefix of that of each namespace below it.

    Raises SessionError if the namespace or a key is not made of texts.
    """
    if isinstance(namespace, str) or not all(
        _is_text(part) and part and SEPARATOR not in part for part in namespace
    ):
        raise SessionError(f"{namespace!r:.80} is no namespace; give a tuple of texts")
    for key in keys:
        if not _is_text(key):
            raise SessionError(f"{key!r:.80} is no key; give a text")
    return "".join(part + SEPARATOR for part in namespace)


def _is_text(given: object) -> bool:
    """Return True if a value is text that UTF-8 can encode."""
    return isinstance(given, str) and given.encode("utf-8", "ignore").decode() == given


def _expiry(now: float, seconds: float | None) -> float | None:
    """Return the time to expire, None for never; raise SessionError if `seconds` is no number."""
    if not isinstance(seconds, int | float | None):
        raise SessionError(f"seconds={seconds!r:.40}: give a number, or None for ever")
    return None if seconds is None else now + seconds


def _dump_item(key: str, value: Mapping[str, Any], labels: Iterable[Source]) -> str:
    """Return an item's JSON and that of its labels, or raise SessionError if JSON would change the value."""
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        text.encode()
        if json.loads(text) != dict(value):
            raise ValueError("it would come back as something else")
    except (TypeError, ValueError, RecursionError) as error:
        raise SessionError(f"the value of {key!r} is no JSON object: {error}") from None
    stated = dump_sources(labels)
    return f"{text}\n{json.dumps(stated, ensure_ascii=False)}" if stated else text
