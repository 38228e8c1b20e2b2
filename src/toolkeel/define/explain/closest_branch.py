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
    ranked = [((len(_tags(faults)), len(faults)), faults) for faults in tried]
    ranked.sort(key=lambda each: each[0])
    if not ranked or (ranked[0][0][0] and len(ranked) > 1):
        return []
    if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
        first, second = ({tuple(f.instance_path) for f in faults} for _, faults in ranked[:2])
        return ranked[0][1] if first == second and () not in first else []
    return ranked[0][1]


def common_tag(tried: list[Faults]) -> str | None:
    """The one key that every branch wants another value of."""
    common = set.intersection(*(set(_tags(faults)) for faults in tried)) if tried else set()
    return common.pop() if len(common) == 1 else None
