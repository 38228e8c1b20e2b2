"""The coercion table, line by line."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.call.arguments.test_parse import JSON
from toolkeel.call.arguments.coerce import Coercion, coerce
from toolkeel.define.schema.json_schema_validator import compile_json_schema

INTEGER: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}
STRING: dict[str, Any] = {"type": "string"}
ARRAY: dict[str, Any] = {"type": "array", "items": INTEGER}
OBJECT: dict[str, Any] = {"type": "object", "properties": {"n": INTEGER}}


def one(value: object, schema: dict[str, Any], **more: Any) -> object:
    """Coerce `value` as the required property x."""
    root = {"type": "object", "properties": {"x": schema}, "required": ["x"], **more}
    return coerce({"x": value}, root).value["x"]


DATE: dict[str, Any] = {"type": "string", "format": "date"}


@pytest.mark.parametrize(
    ("branches", "value", "after"),
    [
        ([{"type": "object", "additionalProperties": each} for each in (DATE, INTEGER)],
         {"a": 5.0}, {"a": 5}),
        ([ARRAY, {"type": "array", "prefixItems": [STRING, INTEGER]}], [5.0, 1.0], [5, 1]),
        ([ARRAY, {"type": "array", "items": NUMBER}], [5.0], [5.0]),
        ([ARRAY, {"type": "array", "items": BOOLEAN}], ["x"], ["x"]),
        ([ARRAY, {"type": "array", "items": STRING}], ["5"], ["5"]),
    ],
)  # fmt: skip
def test_of_branches_of_one_kind_the_one_whose_types_then_all_fit_mends(
    branches: list[Any], value: object, after: object
) -> None:
    for schema in ({"anyOf": branches}, {"oneOf": branches[::-1]}):
        found = one(value, schema)
        assert (found, repr(found)) == (after, repr(after))


@pytest.mark.parametrize(
    ("schema", "value", "after", "rule"),
    [
        (INTEGER, "5", 5, "integer_from_string"),
        (INTEGER, "-12", -12, "integer_from_string"),
        (INTEGER, 5.0, 5, "integer_from_number"),
        (NUMBER, "1.5", 1.5, "number_from_string"),
        (NUMBER, "3", 3, "number_from_string"),
        (NUMBER, "-2.5e-3", -0.0025, "number_from_string"),
        (BOOLEAN, "true", True, "boolean_from_string"),
        (BOOLEAN, "false", False, "boolean_from_string"),
        (ARRAY, "[1, 2]", [1, 2], "array_from_string"),
        (OBJECT, ' {"n": 1}', {"n": 1}, "object_from_string"),
        ({"enum": [1, 2, 3]}, "3", 3, "integer_from_string"),
        ({"type": "integer", "enum": [1, 2]}, "2", 2, "integer_from_string"),
        ({"const": 1.5}, "1.5", 1.5, "number_from_string"),
        ({"type": ["integer", "null"]}, "5", 5, "integer_from_string"),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "5", 5, "integer_from_string"),
        ({"anyOf": [INTEGER, NUMBER]}, "5", 5, "integer_from_string"),
        ({"oneOf": [INTEGER, BOOLEAN]}, "true", True, "boolean_from_string"),
        ({"allOf": [INTEGER, {"minimum": 1}]}, "5", 5, "integer_from_string"),
    ],
)
def test_what_the_table_accepts_is_changed_and_recorded(
    schema: dict[str, Any], value: object, after: object, rule: str
) -> None:
    root = {"properties": {"x": schema}}
    coerced = coerce({"x": value}, root)
    assert coerced.value == {"x": after}
    assert type(coerced.value["x"]) is type(after)
    [change] = coerced.changes
    assert (change.path, change.rule) == (("x",), rule)
    assert compile_json_schema(root).is_valid(coerced.value)


def test_a_change_is_recorded_with_both_values_as_json() -> None:
    schema = {"properties": {"a": {"type": "array", "items": INTEGER}}}
    assert coerce({"a": [1, "2"]}, schema).changes == (
        Coercion(("a", 1), '"2"', "2", "integer_from_string"),
    )


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INTEGER, True),
        (INTEGER, 5.5),
        (INTEGER, "5.5"),
        (INTEGER, "5.0"),
        (INTEGER, ""),
        (INTEGER, " 5"),
        (INTEGER, "+5"),
        (INTEGER, "05"),
        (INTEGER, "５"),
        (INTEGER, "1_000"),
        (INTEGER, "1e3"),
        (INTEGER, "9" * 5000),
        (INTEGER, 1e300),
        (INTEGER, None),
        (INTEGER, [5]),
        (NUMBER, True),
        (NUMBER, "NaN"),
        (NUMBER, "Infinity"),
        (NUMBER, "1e999"),
        (NUMBER, ""),
        (NUMBER, "1,5"),
        (BOOLEAN, 0),
        (BOOLEAN, 1),
        (BOOLEAN, "yes"),
        (BOOLEAN, "True"),
        (BOOLEAN, ""),
        (ARRAY, "x"),
        (ARRAY, 5),
        (ARRAY, '{"a": 1}'),
        (ARRAY, "[1,]"),
        (ARRAY, '[{"a": 1, "a": 2}]'),
        (OBJECT, "[1]"),
        (OBJECT, ""),
        (STRING, 5),
        (STRING, True),
        (STRING, None),
        (STRING, "[1]"),
        ({"enum": [1, 2, 3]}, "4"),
        ({"enum": [1, "1"]}, "1"),
        ({"enum": ["1", "2"]}, 1),
        ({"type": "null"}, "null"),
        ({"type": "null"}, ""),
        ({"anyOf": [STRING, ARRAY]}, "[1, 2]"),
        ({"type": ["string", "array"]}, "[1, 2]"),
        ({"anyOf": [INTEGER, {"enum": ["5"]}]}, "5"),
        ({}, "5"),
        ({"anyOf": [{}, INTEGER]}, "5"),
    ],
)
def test_what_the_table_does_not_name_is_left_alone(schema: dict[str, Any], value: object) -> None:
    after = one(value, schema)
    assert after is value or (after, type(after)) == (value, type(value))


def test_two_possible_readings_are_none() -> None:
    schema = {"anyOf": [{"type": "integer"}, {"type": "array", "items": INTEGER}]}
    assert one("[5]", schema) == [5]
    assert one("5", {"anyOf": [{"const": 5}, {"const": 5.5}]}) == 5
    lists = {"anyOf": [ARRAY, {"type": "array", "items": STRING}]}
    assert one('["5"]', lists) == '["5"]'
    assert one("[5]", {"anyOf": [ARRAY, {"type": "array", "items": NUMBER}]}) == [5]
    both = {"anyOf": [{"properties": {"n": INTEGER}}, {"properties": {"n": BOOLEAN}}]}
    assert one({"n": "5"}, both) == {"n": "5"}


def test_a_branch_is_followed_where_its_fixed_values_single_it_out() -> None:
    pets = {
        "oneOf": [
            {"$ref": "#/$defs/cat"},
            {"type": "object", "properties": {"kind": {"const": "dog"}, "age": STRING}},
        ]
    }
    cat = {"type": "object", "properties": {"kind": {"const": "cat"}, "age": INTEGER}}
    assert one({"kind": "cat", "age": "3"}, pets, **{"$defs": {"cat": cat}}) == {
        "kind": "cat",
        "age": 3,
    }
    assert one({"kind": "dog", "age": "3"}, pets, **{"$defs": {"cat": cat}})["age"] == "3"  # type: ignore[index]


@pytest.mark.parametrize(
    ("schema", "value", "after"),
    [
        ({"items": INTEGER}, ["1", 2], [1, 2]),
        ({"prefixItems": [STRING, INTEGER], "items": BOOLEAN}, ["1", "2", "true"], ["1", 2, True]),
        ({"items": [STRING, INTEGER], "additionalItems": BOOLEAN}, ["1", "2", "true"], ["1", 2, True]),
        ({"additionalProperties": INTEGER}, {"a": "1"}, {"a": 1}),
        ({"properties": {"n": {"items": OBJECT}}}, {"n": [{"n": "1"}]}, {"n": [{"n": 1}]}),
        ({"$ref": "#/$defs/deep"}, {"n": {"n": "1"}}, {"n": {"n": 1}}),
        ({"$ref": "#/definitions/a~1b"}, "1", 1),
        (OBJECT, '{"n": "1"}', {"n": 1}),
        ({"items": ARRAY}, ["[1]", [2, "3"]], [[1], [2, 3]]),
    ],
)  # fmt: skip
def test_values_at_every_depth_are_coerced(
    schema: dict[str, Any], value: object, after: object
) -> None:
    definitions = {
        "$defs": {"deep": {"properties": {"n": {"$ref": "#/$defs/flat"}}}, "flat": OBJECT},
        "definitions": {"a/b": INTEGER},
    }
    assert one(value, schema, **definitions) == after


def test_null_for_what_is_optional_and_not_nullable_is_as_if_not_sent() -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": STRING,
            "unit": {"enum": ["c", "f"], "default": "c"},
            "note": {"type": ["string", "null"]},
            "more": {"anyOf": [STRING, {"type": "null"}]},
            "any": {},
            "inner": {"type": "object", "properties": {"n": INTEGER}},
        },
        "required": ["city"],
    }
    sent: dict[str, object] = dict.fromkeys(["city", "unit", "note", "more", "any"])
    sent["inner"] = {"n": None}
    coerced = coerce(sent, schema)
    assert coerced.value == {"city": None, "note": None, "more": None, "any": None, "inner": {}}
    assert [(c.path, c.before, c.after, c.rule) for c in coerced.changes] == [
        (("unit",), "null", "", "null_dropped"),
        (("inner", "n"), "null", "", "null_dropped"),
    ]


def test_unknown_keys_are_dropped_only_where_the_tool_says_ignore() -> None:
    schema = {"properties": {"a": INTEGER}}
    sent: dict[str, object] = {"a": "1", "b": 2}
    assert coerce(sent, schema).value == {"a": 1, "b": 2}
    assert coerce(sent, schema, unknown_keys="allow").value == {"a": 1, "b": 2}
    ignored = coerce(sent, schema, unknown_keys="ignore")
    assert ignored.value == {"a": 1}
    assert ignored.changes[-1] == Coercion(("b",), "2", "", "unknown_key_dropped")


@pytest.mark.parametrize(
    "is_open",
    [
        {"properties": {"a": {}}, "additionalProperties": True},
        {"properties": {"a": {}}, "additionalProperties": STRING},
        {"properties": {"a": {}}, "patternProperties": {"^x": {}}},
        {"type": "object"},
    ],
)
def test_a_root_that_takes_any_key_has_no_unknown_ones(is_open: dict[str, Any]) -> None:
    assert coerce({"b": 1}, is_open, unknown_keys="ignore").value == {"b": 1}


def test_names_behind_references_and_unions_are_known() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/a"}, {"anyOf": [{"properties": {"b": {}}}]}],
        "$defs": {"a": {"properties": {"a": {}}}},
    }
    assert coerce({"a": 1, "b": 2, "c": 3}, schema, unknown_keys="ignore").value == {"a": 1, "b": 2}


def test_the_value_given_is_never_changed_and_is_itself_the_result_if_nothing_is() -> None:
    schema = {"properties": {"a": ARRAY, "o": OBJECT}}
    right = {"a": [1], "o": {"n": 1}}
    assert coerce(right, schema).value is right
    wrong: dict[str, object] = {"a": ["1"], "o": {"n": None}}
    before = copy.deepcopy(wrong)
    assert coerce(wrong, schema).value == {"a": [1], "o": {}}
    assert wrong == before


TREE = {
    "$defs": {
        "tree": {
            "anyOf": [
                {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/tree"}}}},
                {"$ref": "#/$defs/tree"},
                INTEGER,
            ]
        }
    },
    "properties": {"tree": {"$ref": "#/$defs/tree"}},
}


def test_recursive_schemas_are_followed_as_deep_as_the_value_goes() -> None:
    value: object = "5"
    for _ in range(48):
        value = {"kids": [value]}
    coerced = coerce({"tree": value}, TREE)
    assert len(coerced.changes) == 1
    assert len(coerced.changes[0].path) == 97


def test_a_value_nested_deeper_than_python_can_follow_is_left_alone() -> None:
    value: object = "5"
    for _ in range(400):
        value = {"kids": [value]}
    assert coerce({"tree": value}, TREE).changes == ()


SCHEMAS = st.recursive(
    st.sampled_from([INTEGER, NUMBER, BOOLEAN, STRING, {"type": "null"}, {"enum": [1, "a"]}, {}]),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(
            lambda a, b: {"type": "object", "properties": {"a": a, "b": b}, "required": ["a"]},
            inner,
            inner,
        )
    ),
    max_leaves=6,
)
WORDS = st.sampled_from(["5", "5.5", "true", "null", "[1]", '{"a": "1"}', "", "x", 5.0, 1, True])
VALUES = st.recursive(
    JSON | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.fixed_dictionaries({}, optional={"a": inner, "b": inner}),
    max_leaves=8,
)  # fmt: skip


@given(SCHEMAS, VALUES)
def test_valid_arguments_stay_valid_and_equal_and_a_second_pass_changes_nothing(
    schema: dict[str, Any], value: object
) -> None:
    root = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    validator = compile_json_schema(root)
    sent = {"x": value}
    coerced = coerce(sent, root)
    if validator.is_valid(sent):
        assert validator.is_valid(coerced.value)
        assert all(c.rule in ("integer_from_number", "null_dropped") for c in coerced.changes)
    again = coerce(coerced.value, root)
    assert (again.value, again.changes) == (coerced.value, ())
    json.dumps(coerced.value)


def test_alternatives_that_all_lead_to_each_other_are_not_tried_in_every_order() -> None:
    """With seven of them a call did not come to its end."""
    refs = [{"$ref": f"#/$defs/a{n}"} for n in range(8)]
    defs = {f"a{n}": {"anyOf": [*refs[:n], *refs[n + 1 :]]} for n in range(8)}
    root = {"type": "object", "properties": {"x": refs[0], "n": INTEGER}, "$defs": defs}
    assert coerce({"n": "5", "x": "1"}, root).value == {"n": 5, "x": "1"}


@pytest.mark.parametrize("depth", [1, 4, 5, 9])
def test_schemas_within_each_other_are_followed_for_one_value(depth: int) -> None:
    schema = INTEGER
    for _ in range(depth):
        schema = {"allOf": [schema]}
    assert one("5", schema) == 5


@pytest.mark.parametrize(("count", "mended"), [(0, True), (100, True), (101, False), (300, False)])
def test_behind_a_hundred_values_that_nothing_mends_values_stay_as_they_are(
    count: int, mended: bool
) -> None:
    last = 5 if mended else "5"
    for wrong in ("x", []):
        items: Any = one([wrong] * count + ["5"], ARRAY)
        assert items[-1] == last
        members = {"type": "object", "additionalProperties": INTEGER}
        made: Any = one({**{f"k{at}": wrong for at in range(count)}, "last": "5"}, members)
        assert made["last"] == last


@pytest.mark.parametrize(("count", "changes"), [(1000, 1000), (1001, 1001), (1500, 1001)])
def test_a_thousand_values_are_mended_and_one_more_tells_that_there_are_more(
    count: int, changes: int
) -> None:
    many: Any = {"type": "object", "additionalProperties": INTEGER}
    assert len(coerce({"x": ["5"] * count}, {"properties": {"x": ARRAY}}).changes) == changes
    members = {f"k{at}": "5" for at in range(count)}
    assert len(coerce({"x": members}, {"properties": {"x": many}}).changes) == changes


def test_of_objects_in_a_union_the_one_whose_keys_and_fixed_values_are_there_mends() -> None:
    branches: list[Any] = [
        {"type": "object", "properties": {"kind": {"const": "a"}, "n": INTEGER, "m": INTEGER}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "n": STRING}, "required": ["kind", "n"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "m": BOOLEAN}, "required": ["kind", "m"]},
    ]  # fmt: skip
    union = {"anyOf": branches}
    assert one({"kind": "a", "n": "5"}, union) == {"kind": "a", "n": 5}
    assert one({"kind": "b", "n": "5"}, union) == {"kind": "b", "n": "5"}
    assert one({"kind": "b", "m": "true"}, union) == {"kind": "b", "m": True}
    assert one({"kind": "c", "m": "true"}, union) == {"kind": "c", "m": "true"}
    assert one({"n": "5"}, union) == {"n": "5"}
    assert one({"n": "5"}, {"anyOf": [branches[0], {"type": "null"}]}) == {"n": 5}
