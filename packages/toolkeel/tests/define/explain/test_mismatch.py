"""What a model is told of arguments that a JSON Schema refuses."""

from __future__ import annotations

import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.define.schema.json_schema_validator import compile_json_schema
from toolkeel.define.text_patterns import BASE64

CAT: dict[str, Any] = {
    "type": "object",
    "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
    "required": ["kind", "lives"],
    "additionalProperties": False,
}
DOG: dict[str, Any] = {
    "type": "object",
    "properties": {"kind": {"const": "dog"}, "bark": {"type": "boolean"}},
    "required": ["kind", "bark"],
}
TREE: dict[str, Any] = {
    "anyOf": [
        {"type": "integer"},
        {"type": "object", "properties": {"op": {"const": "and"}, "of": {"items": {"$ref": "#/$defs/tree"}}}, "required": ["op", "of"]},
        {"type": "object", "properties": {"op": {"const": "or"}, "of": {"items": {"$ref": "#/$defs/tree"}}}, "required": ["op", "of"]},
    ]
}  # fmt: skip
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "words": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "pet": {"oneOf": [{"$ref": "#/$defs/cat"}, {"$ref": "#/$defs/dog"}]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "tree": {"$ref": "#/$defs/tree"},
        "both": {"allOf": [{"type": "string"}, {"minLength": 2}, {"pattern": "^a"}]},
        "not": {"not": {"type": "string"}},
        "never": False,
        "has": {"contains": {"type": "integer"}},
        "names": {"propertyNames": {"maxLength": 2}, "minProperties": 1, "maxProperties": 2},
        "enums": {"propertyNames": {"anyOf": [{"const": "a"}, {"const": "b"}]}},
        "only": {"oneOf": [{"type": "integer"}, {"minimum": 3}]},
        "pair": {"prefixItems": [{"type": "string"}], "unevaluatedItems": False},
        "depends": {"dependentRequired": {"a": ["b"]}, "properties": {"b": {"type": "boolean"}}},
        "路径": {"type": "object", "properties": {"深": {"type": "integer"}}},
    },
    "required": ["city"],
    "additionalProperties": False,
    "$defs": {"cat": CAT, "dog": DOG, "tree": TREE},
}
KEYS = '"city", "limit", "unit", "words", "pet", "maybe", "tree", "both", … (17 in all)'


def lines(sent: object, schema: Any = SCHEMA) -> list[str]:
    return sorted(str(error) for error in compile_json_schema(schema).errors(sent))


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"limit": "twelve"}, ['limit: expected an integer from 1 to 10, got "twelve" (a string)']),
        ({"limit": 11}, ["limit: expected an integer from 1 to 10, got 11 (an integer)"]),
        ({"limit": True}, ["limit: expected an integer from 1 to 10, got true (a boolean)"]),
        ({"city": ""}, ['city: expected a string of at least 1 character, got "" (a string)']),
        ({"unit": "celcius"}, ['unit: expected one of "celsius", "fahrenheit" (did you mean "celsius"?), got "celcius" (a string)']),
        ({"words": ["a", 1, None]}, ["words[1]: expected a string, got 1 (an integer)", "words[2]: expected a string, got null"]),
        ({"words": "a"}, ['words: expected a list of strings, at most 3 of them, got "a" (a string)']),
        ({"words": list("abcd")}, ["words: expected a list of strings, at most 3 of them, got a list of 4 items"]),
        ({"maybe": "x"}, ['maybe: expected an integer or null, got "x" (a string)']),
        ({"pet": {"kind": "cat", "lives": "x", "zz": 1}}, ['pet.lives: expected an integer, got "x" (a string)', 'pet.zz: expected one of the keys "kind", "lives", got an unknown key']),
        ({"pet": {"kind": "dog"}}, ["pet.bark: expected true or false (required)"]),
        ({"pet": {"kind": "bird"}}, ['pet.kind: expected "cat" or "dog", got "bird" (a string)']),
        ({"pet": 5}, ['pet: expected an object with "kind": "cat", "lives", or an object with "kind": "dog", "bark", got 5 (an integer)']),
        ({"tree": {"op": "and", "of": [1, {"op": "or", "of": ["x"]}]}}, ['tree.of[1].of[0]: expected an integer, or an object with "op": "and", "of", or an object with "op": "or", "of", got "x" (a string)']),
        ({"tree": {"op": "xor"}}, ['tree.op: expected "and" or "or" (did you mean "or"?), got "xor" (a string)']),
        ({"both": "b"}, ['both: expected a string of at least 2 characters matching ^a, got "b" (a string)']),
        ({"not": "x"}, ['not: expected anything but a string, got "x" (a string)']),
        ({"never": 1}, ["never: expected nothing here, got 1 (an integer)"]),
        ({"has": ["x"]}, ["has: expected a list that holds an integer, got a list of 1 item"]),
        ({"names": {}}, ["names: expected an object with at least 1 key, got an empty object"]),
        ({"names": {"a": 1, "b": 1, "c": 1}}, ['names: expected an object with at most 2 keys, got an object with "a", "b", "c"']),
        ({"names": {"abc": 1}}, ["names.abc: expected a key that is a string of at most 2 characters"]),
        ({"enums": {"c": 1}}, ["enums.c: expected a key that is \"a\" or \"b\""]),
        ({"only": 5}, ["only: expected only one of: an integer, or a number of at least 3, got 5 (an integer)"]),
        ({"depends": {"a": 1}}, ["depends.b: expected true or false (required because \"a\" is given)"]),
        ({"路径": {"深": "x"}}, ['路径.深: expected an integer, got "x" (a string)']),
    ],
)  # fmt: skip
def test_each_field_is_told_with_path_expected_and_got(
    sent: dict[str, Any], told: list[str]
) -> None:
    assert lines({"city": "Paris", **sent}) == told


