"""The protocol of a store of passages, whichever engine it uses.

`search.ranking` reads a store through a `PassageView`; a `Store` adds and removes files. Terms have the same
weight in every engine (BM25), so that results do not depend on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Protocol, Self

from toolkeel._common.split_words import split_terms
from toolkeel._common.word_index import term_weight
from toolkeel._records.record import NOTHING, record
from toolkeel.providers.wire.plain_json import clean, clean_text
from toolkeel_workspace.search.chunks import Chunk, split_text

FORMAT: Final = "1"
"""Changes whenever the word index of the same text would differ."""

_AVERAGE_TERMS: Final = 120.0
"""Terms of an average passage. SQLite counts the true mean; an engine that stores the weight of a term
with its passage cannot, because every added file would change it."""
_TITLE = 2.0


@record
class Source:
    """A file to add to a store.

    Args:
        name: Its path or any other name, unique in the store.
        text: Its text.
        title: Its title, which is searched, too.
        attributes: For filters: text, numbers and truth values by name.
        stamp: Shows cheaply that it may have changed, such as size and time.
        digest: Shows reliably that it has changed.
    """

    name: str
    text: str
    title: str = ""
    attributes: Mapping[str, Any] = NOTHING
    stamp: str = ""
    digest: str = ""


@record
class StoredFile:
    """A file in a store.

    Args:
        file_id: Its id.
        name: Its name.
        stamp: As it was added.
        digest: As it was added.
        attributes: As they were added.
    """

    file_id: str
    name: str
    stamp: str
    digest: str
    attributes: Mapping[str, Any]


@record
class Passage:
    """A passage in a store.

    Args:
        attributes: Its file's.
        file_id: Its file's id.
        name: Its file's name.
        title: Its file's title.
        heading: The headings above it.
        start: Where it starts in the file's text, in characters.
        text: Its text.
    """

    attributes: Mapping[str, Any]
    file_id: str
    name: str
    title: str
    heading: str
    start: int
    text: str


class Embedder(Protocol):
    """Anything that turns texts into vectors, such as `toolkeel_workspace.search.embeddings.Embeddings`."""

    @property
    def model(self) -> str:
        """The model; vectors of different models cannot be compared."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """Return a numpy array with one row per text, each of length 1.

        Raises:
            ToolError: saying why it failed.
        """
        ...


class PassageView(Protocol):
    """The passages of the files that pass a filter, at one moment."""

    def count_terms(self, terms: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """Return the number of all passages, and of those with each term."""
        ...

    def search_words(self, terms: Sequence[str], count: int) -> Mapping[int, float]:
        """Return the passages that best match any of these terms, with their value, the best first."""
        ...

    def search_vectors(self, vector: Any, count: int, others: Sequence[int]) -> Mapping[int, float]:
        """Return the passages nearest to a vector, and the cosines of these and of `others`.

        Passages without a vector are left out.
        """
        ...

    def read_passages(self, ids: Sequence[int]) -> Iterator[tuple[int, Passage]]:
        """Yield passages by id, in this order, without those deleted meanwhile."""
        ...


class Store(Protocol):
    """Files split into passages, searched by words, and by meaning with an embedder.

    Thread-safe, and safe to use from several processes.
    """

    name: str
    embedder: Embedder | None

    def view(self, filters: object = None) -> AbstractContextManager[PassageView]:
        """Open a consistent view of the passages.

        Args:
            filters: Which files: see `toolkeel_workspace.search.filters`; None: all.

        Raises:
            SetupError: if the engine does not support a comparison.
            ToolError: if the store cannot be reached.
        """
        ...

    def get_model(self) -> str:
        """Return the embedding model of its vectors, or an empty string if it has none."""
        ...

    def list_files(self) -> list[StoredFile]:
        """List all files, by name."""
        ...

    def list_without_vectors(self) -> frozenset[str]:
        """List the names of files with a passage without a vector."""
        ...

    def add(self, *sources: Source) -> list[str]:
        """Add files; those with existing names replace them.

        Returns:
            The id of each; an existing file's id stays.

        Raises:
            ToolError: if the embedder fails; then nothing was changed.
        """
        ...

    def update_stamp(self, name: str, stamp: str) -> None:
        """Update the stamp of an unchanged file."""
        ...

    def remove(self, *names: str) -> int:
        """Remove files. Return how many existed."""
        ...

    def close(self) -> None:
        """Release the store's resources."""
        ...

    def __len__(self) -> int:
        """Count the passages."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def split_sources(
    sources: Sequence[Source], embedder: Embedder | None
) -> Iterator[tuple[Source, list[tuple[Chunk, Any]]]]:
    """Split files into passages with vectors, cleaned for databases; vectors are None without an embedder.

    All vectors are made before the first file is yielded.
    """
    sources = [replace(one, attributes=_clean_attributes(one.attributes)) for one in sources]
    parts = [split_text(clean_text(source.text)) for source in sources]
    pairs = [(one, chunk) for one, chunks in zip(sources, parts, strict=True) for chunk in chunks]
    vectors = iter([None] * len(pairs))
    if embedder is not None and pairs:
        vectors = iter(
            embedder.embed([_make_embedding_text(source, chunk) for source, chunk in pairs])
        )
    made = [[(chunk, next(vectors)) for chunk in chunks] for chunks in parts]
    return zip(sources, made, strict=True)


def _clean_attributes(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    return {clean_text(key): clean(value) for key, value in attributes.items()}


def _make_embedding_text(source: Source, chunk: Chunk) -> str:
    """Return the text of a passage's vector."""
    above = " > ".join(part for part in (source.title, chunk.heading) if part)
    return f"{above}\n{chunk.text}" if above else chunk.text


def make_index_terms(name: str, title: str, heading: str, text: str) -> tuple[list[str], list[str]]:
    """Return the index terms of a passage: of its name and headings, and of its text."""
    return split_terms(f"{name} {title} {heading}"), split_terms(text)


def weigh_terms(name: str, title: str, heading: str, text: str) -> dict[str, float]:
    """Return the weight of each term in a passage: BM25 without the term's rarity.

    >>> values = weigh_terms("1", "Walrus", "", "a tusk, a sea, a walrus, a tusk")
    >>> sorted(sorted(values, key=values.get)[-2:])
    ['a', 'walrus']
    """
    head, body = make_index_terms(name, title, heading, text)
    counts = Counter(body)
    for term in head:
        counts[term] += int(_TITLE)
    length = len(head) + len(body)
    return {term: term_weight(count, length, _AVERAGE_TERMS) for term, count in counts.items()}
