"""Names that a model got nearly right: spelt otherwise, within a namespace, or like one there is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolkeel._common.nearest_names import fold_name, nearest_names
from toolkeel.define.names import MAX_NAME_LENGTH

_QUALIFIED = re.compile(r"^(?:[\w-]+(?:\.|::|/|:))+(?=\w)")


def equivalent_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that differ from `name` in spelling or namespace only.

    >>> equivalent_names("functions.getWeather", ["get_weather", "get_time"])
    ['get_weather']
    """
    if len(name) > 2 * MAX_NAME_LENGTH:
        return []
    by_fold: dict[str, list[str]] = {}
    for each in known:
        by_fold.setdefault(fold_name(each), []).append(each)
    for tried in (name, _QUALIFIED.sub("", name)):
        if found := by_fold.get(fold_name(tried)):
            return found
    return []


def nearest_tools(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known tool names most like `name`, without the namespace it may have."""
    return nearest_names(_QUALIFIED.sub("", name[: 2 * MAX_NAME_LENGTH]), known, limit, 0.5)