def test_every_failing_field_is_told_at_once() -> None:
    assert lines({"cty": "Paris", "limit": "x", "unit": 1}) == [
        "city: expected a string of at least 1 character (required)",
        f'cty: expected one of the keys {KEYS} (did you mean "city"?), got an unknown key',
        'limit: expected an integer from 1 to 10, got "x" (a string)',
        'unit: expected one of "celsius", "fahrenheit", got 1 (an integer)',
    ]


def test_a_root_that_is_no_object_is_told_as_such() -> None:
    assert lines([1]) == ['arguments: expected an object with "city", got a list of 1 item']
    assert lines(5, False) == ["arguments: expected nothing here, got 5 (an integer)"]


def test_what_a_union_has_looked_at_is_not_unevaluated() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {}},
        "anyOf": [{"properties": {"b": {"type": "integer"}}}, {"required": ["c"]}],
        "unevaluatedProperties": False,
    }
    assert lines({"a": 1, "b": 2}, schema) == []
    [told] = lines({"a": 1, "b": 2, "x": 3}, schema)
    assert told.startswith("x: expected")
    referring = {**schema, "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}
    assert lines({"a": 1, "b": 2}, referring) == []
    assert len(lines({"a": 1, "b": 2, "x": 3}, referring)) == 1


def test_a_reference_into_a_union_leads_where_it_should() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "a": {"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]},
            "b": {"$ref": "#/properties/a/anyOf/0/properties/n"},
        }
    }  # fmt: skip
    assert lines({"b": "x"}, schema) == ['b: expected an integer, got "x" (a string)']
    assert lines({"a": {"n": "x"}}, schema) == ['a.n: expected an integer, got "x" (a string)']


def test_schemas_with_addresses_of_their_own_are_explained_too() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"$ref": "item"}, "b": {"anyOf": [{"$ref": "item"}, {"type": "null"}]}},
        "$id": "https://example.com/root",
        "$defs": {"i": {"$id": "item", "type": "string", "maxLength": 2}},
    }
    assert len(lines({"a": 5}, schema)) == 1
    assert len(lines({"b": 5}, schema)) == 1
    plain = {**schema, "properties": {"a": {"$ref": "item"}}}
    assert lines({"a": 5}, plain) == ["a: expected a string, got 5 (an integer)"]
    assert lines({"a": "xxx"}, plain) == [
        'a: expected a string of at most 2 characters, got "xxx" (a string)'
    ]


