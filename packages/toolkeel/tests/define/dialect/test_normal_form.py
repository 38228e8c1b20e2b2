from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.define.schema_cases import is_valid, parameters, report, sent
from toolkeel.define.dialect import Target, compile_schema
from toolkeel.define.dialect.normal_form import normalize
from toolkeel.define.dialect.provider_facts import DIALECTS, MAX_DEPTH, word_set
from toolkeel.define.subschemas import json_pointer
from toolkeel.errors import DefinitionError

Json = Any


def test_what_is_not_json_is_refused_with_its_place() -> None:
    with pytest.raises(DefinitionError, match="#/properties/it/default"):
        compile_schema(parameters(it={"default": {1, 2}}), "openai")
    with pytest.raises(DefinitionError, match="not a JSON value"):
        compile_schema(parameters(it={"default": float("nan")}), "plain")


def test_a_schema_inside_itself_is_refused() -> None:
    schema: Json = parameters()
    schema["properties"]["it"] = schema
    with pytest.raises(DefinitionError, match="inside itself"):
        compile_schema(schema, "openai")


def test_an_old_tuple_and_old_definitions_are_understood() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "pair": {
                "type": "array",
                "items": [{"$ref": "#/definitions/N"}],
                "additionalItems": False,
            },
            "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
        },
        "definitions": {"N": {"type": "number"}, "Unused": {}},
    }
    compiled = compile_schema(schema, "anthropic").schema
    assert compiled["$defs"] == {"N": {"type": "number"}}
    assert compiled["properties"]["pair"]["prefixItems"] == [{"$ref": "#/$defs/N"}]
    assert compiled["properties"]["pair"]["items"] is False
    assert compiled["properties"]["age"] == {"type": "integer", "exclusiveMinimum": 0}


def test_neighbours_of_a_reference_bind_from_2019_on_only() -> None:
    schema = parameters(it={"$ref": "#/$defs/N", "minimum": 3, "description": "d"})
    schema["$defs"] = {"N": {"type": "integer"}}
    old = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    assert sent_whole(schema, "openai")["minimum"] == 3
    assert sent_whole(old, "openai") == {"$ref": "#/$defs/N", "description": "d"}


def sent_whole(schema: Json, target: Target) -> Json:
    """The property ``it`` of a whole schema as `target` gets it."""
    return compile_schema(schema, target).schema["properties"]["it"]


def test_a_reference_into_nowhere_is_reported_and_admits_anything() -> None:
    schema = parameters(it={"$ref": "https://example.org/other.json", "description": "d"})
    assert sent(schema["properties"]["it"], "openai") == {"description": "d"}
    assert report(schema, "openai") == [("#/properties/it", "$ref")]


def test_a_reference_to_any_place_in_the_schema_gets_a_definition() -> None:
    schema = parameters(a={"type": "string"}, b={"$ref": "#/properties/a"}, c={"$ref": "#"})
    compiled = compile_schema(schema, "gemini").schema
    assert compiled["properties"]["b"] == {"$ref": "#/$defs/a"}
    assert compiled["$defs"]["a"] == {"type": "string"}
    assert compiled["$defs"]["Def"]["properties"]["c"] == {"$ref": "#/$defs/Def"}


def test_definitions_with_names_that_need_escaping_are_renamed() -> None:
    schema = parameters(it={"$ref": "#/$defs/地址"}) | {"$defs": {"地址": {"type": "string"}}}
    assert compile_schema(schema, "openai").schema["properties"]["it"] == {"$ref": "#/$defs/Def"}
    kept = compile_schema(schema, "mcp").schema
    assert kept["properties"]["it"] == {"$ref": "#/$defs/%E5%9C%B0%E5%9D%80"}
    assert is_valid(kept, {"it": "x"}) and not is_valid(kept, {"it": 1})


def test_only_definitions_that_are_reached_are_kept_in_their_order() -> None:
    schema = parameters(it={"$ref": "#/$defs/B"}) | {
        "$defs": {"A": {"type": "string"}, "Unused": {}, "B": {"items": {"$ref": "#/$defs/A"}}}
    }
    assert list(normalize(schema)[0]["$defs"]) == ["A", "B"]


