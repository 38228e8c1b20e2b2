"""Which passages of a vector store answer a question best.

Two lists are made, the best by words (BM25) and the best by meaning (cosine). Their values are
added, each in units of its own spread over what was found: so it does not matter how near to each
other a model puts its vectors, and a passage that stands out in one list keeps its lead, which is
lost where only ranks are added (Bruch, Gai and Ingber, ACM TOIS 42, 2023, measure both).
The score that is told goes from 0 to 1: how much of the question's words a passage has, or how
near it is in meaning, whichever is more.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from toolkeel._common.split_words import query_terms, terms
from toolkeel._common.word_index import rarity
from toolkeel._records.record import record
from toolkeel_workspace.search.stores import PassageView, Store

POOL = 60
"""How many passages each list has at least."""
MAX_TERMS = 24
COMMON = 2000
"""A term in more passages than this, and in a tenth of all, is not looked for as long as rarer
ones find enough; it only counts."""

_SAME = 1e-9


@record
class Ranking:
    """How passages are ranked.

    Args:
        text_weight: How much their words count.
        embedding_weight: How much their meaning counts, where there are vectors. The default
            was found with a small model (`benchmarks.file_search`); a larger one bears more.
        score_threshold: Least score, from 0 to 1.
    """

    text_weight: float = 1.0
    embedding_weight: float = 0.6
    score_threshold: float = 0.0


@record
class Hit:
    """A passage that was found.

    Args:
        file_id: The file's id.
        filename: The file's name.
        score: How well it answers, from 0 to 1.
        text: What it says.
        attributes: The file's.
        heading: The headings it stands under.
        start: Where it begins in the file's text, in characters.
        store: Which store it is from.
    """

    file_id: str
    filename: str
    score: float
    text: str
    attributes: Mapping[str, Any]
    heading: str = ""
    start: int = 0
    store: str = ""


def search(
    store: Store, queries: Sequence[str], limit: int, ranking: Ranking, filters: object = None
) -> list[Hit]:
    """The best passages of a store, the best first.

    Args:
        store: Which.
        queries: Questions; a passage that answers several stands higher.
        limit: How many.
        ranking: What counts.
        filters: Which files are searched: see `toolkeel_workspace.search.filters`; None: all.

    Raises:
        ToolError: if the embedder has no vector for the question, or the store cannot be asked.
    """
    vectors = None
    if store.embedder is not None and ranking.embedding_weight > 0:
        vectors = store.embedder.embed(list(queries))
    pool = max(POOL, 3 * limit)
    asked = [query_terms(query)[:MAX_TERMS] for query in queries]
    points: dict[int, float] = {}
    likeness: dict[int, float] = {}
    with store.view(filters) as view:
        weights = _Weights(view, sorted({term for query in asked for term in query}))
        for number, query in enumerate(asked):
            said: Mapping[int, float] = {}
            near: Mapping[int, float] = {}
            if ranking.text_weight > 0:
                said = _by_words(view, query, weights, pool, limit)
            if vectors is not None:
                near = view.by_meaning(vectors[number], pool, list(said))
            _add(points, near, said, ranking)
            for id, value in near.items():
                likeness[id] = max(value, likeness.get(id, 0.0))
        best = heapq.nlargest(pool, points, key=lambda id: (points[id], -id))
        hits = _hits(view, best, (asked, weights, likeness), ranking, store.name)
        return list(islice(hits, limit))


def _hits(
    view: PassageView,
    best: Sequence[int],
    asked: tuple[Sequence[Sequence[str]], _Weights, Mapping[int, float]],
    ranking: Ranking,
    store: str,
) -> Iterator[Hit]:
    queries, weights, likeness = asked
    for id, one in view.passages(best):
        held = set(terms(f"{one.name} {one.title} {one.heading} {one.text}"))
        covered = max((weights.covered(query, held) for query in queries), default=0.0)
        score = _score(covered, likeness.get(id), ranking)
        if score >= ranking.score_threshold:
            said = (one.text, one.attributes, one.heading, one.start, store)
            yield Hit(one.file_id, one.name, score, *said)


class _Weights:
    """How much each term of a question says: the rarer, the more (inverse document frequency)."""

    def __init__(self, view: PassageView, asked: Sequence[str]) -> None:
        total, held = view.frequencies(asked)
        self._by_term = {
            term: rarity(total, held[term]) if held.get(term) else 0.0 for term in asked
        }
        self._common = {term for term in held if held[term] > max(COMMON, total / 10)}

    def known(self, query: Sequence[str]) -> list[str]:
        """The terms that some passage has."""
        return [term for term in query if self._by_term[term] > 0]

    def rare(self, query: Sequence[str]) -> list[str]:
        """Of those, the ones that are not everywhere."""
        return [term for term in self.known(query) if term not in self._common]

    def covered(self, query: Sequence[str], held: set[str]) -> float:
        """The share of a question's terms that a passage has, by what they say.

        A word that no passage has weighs like the rarest, so that a question of unknown words is
        not covered; a pair of Chinese characters that none has is most likely no word, and weighs
        nothing.
        """
        most = max(self._by_term.values(), default=0.0) or 1.0
        shares = {term: self._by_term[term] or most * term.isascii() for term in query}
        whole = sum(shares.values())
        return sum(shares[term] for term in query if term in held) / whole if whole else 0.0


def _by_words(
    view: PassageView, query: Sequence[str], weights: _Weights, pool: int, enough: int
) -> dict[int, float]:
    """The passages that match best, and how well (BM25), the best first."""
    rare, known = weights.rare(query), weights.known(query)
    found = dict(view.by_words(rare, pool)) if rare else {}
    if len(found) < enough and len(known) > len(rare):
        least = min(found.values(), default=math.inf)
        for id, value in view.by_words(known, pool).items():
            found.setdefault(id, min(value, least))  # with common words alone: after the others
    return dict(islice(found.items(), pool))


def _score(covered: float, likeness: float | None, ranking: Ranking) -> float:
    """The better of both: a passage need not use the question's words to answer it."""
    said = covered if ranking.text_weight > 0 else 0.0
    near = likeness or 0.0 if ranking.embedding_weight > 0 else 0.0
    return round(min(1.0, max(said, near)), 4)


def _add(
    points: dict[int, float], near: Mapping[int, float], said: Mapping[int, float], ranking: Ranking
) -> None:
    """Count what was found for one question."""
    ids = {*near, *said}
    for found, weight in ((said, ranking.text_weight), (near, ranking.embedding_weight)):
        least, spread = _extent([found.get(id, 0.0) for id in ids])
        for id in ids:
            value = (found.get(id, 0.0) - least) / spread
            points[id] = points.get(id, 0.0) + weight * value


def _extent(values: Sequence[float]) -> tuple[float, float]:
    """The least of some values, and their standard deviation; 1 if they are all the same."""
    if not values:
        return 0.0, 1.0
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return min(values), spread if spread > _SAME else 1.0
