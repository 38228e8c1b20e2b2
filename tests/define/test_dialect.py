from __future__ import annotations

import re
from typing import Any

import pytest

from tests.define.schema_cases import MODEL_SCHEMAS, is_valid
from toolwright.define.dialect import Target, compile_schema, restore_keys
from toolwright.define.dialect_facts import DIALECTS
from toolwright.errors import DefinitionError

Json = Any


def parameters(**properties: Json) -> Json:
    """A closed object schema with these optional properties."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


def sent(schema: Json, target: Target) -> Json:
    """The property ``it`` as `target` gets it."""
    return compile_schema(parameters(it=schema), target).schema["properties"]["it"]


def report(schema: Json, target: Target) -> list[tuple[str, str]]:
    """Path and subject of each loss."""
    return [(loss.path, loss.what) for loss in compile_schema(schema, target).losses]


# — the root —


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
    with pytest.raises(DefinitionError, match="wrap the schema"):
        compile_schema(schema, "openai")


def test_an_unknown_target_is_named_with_the_known_ones() -> None:
    with pytest.raises(DefinitionError, match=r"'cohere'.*openai-strict"):
        compile_schema({}, "cohere")  # type: ignore[arg-type]


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


# — strict mode —


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


def test_a_described_reference_is_put_in_place_unless_it_is_recursive() -> None:
    compiled = compile_schema(MODEL_SCHEMAS["Ticket"], "openai-strict")
    address = compiled.schema["properties"]["address"]
    assert compiled.strict
    assert address["description"] == "Where."
    assert address["anyOf"][0] == {"$ref": "#/$defs/Address"}

    plain = parameters(it={"$ref": "#/$defs/N", "description": "d"}) | {
        "required": ["it"],
        "$defs": {"N": {"type": "number", "description": "A number."}},
    }
    assert compile_schema(plain, "openai-strict").schema["properties"]["it"] == {
        "description": "d\nA number.",
        "type": "number",
    }

    node = parameters(next={"$ref": "#/$defs/Node", "description": "d"}) | {"required": ["next"]}
    loop = {**node, "$defs": {"Node": node}}
    assert compile_schema(loop, "openai-strict").schema["properties"]["next"] == {
        "anyOf": [{"$ref": "#/$defs/Node"}],
        "description": "d",
    }


def test_a_discriminated_union_loses_nothing_in_strict_mode() -> None:
    compiled = compile_schema(MODEL_SCHEMAS["Ticket"], "openai-strict")
    pet = compiled.schema["properties"]["pet"]
    assert pet["anyOf"] == [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]
    assert "oneOf" not in {loss.what for loss in compiled.losses}
    cat = compiled.schema["$defs"]["Cat"]["properties"]["kind"]
    assert cat == {"const": "cat", "title": "Kind", "type": "string"}


def test_a_one_of_whose_branches_overlap_is_reported() -> None:
    either = {"oneOf": [{"type": "integer"}, {"type": "number"}]}
    assert ("#/properties/it", "oneOf") in report(parameters(it=either), "openai-strict")
    apart = {"oneOf": [{"type": "integer"}, {"type": "string"}]}
    assert report(parameters(it=apart), "openai-strict") == []


def test_a_lookaround_pattern_is_told_where_it_is_refused() -> None:
    schema = {"type": "string", "pattern": r"^(?!x)\d+$"}
    assert sent(schema, "openai") == schema
    assert "pattern" not in sent(schema, "openai-strict")
    assert "(?!x)" in sent(schema, "openai-strict")["description"]


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


# — tuples, maps, null, enums —


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


def test_a_map_stays_a_map_or_is_told() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    for target in ("openai", "anthropic", "bedrock", "gemini", "mcp", "plain", "mistral"):
        assert sent(schema, target)["additionalProperties"] == {"type": "integer"}  # type: ignore[arg-type]
    for target in ("gemini-legacy", "compatible"):
        assert sent(schema, target)["description"] == '(additionalProperties: {"type": "integer"})'  # type: ignore[arg-type]
        assert ("#/properties/it", "additionalProperties") in report(parameters(it=schema), target)  # type: ignore[arg-type]


def test_null_is_a_flag_for_geminis_openapi_form() -> None:
    optional = {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "default": None,
        "description": "d",
    }
    assert sent(optional, "gemini-legacy") == {
        "type": "string",
        "nullable": True,
        "default": None,
        "description": "d",
    }
    assert sent({"enum": ["a", None]}, "gemini-legacy") == {
        "enum": ["a"],
        "nullable": True,
        "type": "string",
    }


def test_a_union_stands_alone_for_geminis_openapi_form() -> None:
    union = {
        "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}],
        "description": "d",
    }
    assert sent(union, "gemini-legacy") == {
        "anyOf": [
            {"description": "d", "nullable": True, "type": "string"},
            {"description": "d", "nullable": True, "type": "integer"},
        ]
    }


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": "a"}, {"enum": ["a"], "type": "string"}),
        ({"enum": [1, 2, 3]}, {"type": "integer", "minimum": 1, "maximum": 3}),
        ({"enum": [True, False]}, {"type": "boolean"}),
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


def test_the_compatible_form_keeps_the_widest_type_and_tells_the_rest() -> None:
    literals = {"anyOf": [{"const": "a"}, {"enum": ["b", "c"], "type": "string"}, {"type": "null"}]}
    assert sent(literals, "compatible") == {"type": "string", "enum": ["a", "b", "c"]}
    sizes = {"anyOf": [{"type": "string", "minLength": 9}, {"type": "string", "maxLength": 1}]}
    assert sent(sizes, "compatible")["type"] == "string"
    assert '"minLength": 9' in sent(sizes, "compatible")["description"]
    mixed = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert "type" not in sent(mixed, "compatible")


# — references and names —


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


def test_an_exploding_schema_is_cut_and_reported() -> None:
    defs = {
        f"D{i}": {
            "type": "object",
            "properties": {n: {"$ref": f"#/$defs/D{i + 1}"} for n in "abcd"},
        }
        for i in range(12)
    }
    schema = parameters(it={"$ref": "#/$defs/D0"}) | {"$defs": {**defs, "D12": {"type": "string"}}}
    compiled = compile_schema(schema, "gemini-legacy")
    assert len(str(compiled.schema)) < 2_000_000
    assert "$ref" in {loss.what for loss in compiled.losses}


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
