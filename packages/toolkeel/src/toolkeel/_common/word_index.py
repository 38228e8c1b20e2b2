"""Ranking by words (BM25): the weight of a word in a text, and an index of texts in memory."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_K1: Final = 1.2
_B: Final = 0.75


def term_weight(count: float, length: float, average: float) -> float:
    """Return the BM25 weight of a word in a text, without the word's rarity.

    Args:
        count: Number of times the word occurs.
        length: Number of words of the text.
        average: Average number of words of a text.

    >>> term_weight(1, 10, 10), term_weight(1, 20, 10) < 1 < term_weight(2, 10, 10)
    (1.0, True)
    """
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / average))


def rarity(total: int, having: int) -> float:
    """Return the inverse document frequency of a word that `having` of `total` texts contain.

    >>> rarity(100, 1) > rarity(100, 50) > 0
    True
    """
    return math.log(1 + total / having)


class WordIndex(Generic[T]):
    """An index that ranks things by the words of their texts.

    Args:
        entries: Each thing with the number of times each word occurs in its text.
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
        """Return at most `limit` things with any of the words, the best match first, of equal ones the earlier."""
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
