"""The branch that was evidently meant explains what is wrong; none does where that is not evident."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.define.explain.closest_branch import (
    Faults,
    closest_branch,
    common_tag,
    is_of_another_kind,
)


def faults(value: object, schema: dict[str, Any]) -> Faults:
    return list(jsonschema_rs.Draft202012Validator(schema).iter_errors(value))


def tagged(kind: str, *needed: str) -> dict[str, Any]:
    held = {"kind": {"const": kind}, **{name: {"type": "integer"} for name in needed}}
    return {"type": "object", "properties": held, "required": ["kind", *needed]}


@pytest.mark.parametrize("value", [5, "text", [1], None])
def test_a_value_of_another_type_means_no_branch(value: object) -> None:
    assert any(map(is_of_another_kind, faults(value, tagged("cat"))))
    assert not any(map(is_of_another_kind, faults({"kind": 1}, tagged("cat"))))


@given(st.permutations(["cat", "dog", "bird"]))
def test_the_branch_whose_tag_is_right_is_meant_wherever_it_stands(kinds: list[str]) -> None:
    value = {"kind": "dog", "age": "old"}
    tried = [faults(value, tagged(kind, "age", "bark")) for kind in kinds]
    told = closest_branch(tried)
    assert told == tried[kinds.index("dog")] and len(told) == 2


def test_a_tag_that_no_branch_knows_is_what_is_wrong() -> None:
    tried = [faults({"kind": "fish"}, tagged(kind)) for kind in ("cat", "dog")]
    assert closest_branch(tried) == []
    assert common_tag(tried) == "kind"


def test_two_branches_that_are_as_near_for_other_reasons_explain_nothing() -> None:
    branches: list[dict[str, Any]] = [{"required": ["y"]}, {"properties": {"x": {"type": "null"}}}]
    tried = [faults({"x": 1}, branch) for branch in branches]
    assert closest_branch(tried) == [] and common_tag(tried) is None


def test_two_branches_that_want_another_value_of_one_field_are_told_by_the_first() -> None:
    branches = [{"properties": {"x": {"maximum": most}}} for most in (3, 4)]
    tried = [faults({"x": 9}, branch) for branch in branches]
    assert closest_branch(tried) == tried[0]


def test_nothing_tried_means_nothing() -> None:
    assert closest_branch([]) == [] and common_tag([]) is None