def test_a_property_called_like_a_keyword_is_a_property() -> None:
    properties = {
        "$ref": {"type": "string"},
        "items": {"const": {"$ref": "#/nowhere"}},
        "$defs": {},
    }
    assert normalize(parameters(**properties)) == (parameters(**properties), ())


def test_two_definitions_of_one_name_are_told_apart() -> None:
    schema = parameters(a={"$ref": "#/$defs/X"}, b={"$ref": "#/definitions/X"}) | {
        "$defs": {"X": {"type": "string"}},
        "definitions": {"X": {"type": "integer"}},
    }
    normal, _ = normalize(schema)
    target = {name: normal["$defs"][normal["properties"][name]["$ref"][8:]] for name in "ab"}
    assert target == {"a": {"type": "string"}, "b": {"type": "integer"}}


def test_old_dependencies_become_the_two_kinds_of_now() -> None:
    schema = {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
    assert normalize(schema)[0] == {
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"c": {"required": ["d"]}},
    }


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"properties": {"a": 1}}, "#/properties/a: it must be an object or a boolean"),
        ({"anyOf": ["x"]}, "#/anyOf/0"),
        ({"anyOf": []}, "#: anyOf is empty"),
        ({"type": []}, "#: type is empty"),
        ({"properties": {"a": {1: {}}}}, "#/properties/a: the key 1 must be text"),
        ({"properties": []}, "#: properties must be an object"),
        (
            {"properties": {"a": {"type": "float"}}},
            "#/properties/a: no type 'float'; there are array",
        ),
        ({"required": True}, "#: required must be a list, not True"),
        ({"required": [1]}, "#: required lists 1"),
        ({"enum": "abc"}, "#: enum must be a list"),
        ({"$ref": {}}, "#: [$]ref must be text"),
        ({"minLength": "3"}, "#: minLength must be a number"),
        ({"definitions": {"A": {"items": 3}}}, "#/definitions/A: items must be a schema"),
    ],
)
def test_a_schema_that_is_none_is_refused_with_its_place(schema: Json, place: str) -> None:
    for target in ("openai-strict", "mcp", "plain"):
        with pytest.raises(DefinitionError, match=place):
            compile_schema(schema, target)


def test_an_enum_without_values_is_a_schema_that_nothing_fits() -> None:
    assert normalize(parameters(it={"enum": []}))[0] == parameters(it={"not": {}})


@pytest.mark.parametrize("key", ["items", "not"])
def test_a_schema_that_is_nested_too_deeply_is_refused(key: str) -> None:
    """As deep as Python would not follow it."""
    schema: Json = {"type": "string"}
    for depth in range(MAX_DEPTH + 1):
        if depth == MAX_DEPTH - 1:
            assert normalize(schema)[0]
        schema = {key: schema}
    with pytest.raises(DefinitionError, match="nested too deeply"):
        normalize(schema)


@pytest.mark.parametrize("target", ["mcp", "plain", "openai", "gemini-legacy"])
def test_parameters_that_may_be_something_else_are_sent_as_an_object(target: Target) -> None:
    schema = {"type": ["object", "null"], "properties": {"it": {"type": "string"}}}
    made = compile_schema(schema, target)
    assert (made.schema["type"], made.strict) == ("object", False)


@pytest.mark.parametrize("schema", [{"enum": [None]}, {"allOf": [{"const": "x"}]}])
def test_parameters_that_are_a_constant_are_refused(schema: Json) -> None:
    with pytest.raises(DefinitionError, match="must be an object"):
        compile_schema(schema, "gemini-legacy")


JUNK = st.recursive(
    st.sampled_from([None, True, 1, 1.5, "x", "string", "#/$defs/a"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                sorted(
                    word_set(
                        "type properties items anyOf allOf oneOf enum const $ref $defs required a not"
                        " minimum exclusiveMinimum prefixItems additionalProperties dependencies"
                        " default description nullable"
                    )
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(["properties", "$defs", "anyOf", "allOf", "$ref"]), JUNK))
def test_whatever_comes_in_is_compiled_or_refused(schema: Json) -> None:
    for target in DIALECTS:
        try:
            compiled = compile_schema(schema, target)
        except DefinitionError as error:
            assert str(error)
        else:
            assert compiled.schema["type"] == "object"


def test_a_pointer_escapes_what_a_pointer_must() -> None:
    assert json_pointer(["properties", "a/b~c"]) == "#/properties/a~1b~0c"