def test_a_recursive_union_is_explained_without_trying_every_branch_at_every_level() -> None:
    either = {"type": "object", "properties": {"l": {"$ref": "#/$defs/n"}}}
    schema: dict[str, Any] = {
        "$defs": {"n": {"anyOf": [{**either, "required": ["y"]}, {**either, "required": ["z"]}]}},
        "$ref": "#/$defs/n",
    }
    value: dict[str, Any] = {}
    for _ in range(60):
        value = {"l": value, "z": 1}
    validator = compile_json_schema(schema)
    started = time.perf_counter()
    [error] = validator.errors(value)
    assert time.perf_counter() - started < 10
    assert set(error.path) == {"l"}
    assert error.expected == 'an object with "y" or an object with "z"'


def test_large_values_and_many_faults_stay_bounded() -> None:
    [told] = lines({"city": "x", "limit": "y" * 100_000})
    assert len(told) < 150
    many = compile_json_schema({"items": {"type": "string"}}).errors(list(range(5000)))
    assert len(many) == 100
    unknown = compile_json_schema({"properties": {}, "additionalProperties": False})
    assert len(unknown.errors({f"k{i}": 1 for i in range(5000)})) == 100


# — what stands beside plain types, in words —

AB = {"a": {"type": "string"}, "b": {"type": "string"}}
CARD = {"properties": {"kind": {"const": "card"}}}
IN_WORDS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"properties": AB, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {},
        'arguments: expected an object with "a" or an object with "b", got an empty object',
    ),
    (
        {"properties": AB, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"a": "x", "b": "y"},
        'arguments: expected only one of: an object with "a" or an object with "b", got an object with "a", "b"',
    ),
    (
        {"properties": {"p": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}}},
        {"p": {}},
        'p: expected an object with "a" or an object with "b", got an empty object',
    ),
    (
        {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
        {"a.b": 2},
        "['a.b']: expected a key matching ^x-, got an unknown key",
    ),
    (
        {"properties": {"n": {}, "m": {}}, "patternProperties": {"^x-": {}}, "additionalProperties": False},
        {"y": 2},
        'y: expected one of the keys "n", "m", or a key matching ^x-, got an unknown key',
    ),
    (
        {"if": CARD, "then": {"required": ["pin"]}},
        {"kind": "card"},
        'pin: expected any value (required because "kind" is "card")',
    ),
    (
        {"if": CARD, "else": {"properties": {"pin": False}}},
        {"kind": "cash", "pin": "1"},
        'pin: expected nothing here unless "kind" is "card", got "1" (a string)',
    ),
    (
        {"if": {"required": ["n"]}, "then": {"properties": {"m": {"type": "string"}}}},
        {"n": 1, "m": 3},
        'm: expected a string because "n" is given, got 3 (an integer)',
    ),
    (
        {"if": {"not": {"required": ["n"]}}, "then": {"required": ["m"]}},
        {},
        "m: expected any value (required)",
    ),
    (
        {"properties": {"l": {"contains": {"type": "integer"}, "minContains": 2}}},
        {"l": [1]},
        "l: expected a list that holds at least 2 items that each are an integer, got a list of 1 item",
    ),
    (
        {"properties": {"l": {"contains": {"type": "integer"}, "maxContains": 1}}},
        {"l": [1, 2]},
        "l: expected a list that holds at most 1 item that each are an integer, got a list of 2 items",
    ),
    (
        {"properties": {"l": {"contains": {"const": "x"}}}},
        {"l": [1]},
        'l: expected a list that holds "x", got a list of 1 item',
    ),
    (
        {"dependentRequired": {"card": ["cvc"]}},
        {"card": 1},
        'cvc: expected any value (required because "card" is given)',
    ),
    (
        {"dependentSchemas": {"card": {"properties": {"cvc": {"type": "string"}}}}},
        {"card": 1, "cvc": 2},
        'cvc: expected a string because "card" is given, got 2 (an integer)',
    ),
    (
        {
            "properties": {"b": {"type": "integer"}},
            "dependentSchemas": {"a": {"properties": {"b": {"minimum": 3}}, "required": ["b"]}},
        },
        {"a": 1},
        'b: expected an integer of at least 3 (required because "a" is given)',
    ),
    (
        {
            "required": ["k"],
            "anyOf": [
                {"properties": {"k": {"type": "integer"}}},
                {"properties": {"k": {"type": "null"}}, "required": ["z"]},
            ],
        },
        {},
        "k: expected an integer (required)",
    ),
    (
        {
            "properties": {
                "l": {"type": "array", "items": {"type": "string"}, "contains": {"const": "c"}}
            }
        },
        {"l": 0},
        'l: expected a list of strings that holds "c", got 0 (an integer)',
    ),
    (
        {"properties": {"l": {"minItems": 2, "contains": {"type": "integer"}}}},
        {"l": [None, None]},
        "l: expected a list, at least 2 of them, that holds an integer, got a list of 2 items",
    ),
    (
        {"properties": {"d": {"not": {}}}},
        {"d": 1},
        "d: expected nothing here, got 1 (an integer)",
    ),
    (
        {"not": {"required": ["a", "b"]}},
        {"a": 1, "b": 1},
        'arguments: expected anything but an object with "a", "b", got an object with "a", "b"',
    ),
    ({"maxProperties": 1}, {"a": 1, "b": 2}, 'arguments: expected an object with at most 1 key, got an object with "a", "b"'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "told"), IN_WORDS)
