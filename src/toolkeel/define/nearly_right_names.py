"""Names that a model got nearly right: spelt otherwise, within a namespace, or like one there is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from toolkeel.define.names import MAX_NAME

_QUALIFIED = re.compile(r"^(?:[\w-]+(?:\.|::|/|:))+(?=\w)")


def folded(name: str) -> str:
    """A name in the one form of all its spellings.

    >>> folded("getHTTPWeather") == folded("get_http_weather") == folded("Get-HTTP-Weather")
    True
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    return re.sub(r"[\s_.-]+", "", plain)


def meant_by(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are this one, spelt otherwise or within a namespace.

    >>> meant_by("functions.getWeather", ["get_weather", "get_time"])
    ['get_weather']
    """
    if len(name) > 2 * MAX_NAME:
        return []
    by_fold: dict[str, list[str]] = {}
    for each in known:
        by_fold.setdefault(folded(each), []).append(each)
    for tried in (name, _QUALIFIED.sub("", name)):
        if found := by_fold.get(folded(tried)):
            return found
    return []


def nearest_names(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names most like this one, compared in the one form of all spellings."""
    import difflib  # late: for mistakes alone

    by_fold = {folded(each): each for each in known}
    wanted = folded(_QUALIFIED.sub("", name[: 2 * MAX_NAME]))
    near = difflib.get_close_matches(wanted, list(by_fold), n=most, cutoff=0.5)
    return [by_fold[each] for each in near]
