"""The branch that was evidently meant explains what is wrong; none does where that is not evident."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.define.explain.closest_branch import (
    Fault,
    closest_branch,
    common_tag,
    fewest_faults,
)


def faults(value: object, schema: dict[str, Any]) -> list[Fault]:
    found = jsonschema_rs.Draft202012Validator(schema).iter_errors(value)
    return [(tuple(each.instance_path), each.kind.name in ("const", "enum")) for each in found]


def tagged(kind: str, *needed: str) -> dict[str, Any]:
    held = {"kind": {"const": kind}, **{name: {"type": "integer"} for name in needed}}
    return {"type": "object", "properties": held, "required": ["kind", *needed]}


@given(st.permutations(["cat", "dog", "bird"]))
def test_the_branch_whose_tag_is_right_is_meant_wherever_it_stands(kinds: list[str]) -> None:
    value = {"kind": "dog", "age": "old"}
    tried = [faults(value, tagged(kind, "age", "bark")) for kind in kinds]
    assert closest_branch(tried) == kinds.index("dog")


def test_a_tag_that_no_branch_knows_is_what_is_wrong() -> None:
    tried = [faults({"kind": "fish"}, tagged(kind)) for kind in ("cat", "dog")]
    assert closest_branch(tried) is None
    assert common_tag(tried) == "kind"


def test_two_branches_that_are_as_near_for_other_reasons_explain_nothing() -> None:
    branches: list[dict[str, Any]] = [{"required": ["y"]}, {"properties": {"x": {"type": "null"}}}]
    tried = [faults({"x": 1}, branch) for branch in branches]
    assert closest_branch(tried) is None and common_tag(tried) is None


def test_two_branches_that_want_another_value_of_one_field_are_told_by_the_first() -> None:
    branches = [{"properties": {"x": {"maximum": most}}} for most in (3, 4)]
    tried = [faults({"x": 9}, branch) for branch in branches]
    assert closest_branch(tried) == 0


def test_a_third_branch_that_is_as_near_for_another_reason_leaves_none() -> None:
    wanted: list[dict[str, Any]] = [{"maximum": 3}, {"maximum": 4}]
    branches: list[dict[str, Any]] = [{"properties": {"x": each}} for each in wanted]
    assert (
        closest_branch([faults({"x": 9}, each) for each in (*branches, {"required": ["y"]})])
        is None
    )


def test_nothing_tried_means_nothing() -> None:
    assert closest_branch([]) is None and common_tag([]) is None


def test_of_branches_with_as_many_faults_the_one_that_fits_deepest_is_the_nearest() -> None:
    branches: list[dict[str, Any]] = [
        {"properties": {"x": {"type": "string"}}},
        {"properties": {"x": {"items": {"type": "string"}}}},
        {"properties": {"x": {"items": {"type": "string"}, "maxItems": 0}}},
    ]
    assert fewest_faults([faults({"x": [1]}, each) for each in branches]) == 1
    assert fewest_faults([[], []]) is None
