"""Ranking by words (BM25): how much a word of a text counts, and an index of texts in memory."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_K1: Final = 1.2
_B: Final = 0.75


def term_weight(count: float, length: float, average: float) -> float:
    """Return how much a word counts in a text, without its rarity.

    Args:
        count: How often it is there.
        length: Words of the text.
        average: Words of a usual text.

    >>> term_weight(1, 10, 10), term_weight(1, 20, 10) < 1 < term_weight(2, 10, 10)
    (1.0, True)
    """
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / average))


def rarity(total: int, having: int) -> float:
    """Return how much a word says that so many of all texts have (inverse document frequency).

    >>> rarity(100, 1) > rarity(100, 50) > 0
    True
    """
    return math.log(1 + total / having)


class WordIndex(Generic[T]):
    """Things by the words of their texts.

    Args:
        entries: Each thing with its words and how often each is there.
    """

    def __init__(self, entries: Iterable[tuple[T, Mapping[str, int]]]) -> None:
        self._things: list[T] = []
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, (thing, counts) in enumerate(entries):
            self._things.append(thing)
            self._lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self._postings[word].append((number, count))

    def find(self, words: Iterable[str], limit: int) -> list[T]:
        """Return the things that fit a query's words best, the best first."""
        scores: dict[int, float] = defaultdict(float)
        total = len(self._things)
        average = sum(self._lengths) / total if total else 1.0
        for word in sorted(set(words) & self._postings.keys()):  # sums do not depend on the order
            postings = self._postings[word]
            says = rarity(total, len(postings))
            for number, count in postings:
                scores[number] += says * term_weight(count, self._lengths[number], average)
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return [self._things[number] for number in best[:limit]]
