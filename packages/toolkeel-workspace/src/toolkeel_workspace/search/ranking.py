"""Find the passages of a vector store that best answer a query.

Two lists are made, the best by words (BM25) and the best by meaning (cosine). Their values are added,
each divided by its standard deviation among the results: so the scale of a model's cosines does not
matter, and a passage that excels in one list stays ahead, unlike when only ranks are added (Bruch,
Gai and Ingber, ACM TOIS 42, 2023, measure both). The reported score goes from 0 to 1: the share of the
query's words a passage has, or its cosine, whichever is higher.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from toolkeel._common.split_words import split_query, split_terms
from toolkeel._common.word_index import rarity
from toolkeel._records.record import record
from toolkeel_workspace.search.stores import PassageView, Store

MIN_POOL = 60
"""Least number of passages in each list."""
MAX_TERMS = 24
COMMON_TERM_COUNT = 2000
"""A term in more passages than this, and in a tenth of all, is not looked for as long as rarer
ones find enough; it only counts."""

_SAME = 1e-9


@record
class Ranking:
    """How passages are ranked.

    Args:
        text_weight: Weight of words.
        embedding_weight: Weight of meaning, where there are vectors. The default was found with a
            small model (`benchmarks.file_search`); a larger model deserves more.
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
        text: Its text.
        attributes: The file's.
        heading: The headings above it.
        start: Where it starts in the file's text, in characters.
        store: The store's name.
    """

    file_id: str
    filename: str
    score: float
    text: str
    attributes: Mapping[str, Any]
    heading: str = ""
    start: int = 0
    store: str = ""


def search_store(
    store: Store, queries: Sequence[str], limit: int, ranking: Ranking, filters: object = None
) -> list[Hit]:
    """Return the best passages of a store, the best first.

    Args:
        store: The store.
        queries: A passage that answers several ranks higher.
        limit: How many.
        ranking: What counts.
        filters: Which files are searched: see `toolkeel_workspace.search.filters`; None: all.

    Raises:
        ToolError: if the embedder fails, or the store cannot be reached.
    """
    vectors = None
    if store.embedder is not None and ranking.embedding_weight > 0:
        vectors = store.embedder.embed(list(queries))
    pool = max(MIN_POOL, 3 * limit)
    asked = [split_query(query)[:MAX_TERMS] for query in queries]
    points: dict[int, float] = {}
    likeness: dict[int, float] = {}
    with store.view(filters) as view:
        weights = _TermWeights(view, sorted({term for query in asked for term in query}))
        for number, query in enumerate(asked):
            said: Mapping[int, float] = {}
            near: Mapping[int, float] = {}
            if ranking.text_weight > 0:
                said = _rank_by_words(view, query, weights, pool, limit)
            if vectors is not None:
                near = view.search_vectors(vectors[number], pool, list(said))
            _add_points(points, near, said, ranking)
            for id, value in near.items():
                likeness[id] = max(value, likeness.get(id, 0.0))
        best = heapq.nlargest(pool, points, key=lambda id: (points[id], -id))
        hits = _iter_hits(view, best, (asked, weights, likeness), ranking, store.name)
        return list(islice(hits, limit))


def _iter_hits(
    view: PassageView,
    best: Sequence[int],
    asked: tuple[Sequence[Sequence[str]], _TermWeights, Mapping[int, float]],
    ranking: Ranking,
    store: str,
) -> Iterator[Hit]:
    queries, weights, likeness = asked
    for id, one in view.read_passages(best):
        held = set(split_terms(f"{one.name} {one.title} {one.heading} {one.text}"))
        covered = max((weights.measure_coverage(query, held) for query in queries), default=0.0)
        score = _compute_score(covered, likeness.get(id), ranking)
        if score >= ranking.score_threshold:
            said = (one.text, one.attributes, one.heading, one.start, store)
            yield Hit(one.file_id, one.name, score, *said)


class _TermWeights:
    """The weight of each query term: the rarer, the more (inverse document frequency)."""

    def __init__(self, view: PassageView, terms: Sequence[str]) -> None:
        total, held = view.count_terms(terms)
        self._by_term = {
            term: rarity(total, held[term]) if held.get(term) else 0.0 for term in terms
        }
        self._common = {term for term in held if held[term] > max(COMMON_TERM_COUNT, total / 10)}

    def select_known(self, query: Sequence[str]) -> list[str]:
        """Return the terms that some passage has."""
        return [term for term in query if self._by_term[term] > 0]

    def select_rare(self, query: Sequence[str]) -> list[str]:
        """Return the known terms that are not common."""
        return [term for term in self.select_known(query) if term not in self._common]

    def measure_coverage(self, query: Sequence[str], passage_terms: set[str]) -> float:
        """Return the share of a query's terms that a passage has, by weight.

        A word that no passage has weighs like the rarest, so that a query of unknown words is not covered; an
        unknown pair of Chinese characters is most likely no word, and weighs nothing.
        """
        most = max(self._by_term.values(), default=0.0) or 1.0
        shares = {term: self._by_term[term] or most * term.isascii() for term in query}
        whole = sum(shares.values())
        return (
            sum(shares[term] for term in query if term in passage_terms) / whole if whole else 0.0
        )


def _rank_by_words(
    view: PassageView, query: Sequence[str], weights: _TermWeights, pool: int, enough: int
) -> dict[int, float]:
    """Return the passages that match best with their value (BM25), the best first."""
    rare, known = weights.select_rare(query), weights.select_known(query)
    found = dict(view.search_words(rare, pool)) if rare else {}
    if len(found) < enough and len(known) > len(rare):
        least = min(found.values(), default=math.inf)
        for id, value in view.search_words(known, pool).items():
            found.setdefault(id, min(value, least))  # with common words alone: after the others
    return dict(islice(found.items(), pool))


def _compute_score(covered: float, likeness: float | None, ranking: Ranking) -> float:
    """Return the better of both values: a passage may answer without the query's words."""
    said = covered if ranking.text_weight > 0 else 0.0
    near = likeness or 0.0 if ranking.embedding_weight > 0 else 0.0
    return round(min(1.0, max(said, near)), 4)


def _add_points(
    points: dict[int, float], near: Mapping[int, float], said: Mapping[int, float], ranking: Ranking
) -> None:
    """Add the points of one query's results."""
    ids = {*near, *said}
    for found, weight in ((said, ranking.text_weight), (near, ranking.embedding_weight)):
        least, spread = _measure_spread([found.get(id, 0.0) for id in ids])
        for id in ids:
            value = (found.get(id, 0.0) - least) / spread
            points[id] = points.get(id, 0.0) + weight * value


def _measure_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the least value, and the standard deviation; 1 if all are equal."""
    if not values:
        return 0.0, 1.0
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return min(values), spread if spread > _SAME else 1.0
