"""Faults of keywords that are not about a value alone, in words that are true of what was sent."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.define.schema.json_schema_validator import compile_json_schema


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        # The form that the MCP specification recommends for a tool without parameters.
        ({"type": "object", "additionalProperties": False}, {"x": 1, "y": 2},
         ["x: expected no keys at all, got an unknown key", "y: expected no keys at all, got an unknown key"]),
        ({"type": "object", "additionalProperties": False}, {"": 1, "y": {}},
         ["['']: expected no keys at all, got an unknown key", "y: expected no keys at all, got an unknown key"]),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "properties": {"b": {"type": "integer"}}}, {"a": 1},
         ['b: expected an integer (required because "a" is given)']),
        ({"properties": {"a": {"properties": {"b": {"type": "integer"}}, "allOf": [{"required": ["b"]}]}}}, {"a": {}},
         ["a.b: expected an integer (required)"]),
        ({"additionalProperties": {"additionalProperties": {"type": "string"}}}, {"01": {"2026": 1}},
         ["['01']['2026']: expected a string, got 1 (an integer)"]),
        ({"properties": {"a": {"prefixItems": [{}, {}], "minItems": 3}}}, {"a": [1, 2]},
         ["a: expected a list of at least 3 items (any value, any value), got a list of 2 items"]),
        ({"properties": {"a": {"oneOf": [{"type": "object"}, {"type": "object", "required": ["b"]}]}}}, {"a": {"b": 1}},
         ['a: expected only one of: an object or an object with "b", got an object with "b"']),
        ({"properties": {"a": {"type": "integer"}}}, {"a": {"z": 1, "b": 1}},
         ['a: expected an integer, got an object with "z", "b"']),
        ({"properties": {"a": {"allOf": [{"pattern": "^a"}, {"pattern": "b$"}]}}}, {"a": "ax"},
         ['a: expected a string matching b$, got "ax" (a string)']),
    ],
)  # fmt: skip
def test_what_is_expected_is_never_what_was_sent(
    schema: dict[str, Any], value: dict[str, Any], told: list[str]
) -> None:
    assert [str(error) for error in compile_json_schema(schema).errors(value)] == told


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"01": [{"2": 1}]}, ("01", 0, "2")),
        ({"1": 1, "01": ""}, ("1",)),
        ({"": 1}, ("",)),
        ({"a": {"": 1, "b": ""}}, ("a", "")),
        ({"": {"": [{"": 1}], "b": ""}}, ("", "", 0, "")),
        ({"": {"a": 1}, "a": ""}, ("", "a")),
        ({"": "", "a": 1}, ("a",)),
    ],
)
def test_a_path_has_the_keys_that_were_sent(value: dict[str, Any], path: tuple[str, ...]) -> None:
    anything = {"$ref": "#/$defs/any"}
    within = {
        "type": ["object", "array", "string"],
        "additionalProperties": anything,
        "items": anything,
    }
    [error] = compile_json_schema({"$defs": {"any": within}, **anything}).errors(value)
    assert error.path == path
