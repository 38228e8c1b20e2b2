"""Schemas and values in short phrases."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.define.explain.phrases import alternatives, describe_type
from toolkeel.define.explain.validation_errors import nearest_name


@pytest.mark.parametrize(
    ("schema", "phrase"),
    [
        ({"type": "string"}, "a string"),
        ({"type": "integer"}, "an integer"),
        ({"type": "number"}, "a number"),
        ({"type": "boolean"}, "true or false"),
        ({"type": "null"}, "null"),
        ({"type": "object"}, "an object"),
        ({"type": "array"}, "a list"),
        ({}, "any value"),
        (True, "any value"),
        (False, "no value at all"),
        ({"type": "dict"}, "a value of type dict"),
        ({"enum": ["celsius", "fahrenheit"]}, 'one of "celsius", "fahrenheit"'),
        ({"type": "string", "enum": ["摄氏"]}, '"摄氏"'),
        ({"const": 5}, "5"),
        ({"enum": list(range(30))}, f"one of {', '.join(map(str, range(20)))}, … (30 in all)"),
        ({"type": "string", "minLength": 3}, "a string of at least 3 characters"),
        ({"type": "string", "maxLength": 3, "pattern": "^a"}, "a string of at most 3 characters matching ^a"),
        ({"type": "string", "format": "date"}, "a date (YYYY-MM-DD)"),
        ({"type": "string", "format": "unheard-of"}, "a string"),
        ({"type": "integer", "minimum": 1, "maximum": 10}, "an integer from 1 to 10"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, "an integer greater than 1"),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": True}, "a number less than 1"),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, "a number of at most 1"),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": False, "maximum": 1, "exclusiveMaximum": True},
            "a number of at least 0 and less than 1",
        ),
        ({"type": "integer", "minimum": 3, "maximum": 3}, "an integer of exactly 3"),
        ({"type": "number", "exclusiveMinimum": 0}, "a number greater than 0"),
        ({"type": "number", "exclusiveMaximum": 9, "multipleOf": 0.5}, "a number less than 9, a multiple of 0.5"),
        ({"type": "array", "items": {"type": "string"}}, "a list of strings"),
        ({"type": "array", "items": {"type": "boolean"}}, "a list of booleans"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, 'a list of items (each one of "a", "b")'),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "a list of lists of integers"),
        ({"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}, "a list of integers of at least 0, at least 1 of them"),
        ({"type": "array", "uniqueItems": True}, "a list, none twice"),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, "a list of 2 items (an integer, a string)"),
        ({"type": "array", "contains": {"type": "integer"}}, "a list that holds an integer"),
        ({"type": "array", "contains": {"type": "integer"}, "minContains": 0}, "a list"),
        ({"type": "array", "contains": {"type": "integer"}, "minContains": 1}, "a list that holds at least 1 item that each are an integer"),
        ({"type": "array", "contains": {"type": "integer"}, "minContains": 0, "maxContains": 1}, "a list that holds 0 to 1 item that each are an integer"),
        ({"type": "array", "contains": {"type": "integer"}, "minContains": 2, "maxContains": 3}, "a list that holds 2 to 3 items that each are an integer"),
        ({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}, 'an object with "b"'),
        ({"properties": {"kind": {"const": "cat"}, "n": {}}}, 'an object with "kind": "cat", "n"'),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "an object whose values are numbers"),
        ({"type": ["integer", "null"]}, "an integer or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "integer"}, {"type": "null"}]}, "an integer or null"),
        ({"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}, "a list of strings, or a string"),
        ({"anyOf": [{}, {"type": "string"}]}, "any value"),
        ({"allOf": [{"title": "x"}, {"type": "string"}]}, "a string"),
        ({"$ref": "#/$defs/a"}, "any value"),
    ],
)  # fmt: skip
def test_a_schema_reads_as_people_would_say_it(schema: object, phrase: str) -> None:
    assert describe_type(schema) == phrase


@pytest.mark.parametrize(("count", "told"), [(8, ""), (9, '"n8"'), (15, '"n14"'), (16, '"n15", …')])
def test_more_than_eight_objects_are_told_apart_by_their_tag(count: int, told: str) -> None:
    branches = [
        {"required": ["id", "kind"], "properties": {"kind": {"const": f"n{number}"}}}
        for number in range(count)
    ]
    phrase = describe_type({"anyOf": branches})
    assert phrase.endswith(told) and ('"kind": one of "n0", "n1"' in phrase) is bool(told)


def test_references_are_followed_within_the_document() -> None:
    root: dict[str, Any] = {
        "$defs": {
            "n": {"type": "integer"},
            "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            "loop": {"$ref": "#/$defs/loop"},
        }
    }
    assert describe_type({"type": "array", "items": {"$ref": "#/$defs/n"}}, root) == (
        "a list of integers"
    )
    assert describe_type({"$ref": "#/$defs/tree"}, root).startswith("a list of lists of lists")
    assert describe_type({"$ref": "#/$defs/loop"}, root) == "any value"


@pytest.mark.parametrize(
    ("name", "candidates", "found"),
    [
        ("cty", ["city", "unit"], "city"),
        ("departureDate", ["city", "departure_date"], "departure_date"),
        ("CELSIUS", ["fahrenheit", "celsius"], "celsius"),
        ("城市名", ["单位", "城市名称"], "城市名称"),
        ("zzz", ["city"], None),
        ("", ["city"], None),
        ("x" * 129, ["x" * 128], None),
        ("a", [], None),
    ],
)
def test_the_nearest_name_is_found_across_case_and_joints(
    name: str, candidates: list[str], found: str | None
) -> None:
    assert nearest_name(name, candidates) == found


def test_every_schema_in_place_is_found_once_even_in_a_circle() -> None:
    root: dict[str, Any] = {"anyOf": [{"$ref": "#"}, {"allOf": [{"type": "string"}]}]}
    assert len(alternatives([root], root)) == 4


def test_a_union_that_contains_itself_is_described_two_levels_deep() -> None:
    json = {"$ref": "#/$defs/json"}
    branches = [
        {"type": "object", "additionalProperties": json},
        {"type": "array", "items": json},
        {"type": "string"},
    ]
    assert describe_type({**json, "$defs": {"json": {"anyOf": branches}}}) == (
        "an object whose values are items (each an object or a list or a string), or a list of items "
        "(each an object or a list or a string), or a string"
    )


@pytest.mark.parametrize(
    ("schema", "phrase"),
    [
        ({'type': 'array', 'items': {'type': 'string', 'format': 'date'}}, 'a list of items (each a date (YYYY-MM-DD))'),
        ({'type': 'array', 'items': {'type': 'string', 'format': 'uuid'}}, 'a list of UUIDs'),
        ({'type': 'array', 'items': {'type': 'null'}}, 'a list of items (each null)'),
        ({'type': 'array', 'items': {'type': 'object', 'properties': {'a': {}}, 'required': ['a']}}, 'a list of objects with "a"'),
        ({'type': 'array', 'items': {'not': {'type': 'string'}}}, 'a list of items (each anything but a string)'),
        ({'type': 'array', 'items': {'type': 'dict'}}, 'a list of items (each a value of type dict)'),
        ({'type': 'array', 'items': {'type': 'string', 'minLength': 1}}, 'a list of strings of at least 1 character'),
        ({'type': 'array', 'items': {'type': 'array', 'uniqueItems': True}}, 'a list of items (each a list, none twice)'),
        ({'type': 'array', 'items': {'type': 'array', 'contains': {'type': 'integer'}}}, 'a list of items (each a list that holds an integer)'),
        ({'type': 'array', 'items': {'type': 'integer', 'multipleOf': 3}}, 'a list of integers, a multiple of 3'),
        ({'type': 'array', 'items': {'type': ['integer', 'null']}}, 'a list of items (each an integer or null)'),
        ({'type': 'array', 'items': {'type': 'string', 'format': 'email'}}, 'a list of items (each an e-mail address)'),
        ({'type': 'string', 'minLength': 1}, 'a string of at least 1 character'),
        ({'type': 'string', 'minLength': 1, 'maxLength': 1}, 'a string of exactly 1 character'),
        ({'type': 'string', 'maxLength': 1}, 'a string of at most 1 character'),
        ({'type': 'string', 'minLength': 1, 'format': 'uri'}, 'a URL'),
        ({'type': 'string', 'minLength': 2, 'format': 'uri'}, 'a URL of at least 2 characters'),
        ({'type': 'string', 'minLength': 0}, 'a string of at least 0 characters'),
        ({'type': 'object', 'minProperties': 1}, 'an object with at least 1 key'),
        ({'type': 'object', 'maxProperties': 1}, 'an object with at most 1 key'),
        ({'type': 'object', 'minProperties': 2, 'maxProperties': 2}, 'an object with exactly 2 keys'),
        ({'type': 'object', 'minProperties': 0, 'maxProperties': 3}, 'an object with 0 to 3 keys'),
        ({'type': 'object', 'additionalProperties': {'type': 'string'}, 'minProperties': 2}, 'an object whose values are strings, with at least 2 keys'),
        ({'type': 'object', 'additionalProperties': {}}, 'an object'),
        ({'type': 'object', 'additionalProperties': False}, 'an object'),
        ({'type': 'array', 'maxItems': 1}, 'a list, at most 1 of them'),
        ({'type': 'array', 'minItems': 2, 'maxItems': 2}, 'a list, exactly 2 of them'),
        ({'type': 'array', 'prefixItems': [{'type': 'string'}]}, 'a list of 1 item (a string)'),
        ({'type': 'array', 'prefixItems': [{'type': 'string'}], 'minItems': 1, 'maxItems': 1}, 'a list of 1 item (a string)'),
        ({'type': 'array', 'prefixItems': [{'type': 'null'}, {'type': 'null'}, {'type': 'null'}, {'type': 'null'}, {'type': 'null'}, {'type': 'null'}, {'type': 'null'}, {'type': 'null'}, {'type': 'null'}]}, 'a list of 9 items (null, null, null, null, null, null, null, null, …)'),
        ({'type': 'array', 'prefixItems': [{'type': 'string'}], 'maxItems': 3}, 'a list of at most 3 items (a string)'),
        ({'type': 'string', 'contentMediaType': 'application/json'}, 'a string with JSON text'),
        ({'type': 'string', 'contentMediaType': 'application/json', 'contentSchema': {'type': 'integer'}}, 'a string with the JSON text of an integer'),
        ({'type': 'string', 'contentMediaType': 'text/plain'}, 'a string'),
        ({'minimum': 3}, 'a number of at least 3'),
        ({'minLength': 2}, 'a string of at least 2 characters'),
        ({'required': ['a']}, 'an object with "a"'),
        ({'contains': {'type': 'null'}}, 'a list that holds null'),
        ({'maxItems': 2}, 'a list, at most 2 of them'),
        ({'multipleOf': 2}, 'a number, a multiple of 2'),
        ({'not': {'type': 'string'}}, 'anything but a string'),
        ({'type': 'integer', 'not': {'const': 3}}, 'an integer'),
        ({'type': 'integer', 'minimum': 0}, 'an integer of at least 0'),
        ({'type': 'integer', 'maximum': 0}, 'an integer of at most 0'),
        ({'type': 'number', 'minimum': 2, 'exclusiveMinimum': 1}, 'a number greater than 1 and at least 2'),
        ({'type': 'integer', 'minimum': 1, 'maximum': 5, 'multipleOf': 2}, 'an integer from 1 to 5, a multiple of 2'),
        ({'enum': [None]}, 'null'),
        ({'enum': [1, 1.0, '1']}, 'one of 1, 1.0, "1"'),
    ],
)  # fmt: skip
def test_every_keyword_of_a_schema_is_in_its_phrase(schema: object, phrase: str) -> None:
    assert describe_type(schema) == phrase


def _kinds(count: int, *more: object) -> dict[str, Any]:
    """A union of objects that their kinds tell apart, and of more objects with a kind."""
    kinds = [*({"const": f"k{number}"} for number in range(count)), *more]
    return {"anyOf": [
        {"type": "object", "properties": {"kind": kind, "a": {}}, "required": ["a", "kind"]} for kind in kinds
    ]}  # fmt: skip


def test_more_than_eight_objects_are_described_by_the_key_that_tells_them_apart() -> None:
    names = [f'"k{number}"' for number in range(9)]
    each = 'an object with "a", "kind": '
    assert describe_type(_kinds(8)) == ", or ".join(each + name for name in names[:8])
    assert describe_type(_kinds(9)) == f'an object with "kind": one of {", ".join(names)}'
    for other in ({}, True):
        phrase = describe_type(_kinds(8, other))
        assert phrase == ", or ".join(each + name for name in names[:8]) + ", or …"


def test_long_values_patterns_and_lists_of_keys_are_cut() -> None:
    assert describe_type({"const": "x" * 80}) == f'"{"x" * 58}…'
    assert describe_type({"pattern": "x" * 61}) == f"a string matching {'x' * 59}…"
    assert describe_type({"pattern": "x" * 60}) == f"a string matching {'x' * 60}"
    names = [f"k{number}" for number in range(12)]
    shown = ", ".join(f'"{name}"' for name in names[:8])
    assert (
        describe_type({"properties": {name: {} for name in names}})
        == f"an object with {shown}, … (12 in all)"
    )
