"""A value with the first items of its long lists and objects: what is explained of many errors."""

from __future__ import annotations

from collections.abc import Set
from itertools import islice

Path = tuple[str | int, ...]
_ITEMS = 200  # items of a list or an object that are looked at first
_DEPTH = 100


def cut_value(value: object, names: Set[str]) -> tuple[object, set[Path]]:
    """Return a copy of a value with the first 200 items of longer lists and objects, and the places cut.

    A validator makes an object of every fault, a million if there are so many. What lies deeper than any
    list worth cutting is left as it is.

    Args:
        value: Parsed JSON; never changed.
        names: Keys that are never cut.
    """
    cuts: set[Path] = set()
    return _cut(value, (), cuts, names), cuts


def _cut(value: object, path: Path, cuts: set[Path], names: Set[str]) -> object:
    """Return a copy with only the first items of long lists and objects, and keys in `names`; add each place cut to `cuts`."""
    if len(path) >= _DEPTH:
        return value
    if isinstance(value, dict):
        if len(value) > _ITEMS:
            cuts.add(path)
            first = set(islice(value, _ITEMS))
            value = {key: item for key, item in value.items() if key in first or key in names}
        return {key: _cut(item, (*path, key), cuts, names) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > _ITEMS:
        cuts.add(path)
    return [_cut(item, (*path, index), cuts, names) for index, item in enumerate(value[:_ITEMS])]
