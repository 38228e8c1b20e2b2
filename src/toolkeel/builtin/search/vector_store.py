"""A searchable set of texts in one SQLite file: words by FTS5, meaning by vectors if there are any.

The index of words holds no text of its own (it is contentless), only terms made by `terms.py`;
what was put in under a row is made again from the row when it is taken out, so the two must not
part: that is what `FORMAT` is for.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from toolkeel._records.record import NOTHING, record
from toolkeel.builtin.search.chunks import Chunk, split
from toolkeel.builtin.search.terms import terms
from toolkeel.errors import SetupError
from toolkeel.providers.wire.plain_json import clean_text

FORMAT = "1"
"""Changes whenever what stands in the index would be made in another way."""

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


@record
class Source:
    """A file that is put into a store.

    Args:
        name: Its path or any other name, unique in the store.
        text: What it says.
        title: What it is called; found by it, too.
        attributes: What filters compare: text, numbers and truth values by name.
        stamp: Tells cheaply whether it may have changed, such as by size and time.
        digest: Tells surely whether it has changed.
    """

    name: str
    text: str
    title: str = ""
    attributes: Mapping[str, Any] = NOTHING
    stamp: str = ""
    digest: str = ""


@record
class StoredFile:
    """A file that is in a store.

    Args:
        file_id: Its id.
        name: Its name.
        stamp: As it was put in.
        digest: As it was put in.
        attributes: As they were put in.
    """

    file_id: str
    name: str
    stamp: str
    digest: str
    attributes: Mapping[str, Any]


class Embedder(Protocol):
    """Anything that turns texts into vectors, such as `toolkeel.builtin.search.embeddings.Embeddings`."""

    @property
    def model(self) -> str:
        """Whose vectors they are: those of different models cannot be compared."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """A numpy array with one row a text, each of length 1.

        Raises:
            ToolError: saying why there are none.
        """
        ...


class VectorStore:
    """One SQLite file; safe to use from several threads, and from several processes.

    Args:
        path: The file; made if it is missing, unless `create` is False.
        embedder: Makes vectors of what is put in and of what is asked; None: words alone.
        create: Whether to make the file.

    Raises:
        SetupError: if there is no such file, it is none of these, or its vectors are of another
            model than the embedder's.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        embedder: Embedder | None = None,
        *,
        create: bool = True,
    ) -> None:
        self.path = Path(path)
        self.embedder = embedder
        self.selection: tuple[object, frozenset[int]] | None = None
        """Which files the temporary table `wanted` holds, and for whom."""
        self._lock = threading.RLock()
        if not create and not self.path.is_file():
            raise SetupError(f"there is no vector store {str(self.path)!r}; make it with index")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(
            self.path, timeout=30, isolation_level=None, check_same_thread=False
        )
        # Stores are often left to the garbage collector, which 3.13 warns about if they are open.
        self._let_go = weakref.finalize(self, self._db.close)
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            self._let_go()
            raise SetupError(f"{str(self.path)!r} is no vector store ({error})") from None
        except SetupError:
            self._let_go()
            raise

    def _open(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA temp_store = MEMORY")
        with self.writing():
            for statement in _SCHEMA.split(";\n"):
                if statement.strip():
                    self._db.execute(statement)
            known = self.meta("format")
            if known not in ("", FORMAT):
                raise SetupError(f"{str(self.path)!r} was made by another version: index it anew")
            self._set_meta("format", FORMAT)
            model = self.meta("embedding_model")
            mine = self.embedder.model if self.embedder is not None else ""
            if mine and model and mine != model:
                raise SetupError(f"{str(self.path)!r} has vectors of {model!r}, not of {mine!r}")
            if mine:
                self._set_meta("embedding_model", mine)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._let_go()

    def __enter__(self) -> VectorStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # — for whoever searches —

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time, and one view of what is there."""
        with self._lock:
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection within a transaction, which is undone if anything goes wrong."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def meta(self, key: str) -> str:
        """What is noted under `key`; empty if nothing is."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def _set_meta(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @property
    def generation(self) -> str:
        """Another one after every change."""
        return self.meta("generation")

    # — files —

    def files(self) -> list[StoredFile]:
        """All files, by name."""
        with self.reading() as db:
            rows = db.execute(
                "SELECT file_id, name, stamp, digest, attributes FROM files ORDER BY name"
            ).fetchall()
        return [
            StoredFile(file_id, name, stamp, digest, json.loads(attributes))
            for file_id, name, stamp, digest, attributes in rows
        ]

    def without_vectors(self) -> frozenset[str]:
        """Names of the files that have a passage without a vector."""
        with self.reading() as db:
            rows = db.execute(
                "SELECT DISTINCT f.name FROM files f JOIN chunks c ON c.file = f.id"
                " WHERE c.vector IS NULL"
            ).fetchall()
        return frozenset(row[0] for row in rows)

    def __len__(self) -> int:
        """How many passages there are."""
        with self.reading() as db:
            return int(db.execute("SELECT count(*) FROM chunks").fetchone()[0])

    def add(self, *sources: Source) -> list[str]:
        """Put files in, in the place of those that have their names.

        Returns:
            The id of each; a file that was there keeps its own.

        Raises:
            ToolError: if the embedder has no vectors; then nothing was changed.
        """
        parts = [split(clean_text(source.text)) for source in sources]
        vectors = self._vectors(sources, parts)
        ids = []
        with self.writing():
            for source, chunks in zip(sources, parts, strict=True):
                ids.append(self._put(source, chunks, vectors))
            self._set_meta("generation", secrets.token_hex(8))
        return ids

    def touch(self, name: str, stamp: str) -> None:
        """Note that a file is still what it was."""
        with self.writing() as db:
            db.execute("UPDATE files SET stamp = ? WHERE name = ?", (stamp, name))

    def remove(self, *names: str) -> int:
        """Take files out; how many of them there were."""
        with self.writing() as db:
            removed = sum(self._drop(db, name) is not None for name in names)
            self._set_meta("generation", secrets.token_hex(8))
        return removed

    def _vectors(
        self, sources: Sequence[Source], parts: Sequence[Sequence[Chunk]]
    ) -> Iterator[bytes | None]:
        if self.embedder is None:
            return (None for chunks in parts for _ in chunks)
        texts = [
            _embedded(source, chunk)
            for source, chunks in zip(sources, parts, strict=True)
            for chunk in chunks
        ]
        if not texts:
            return iter(())
        return (row.astype("<f4").tobytes() for row in self.embedder.embed(texts))

    def _put(self, source: Source, chunks: Sequence[Chunk], vectors: Iterator[bytes | None]) -> str:
        db = self._db
        file_id = self._drop(db, source.name) or f"file-{secrets.token_hex(12)}"
        attributes = json.dumps(dict(source.attributes), ensure_ascii=False)
        row = db.execute(
            "INSERT INTO files (file_id, name, title, stamp, digest, attributes)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (file_id, source.name, source.title, source.stamp, source.digest, attributes),
        ).lastrowid
        for chunk in chunks:
            at = db.execute(
                "INSERT INTO chunks (file, start, heading, text, vector) VALUES (?, ?, ?, ?, ?)",
                (row, chunk.start, chunk.heading, chunk.text, next(vectors)),
            ).lastrowid
            entry = _entry(source.name, source.title, chunk.heading, chunk.text)
            db.execute("INSERT INTO terms (rowid, head, body) VALUES (?, ?, ?)", (at, *entry))
        return file_id

    def _drop(self, db: sqlite3.Connection, name: str) -> str | None:
        """Take a file out; its id, if it was there."""
        found = db.execute(
            "SELECT id, file_id, title FROM files WHERE name = ?", (name,)
        ).fetchone()
        if found is None:
            return None
        row, file_id, title = found
        for at, heading, text in db.execute(
            "SELECT id, heading, text FROM chunks WHERE file = ?", (row,)
        ).fetchall():
            entry = _entry(name, title, heading, text)
            db.execute(
                "INSERT INTO terms (terms, rowid, head, body) VALUES ('delete', ?, ?, ?)",
                (at, *entry),
            )
        db.execute("DELETE FROM chunks WHERE file = ?", (row,))
        db.execute("DELETE FROM files WHERE id = ?", (row,))
        return str(file_id)


def _entry(name: str, title: str, heading: str, text: str) -> tuple[str, str]:
    """What the index of words holds for a passage: what it stands under, and what it says."""
    head = f"{name} {title} {heading}"
    return " ".join(terms(head)), " ".join(terms(text))


def _embedded(source: Source, chunk: Chunk) -> str:
    """What the vector of a passage is made of."""
    above = " > ".join(part for part in (source.title, chunk.heading) if part)
    return f"{above}\n{chunk.text}" if above else chunk.text
