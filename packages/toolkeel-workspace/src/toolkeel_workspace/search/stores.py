"""What a store of passages is, whichever engine keeps them.

`ranking.py` asks a store through a `PassageView`; files go in and out through a `Store`. The words of a
passage weigh the same in every engine (BM25), so that what is found does not hang on which one it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Protocol, Self

from toolkeel._common.split_words import terms
from toolkeel._common.word_index import term_weight
from toolkeel._records.record import NOTHING, record
from toolkeel.providers.wire.plain_json import clean, clean_text
from toolkeel_workspace.search.chunks import Chunk, split

FORMAT: Final = "1"
"""Changes whenever what stands in an index of words would be made in another way."""

_AVERAGE: Final = 120.0
"""Terms of a usual passage. SQLite counts the true mean; an engine that keeps the weight of a term
with its passage cannot, as every file that is put in would change it."""
_TITLE = 2.0


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


@record
class Passage:
    """A passage that is in a store.

    Args:
        attributes: Its file's.
        file_id: Its file's id.
        name: Its file's name.
        title: Its file's title.
        heading: The headings it stands under.
        start: Where it begins in the file's text, in characters.
        text: What it says.
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
        """Whose vectors they are: those of different models cannot be compared."""
        ...

    def embed(self, texts: Sequence[str]) -> Any:
        """A numpy array with one row a text, each of length 1.

        Raises:
            ToolError: saying why there are none.
        """
        ...


class PassageView(Protocol):
    """The passages of the files that pass a filter, as they are at one moment."""

    def frequencies(self, asked: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """How many passages the whole store has, and in how many of them each term is."""
        ...

    def by_words(self, asked: Sequence[str], count: int) -> Mapping[int, float]:
        """The passages with any of these terms that match best, and how well, the best first."""
        ...

    def by_meaning(self, vector: Any, count: int, others: Sequence[int]) -> Mapping[int, float]:
        """The passages nearest to a vector, and the cosines of these and of `others`.

        Those without a vector are left out.
        """
        ...

    def passages(self, ids: Sequence[int]) -> Iterator[tuple[int, Passage]]:
        """Passages by their ids, in the order of these; without those that are gone meanwhile."""
        ...


class Store(Protocol):
    """Files cut into passages, which are found by words, and by meaning if there is an embedder.

    Safe to use from several threads and processes.
    """

    name: str
    embedder: Embedder | None

    def view(self, filters: object = None) -> AbstractContextManager[PassageView]:
        """See what is there.

        Args:
            filters: Which files: see `toolkeel_workspace.search.filters`; None: all.

        Raises:
            SetupError: if the engine cannot compare like this.
            ToolError: if it cannot be asked.
        """
        ...

    def model(self) -> str:
        """Whose vectors it has; empty if it has none."""
        ...

    def files(self) -> list[StoredFile]:
        """All files, by name."""
        ...

    def without_vectors(self) -> frozenset[str]:
        """Names of the files that have a passage without a vector."""
        ...

    def add(self, *sources: Source) -> list[str]:
        """Put files in, in the place of those that have their names.

        Returns:
            The id of each; a file that was there keeps its own.

        Raises:
            ToolError: if the embedder has no vectors; then nothing was changed.
        """
        ...

    def touch(self, name: str, stamp: str) -> None:
        """Note that a file is still what it was."""
        ...

    def remove(self, *names: str) -> int:
        """Take files out; how many of them there were."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...

    def __len__(self) -> int:
        """How many passages there are."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cut(
    sources: Sequence[Source], embedder: Embedder | None
) -> Iterator[tuple[Source, list[tuple[Chunk, Any]]]]:
    """Each file as a database can hold it, with its passages and their vectors; None without an embedder.

    All vectors are made before the first is given.
    """
    sources = [replace(one, attributes=_clean(one.attributes)) for one in sources]
    parts = [split(clean_text(source.text)) for source in sources]
    pairs = [(one, chunk) for one, chunks in zip(sources, parts, strict=True) for chunk in chunks]
    vectors = iter([None] * len(pairs))
    if embedder is not None and pairs:
        vectors = iter(embedder.embed([_embedded(source, chunk) for source, chunk in pairs]))
    made = [[(chunk, next(vectors)) for chunk in chunks] for chunks in parts]
    return zip(sources, made, strict=True)


def _clean(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    return {clean_text(key): clean(value) for key, value in attributes.items()}


def _embedded(source: Source, chunk: Chunk) -> str:
    """What the vector of a passage is made of."""
    above = " > ".join(part for part in (source.title, chunk.heading) if part)
    return f"{above}\n{chunk.text}" if above else chunk.text


def entry(name: str, title: str, heading: str, text: str) -> tuple[list[str], list[str]]:
    """What the index of words holds for a passage: what it stands under, and what it says."""
    return terms(f"{name} {title} {heading}"), terms(text)


def weights(name: str, title: str, heading: str, text: str) -> dict[str, float]:
    """How much each term of a passage counts there: BM25 without the rarity of the term.

    >>> said = weights("1", "Walrus", "", "a tusk, a sea, a walrus, a tusk")
    >>> sorted(sorted(said, key=said.get)[-2:])
    ['a', 'walrus']
    """
    head, body = entry(name, title, heading, text)
    counts = Counter(body)
    for term in head:
        counts[term] += int(_TITLE)
    length = len(head) + len(body)
    return {term: term_weight(count, length, _AVERAGE) for term, count in counts.items()}
