from __future__ import annotations

from typing import Any

import pytest

from tests.define.schema_cases import parameters, report, sent
from toolkeel.define.dialect import compile_schema

Json = Any


def test_strict_mode_makes_optional_properties_nullable_in_every_spelling() -> None:
    schema = parameters(
        a={"type": "string"},
        b={"type": "string", "enum": ["x"]},
        c={"const": 3},
        d={"anyOf": [{"type": "integer"}, {"type": "boolean"}], "description": "D"},
        e={"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        f={"$ref": "#/$defs/F"},
        g={"type": ["string", "null"], "default": None},
        h={"type": "array", "items": {"type": "string"}, "description": "H"},
    ) | {"required": ["a"], "$defs": {"F": {"type": "number"}}}
    compiled = compile_schema(schema, "openai-strict")
    null = {"type": "null"}
    assert compiled.strict
    assert compiled.schema["required"] == list("abcdefgh")
    assert compiled.schema["properties"] == {
        "a": {"type": "string"},
        "b": {"type": ["string", "null"], "enum": ["x", None]},
        "c": {"anyOf": [{"const": 3, "type": "integer"}, null]},
        "d": {"anyOf": [{"type": "integer"}, {"type": "boolean"}, null], "description": "D"},
        "e": {"anyOf": [schema["properties"]["e"], null]},
        "f": {"anyOf": [{"$ref": "#/$defs/F"}, null]},
        "g": {"type": ["string", "null"]},
        "h": {
            "anyOf": [{"type": "array", "items": {"type": "string"}}, null],
            "description": "H",
        },
    }
    assert compiled.losses == ()


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "additionalProperties"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "additionalProperties": True,
            },
            "additionalProperties",
        ),
        ({"type": "object"}, "additionalProperties"),
        (
            {"type": "object", "properties": {}, "patternProperties": {"^x": {}}},
            "patternProperties",
        ),
        ({}, "any value"),
        ({"not": {"type": "string"}, "type": "integer"}, "not"),
        ({"type": "integer", "if": {"minimum": 3}, "then": {"maximum": 9}}, "if"),
        ({"allOf": [{"pattern": "a"}, {"pattern": "b"}], "type": "string"}, "allOf"),
    ],
)
def test_strict_mode_is_given_up_rather_than_the_tool_changed(schema: Json, what: str) -> None:
    for target, ordinary in (("openai-strict", "openai"), ("anthropic-strict", "anthropic")):
        compiled = compile_schema(parameters(it=schema), target)  # type: ignore[arg-type]
        assert not compiled.strict
        assert ("#/properties/it", what) in [(loss.path, loss.what) for loss in compiled.losses]
        ordinarily = compile_schema(parameters(it=schema), ordinary)  # type: ignore[arg-type]
        assert compiled.schema == ordinarily.schema


def test_strict_mode_closes_open_objects_and_says_so() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    compiled = compile_schema(schema, "openai-strict")
    assert compiled.schema == {**schema, "additionalProperties": False}
    assert report(schema, "openai-strict") == [("#", "additionalProperties")]


def test_strict_mode_moves_what_it_cannot_check_into_the_description() -> None:
    schema = parameters(
        it={"type": "string", "minLength": 2, "description": "名称", "default": "无"}
    )
    compiled = compile_schema(schema, "openai-strict")
    assert compiled.schema["properties"]["it"] == {
        "type": ["string", "null"],
        "description": '名称 (minLength: 2) (default: "无")',
    }
    assert {(loss.path, loss.what) for loss in compiled.losses} == {
        ("#/properties/it", "minLength"),
        ("#/properties/it", "default"),
    }


def test_strict_mode_says_that_a_default_cannot_be_left_to_the_tool() -> None:
    schema = parameters(it={"type": ["string", "null"], "default": "x"})
    reasons = [loss.why for loss in compile_schema(schema, "openai-strict").losses]
    assert any("null is sent, and means null" in why for why in reasons)


