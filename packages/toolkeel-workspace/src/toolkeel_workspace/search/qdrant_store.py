"""A store in Qdrant: words as sparse vectors, meaning as dense ones, filters as Qdrant's.

::

    store = QdrantStore(QdrantClient("http://host:6333"), "docs", embedder)

A store is two collections: ``docs`` with the passages, ``docs-files`` with their files. Qdrant has no
transactions, so a file is replaced in this order: its new passages are added, its file entry is updated,
its old passages are deleted. A search meanwhile may find both; after a crash the file is read again,
because its entry is still the old one.
"""

from __future__ import annotations

import hashlib
import secrets
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from threading import RLock
from typing import Any, Final
from weakref import WeakKeyDictionary

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.search import stores
from toolkeel_workspace.search.filters import translate_filter
from toolkeel_workspace.search.stores import Embedder, Passage, Source, Store, StoredFile

with needs_extra("file search in Qdrant", "qdrant"):
    from qdrant_client import QdrantClient, models
    from qdrant_client.http.exceptions import ApiException, ResponseHandlingException

WORDS: Final = "words"
MEANING: Final = "meaning"
BATCH_SIZE: Final = 200
"""Points per request."""
_LOCKS: Final[WeakKeyDictionary[QdrantClient, RLock]] = WeakKeyDictionary()
_KEYS: Final = ("file_id", "name", "title", "heading", "start", "text")


