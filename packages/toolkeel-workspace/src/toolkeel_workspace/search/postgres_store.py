"""A store in PostgreSQL: words in a table, meaning by pgvector's index.

::

    store = PostgresStore("postgresql://user@host/database", "docs", embedder)

Each store is a schema of that database. Vectors need the extension pgvector, version 0.8 or newer; they
are stored in half precision, which does not measurably change results.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.search import stores
from toolkeel_workspace.search.filters import FILE_ID, translate_filter
from toolkeel_workspace.search.stores import Embedder, Passage, Source, Store, StoredFile

with needs_extra("file search in PostgreSQL", "postgres"):
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

_NAME = re.compile(r"[\w-]+")
_SCHEMA: Final = """
CREATE TABLE notes (format TEXT NOT NULL, model TEXT NOT NULL, passages BIGINT NOT NULL);
CREATE TABLE files (
    id BIGSERIAL PRIMARY KEY, file_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL, stamp TEXT NOT NULL, digest TEXT NOT NULL, attributes JSONB NOT NULL
);
CREATE TABLE chunks (
    id BIGSERIAL PRIMARY KEY, file BIGINT NOT NULL REFERENCES files,
    start INTEGER NOT NULL, heading TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX ON chunks (file);
CREATE TABLE terms (
    term TEXT COLLATE "C", chunk BIGINT, weight REAL NOT NULL, PRIMARY KEY (term, chunk)
);
CREATE TABLE vocabulary (term TEXT COLLATE "C" PRIMARY KEY, passages BIGINT NOT NULL);
INSERT INTO notes VALUES (%s, '', 0);
"""
_VECTORS: Final = """
CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
CREATE TABLE vectors (
    chunk BIGINT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE, vector halfvec({}) NOT NULL
);
CREATE INDEX ON vectors USING hnsw (vector halfvec_cosine_ops);
"""
_ADD_COUNTS = """INSERT INTO vocabulary AS v SELECT * FROM unnest(%s::text[], %s::bigint[])
ON CONFLICT (term) DO UPDATE SET passages = v.passages + excluded.passages"""
_IDS = "SELECT nextval('chunks_id_seq') FROM generate_series(1, %s)"
_PASSAGE = """SELECT c.id, f.attributes, f.file_id, f.name, f.title, c.heading, c.start, c.text
FROM chunks c JOIN files f ON f.id = c.file WHERE c.id = ANY(%s)"""
_ORDERS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


@checked
class PostgresStore(Store):
    """A `Store`; created if it is missing, unless `create` is False.

    Args:
        address: Of the database, as libpq reads it.
        name: Of the store: its own schema.
        embedder: Makes vectors of added texts and of queries; None: words alone.
        create: Create the store.

    Raises:
        SetupError: if it cannot be reached, there is no such store, or its vectors are of another
            model than the embedder's.
    """

    def __init__(
        self, address: str, name: str, embedder: Embedder | None = None, *, create: bool = True
    ) -> None:
        if not _NAME.fullmatch(name) or len(name.encode()) > 63:  # PostgreSQL cuts longer ones off
            raise SetupError(f"{name!r} is no short name: letters, digits, '_' and '-', 63 bytes")
        self.name, self.embedder = name, embedder
        self._address = address
        self._idle: list[psycopg.Connection[tuple[Any, ...]]] = []
        # Stores are often left to the garbage collector, which warns about open connections.
        weakref.finalize(self, _close_all, self._idle)
        try:
            conninfo_to_dict(address)
        except psycopg.Error:  # psycopg's message would quote the address with its password
            form = "postgresql://user@host/database#store, with %-escapes in a password"
            raise SetupError(f"the address of the store cannot be read: write {form}") from None
        try:
            with self._transaction() as db:
                self._open_schema(db, create)
        except ToolError as error:
            raise SetupError(error.text) from None

    def _open_schema(self, db: Any, create: bool) -> None:
        db.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self.name,))
        notes = f'"{self.name}".notes'
        if db.execute("SELECT to_regclass(%s)", (notes,)).fetchone() == (None,):
            if not create:
                raise SetupError(f"there is no vector store {self.name!r} in the database")
            db.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.name}"')
            for statement in _SCHEMA.split(";\n")[:-1]:
                db.execute(statement, (stores.FORMAT,) if "%s" in statement else None)
        format, model = db.execute("SELECT format, model FROM notes").fetchone()
        if format != stores.FORMAT:
            raise SetupError(f"{self.name!r} was made by another version: index it anew")
        mine = self.embedder.model if self.embedder is not None else ""
        if mine and model and mine != model:
            raise SetupError(f"{self.name!r} has vectors of {model!r}, not of {mine!r}")
        if mine:
            db.execute("UPDATE notes SET model = %s", (mine,))

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Provide a connection in a transaction, rolled back on any error."""
        db = None
        try:
            db = self._connect()
            with db.transaction():
                yield db
        except psycopg.Error as error:
            told = str(error).strip() or type(error).__name__
            raise ToolError(f"The database cannot be asked ({told:.300}).") from error
        finally:
            if db is not None and not db.closed:
                self._idle.append(db)

    def _connect(self) -> Any:
        """Return a working connection; idle ones may have been lost meanwhile."""
        with suppress(IndexError):
            while True:
                db = self._idle.pop()
                with suppress(psycopg.Error):
                    db.execute("SELECT 1")
                    return db
        db = psycopg.connect(self._address, autocommit=True)
        path = f'"{self.name}", public, extensions'  # where most hosts install pgvector
        db.execute("SELECT set_config('search_path', %s, false)", (path,))
        return db

    def close(self) -> None:
        """Close idle connections."""
        _close_all(self._idle)

    @contextmanager
    def view(self, filters: object = None) -> Iterator[_PassageView]:
        """Open a view of the passages. See `Store`."""
        within = (
            ("", ())
            if filters is None
            else translate_filter(filters, _make_comparison, _make_compound)
        )
        with self._transaction() as db:
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _PassageView(db, *within)

    def _query(self, query: str) -> list[tuple[Any, ...]]:
        with self._transaction() as db:
            rows: list[tuple[Any, ...]] = db.execute(query).fetchall()
            return rows

    def get_model(self) -> str:
        """Return the embedding model. See `Store`."""
        return str(self._query("SELECT model FROM notes")[0][0])

    def __len__(self) -> int:
        """Count the passages."""
        return int(self._query("SELECT passages FROM notes")[0][0])

    def list_files(self) -> list[StoredFile]:
        """List all files, by name."""
        rows = self._query(
            'SELECT file_id, name, stamp, digest, attributes FROM files ORDER BY name COLLATE "C"'
        )
        return [StoredFile(*row) for row in rows]

    def list_without_vectors(self) -> frozenset[str]:
        """List files without vectors. See `Store`."""
        with self._transaction() as db:
            query = "SELECT DISTINCT f.name FROM chunks c JOIN files f ON f.id = c.file"
            if _has_vectors(db):
                query += " LEFT JOIN vectors v ON v.chunk = c.id WHERE v.chunk IS NULL"
            return frozenset(row[0] for row in db.execute(query).fetchall())

    def add(self, *sources: Source) -> list[str]:
        """Add or replace files. See `Store`."""
        parts = list(stores.split_sources(sources, self.embedder))
        counts: Counter[str] = Counter()
        with self._write_transaction() as db:
            ids = [self._insert(db, source, chunks, counts) for source, chunks in parts]
            _add_counts(db, counts)
            return ids

    def update_stamp(self, name: str, stamp: str) -> None:
        """Update a file's stamp. See `Store`."""
        with self._write_transaction() as db:
            db.execute("UPDATE files SET stamp = %s WHERE name = %s", (stamp, name))

    def remove(self, *names: str) -> int:
        """Remove files. See `Store`."""
        with self._write_transaction() as db:
            return sum(self._delete_file(db, name) is not None for name in names)

    @contextmanager
    def _write_transaction(self) -> Iterator[Any]:
        """Provide a transaction for one writer at a time, so that term counts stay correct."""
        with self._transaction() as db:
            db.execute("SELECT 1 FROM notes FOR UPDATE")
            yield db

    def _insert(
        self, db: Any, source: Source, chunks: Sequence[tuple[Any, Any]], counts: Counter[str]
    ) -> str:
        file_id = self._delete_file(db, source.name) or f"file-{secrets.token_hex(12)}"
        attributes = json.dumps(dict(source.attributes), ensure_ascii=False)
        said = (source.name, source.title, source.stamp, source.digest, attributes)
        [file] = db.execute(
            "INSERT INTO files (file_id, name, title, stamp, digest, attributes)"
            " VALUES (%s, %s, %s, %s, %s, %s) RETURNING id",
            (file_id, *said),
        ).fetchone()
        if any(vector is not None for _, vector in chunks) and not _has_vectors(db):
            db.execute(_VECTORS.format(len(chunks[0][1])))
        ids = db.execute(_IDS, (len(chunks),)).fetchall()
        at = [(id, chunk, vector) for (id,), (chunk, vector) in zip(ids, chunks, strict=True)]
        rows = ((id, file, chunk.start, chunk.heading, chunk.text) for id, chunk, _ in at)
        _copy_rows(db, "chunks (id, file, start, heading, text)", rows)
        terms: list[tuple[object, ...]] = []
        for id, chunk, _ in at:
            held = stores.weigh_terms(source.name, source.title, chunk.heading, chunk.text)
            counts.update(held.keys())
            terms += [(term, id, weight) for term, weight in held.items()]
        _copy_rows(db, "terms", sorted(terms))  # in the order of the index
        _copy_rows(db, "vectors", ((id, _format_vector(v)) for id, _, v in at if v is not None))
        db.execute("UPDATE notes SET passages = passages + %s", (len(chunks),))
        return file_id

    def _delete_file(self, db: Any, name: str) -> str | None:
        """Delete a file. Return its id, or None if it was missing."""
        find = "SELECT id, file_id, title FROM files WHERE name = %s"
        found = db.execute(find, (name,)).fetchone()
        if found is None:
            return None
        row, file_id, title = found
        counts: Counter[str] = Counter()
        gone = db.execute("SELECT id, heading, text FROM chunks WHERE file = %s", (row,)).fetchall()
        for at, heading, text in gone:
            held = list(stores.weigh_terms(name, title, heading, text))
            counts.subtract(held)
            db.execute("DELETE FROM terms WHERE chunk = %s AND term = ANY(%s)", (at, held))
        _add_counts(db, counts)
        db.execute("DELETE FROM vocabulary WHERE passages = 0 AND term = ANY(%s)", (list(counts),))
        db.execute("DELETE FROM chunks WHERE file = %s", (row,))
        db.execute("DELETE FROM files WHERE id = %s", (row,))
        db.execute("UPDATE notes SET passages = passages - %s", (len(gone),))
        return str(file_id)


def _close_all(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()


def _add_counts(db: Any, counts: Mapping[str, int]) -> None:
    """Add to the number of passages that contain each term."""
    terms = sorted(counts)
    db.execute(_ADD_COUNTS, (terms, [counts[term] for term in terms]))


def _copy_rows(db: Any, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert rows by COPY, if there are any."""
    waiting = iter(rows)
    for first in waiting:
        with db.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
            copy.write_row(first)
            for row in waiting:
                copy.write_row(row)


def _has_vectors(db: Any) -> bool:
    """Return true if the vector table exists. The first vectors create it with their length."""
    found = "SELECT to_regclass(quote_ident(current_schema()) || '.vectors')"
    return bool(db.execute(found).fetchone() != (None,))


def _format_vector(vector: Any) -> str:
    """Format a vector for pgvector."""
    return f"[{','.join(map(str, vector.tolist()))}]"


class _PassageView:
    """A `PassageView` in a read-only transaction."""

    def __init__(self, db: Any, within: str, values: Sequence[object]) -> None:
        self._db, self._values = db, tuple(values)
        self._within = within and (
            "AND EXISTS (SELECT 1 FROM chunks c JOIN files f ON f.id = c.file"
            f" WHERE c.id = chunk AND {within})"
        )

    def count_terms(self, terms: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        [total] = self._db.execute("SELECT passages FROM notes").fetchone()
        rows = self._db.execute("SELECT * FROM vocabulary WHERE term = ANY(%s)", (list(terms),))
        return total, dict(rows.fetchall())

    def search_words(self, terms: Sequence[str], count: int) -> Mapping[int, float]:
        total, held = self.count_terms(terms)
        rarity = [_inverse_frequency(total, held.get(term, 0)) for term in terms]
        rows = self._db.execute(
            "SELECT chunk, sum(weight * rarity) AS value"
            " FROM unnest(%s::text[], %s::real[]) AS asked(term, rarity)"
            f" JOIN terms USING (term) WHERE true {self._within}"
            " GROUP BY chunk ORDER BY value DESC, chunk LIMIT %s",
            (list(terms), rarity, *self._values, count),
        )
        return dict(rows.fetchall())

    def search_vectors(self, vector: Any, count: int, others: Sequence[int]) -> Mapping[int, float]:
        if not _has_vectors(self._db):
            return {}
        given = _format_vector(vector)
        self._db.execute("SET LOCAL hnsw.iterative_scan = 'strict_order'")
        self._db.execute(f"SET LOCAL hnsw.ef_search = {min(1000, 2 * count)}")
        near = (
            f"SELECT chunk, 1 - (vector <=> %s) FROM vectors WHERE true {self._within}"
            " ORDER BY vector <=> %s LIMIT %s"
        )
        found = dict(self._db.execute(near, (given, *self._values, given, count)).fetchall())
        known = "SELECT chunk, 1 - (vector <=> %s) FROM vectors WHERE chunk = ANY(%s)"
        told = dict(self._db.execute(known, (given, list(others))).fetchall())
        return {id: value for id, value in found.items() if value > 0} | told

    def read_passages(self, ids: Sequence[int]) -> Iterator[tuple[int, Passage]]:
        rows = {row[0]: row[1:] for row in self._db.execute(_PASSAGE, (list(ids),)).fetchall()}
        for id in ids:
            yield id, Passage(*rows[id])


def _inverse_frequency(total: int, matching: int) -> float:
    """Return a term's inverse document frequency, as SQLite's FTS5 defines it."""
    return max(math.log((total - matching + 0.5) / (matching + 0.5)), 1e-6)


# — filters: an expression, and its values —

_Expression = tuple[str, tuple[object, ...]]
_ATTRIBUTES = f"(f.attributes || jsonb_build_object('{FILE_ID}', f.file_id, 'filename', f.name))"


def _make_comparison(kind: str, key: str, value: Any) -> _Expression:
    if kind in _ORDERS:
        number = not isinstance(value, str)
        cast = "::numeric" if number else ' COLLATE "C"'
        said = (
            f"CASE WHEN jsonb_typeof({_ATTRIBUTES} -> %s) = '{'number' if number else 'string'}'"
            f" THEN ({_ATTRIBUTES} ->> %s){cast} {_ORDERS[kind]} %s{cast} ELSE false END"
        )
        return said, (key, key, str(value))
    values = value if kind in ("in", "nin") else [value]
    same = f"coalesce({_ATTRIBUTES} -> %s = ANY(%s::jsonb[]), false)"
    written = [json.dumps(one, ensure_ascii=False) for one in values]
    return (same if kind in ("eq", "in") else f"NOT {same}"), (key, written)


def _make_compound(kind: str, said: list[_Expression]) -> _Expression:
    joined = f" {kind.upper()} ".join(one for one, _ in said)
    values = tuple(value for _, values in said for value in values)
    return (f"({joined})" if said else str(kind == "and").lower()), values
