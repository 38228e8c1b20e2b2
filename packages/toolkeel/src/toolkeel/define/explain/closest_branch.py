"""Which branch of a union a value was evidently intended for, by what is wrong with it in each."""

from __future__ import annotations

from collections.abc import Collection, Sequence

Fault = tuple[tuple[str | int, ...], bool]
"""Where below the union something is wrong, and if another fixed value is wanted there."""


def _tags(faults: Collection[Fault]) -> set[str | int]:
    """Return the keys right below the union where a branch wants another fixed value."""
    return {path[0] for path, is_fixed in faults if is_fixed and len(path) == 1}


def closest_branch(tried: Sequence[Collection[Fault]]) -> int | None:
    """Return the index of the branch that the sender evidently intended, by its errors, or None if unclear.

    >>> closest_branch([[(("kind",), True)], [(("size",), False)]])
    1
    """
    # A fixed value right below the union is most likely what tells the branches apart.
    right = [number for number, faults in enumerate(tried) if not _tags(faults)]
    right = right or [0] * (len(tried) == 1)
    least = min((len(tried[number]) for number in right), default=0)
    closest = [number for number in right if len(tried[number]) == least]
    # Branches that want something of the same places below are one to whoever reads of it.
    places = {tuple(path for path, _ in tried[number]) for number in closest}
    one = len(closest) == 1 or (len(places) == 1 and () not in places.pop())
    return closest[0] if one else None


def common_tag(tried: Sequence[Collection[Fault]]) -> str | int | None:
    """Return the one key whose value every branch refuses, or None."""
    common = set.intersection(*map(_tags, tried)) if tried else set()
    return common.pop() if len(common) == 1 else None


def fewest_faults(tried: Sequence[Collection[Fault]]) -> int | None:
    """Return the index of the branch with the fewest faults; of several, the one whose shallowest fault is deepest.

    Branches without faults do not count, and the first wins a tie. None if there is no other.
    """
    return min(
        (number for number, faults in enumerate(tried) if faults),
        key=lambda number: (len(tried[number]), -min(len(path) for path, _ in tried[number])),
        default=None,
    )
