"""Where schemas are within a schema, and which values are of their type."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.define.subschemas import accepts, all_subschemas, resolve, same, subschemas


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
    assert same(1, 1.0)
    assert not same(True, 1)
    assert not same(0, False)
    assert same(True, True)


def test_a_schema_that_many_references_lead_to_is_asked_once() -> None:
    refs = [{"$ref": f"#/$defs/a{n}"} for n in range(40)]
    defs: dict[str, Any] = {f"a{n}": {"allOf": [refs[n + 1]] * 2} for n in range(39)}
    root = {"$defs": {**defs, "a39": {"type": "string"}}}
    assert accepts("x", refs[0], root)
    assert not accepts(5, refs[0], root)