def test_a_lookaround_pattern_is_told_where_it_is_refused() -> None:
    schema = {"type": "string", "pattern": r"^(?!x)\d+$"}
    assert sent(schema, "openai") == schema
    assert "pattern" not in sent(schema, "openai-strict")
    assert "(?!x)" in sent(schema, "openai-strict")["description"]


def test_a_required_name_that_is_not_listed_is_reported() -> None:
    schema = {"type": "object", "properties": {}, "required": ["ghost"]}
    for target in ("gemini-legacy", "compatible"):
        compiled = compile_schema(schema, target)  # type: ignore[arg-type]
        assert compiled.schema["required"] == []
        assert '["ghost"]' in compiled.schema["description"]
        assert ("#", "required") in report(schema, target)  # type: ignore[arg-type]
    strict = compile_schema(schema | {"additionalProperties": False}, "openai-strict")
    assert not strict.strict
    assert "ghost" in strict.losses[0].why


PAIR = {
    "type": "array",
    "prefixItems": [{"type": "integer"}, {"type": "string"}],
    "minItems": 2,
    "maxItems": 2,
}


SAME = {**PAIR, "prefixItems": [{"type": "number"}, {"type": "number"}]}


def test_a_closed_tuple_gets_items_for_openai_without_losing_its_positions() -> None:
    assert sent(PAIR, "openai") == {
        **PAIR,
        "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    }
    assert report(parameters(it=PAIR), "openai") == []


def test_a_tuple_of_one_kind_loses_nothing_as_a_list() -> None:
    assert sent(SAME, "gemini-legacy") == {
        "type": "array",
        "items": {"type": "number"},
        "minItems": 2,
        "maxItems": 2,
    }
    assert "prefixItems" not in {what for _, what in report(parameters(it=SAME), "gemini-legacy")}


def test_a_tuple_of_several_kinds_tells_its_positions_and_reports_them() -> None:
    for target in ("openai-strict", "gemini-legacy", "compatible"):
        assert ("#/properties/it", "prefixItems") in report(parameters(it=PAIR), target)  # type: ignore[arg-type]
        assert '[{"type": "integer"}, {"type": "string"}]' in str(sent(PAIR, target))  # type: ignore[arg-type]


def test_a_map_stays_a_map_or_is_told() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    for target in ("openai", "anthropic", "bedrock", "gemini", "mcp", "plain", "mistral"):
        assert sent(schema, target)["additionalProperties"] == {"type": "integer"}  # type: ignore[arg-type]
    for target in ("gemini-legacy", "compatible"):
        assert sent(schema, target)["description"] == '(additionalProperties: {"type": "integer"})'  # type: ignore[arg-type]
        assert ("#/properties/it", "additionalProperties") in report(parameters(it=schema), target)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": "a"}, {"enum": ["a"], "type": "string"}),
        ({"enum": [1, 2, 3]}, {"type": "integer", "minimum": 1, "maximum": 3}),
        ({"enum": [True, False]}, {"type": "boolean"}),
        (
            {"enum": ["a", 1, 2], "type": "integer"},
            {"type": "integer", "minimum": 1, "maximum": 2},
        ),
        ({"enum": ["a", 1], "type": "string"}, {"type": "string", "enum": ["a"]}),
        ({"enum": [1, 5], "type": "integer"}, {"type": "integer", "description": "(enum: [1, 5])"}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "string", "format": "uri"}, {"type": "string", "description": '(format: "uri")'}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
    ],
)
def test_values_are_spelled_as_geminis_openapi_form_wants_them(
    schema: Json, expected: Json
) -> None:
    assert sent(schema, "gemini-legacy") == expected


@pytest.mark.parametrize("target", ["openai", "anthropic", "mcp", "gemini", "mistral", "bedrock"])
def test_a_required_name_that_is_not_listed_stays_where_any_keyword_is_taken(target: Any) -> None:
    schema = {"type": "object", "properties": {"a": {}}, "required": ["b"]}
    assert sent(schema, target) == schema
    assert report(parameters(it=schema), target) == []