@checked
class QdrantStore(Store):
    """A `Store`; created if it is missing, unless `create` is False.

    A store created without an embedder has no place for vectors and gets none later.

    Args:
        client: As in Qdrant's guide: a server's address and key, or ``QdrantClient(path=...)``,
            which is meant for some ten thousand passages.
        name: Of the store: its collection.
        embedder: Makes vectors of added texts and of queries; None: words alone.
        create: Create the store.

    Raises:
        SetupError: if it cannot be reached, there is no such store, or its vectors are of another
            model than the embedder's.
    """

    def __init__(
        self,
        client: QdrantClient,
        name: str,
        embedder: Embedder | None = None,
        *,
        create: bool = True,
    ) -> None:
        self.name, self.embedder = name, embedder
        self._client, self._files = client, f"{name}-files"
        try:
            with _use_client(self._client):
                self._open(create)
        except ToolError as error:
            raise SetupError(error.text) from None

    def _open(self, create: bool) -> None:
        if not self._client.collection_exists(self._files):
            if not create:
                raise SetupError(f"there is no vector store {self.name!r} in Qdrant")
            self._make_collections()
        notes = self._notes()
        if notes.get("format") != stores.FORMAT:
            raise SetupError(f"{self.name!r} was made by another version: index it anew")
        mine = self.embedder.model if self.embedder is not None else ""
        if mine and mine != notes["model"]:
            had = f"has vectors of {notes['model']!r}" if notes["model"] else "has no vectors"
            raise SetupError(f"{self.name!r} {had}, not of {mine!r}: index another store")

    def _make_collections(self) -> None:
        dense, model = {}, ""
        if self.embedder is not None:
            size = len(self.embedder.embed(["length"])[0])
            dense[MEANING] = models.VectorParams(size=size, distance=models.Distance.COSINE)
            model = self.embedder.model
        sparse = {WORDS: models.SparseVectorParams(modifier=models.Modifier.IDF)}
        self._client.create_collection(
            self.name, vectors_config=dense, sparse_vectors_config=sparse
        )
        integer_index = models.IntegerIndexParams(
            type=models.IntegerIndexType.INTEGER, lookup=True, range=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # a local client has no indexes and needs none
            self._client.create_payload_index(self.name, "terms", integer_index)
            by_file = models.PayloadSchemaType.KEYWORD
            self._client.create_payload_index(self.name, "file_id", by_file)
        notes = {"format": stores.FORMAT, "model": model}
        self._client.create_collection(self._files, vectors_config={}, metadata=notes)

    def _notes(self) -> dict[str, Any]:
        return dict(self._client.get_collection(self._files).config.metadata or {})

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    @contextmanager
    def view(self, filters: object = None) -> Iterator[_PassageView]:
        """Open a view of the passages. See `Store`."""
        within = (
            None if filters is None else translate_filter(filters, _make_comparison, _make_compound)
        )
        with _use_client(self._client):
            yield _PassageView(self._client, self.name, within)

    def get_model(self) -> str:
        """Return the embedding model. See `Store`."""
        with _use_client(self._client):
            return str(self._notes()["model"])

    def __len__(self) -> int:
        """Count the passages."""
        with _use_client(self._client):
            return self._client.count(self.name).count

    def list_files(self) -> list[StoredFile]:
        """List all files, by name."""
        with _use_client(self._client):
            held = [_parse_file(one.payload or {}) for one in self._scroll_all(self._files)]
        return sorted(held, key=lambda file: file.name)

    def list_without_vectors(self) -> frozenset[str]:
        """List files without vectors. See `Store`."""
        if self.get_model():
            return frozenset()
        return frozenset(file.name for file in self.list_files())

    def _scroll_all(self, collection: str) -> Iterator[models.Record]:
        place: Any = None
        while True:
            found, place = self._client.scroll(collection, limit=1000, offset=place)
            yield from found
            if place is None:
                return

    def add(self, *sources: Source) -> list[str]:
        """Add or replace files. See `Store`."""
        with _use_client(self._client):
            parts = stores.split_sources(sources, self.embedder)
            return [self._insert(source, chunks) for source, chunks in parts]

    def _insert(self, source: Source, chunks: Sequence[tuple[Any, Any]]) -> str:
        at = _make_point_id(source.name)
        was = self._client.retrieve(self._files, [at])
        file_id = (was[0].payload or {})["file_id"] if was else f"file-{secrets.token_hex(12)}"
        attributes = dict(source.attributes)
        version = secrets.token_hex(8)
        points = []
        for number, (chunk, vector) in enumerate(chunks):
            said = stores.weigh_terms(source.name, source.title, chunk.heading, chunk.text)
            sparse = dict(zip(map(_make_term_index, said), said.values(), strict=True))
            vectors: dict[str, Any] = {
                WORDS: models.SparseVector(indices=list(sparse), values=list(sparse.values()))
            }
            if vector is not None:
                vectors[MEANING] = vector.tolist()
            held = (file_id, source.name, source.title, chunk.heading, chunk.start, chunk.text)
            payload = dict(zip(_KEYS, held, strict=True)) | {
                "attributes": attributes, "terms": list(sparse), "version": version
            }  # fmt: skip
            points.append(
                models.PointStruct(
                    id=_make_point_id(f"{version}{number}"), vector=vectors, payload=payload
                )
            )
        for first in range(0, len(points), BATCH_SIZE):
            self._client.upsert(self.name, points[first : first + BATCH_SIZE], wait=True)
        known = {"name": source.name, "file_id": file_id, "attributes": attributes}
        known |= {"stamp": source.stamp, "digest": source.digest}
        self._client.upsert(
            self._files, [models.PointStruct(id=at, vector={}, payload=known)], wait=True
        )
        self._delete_passages(file_id, version)
        return file_id

    def _delete_passages(self, file_id: str, except_version: str = "") -> None:
        """Delete the passages of a file, except one version's."""
        here, there = _make_match("file_id", file_id), _make_match("version", except_version)
        gone = models.Filter(must=[here], must_not=[there])
        self._client.delete(self.name, models.FilterSelector(filter=gone), wait=True)

    def update_stamp(self, name: str, stamp: str) -> None:
        """Update a file's stamp. See `Store`."""
        with _use_client(self._client):
            self._client.set_payload(
                self._files, {"stamp": stamp}, [_make_point_id(name)], wait=True
            )

    def remove(self, *names: str) -> int:
        """Remove files. See `Store`."""
        with _use_client(self._client):
            held = self._client.retrieve(self._files, [_make_point_id(name) for name in names])
            for one in held:
                self._delete_passages((one.payload or {})["file_id"])
                self._client.delete(self._files, models.PointIdsList(points=[one.id]), wait=True)
            return len(held)


@contextmanager
def _use_client(client: QdrantClient) -> Iterator[None]:
    """Allow one thread at a time to use a local client; turn the client's errors into `ToolError`."""
    options = client.init_options
    is_local = options["path"] is not None or options["location"] == ":memory:"
    try:
        with _LOCKS.setdefault(client, RLock()) if is_local else nullcontext():
            yield
    except (ApiException, ResponseHandlingException, RuntimeError, ValueError) as error:
        told = str(error).strip() or type(error).__name__
        raise ToolError(f"Qdrant cannot be asked ({told:.300}).") from error


def _parse_file(held: Mapping[str, Any]) -> StoredFile:
    return StoredFile(*(held[key] for key in ("file_id", "name", "stamp", "digest", "attributes")))


def _make_point_id(text: str) -> int:
    """Return the id of a point."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def _make_term_index(term: str) -> int:
    """Return the dimension of a term in sparse vectors."""
    return zlib.crc32(term.encode())


class _PassageView:
    """A `PassageView`. It includes what others write meanwhile."""

    def __init__(self, client: QdrantClient, name: str, within: models.Filter | None) -> None:
        self._client, self._name, self._within = client, name, within

    def count_terms(self, terms: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        held = {
            term: self._count(_make_filter(_make_match("terms", _make_term_index(term))))
            for term in terms
        }
        return self._count(None), {term: count for term, count in held.items() if count}

    def _count(self, within: models.Filter | None) -> int:
        return self._client.count(self._name, within, exact=within is None).count

    def search_words(self, terms: Sequence[str], count: int) -> Mapping[int, float]:
        indices = sorted(set(map(_make_term_index, terms)))
        sparse = models.SparseVector(indices=indices, values=[1.0] * len(indices))
        return self._query_nearest(sparse, WORDS, count, self._within)

    def search_vectors(self, vector: Any, count: int, others: Sequence[int]) -> Mapping[int, float]:
        held = self._client.get_collection(self._name).config.params.vectors
        if not isinstance(held, dict) or MEANING not in held:
            return {}
        asked = vector.tolist()
        found = self._query_nearest(asked, MEANING, count, self._within)
        known = models.Filter(must=[models.HasIdCondition(has_id=list(others))])
        told = self._query_nearest(asked, MEANING, len(others), known) if others else {}
        return {id: value for id, value in found.items() if value > 0} | dict(told)

    def _query_nearest(
        self, query: Any, using: str, count: int, within: models.Filter | None
    ) -> dict[int, float]:
        found = self._client.query_points(
            self._name, query, using=using, query_filter=within, limit=count, with_payload=False
        )
        return {int(one.id): one.score for one in found.points}

    def read_passages(self, ids: Sequence[int]) -> Iterator[tuple[int, Passage]]:
        held = {one.id: one.payload or {} for one in self._client.retrieve(self._name, ids)}
        for id, known in ((id, held[id]) for id in ids if id in held):
            said = {key: known[key] for key in _KEYS}
            yield id, Passage(**said, attributes=known["attributes"])


# — filters —


def _make_match(key: str, value: Any) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _make_filter(*conditions: models.Condition) -> models.Filter:
    return models.Filter(must=list(conditions))


def _make_key(name: str) -> str:
    if name in ("file_id", "filename"):
        return name.replace("filename", "name")
    if '"' in name:
        raise SetupError(f"filters: Qdrant cannot name the attribute {name!r}")
    return f'attributes."{name}"'


def _make_comparison(kind: str, key: str, value: Any) -> models.Filter:
    if kind in ("gt", "gte", "lt", "lte"):
        if isinstance(value, str):
            raise SetupError(f"filters: Qdrant compares numbers alone by {kind!r}, not {value!r}")
        bounds = models.Range(**{kind: value})
        return _make_filter(models.FieldCondition(key=_make_key(key), range=bounds))
    values = value if kind in ("in", "nin") else [value]
    same = [_match_value(_make_key(key), one) for one in values]
    return _match_any(same) if kind in ("eq", "in") else models.Filter(must_not=same)


def _match_any(conditions: list[models.Condition]) -> models.Filter:
    """Return a condition that is true if any of these is; Qdrant would pass everything for none."""
    return models.Filter(should=conditions or [models.HasIdCondition(has_id=[])])


def _match_value(key: str, value: Any) -> models.Condition:
    if isinstance(value, str | bool):
        return _make_match(key, value)
    return models.FieldCondition(key=key, range=models.Range(gte=value, lte=value))


def _make_compound(kind: str, inner: list[models.Filter]) -> models.Filter:
    return _make_filter(*inner) if kind == "and" else _match_any([*inner])
