"""A store in one SQLite file: words by FTS5, meaning by vectors.

The word index contains no text (it is contentless), only terms from `toolkeel._common.split_words`. To delete a row,
its terms are computed again, so the index and the code must agree: `FORMAT` ensures that.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from toolkeel._common.checked_arguments import checked
from toolkeel.errors import SetupError
from toolkeel_workspace.search import stores
from toolkeel_workspace.search.chunks import Chunk
from toolkeel_workspace.search.filters import FILE_ID, compile_filter
from toolkeel_workspace.search.stores import Embedder, Passage, Source, Store, StoredFile

FEW_PASSAGES = 50
"""If a filter selects at most so many passages, each is checked for the words; above that the
words are looked for first, and each match is checked against the filter, the best first."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY,
    file_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    stamp TEXT NOT NULL,
    digest TEXT NOT NULL,
    attributes TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL REFERENCES files(id),
    start INTEGER NOT NULL,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    vector BLOB
);
CREATE INDEX IF NOT EXISTS chunks_of ON chunks(file);
CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5(
    head, body, content='', tokenize='ascii'
);
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab('terms', 'row');
CREATE TEMP TABLE IF NOT EXISTS wanted (id INTEGER PRIMARY KEY);
INSERT INTO terms(terms, rank) VALUES ('rank', 'bm25(2.0, 1.0)');
"""
_AMONG_FEW = "AND rowid IN (SELECT id FROM chunks WHERE file IN temp.wanted)"
_AMONG_MANY = (
    "AND EXISTS"
    " (SELECT 1 FROM chunks c JOIN temp.wanted w ON w.id = c.file WHERE c.id = terms.rowid)"
)


@checked
class VectorStore(Store):
    """One SQLite file, safe to use from several threads and processes.

    Args:
        path: The file; created if it is missing, unless `create` is False.
        embedder: Makes vectors of added texts and of queries; None: words alone.
        create: Create the file.

    Raises:
        SetupError: if there is no such file, it is no store, or its vectors are of another model
            than the embedder's.
    """

    def __init__(
        self, path: str | PathLike[str], embedder: Embedder | None = None, *, create: bool = True
    ) -> None:
        self.path = Path(path)
        self.name = self.path.stem
        self.embedder = embedder
        self._selection: tuple[object, frozenset[int]] | None = None
        """Which files the temporary table `wanted` holds, and for whom."""
        self._vectors: _VectorCache | None = None
        self._lock = threading.RLock()
        if not create and not self.path.is_file():
            raise SetupError(f"there is no vector store {str(self.path)!r}; make it with index")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(
            self.path, timeout=30, isolation_level=None, check_same_thread=False
        )
        # Stores are often left to the garbage collector, which 3.13 warns about if they are open.
        self._finalizer = weakref.finalize(self, self._db.close)
        try:
            self._open_database()
        except sqlite3.DatabaseError as error:
            self._finalizer()
            raise SetupError(f"{str(self.path)!r} is no vector store ({error})") from None
        except SetupError:
            self._finalizer()
            raise

    def _open_database(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA temp_store = MEMORY")
        with self.write_transaction():
            for statement in _SCHEMA.split(";\n"):
                if statement.strip():
                    self._db.execute(statement)
            known = self._meta("format")
            if known not in ("", stores.FORMAT):
                raise SetupError(f"{str(self.path)!r} was made by another version: index it anew")
            self._set_meta("format", stores.FORMAT)
            model = self.get_model()
            mine = self.embedder.model if self.embedder is not None else ""
            if mine and model and mine != model:
                raise SetupError(f"{str(self.path)!r} has vectors of {model!r}, not of {mine!r}")
            if mine:
                self._set_meta("embedding_model", mine)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._finalizer()

    @contextmanager
    def view(self, filters: object = None) -> Iterator[_PassageView]:
        """Open a view of the passages. See `Store`."""
        with self.read_transaction() as db:
            wanted = None if filters is None else self._select_files(db, filters)
            yield _PassageView(db, wanted, self._load_vectors)

    def _load_vectors(self) -> _VectorCache:
        """Return all vectors, read again after a change."""
        if self._vectors is None or self._vectors.generation != self.generation:
            self._vectors = _VectorCache(self._db, self.generation)
        return self._vectors

    def _select_files(self, db: sqlite3.Connection, filters: object) -> frozenset[int]:
        """Return the ids of files that pass, also in a temporary table; cached until a change."""
        key = (repr(filters), self.generation)
        if self._selection is not None and self._selection[0] == key:
            return self._selection[1]
        test = compile_filter(filters)
        rows = db.execute("SELECT id, file_id, name, attributes FROM files")
        wanted = frozenset(
            row
            for row, file_id, name, attributes in rows
            if test({**json.loads(attributes), FILE_ID: file_id, "filename": name})
        )
        db.execute("DELETE FROM temp.wanted")
        db.executemany("INSERT INTO temp.wanted VALUES (?)", ((row,) for row in wanted))
        self._selection = (key, wanted)
        return wanted

    @contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        """Provide the connection to one thread at a time, with a consistent view."""
        with self._lock:
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("COMMIT")

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """Provide the connection in a transaction, rolled back on any error."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # not after a full disk: SQLite has rolled back itself
                    self._db.execute("ROLLBACK")
                raise

    def _meta(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def _set_meta(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def get_model(self) -> str:
        """Return the embedding model. See `Store`."""
        return self._meta("embedding_model")

    @property
    def generation(self) -> str:
        """An id that differs after every change."""
        return self._meta("generation")

    # — files —

    def list_files(self) -> list[StoredFile]:
        """List all files, by name."""
        with self.read_transaction() as db:
            rows = db.execute(
                "SELECT file_id, name, stamp, digest, attributes FROM files ORDER BY name"
            ).fetchall()
        return [
            StoredFile(file_id, name, stamp, digest, json.loads(attributes))
            for file_id, name, stamp, digest, attributes in rows
        ]

    def list_without_vectors(self) -> frozenset[str]:
        """List the names of files with a passage without a vector."""
        with self.read_transaction() as db:
            rows = db.execute(
                "SELECT DISTINCT f.name FROM files f JOIN chunks c ON c.file = f.id"
                " WHERE c.vector IS NULL"
            ).fetchall()
        return frozenset(row[0] for row in rows)

    def __len__(self) -> int:
        """Count the passages."""
        with self.read_transaction() as db:
            return int(db.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def add(self, *sources: Source) -> list[str]:
        """Add files; those with existing names replace them.

        Returns:
            The id of each; an existing file's id stays.

        Raises:
            ToolError: if the embedder fails; then nothing was changed.
        """
        parts = stores.split_sources(sources, self.embedder)
        with self.write_transaction():
            ids = [self._insert(source, chunks) for source, chunks in parts]
            self._set_meta("generation", secrets.token_hex(8))
        return ids

    def update_stamp(self, name: str, stamp: str) -> None:
        """Update the stamp of an unchanged file."""
        with self.write_transaction() as db:
            db.execute("UPDATE files SET stamp = ? WHERE name = ?", (stamp, name))

    def remove(self, *names: str) -> int:
        """Remove files. Return how many existed."""
        with self.write_transaction() as db:
            removed = sum(self._delete_file(db, name) is not None for name in names)
            self._set_meta("generation", secrets.token_hex(8))
        return removed

    def _insert(self, source: Source, chunks: Sequence[tuple[Chunk, Any]]) -> str:
        db = self._db
        file_id = self._delete_file(db, source.name) or f"file-{secrets.token_hex(12)}"
        attributes = json.dumps(dict(source.attributes), ensure_ascii=False)
        row = db.execute(
            "INSERT INTO files (file_id, name, title, stamp, digest, attributes)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (file_id, source.name, source.title, source.stamp, source.digest, attributes),
        ).lastrowid
        for chunk, vector in chunks:
            data = None if vector is None else vector.astype("<f4").tobytes()
            at = db.execute(
                "INSERT INTO chunks (file, start, heading, text, vector) VALUES (?, ?, ?, ?, ?)",
                (row, chunk.start, chunk.heading, chunk.text, data),
            ).lastrowid
            index_terms = _join_terms(source.name, source.title, chunk.heading, chunk.text)
            db.execute("INSERT INTO terms (rowid, head, body) VALUES (?, ?, ?)", (at, *index_terms))
        return file_id

    def _delete_file(self, db: sqlite3.Connection, name: str) -> str | None:
        """Delete a file. Return its id, or None if it was missing."""
        found = db.execute(
            "SELECT id, file_id, title FROM files WHERE name = ?", (name,)
        ).fetchone()
        if found is None:
            return None
        row, file_id, title = found
        for at, heading, text in db.execute(
            "SELECT id, heading, text FROM chunks WHERE file = ?", (row,)
        ).fetchall():
            index_terms = _join_terms(name, title, heading, text)
            db.execute(
                "INSERT INTO terms (terms, rowid, head, body) VALUES ('delete', ?, ?, ?)",
                (at, *index_terms),
            )
        db.execute("DELETE FROM chunks WHERE file = ?", (row,))
        db.execute("DELETE FROM files WHERE id = ?", (row,))
        return str(file_id)


def _join_terms(name: str, title: str, heading: str, text: str) -> tuple[str, str]:
    head, body = stores.make_index_terms(name, title, heading, text)
    return " ".join(head), " ".join(body)


class _VectorCache:
    """All vectors of a store, in memory."""

    def __init__(self, db: sqlite3.Connection, generation: str) -> None:
        self.generation = generation
        rows = db.execute(
            "SELECT id, file, vector FROM chunks WHERE vector IS NOT NULL ORDER BY id"
        ).fetchall()
        self.matrix: Any = None
        if not rows:
            return
        import numpy as np  # only needed with vectors

        self.ids = np.array([row[0] for row in rows], np.int64)
        self.files = np.array([row[1] for row in rows], np.int64)
        self.matrix = np.frombuffer(b"".join(row[2] for row in rows), "<f4").reshape(len(rows), -1)


class _PassageView:
    """A `PassageView` in a read transaction."""

    def __init__(
        self,
        db: sqlite3.Connection,
        wanted: frozenset[int] | None,
        vectors: Callable[[], _VectorCache],
    ) -> None:
        self._db, self._selected, self._vectors = db, wanted, vectors

    def count_terms(self, terms: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        find = "SELECT doc FROM vocabulary WHERE term = ?"
        rows = ((term, self._db.execute(find, (term,)).fetchone()) for term in terms)
        [total] = self._db.execute("SELECT count(*) FROM chunks").fetchone()
        return total, {term: row[0] for term, row in rows if row}

    def search_words(self, terms: Sequence[str], count: int) -> Mapping[int, float]:
        match = " OR ".join(f'"{term}"' for term in terms)
        rows = self._db.execute(
            f"SELECT rowid, -rank FROM terms WHERE terms MATCH ? {self._make_condition()} ORDER BY rank LIMIT ?",
            (match, count),
        )
        return dict(rows.fetchall())

    def _make_condition(self) -> str:
        """Return the SQL that limits a query to the selected files: the cheaper of two ways."""
        if self._selected is None:
            return ""
        few = f"SELECT 1 FROM chunks WHERE file IN temp.wanted LIMIT {FEW_PASSAGES + 1}"
        return _AMONG_FEW if len(self._db.execute(few).fetchall()) <= FEW_PASSAGES else _AMONG_MANY

    def search_vectors(self, vector: Any, count: int, others: Sequence[int]) -> Mapping[int, float]:
        cache = self._vectors()
        if cache.matrix is None or cache.matrix.shape[1] != len(vector):
            return {}
        import numpy as np

        near = cache.matrix @ vector
        if self._selected is not None:
            near = np.where(np.isin(cache.files, list(self._selected)), near, -1.0)
        count = min(count, len(near))
        top = np.argpartition(-near, count - 1)[:count]
        found = {int(cache.ids[at]): float(near[at]) for at in top if near[at] > 0}
        asked = np.array([id for id in others if id not in found], np.int64)
        places = np.minimum(np.searchsorted(cache.ids, asked), len(near) - 1)
        known = cache.ids[places] == asked  # passages added without an embedder have no vector
        return found | {int(cache.ids[at]): float(near[at]) for at in places[known]}

    def read_passages(self, ids: Sequence[int]) -> Iterator[tuple[int, Passage]]:
        for id in ids:
            row = self._db.execute(
                "SELECT f.attributes, f.file_id, f.name, f.title, c.heading, c.start, c.text"
                " FROM chunks c JOIN files f ON f.id = c.file WHERE c.id = ?",
                (id,),
            ).fetchone()
            yield id, Passage(json.loads(row[0]), *row[1:])
