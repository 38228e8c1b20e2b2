"""Schemas with other properties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.define.schema.json_schema_validator import compile_json_schema
from toolkeel.mcp.transformed_schemas import (
    drop_properties,
    inline_root,
    narrow,
    rename_properties,
)

NUMBERS = st.integers(-3, 3)
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["integer", "number", "string", ["integer", "null"]]),
        "maximum": NUMBERS,
        "exclusiveMinimum": NUMBERS,
        "enum": st.lists(NUMBERS | st.none(), min_size=1, unique=True),
        "const": NUMBERS,
        "maxLength": st.integers(0, 2),
        "pattern": st.sampled_from(["a", "b$"]),
        "not": st.fixed_dictionaries({"const": NUMBERS}),
        "allOf": st.lists(st.fixed_dictionaries({"maximum": NUMBERS}), min_size=1, max_size=2),
    },
)


@given(SCHEMAS | st.booleans(), SCHEMAS, NUMBERS | st.none() | st.text("ab", max_size=3))
def test_a_narrowed_schema_admits_what_both_admit(before: Any, given: Any, value: Any) -> None:
    both = all(compile_json_schema(each).is_valid(value) for each in (before, given))
    assert compile_json_schema(narrow(before, given)).is_valid(value) == both


def test_a_reference_stays_beside_what_narrows_it() -> None:
    assert narrow({"$ref": "#/$defs/x"}, {"maximum": 1}) == {
        "maximum": 1, "allOf": [{"$ref": "#/$defs/x"}],
    }  # fmt: skip
    root = {"$ref": "#/$defs/in", "$defs": {"in": {"type": "object", "properties": {"a": {}}}}}
    assert inline_root(root)["properties"] == {"a": {}}


def test_names_change_wherever_the_schema_says_them() -> None:
    schema = {
        "properties": {"a": {"properties": {"a": {}}}, "b": {}},
        "required": ["a"],
        "dependentRequired": {"a": ["b"]},
        "anyOf": [{"required": ["a"]}, {"not": {"required": ["b"]}}],
    }
    assert rename_properties(schema, {"a": "b", "b": "a"}) == {
        "properties": {"b": {"properties": {"a": {}}}, "a": {}},
        "required": ["b"],
        "dependentRequired": {"b": ["a"]},
        "anyOf": [{"required": ["b"]}, {"not": {"required": ["a"]}}],
    }


@pytest.mark.parametrize("condition", [
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}},
    {"dependentRequired": {"b": ["a"]}},
])  # fmt: skip
def test_a_condition_about_what_is_left_out_is_left_to_the_server(condition: Any) -> None:
    schema = {"properties": {"a": {}, "b": {}}, "required": ["a", "b"], **condition}
    assert drop_properties(schema, {"a"}, set()) == {"properties": {"b": {}}, "required": ["b"]}
