from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.define.schema_cases import JSON_VALUES, is_valid, tool_schemas, values_of
from toolkeel.define.dialect.merge import (
    admits_null,
    conjoin,
    constrains,
    disjoint,
    merge_objects,
    nullable,
)

Json = Any


@st.composite
def schemas_and_values(draw: st.DrawFn) -> tuple[list[Json], Json, Json]:
    """Two schemas of one document, and a value to try on them."""
    root = draw(tool_schemas())
    parts = [*root["properties"].values(), *root["$defs"].values()]
    two = [draw(st.sampled_from(parts)) for _ in range(2)]
    value = draw(st.one_of(values_of(two[0], root), values_of(two[1], root), JSON_VALUES))
    return two, root["$defs"], value


def valid(schema: Json, defs: Json, value: Json) -> bool:
    """Whether `value` fits `schema` among `defs`."""
    return is_valid(schema if isinstance(schema, bool) else {**schema, "$defs": defs}, value)


@given(schemas_and_values())
def test_the_conjunction_admits_what_both_admit(case: tuple[list[Json], Json, Json]) -> None:
    (a, b), defs, value = case
    both = conjoin(a, b)
    assume(both is not None)
    expected = valid(a, defs, value) and valid(b, defs, value)
    assert valid(both, defs, value) == expected


@pytest.mark.parametrize(
    ("a", "b", "both"),
    [
        (
            {"minimum": 1, "maxLength": 3},
            {"minimum": 2, "maxLength": 2},
            {"minimum": 2, "maxLength": 2},
        ),
        ({"minimum": 2}, {"minimum": 1}, {"minimum": 2}),
        ({"type": ["integer", "string"]}, {"type": "number"}, {"type": "integer"}),
        ({"type": "integer"}, {"type": "string"}, None),
        ({"multipleOf": 4}, {"multipleOf": 6}, {"multipleOf": 12}),
        ({"enum": [1, 2, True]}, {"enum": [True, 2.0]}, {"enum": [2, True]}),
        ({"pattern": "a"}, {"pattern": "b"}, None),
        ({"anyOf": [{}]}, {"anyOf": [{"type": "null"}]}, None),
        ({"if": {}}, {"then": {}}, None),
        (
            {"items": {"minimum": 1}},
            {"items": {"maximum": 2}},
            {"items": {"minimum": 1, "maximum": 2}},
        ),
        ({"prefixItems": [{}]}, {"items": {"type": "null"}}, None),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}}, None),
        ({"description": "outer"}, {"description": "inner"}, {"description": "outer\ninner"}),
        ({"description": "the same"}, {"description": "same"}, {"description": "the same"}),
        (True, {"minimum": 1}, {"minimum": 1}),
        ({"minimum": 1}, False, False),
    ],
)
def test_two_schemas_become_one_only_where_that_is_exact(a: Json, b: Json, both: Json) -> None:
    assert conjoin(a, b) == both


@given(schemas_and_values())
def test_no_value_fits_two_schemas_that_are_disjoint(case: tuple[list[Json], Json, Json]) -> None:
    two, defs, value = case
    if disjoint(two, defs):
        assert not all(valid(schema, defs, value) for schema in two)


@pytest.mark.parametrize(
    ("a", "b", "apart"),
    [
        ({"type": "string"}, {"type": "integer"}, True),
        ({"type": "number"}, {"type": "integer"}, False),
        ({"const": 1}, {"enum": [2, 3]}, True),
        ({"const": 1}, {"enum": [True]}, True),
        ({"const": 1}, {"enum": [1.0]}, False),
        ({"type": "object"}, {"type": "object"}, False),
        ({}, {"type": "object"}, False),
    ],
)
def test_disjoint_schemas_are_told_by_types_and_constants(a: Json, b: Json, apart: bool) -> None:
    assert disjoint([a, b], {}) is apart


def tagged(tag: str, required: bool = True) -> Json:
    """An object with a constant in its property ``kind``."""
    schema: Json = {"type": "object", "properties": {"kind": {"const": tag}}}
    return schema | ({"required": ["kind"]} if required else {})


def test_a_required_tag_keeps_objects_apart_and_an_optional_one_does_not() -> None:
    assert disjoint([tagged("a"), tagged("b")], {})
    assert disjoint([{"$ref": "#/$defs/A"}, tagged("b")], {"A": tagged("a")})
    assert not disjoint([tagged("a"), tagged("b", required=False)], {})
    assert not disjoint([tagged("a"), tagged("a")], {})


@given(schemas_and_values())
def test_a_nullable_schema_admits_null_and_nothing_else_that_is_new(
    case: tuple[list[Json], Json, Json],
) -> None:
    (schema, _), defs, value = case
    wider = nullable(schema)
    assert valid(wider, defs, None)
    assert valid(wider, defs, value) == (value is None or valid(schema, defs, value))


@given(schemas_and_values())
def test_what_is_said_to_refuse_null_refuses_it(case: tuple[list[Json], Json, Json]) -> None:
    (schema, _), defs, _ = case
    if not admits_null(schema, defs):
        assert not valid(schema, defs, None)


def test_several_objects_become_one_that_holds_each() -> None:
    one = merge_objects(
        [
            {"properties": {"a": {"type": "string"}, "n": {}}, "required": ["n", "a"]},
            {"properties": {"a": {"type": "integer"}, "n": {}}, "required": ["n"]},
        ]
    )
    assert one == {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "n": {}},
        "required": ["n"],
    }
    assert merge_objects([{"type": "object"}, {"type": "string"}]) is None
    closed = {"properties": {}, "additionalProperties": False}
    assert (merge_objects([closed, closed]) or {})["additionalProperties"] is False
    assert "additionalProperties" not in (merge_objects([closed, {}]) or {})


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({}, False),
        ({"title": "T", "description": "D", "examples": [1]}, False),
        ({"$defs": {"A": {"type": "string"}}}, False),
        ({"type": "string"}, True),
        ({"description": "D", "minLength": 1}, True),
    ],
)
def test_annotations_and_definitions_constrain_nothing(node: Json, expected: bool) -> None:
    assert constrains(node) is expected
