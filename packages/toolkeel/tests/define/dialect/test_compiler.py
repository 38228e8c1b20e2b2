from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.define.schema_cases import MODEL_SCHEMAS, is_valid, parameters, report
from toolkeel.define.dialect import Target, compile_schema, restore_keys
from toolkeel.define.dialect.provider_facts import DIALECTS
from toolkeel.errors import DefinitionError

Json = Any


@pytest.mark.parametrize("target", DIALECTS)
def test_a_recursive_model_keeps_its_recursion_or_says_where_it_ends(target: Target) -> None:
    compiled = compile_schema(MODEL_SCHEMAS["Tree"], target)
    deep = {"value": 1, "children": [{"value": 2, "children": [{"value": "no"}]}]}
    if DIALECTS[target].refs == "inline":
        assert (
            "$ref" in {loss.what for loss in compiled.losses}
        ) and "$defs" not in compiled.schema
    elif not compiled.strict:
        assert not is_valid(compiled.schema, deep)
        assert not {loss.what for loss in compiled.losses} - {"$ref"}


@pytest.mark.parametrize("target", [t for t in DIALECTS if DIALECTS[t].object_root])
def test_a_root_reference_becomes_the_object_itself(target: Target) -> None:
    root = compile_schema(MODEL_SCHEMAS["Tree"], target).schema
    assert "$ref" not in root
    assert {"value", "children", "parent"} <= root["properties"].keys()


def test_mcp_keeps_everything_and_says_that_the_root_is_an_object() -> None:
    schema = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}}
    assert compile_schema(schema, "mcp").schema == {"type": "object", **schema}


UNION = {
    "oneOf": [
        {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    ]
}


@pytest.mark.parametrize("target", ["openai", "anthropic", "bedrock", "gemini", "mistral"])
def test_a_union_of_parameters_is_merged_told_and_reported(target: Target) -> None:
    compiled = compile_schema(UNION, target)
    assert compiled.schema["properties"] == {"id": {"type": "integer"}, "name": {"type": "string"}}
    assert "required" not in compiled.schema
    assert '"required": ["name"]' in compiled.schema["description"]
    assert report(UNION, target) == [("#", "oneOf")]


def test_a_union_of_parameters_sends_strict_mode_back_to_the_ordinary_one() -> None:
    compiled = compile_schema(UNION, "openai-strict")
    assert not compiled.strict
    assert compiled.schema == compile_schema(UNION, "openai").schema
    assert compiled.losses[0].what == "oneOf"


def test_one_of_several_required_properties_is_told_to_the_model() -> None:
    schema = parameters(a={}, b={}) | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    compiled = compile_schema(schema, "anthropic")
    assert compiled.schema["properties"] == {"a": {}, "b": {}}
    assert compiled.schema["description"] == '(anyOf: [{"required": ["a"]}, {"required": ["b"]}])'


def test_an_intersection_at_the_root_is_merged_without_loss() -> None:
    schema = {
        "$defs": {"Base": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"b": {"type": "integer"}}}],
        "required": ["a"],
    }
    compiled = compile_schema(schema, "openai")
    assert compiled.schema["properties"] == {"a": {"type": "string"}, "b": {"type": "integer"}}
    assert compiled.schema["required"] == ["a"]
    assert compiled.losses == ()


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": ["array", "null"]}])
def test_parameters_that_are_no_object_are_refused_with_the_mend(schema: Json) -> None:
    with pytest.raises(DefinitionError, match="wrap it"):
        compile_schema(schema, "openai")


def test_an_unknown_target_is_named_with_the_known_ones() -> None:
    with pytest.raises(DefinitionError, match=r"'cohere'.*openai-strict"):
        compile_schema({}, "cohere")  # type: ignore[arg-type]


def test_anthropics_strict_mode_takes_optional_properties_as_they_are() -> None:
    schema = parameters(a={"type": "string"}, b={"type": ["integer", "null"], "minimum": 0})
    compiled = compile_schema(schema, "anthropic-strict")
    assert compiled.strict
    assert "required" not in compiled.schema
    assert compiled.schema["properties"]["a"] == {"type": "string"}
    assert {"type": "null"} in compiled.schema["properties"]["b"]["anyOf"]


def test_anthropics_strict_mode_takes_no_recursion() -> None:
    compiled = compile_schema(MODEL_SCHEMAS["Tree"], "anthropic-strict")
    assert not compiled.strict
    assert "no recursive definitions" in str(compiled.losses[0])


def test_a_schema_too_large_for_strict_mode_goes_out_as_an_ordinary_one() -> None:
    wide = parameters(it={"type": "string", "enum": [f"v{i}" for i in range(1001)]})
    assert not compile_schema(wide, "openai-strict").strict
    deep: Json = {"type": "string"}
    for _ in range(11):
        deep = {"type": "array", "items": deep}
    compiled = compile_schema(parameters(it=deep), "openai-strict")
    assert not compiled.strict
    assert compiled.losses[0].what == "depth"


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: {"type": "array", "items": inner},
        lambda inner: parameters(it=inner),
        lambda inner: {"anyOf": [{"type": "array", "items": inner}, {"type": "null"}]},
    ],
)
def test_strict_mode_takes_ten_levels_and_no_more(around: Callable[[Json], Json]) -> None:
    inner: Json = {"type": "string"}
    for levels in range(3, 13):  # the root, the text and what is between them
        inner = around(inner)
        assert compile_schema(parameters(it=inner), "openai-strict").strict == (levels <= 10)


def test_property_names_a_provider_refuses_are_replaced_and_come_back() -> None:
    schema = {
        "type": "object",
        "properties": {
            "城市": {"type": "string"},
            "$top": {"type": "integer", "title": "Top"},
            "plain": {"type": "object", "properties": {"城市": {}}, "default": {"城市": 1}},
        },
        "required": ["城市"],
    }
    compiled = compile_schema(schema, "anthropic")
    city, top = compiled.keys["城市"], compiled.keys["$top"]
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in (city, top))
    assert compiled.schema["properties"][city] == {"title": "城市", "type": "string"}
    assert '(name: "$top")' in compiled.schema["properties"][top]["description"]
    assert compiled.schema["properties"]["plain"]["default"] == {city: 1}
    assert compiled.schema["required"] == [city]
    assert compiled.losses == ()
    arguments = {city: "北京", "plain": {city: [{"x": 1}]}}
    assert restore_keys(arguments, compiled.keys) == {"城市": "北京", "plain": {"城市": [{"x": 1}]}}


def test_openai_takes_chinese_property_names_as_they_are() -> None:
    compiled = compile_schema(parameters(城市={"type": "string"}), "openai-strict")
    assert "城市" in compiled.schema["properties"]
    assert compiled.keys == {}
