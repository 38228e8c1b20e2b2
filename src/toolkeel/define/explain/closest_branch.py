"""Which branch of a union a value was evidently meant for, by what is wrong with it in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jsonschema_rs

Faults = list["jsonschema_rs.ValidationError"]


def is_of_another_kind(fault: jsonschema_rs.ValidationError) -> bool:
    """Whether it is about the value itself being of another type, not about what is in it."""
    kinds = ("type", "enum", "const", "falseSchema")
    return not fault.instance_path and fault.kind.name in kinds


def _tags(faults: Faults) -> list[str]:
    """Keys right below the union of which the branch wants another value."""
    return [
        str(fault.instance_path[0])
        for fault in faults
        if fault.kind.name in ("const", "enum") and len(fault.instance_path) == 1
    ]


def closest_branch(tried: list[Faults]) -> Faults:
    """The faults of the branch that was evidently meant; none if that is not evident."""
    # A fixed value right below the union is most likely what tells the branches apart.
    ranked = sorted(tried, key=_rank)
    if len(ranked) < 2:
        return ranked[0] if ranked else []
    first, second = ranked[:2]
    tags, _ = _rank(first)
    if tags:
        return []
    if _rank(first) != _rank(second):
        return first
    places, others = ({tuple(each.instance_path) for each in faults} for faults in ranked[:2])
    return first if places == others and () not in places else []


def _rank(faults: Faults) -> tuple[int, int]:
    return len(_tags(faults)), len(faults)


def common_tag(tried: list[Faults]) -> str | None:
    """The one key that every branch wants another value of."""
    common = set.intersection(*(set(_tags(faults)) for faults in tried)) if tried else set()
    return common.pop() if len(common) == 1 else None