def test_what_stands_beside_plain_types_is_told_in_words(
    schema: dict[str, Any], value: dict[str, Any], told: str
) -> None:
    assert [str(error) for error in compile_json_schema(schema).errors(value)] == [told]


_names = st.sampled_from(["a", "b", "x-1", "c.d", "e f"])
_leaf = st.sampled_from(
    [{"type": "integer"}, {"type": "string"}, {"const": 1}, {"enum": ["p", "q"]}, False, True]
)


def _conditions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    some = st.lists(_names, min_size=1, max_size=2, unique=True)
    parts = {
        "properties": st.dictionaries(_names, inner, max_size=3),
        "required": some,
        "anyOf": several,
        "oneOf": several,
        "allOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^x-", "[ .]"]), inner, max_size=2),
        "additionalProperties": st.just(False),
        "dependentRequired": st.dictionaries(_names, some, max_size=2),
        "dependentSchemas": st.dictionaries(_names, inner, max_size=2),
        "contains": inner,
        "minContains": st.integers(0, 3),
        "maxContains": st.integers(0, 3),
        "minProperties": st.integers(0, 2),
    }
    return st.fixed_dictionaries({}, optional=parts)


_composed = st.recursive(_leaf, _conditions, max_leaves=8)
_values = st.recursive(
    st.sampled_from([1, "p", "z", None]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_names, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_composed, _values)
def test_whatever_a_schema_is_composed_of_faults_are_told_at_paths_that_exist(
    schema: Any, value: object
) -> None:
    compiled = compile_json_schema(schema)
    errors = compiled.errors(value)
    assert bool(errors) == (not compiled.is_valid(value))
    for error in errors:
        found: Any = value
        for index, part in enumerate(error.path):
            is_last = index == len(error.path) - 1
            missing = is_last and "(required" in error.expected
            assert missing or part in (found if isinstance(found, dict) else range(len(found)))
            found = None if missing else found[part]
        assert error.expected and len(str(error)) < 1000


@pytest.mark.parametrize(
    ("schema", "sent", "told"),
    [
        # What stands beside the union leaves one branch alone.
        ({"anyOf": [{"type": "integer"}, {"items": {"type": "integer"}, "type": "array", "maxItems": 1}], "minItems": 2},
         [None, None], ["x: expected an integer, got a list of 2 items"]),
        ({"anyOf": [{"type": ["integer", "array"], "maxItems": 1}, {"type": "null"}], "minItems": 2},
         [None, None], ["x: expected an integer or null, got a list of 2 items"]),
        ({"required": ["zip"], "patternProperties": {"^z": {"type": "integer"}}}, {}, ["x.zip: expected an integer (required)"]),
    ],
)  # fmt: skip
def test_what_stands_beside_a_place_is_part_of_what_is_expected_there(
    schema: dict[str, Any], sent: object, told: list[str]
) -> None:
    assert lines({"x": sent}, {"type": "object", "properties": {"x": schema}}) == told


MANY: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {"kind": {"const": f"k{n}"}, f"a{n}": {"type": "string"}},
        "required": ["kind", f"a{n}"],
    }
    for n in range(300)
]


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({}, 'x: expected an object with "kind": one of "k0", "k1", '),
        ({"kind": "K7"}, '"k19", … (300 in all) (did you mean "k7"?), got "K7" (a string)'),
        ({"kind": "k299"}, "x.a299: expected a string (required)"),
    ],
)
def test_a_union_of_many_objects_is_told_apart_by_the_key_that_does(
    sent: object, told: str
) -> None:
    [line] = lines({"x": sent}, {"type": "object", "properties": {"x": {"anyOf": MANY}}})
    assert told in line
    assert len(line) < 300


