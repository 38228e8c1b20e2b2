"""Names that resemble a misspelt one, for "did you mean" in messages."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_LENGTH = 128
"""Longest name that is compared, in characters: comparing takes time that grows with both lengths."""
MAX_NAMES = 1000
"""Most names that a name is compared with: those nearest to it in length."""
SURE = 0.7
"""Similarity from which one name may be suggested alone."""
MARGIN = 0.15
"""A name that is this much less alike than the nearest one is left out."""


def fold_name(name: str) -> str:
    """Return a name case-folded, without blanks, underscores, dots and dashes, as all its spellings share it.

    >>> fold_name("getHTTPWeather") == fold_name("get_http_weather") == fold_name("Get-HTTP-Weather")
    True
    """
    if not name.isascii():
        from unicodedata import normalize  # late: most names need no such table

        name = normalize("NFKC", name)
    return re.sub(r"[\s_.-]+", "", name.casefold())


def nearest_names(
    name: str, known: Iterable[str], limit: int = 3, cutoff: float = 0.6
) -> list[str]:
    """Return the known names most similar to `name`, the nearest first; empty if none is similar.

    Spellings that differ only in case, blanks, underscores, dots and dashes count as equal.

    Args:
        name: The misspelt name.
        known: The existing names.
        limit: Maximum number of names to return.
        cutoff: Minimum similarity, from 0 to 1.

    >>> nearest_names("departureDat", ["city", "departure_date"])
    ['departure_date']
    """
    from difflib import SequenceMatcher, get_close_matches  # late: for mistakes alone

    if len(name) > MAX_LENGTH:
        return []
    wanted = fold_name(name)
    folds: dict[str, str] = {}
    for each in known:
        folds.setdefault(fold_name(each[:MAX_LENGTH]), each)
    if len(folds) > MAX_NAMES:
        by_length = sorted(folds, key=lambda fold: abs(len(fold) - len(wanted)))
        folds = {fold: folds[fold] for fold in by_length[:MAX_NAMES]}
    near = get_close_matches(wanted, folds, limit, cutoff)
    likeness = [SequenceMatcher(None, wanted, fold).ratio() for fold in near]
    return [
        folds[fold]
        for fold, ratio in zip(near, likeness, strict=True)
        if ratio > likeness[0] - MARGIN
    ]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Build a message's suggestion of the nearest known name, or return "".

    >>> did_you_mean("serch", ["search", "read"])
    "; did you mean 'search'?"
    """
    near = nearest_names(name, known, 1, SURE)
    return f"; did you mean {near[0]!r}?" if near else ""
