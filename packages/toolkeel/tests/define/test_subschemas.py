"""Where schemas are within a schema, and which values are of their type."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.define.subschemas import (
    accepts,
    admit_null,
    all_subschemas,
    applicable_schemas,
    json_equal,
    recursive_definitions,
    resolve,
    schema_at,
    subschemas,
    violates,
    widest_union,
)


def test_only_keywords_that_hold_schemas_are_followed() -> None:
    schema: dict[str, Any] = {
        "properties": {"enum": {"type": "string"}, "b": True},
        "enum": [{"type": "data"}],
        "default": {"properties": {"no": {"type": "data"}}},
        "anyOf": [{"items": {"not": {"const": {"type": "data"}}}}, False],
        "items": [{"type": "integer"}],
        "x-own": {"type": "data"},
        "dependencies": {"a": ["b"], "c": {"required": ["d"]}},
    }
    assert dict(subschemas(schema)) == {
        ("properties", "enum"): {"type": "string"},
        ("anyOf", 0): {"items": {"not": {"const": {"type": "data"}}}},
        ("items", 0): {"type": "integer"},
        ("dependencies", "c"): {"required": ["d"]},
    }
    assert len(list(all_subschemas(schema))) == 7


def test_an_item_behind_the_first_ones_has_the_schema_of_the_others() -> None:
    first, other = {"type": "string"}, {"type": "integer"}
    for schema in (
        {"prefixItems": [first], "items": other},
        {"items": [first], "additionalItems": other},
    ):
        assert [schema_at(schema, at) for at in range(3)] == [first, other, other]
    assert schema_at({"items": other}, 0) == other


def test_of_what_holds_in_place_only_the_wanted_keywords_are_followed() -> None:
    inner, refused = {"type": "string"}, {"type": "null"}
    schema = {"allOf": [inner], "not": refused}
    assert list(applicable_schemas([schema], {})) == [schema, inner]


def test_what_a_reference_leads_to_holds_in_place_once() -> None:
    root: dict[str, Any] = {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}
    }
    start = {"$ref": "#/$defs/a"}
    found = list(applicable_schemas([start], root))
    assert found == [start, root["$defs"]["a"], root["$defs"]["b"], {"$ref": "#/$defs/a"}]


def test_the_widest_union_is_counted_wherever_it_is() -> None:
    two, three = [{"type": "string"}, {}], [{}, {"type": "null"}, True]
    assert widest_union({"properties": {"a": {"type": "string"}}}) == 1
    assert widest_union({"anyOf": two, "properties": {"a": {"items": {"oneOf": three}}}}) == 3
    assert widest_union({"$defs": {"A": {"anyOf": three}}, "oneOf": two, "anyOf": "x"}) == 3


def test_definitions_that_lead_back_to_themselves_are_recursive() -> None:
    links = {"a": "b", "b": "c", "c": "a", "d": "a"}
    defs: dict[str, object] = {name: {"$ref": f"#/$defs/{to}"} for name, to in links.items()}
    assert recursive_definitions({**defs, "e": {}}) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("#", "root"),
        ("#/$defs/a~1b", 1),
        ("#/$defs/c~0d", 2),
        ("#/list/1", "second"),
        ("#/list/9", True),
        pytest.param(f"#/list/{'9' * 5000}", True, id="far"),
        ("#/nowhere", True),
        ("#anchor", True),
        ("http://example.com/#/list/1", True),
        (None, True),
    ],
)
def test_local_references_are_resolved_and_others_say_nothing(
    reference: object, target: object
) -> None:
    root: dict[str, Any] = {"$defs": {"a/b": 1, "c~d": 2}, "list": ["first", "second"]}
    assert resolve(reference, root) == (root if target == "root" else target)


@pytest.mark.parametrize(
    ("value", "schema", "taken"),
    [
        (1, {"type": "integer"}, True),
        (1, {"type": "number"}, True),
        (1.0, {"type": "integer"}, False),
        (True, {"type": "integer"}, False),
        (True, {"enum": [1]}, False),
        (1, {"enum": [1.0]}, True),
        (None, {"type": ["string", "null"]}, True),
        ("x", {"allOf": [{"type": "string"}, {"enum": ["y"]}]}, False),
        ("x", {"anyOf": [{"type": "null"}, {"const": "x"}]}, True),
        ("x", {"$ref": "#/$defs/n"}, False),
        (5, {"$ref": "#/$defs/n"}, True),
        (5, {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "string"}]}, False),
        ({}, True, True),
        ({}, False, False),
        ({}, {"properties": {"a": {"type": "string"}}, "required": ["a"]}, True),
    ],
)
def test_a_value_is_of_a_type_without_being_looked_into(
    value: object, schema: object, taken: bool
) -> None:
    loop = {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "null"}]}
    root: dict[str, Any] = {"$defs": {"n": {"type": "integer"}, "loop": loop}}
    assert accepts(value, schema, root) is taken


def test_one_number_is_one_value_but_true_is_not_one() -> None:
    assert json_equal(1, 1.0)
    assert not json_equal(True, 1)
    assert not json_equal(0, False)
    assert json_equal(True, True)


def test_a_schema_that_many_references_lead_to_is_asked_once() -> None:
    refs = [{"$ref": f"#/$defs/a{n}"} for n in range(40)]
    defs: dict[str, Any] = {f"a{n}": {"allOf": [refs[n + 1]] * 2} for n in range(39)}
    root = {"$defs": {**defs, "a39": {"type": "string"}}}
    assert accepts("x", refs[0], root)
    assert not accepts(5, refs[0], root)


class Counted(dict[str, Any]):
    """A schema that counts how often its branches are asked for."""

    asked = 0

    def get(self, key: str, default: Any = None) -> Any:
        Counted.asked += key == "anyOf"
        return super().get(key, default)


def doubling(levels: int, last: dict[str, Any]) -> dict[str, Any]:
    """Definitions that each lead to the next one twice, in a list."""
    defs = {
        f"a{n}": {"items": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2}} for n in range(levels)
    }
    parts = {name: Counted(part, items=Counted(part["items"])) for name, part in defs.items()}
    return {"$defs": {**parts, f"a{levels}": Counted(last)}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize("breaks", [False, True])
def test_what_a_value_breaks_is_asked_once_of_each_schema_however_many_references_lead_there(
    breaks: bool,
) -> None:
    steps = []
    for levels in (10, 20, 40):
        value: Any = "x"
        for _ in range(levels):
            value = [value, value]
        root = doubling(levels, {"type": "integer" if breaks else "string"})
        Counted.asked = 0
        assert violates(value, root, root) is breaks
        steps.append(Counted.asked)
    assert steps[2] - steps[1] == 2 * (steps[1] - steps[0]), steps


def test_a_schema_that_leads_back_to_itself_breaks_nothing_by_that() -> None:
    loop: dict[str, Any] = {"anyOf": [{"$ref": "#"}, {"type": "string"}], "maxLength": 3}
    assert not violates("abc", loop, loop)
    assert violates("long", loop, loop) and violates(5, loop, loop)


@pytest.mark.parametrize(
    ("value", "schema", "breaks"),
    [
        (5, {"minimum": 5, "maximum": 5}, False), (4.9, {"minimum": 5}, True), (5.1, {"maximum": 5}, True),
        (5, {"exclusiveMinimum": 5}, True), (5, {"exclusiveMaximum": 5}, True),
        (5, {"exclusiveMinimum": 4, "exclusiveMaximum": 6}, False), (True, {"minimum": 5}, False),
        (5, {"minimum": 5, "exclusiveMinimum": True}, False), (5, {"minimum": "6"}, False),
        (6, {"multipleOf": 4}, True), (6, {"multipleOf": 0}, False),
        (0.3, {"multipleOf": 0.1}, False), (0.35, {"multipleOf": 0.1}, True),
        ("ab", {"minLength": 2, "maxLength": 2}, False), ("ab", {"minLength": 3}, True), ("ab", {"maxLength": 1}, True),
        ([1], {"minItems": 1, "maxItems": 1, "minLength": 5}, False), ([1], {"minItems": 2}, True),
        ([1], {"maxItems": 0}, True), ({"a": 1}, {"minProperties": 1, "maxProperties": 1}, False),
        ({"a": 1}, {"minProperties": 2}, True), ({"a": 1}, {"maxProperties": 0}, True),
        (5.0, {"type": "integer"}, False), (5.5, {"type": "integer"}, True),
    ],
)  # fmt: skip
def test_bounds_and_sizes_hold_for_values_of_their_type(
    value: object, schema: dict[str, Any], breaks: bool
) -> None:
    assert violates(value, schema, {}) is breaks


NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        (NULL, NULL),
        ({"type": "string"}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"], "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "string", "enum": [None]}, {"type": ["string", "null"], "enum": [None]}),
        ({"type": "string", "enum": "a"}, {"type": ["string", "null"], "enum": "a"}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": ["string", "integer"]}, NULL]}),
        ({"type": "string", "not": {}}, {"anyOf": [{"type": "string", "not": {}}, NULL]}),
        ({"anyOf": [{"const": 1}], "title": "t"}, {"anyOf": [{"const": 1}, NULL], "title": "t"}),
        ({"anyOf": [{"const": 1}], "enum": [1]}, {"anyOf": [{"anyOf": [{"const": 1}], "enum": [1]}, NULL]}),
        ({"enum": ["a"]}, {"anyOf": [{"enum": ["a"]}, NULL]}),
        ({"description": "d"}, {"description": "d"}),
        ({"$ref": "#"}, {"anyOf": [{"$ref": "#"}, NULL]}),
    ],
)  # fmt: skip
def test_null_is_admitted_where_a_schema_would_refuse_it(
    schema: dict[str, Any], made: dict[str, Any]
) -> None:
    assert admit_null(schema) == made


@pytest.mark.parametrize(("part", "breaks"), [(True, False), (False, True)])
def test_true_is_broken_by_nothing_and_false_by_all(part: bool, breaks: bool) -> None:
    assert violates("x", {"anyOf": [part]}, {}) is breaks
    assert violates(["x"], {"items": {"anyOf": [part]}}, {}) is breaks
