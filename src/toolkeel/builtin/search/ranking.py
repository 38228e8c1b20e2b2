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
import json
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from toolkeel._records.record import record
from toolkeel.builtin.search.filters import FILE_ID, Test
from toolkeel.builtin.search.terms import query_terms, terms
from toolkeel.builtin.search.vector_store import VectorStore

POOL = 60
"""How many passages each list has at least."""
MAX_TERMS = 24
COMMON = 2000
"""A term in more passages than this, and in a tenth of all, is not looked for as long as rarer
ones find enough; it only counts."""

FEW = 50
"""So many passages are asked one by one whether they match; of more, the matches whether they are
wanted, the best first and as far as needed."""

_SAME = 1e-9
_AMONG_FEW = "AND rowid IN (SELECT id FROM chunks WHERE file IN temp.wanted)"
_AMONG_MANY = (
    "AND EXISTS"
    " (SELECT 1 FROM chunks c JOIN temp.wanted w ON w.id = c.file WHERE c.id = terms.rowid)"
)


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


class Searcher:
    """Searches one store; keeps its vectors in memory as long as they are the same.

    Args:
        store: Which.
        name: What it is called in hits.
    """

    def __init__(self, store: VectorStore, name: str = "") -> None:
        self.store = store
        self._name = name or store.path.stem
        self._generation: str | None = None
        self._ids: Any = None
        self._files: Any = None
        self._matrix: Any = None

    def search(
        self, queries: Sequence[str], limit: int, test: Test, ranking: Ranking, *, all_files: bool
    ) -> list[Hit]:
        """The best passages, the best first.

        Args:
            queries: Questions; a passage that answers several stands higher.
            limit: How many.
            test: Which files are searched, by their attributes.
            ranking: What counts.
            all_files: Whether `test` is true for all: then it is not asked.

        Raises:
            ToolError: if the embedder has no vector for the question.
        """
        vectors = self._question(queries, ranking)
        with self.store.reading() as db:
            wanted = None if all_files else self._wanted(db, test)
            if wanted is not None and not wanted:
                return []
            within = "" if wanted is None else _within(db)
            pool = max(POOL, 3 * limit)
            asked = [query_terms(query)[:MAX_TERMS] for query in queries]
            weights = _Weights(db, {term for query in asked for term in query})
            if vectors is not None:
                self._load(db)
            points: dict[int, float] = {}
            likeness: dict[int, float] = {}
            for number, query in enumerate(asked):
                said, near = dict[int, float](), dict[int, float]()
                if ranking.text_weight > 0:
                    said = _by_words(db, query, weights, (pool, limit), within)
                if vectors is not None:
                    near = self._by_meaning(vectors[number], pool, wanted, said)
                _add(points, near, said, ranking)
                for id, value in near.items():
                    likeness[id] = max(value, likeness.get(id, 0.0))
            best = heapq.nlargest(pool, points, key=lambda id: (points[id], -id))
            return self._hits(db, best, limit, (asked, weights, likeness), ranking)

    def _question(self, queries: Sequence[str], ranking: Ranking) -> Any:
        if self.store.embedder is None or ranking.embedding_weight <= 0:
            return None
        return self.store.embedder.embed(list(queries))

    def _wanted(self, db: sqlite3.Connection, test: Test) -> frozenset[int]:
        """The files that pass, noted where queries see them; found once for a generation."""
        key = (test, self.store.generation)
        if self.store.selection is not None and self.store.selection[0] == key:
            return self.store.selection[1]
        rows = db.execute("SELECT id, file_id, name, attributes FROM files")
        wanted = frozenset(
            row
            for row, file_id, name, attributes in rows
            if test({**json.loads(attributes), FILE_ID: file_id, "filename": name})
        )
        db.execute("DELETE FROM temp.wanted")
        db.executemany("INSERT INTO temp.wanted VALUES (?)", ((row,) for row in wanted))
        self.store.selection = (key, wanted)
        return wanted

    def _load(self, db: sqlite3.Connection) -> None:
        import numpy as np  # there is none without an embedder, which needs it

        generation = self.store.generation
        if generation == self._generation:
            return
        rows = db.execute(
            "SELECT id, file, vector FROM chunks WHERE vector IS NOT NULL ORDER BY id"
        ).fetchall()
        self._ids = np.array([row[0] for row in rows], np.int64)
        self._files = np.array([row[1] for row in rows], np.int64)
        data = b"".join(row[2] for row in rows)
        self._matrix = np.frombuffer(data, "<f4").reshape(len(rows), -1) if rows else None
        self._generation = generation

    def _by_meaning(
        self, vector: Any, pool: int, wanted: frozenset[int] | None, others: Iterable[int]
    ) -> dict[int, float]:
        """The passages nearest to a vector, and how near they and `others` are."""
        import numpy as np

        if self._matrix is None or self._matrix.shape[1] != len(vector):
            return {}
        near = self._matrix @ vector
        if wanted is not None:
            near = np.where(np.isin(self._files, list(wanted)), near, -1.0)
        count = min(pool, len(near))
        top = np.argpartition(-near, count - 1)[:count]
        found = {int(self._ids[at]): float(near[at]) for at in top if near[at] > 0}
        asked = np.array([id for id in others if id not in found], np.int64)
        places = np.minimum(np.searchsorted(self._ids, asked), len(near) - 1)
        known = self._ids[places] == asked  # what was put in without an embedder has no vector
        return found | {int(self._ids[at]): float(near[at]) for at in places[known]}

    def _hits(
        self,
        db: sqlite3.Connection,
        best: Sequence[int],
        limit: int,
        asked: tuple[Sequence[Sequence[str]], _Weights, Mapping[int, float]],
        ranking: Ranking,
    ) -> list[Hit]:
        queries, weights, likeness = asked
        hits: list[Hit] = []
        for id in best:
            row = db.execute(
                "SELECT f.file_id, f.name, c.text, f.attributes, c.heading, c.start, f.title"
                " FROM chunks c JOIN files f ON f.id = c.file WHERE c.id = ?",
                (id,),
            ).fetchone()
            held = set(terms(f"{row[1]} {row[6]} {row[4]} {row[2]}"))
            covered = max((weights.covered(query, held) for query in queries), default=0.0)
            score = _score(covered, likeness.get(id), ranking)
            if score >= ranking.score_threshold:
                attributes = json.loads(row[3])
                hits.append(
                    Hit(row[0], row[1], score, row[2], attributes, row[4], row[5], self._name)
                )
            if len(hits) == limit:
                break
        return hits