def test_faults_in_a_union_of_many_objects_are_explained_until_many_branches_were_tried() -> None:
    schema = {"items": {"anyOf": MANY}}
    assert len(compile_json_schema(schema).errors([{"kind": "k9"}] * 50)) == 7  # of 300 branches
    few = {"items": {"anyOf": MANY[:10]}}
    assert len(compile_json_schema(few).errors([{"kind": "k9"}] * 50)) == 50


def test_a_schema_is_read_once_for_all_branches_of_its_unions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[object] = []
    registry = jsonschema_rs.Registry
    monkeypatch.setattr(
        jsonschema_rs, "Registry", lambda known: read.append(known) or registry(known)
    )
    lines({"x": {}}, {"type": "object", "properties": {"x": {"anyOf": MANY}}})
    assert len(read) == 1


def test_a_text_without_a_known_pattern_is_told_its_words() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": BASE64}}}
    assert lines({"x": "!!"}, schema) == [
        'x: expected a string of base64 data, got "!!" (a string)'
    ]


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"a": 1, "b": [1, 2]}, set()),
        ({"a": "x", "b": [1, "y", 2]}, {("a",), ("b", 1)}),
        ({"a": 1, "b": [1, {"z": 1}]}, {("b", 1)}),
        ({"a": 1, "b": ["x"] * 150}, {("b", at) for at in range(150)}),
        ({"a": 1, "b": ["x"] * 5000}, None),
        ({"a": 1, "b": [{1, 2}]}, None),
    ],
    ids=["none", "two", "a union", "many", "too many", "no JSON"],
)
def test_the_wrong_places_of_a_value_are_told_where_they_are_not_too_many(
    value: object, wrong: object
) -> None:
    number = {"type": "integer"}
    item = {"anyOf": [number, {"type": "object", "properties": {"z": {"type": "string"}}}]}
    schema = {"properties": {"a": number, "b": {"items": item}}}
    assert compile_json_schema(schema).mismatches.wrong_places(value) == wrong


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        ({"if": {"required": ["a"]}, "then": {"type": "integer"}, "else": {"type": "object"}}, "x", "an integer"),
        ({"oneOf": [{"if": {"required": ["a"]}, "then": {"type": "integer"}}, {"type": "array"}]}, "x",
         "an integer or an object or a list"),
        ({"if": {"type": "integer"}, "then": {"minimum": 3}, "else": {"type": "string"}}, None, "a string"),
    ],
)  # fmt: skip
def test_what_a_condition_expects_of_a_value_without_keys_has_no_because(
    schema: dict[str, Any], value: object, says: str
) -> None:
    root = {"properties": {"x": schema}, "required": ["x"]}
    [told] = compile_json_schema(root).errors({"x": value})
    assert told.expected == says
    [told] = compile_json_schema(root).errors({})
    assert told.expected.endswith(" (required)") and "any value" not in told.expected


def test_a_key_that_was_not_evaluated_is_named_beside_references() -> None:
    known = {"properties": {"b": {"$ref": "#/$defs/n"}}, "anyOf": [{"required": ["b"]}]}
    root = {"unevaluatedProperties": False, "allOf": [known], "$defs": {"n": {"type": "integer"}}}
    validator = compile_json_schema(root)
    assert [each.path for each in validator.errors({"b": 1, "c": 2})] == [("c",)]
    assert [each.path for each in validator.errors({"b": "x"})] == [("b",)]
