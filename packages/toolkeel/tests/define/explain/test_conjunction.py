"""What several schemas together admit, as plain alternatives."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.define.explain.conjunction import is_described, plain_alternatives, schemas_at
from toolkeel.define.explain.phrases import describe_type

ROOT: dict[str, Any] = {"$defs": {"n": {"type": "integer", "minimum": 1}}}


@pytest.mark.parametrize(
    ("schema", "phrase"),
    [
        ({"$ref": "#/$defs/n", "minimum": 5}, "an integer of at least 5"),
        ({"$ref": "#/$defs/n", "maximum": 0}, "no value at all"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}], "minLength": 3, "minimum": 3},
         "a string of at least 3 characters, or an integer of at least 3"),
        ({"type": "string", "enum": [1, "x"]}, '"x"'),
        ({"enum": [3, 8], "minimum": 5}, "8"),
        ({"const": "x", "enum": ["x", "y"]}, '"x"'),
        ({"enum": [3], "minimum": 5}, "no value at all"),
        ({"allOf": [{"type": ["integer", "null"]}, {"type": "number", "maximum": 3}]}, "an integer of at most 3"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "no value at all"),
        ({"allOf": [{"minItems": 3}, {"maxItems": 2}]}, "anything but a list"),
        ({"allOf": [{"minItems": 3}, {"maxItems": 2, "minLength": 2}]}, "a string of at least 2 characters"),
        ({"type": ["integer", "array"], "allOf": [{"minItems": 3}, {"maxItems": 2}]}, "an integer"),
        ({"type": "number", "allOf": [{"exclusiveMinimum": 3}, {"maximum": 3}]}, "no value at all"),
        ({"type": ["string", "number"], "allOf": [{"minimum": 3}, {"exclusiveMaximum": 3}]}, "a string"),
        ({"prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 3}, "a list of at least 3 items (a string, an integer)"),
        ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, 'an object with "a", "b"'),
        ({"anyOf": [{"not": {"type": "string"}}, {"minLength": 3}]}, "anything but a string, or a string of at least 3 characters"),
        ({"allOf": [{"not": {"type": "string"}}, {"minLength": 2}]}, "anything but a string"),
        ({"not": {"type": "string"}, "minLength": 2, "minimum": 3}, "a number of at least 3"),
        ({"type": ["string", "integer"], "not": {"type": "string"}}, "an integer"),
        ({"type": ["integer", "null"], "not": {"type": ["number"]}}, "null"),
        ({"type": "string", "not": {"type": ["string", "null"]}}, "no value at all"),
        ({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, "a list of items (each an integer or null)"),
        ({"type": "object", "minProperties": 2}, "an object with at least 2 keys"),
        ({"type": "integer", "allOf": [{"multipleOf": 3}]}, "an integer, a multiple of 3"),
        ({"not": {}}, "no value at all"),
        ({"anyOf": [{"type": "null"}, {"not": True}]}, "null"),
        ({"not": False}, "any value"),
        ({"enum": []}, "no value at all"),
        ({"type": "string", "enum": []}, "no value at all"),
        ({"anyOf": [{"type": "null"}, {"enum": []}]}, "null"),
        ({"prefixItems": [{"type": "string"}], "minItems": 1}, "a list of at least 1 item (a string)"),
        ({"prefixItems": [{"type": "string"}], "maxItems": 0}, "a list of at most 0 items (a string)"),
    ],
)  # fmt: skip
def test_a_phrase_tells_of_all_that_holds_together(schema: dict[str, Any], phrase: str) -> None:
    assert describe_type(schema, ROOT) == phrase


def test_alternatives_stay_few_however_unions_multiply() -> None:
    union = {"anyOf": [{"type": "object", "required": [f"k{n}"]} for n in range(40)]}
    assert len(plain_alternatives([union, union, union], {})) == 16


def test_a_reference_that_leads_back_admits_anything() -> None:
    root = {"$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert plain_alternatives([{"$ref": "#/$defs/a"}], root) == [{}]


def test_what_holds_at_a_path_is_found_through_references_and_parts() -> None:
    root: dict[str, Any] = {
        "$defs": {"o": {"properties": {"n": {"minimum": 1}}}},
        "allOf": [{"$ref": "#/$defs/o"}, {"properties": {"n": {"type": "integer"}}}],
        "properties": {"n": {"maximum": 9}},
    }
    found = schemas_at([root], ("n",), root)
    assert {"minimum": 1} in found
    assert {"type": "integer"} in found
    assert {"maximum": 9} in found
    assert schemas_at([root], ("absent",), root) == []


def test_an_object_is_described_if_it_has_the_keys_that_a_phrase_lists() -> None:
    card = {"required": ["kind"], "properties": {"kind": {"const": "card"}}}
    assert is_described({"kind": "card"}, [card], {})
    assert not is_described({"kind": "cash"}, [card], {})
    assert not is_described({}, [card], {})
    assert not is_described(5, [{"type": "integer", "multipleOf": 2}], {})
    assert is_described(1e300, [{"type": "number", "multipleOf": 0.5}], {})


def test_what_holds_at_a_key_is_found_by_patterns_beside_its_own_schema() -> None:
    schema: dict[str, Any] = {
        "properties": {"age": {"type": "integer"}},
        "patternProperties": {"^a": {"minimum": 1}, "e$": {"maximum": 9}, "(?=a)": {"enum": []}},
        "additionalProperties": {"type": "null"},
    }
    assert schemas_at([schema], ("age",), {}) == [
        {"type": "integer"},
        {"minimum": 1},
        {"maximum": 9},
    ]
    assert schemas_at([schema], ("ab",), {}) == [{"minimum": 1}]
    assert schemas_at([schema], ("b",), {}) == [{"type": "null"}]