class _Weights:
    """How much each term of a question says: the rarer, the more (inverse document frequency)."""

    def __init__(self, db: sqlite3.Connection, asked: set[str]) -> None:
        total = db.execute("SELECT count(*) FROM chunks").fetchone()[0]
        self._by_term: dict[str, float] = {}
        self._common: set[str] = set()
        for term in asked:
            row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (term,)).fetchone()
            self._by_term[term] = math.log(1 + total / row[0]) if row else 0.0
            if row and row[0] > max(COMMON, total / 10):
                self._common.add(term)

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
    db: sqlite3.Connection,
    query: Sequence[str],
    weights: _Weights,
    counts: tuple[int, int],
    within: str,
) -> dict[int, float]:
    """The passages that match best, and how well (BM25), the best first.

    Args:
        db: The store's.
        query: The question's terms.
        weights: What they say.
        counts: How many are wanted, and how many are enough.
        within: What the query says of the files that are searched.
    """
    pool, enough = counts
    rare, known = weights.rare(query), weights.known(query)
    found = _matching(db, rare, pool, within) if rare else {}
    if len(found) < enough and len(known) > len(rare):
        least = min(found.values(), default=math.inf)
        for id, value in _matching(db, known, pool, within).items():
            found.setdefault(id, min(value, least))  # with common words alone: after the others
    return dict(islice(found.items(), pool))


def _within(db: sqlite3.Connection) -> str:
    """How a query is kept to the wanted files: the cheaper of two ways."""
    rows = db.execute(f"SELECT 1 FROM chunks WHERE file IN temp.wanted LIMIT {FEW + 1}").fetchall()
    return _AMONG_FEW if len(rows) <= FEW else _AMONG_MANY


def _matching(
    db: sqlite3.Connection, words: Sequence[str], pool: int, within: str
) -> dict[int, float]:
    """The passages with any of these terms, and how well they match, the best first."""
    match = " OR ".join(f'"{term}"' for term in words)
    rows = db.execute(
        f"SELECT rowid, -rank FROM terms WHERE terms MATCH ? {within} ORDER BY rank LIMIT ?",
        (match, pool),
    )
    return dict(rows.fetchall())


def _score(covered: float, likeness: float | None, ranking: Ranking) -> float:
    """The better of both: a passage need not use the question's words to answer it."""
    said = covered if ranking.text_weight > 0 else 0.0
    near = likeness or 0.0 if ranking.embedding_weight > 0 else 0.0
    return round(min(1.0, max(said, near)), 4)


def _add(
    points: dict[int, float],
    near: Mapping[int, float],
    said: Mapping[int, float],
    ranking: Ranking,
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
