"""What must hold for every schema, generated, pydantic's, or the JSON Schema Test Suite's."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.define.schema_cases import (
    MODEL_SCHEMAS,
    fill_unset,
    is_valid,
    tool_schemas,
    values_of,
)
from tests.shared import shared_file
from toolkeel.define.dialect import Compiled, Target, compile_schema, restore_keys
from toolkeel.define.dialect.provider_facts import DIALECTS, word_set
from toolkeel.define.import_definition import parse_definition

Json = Any

STRICT: list[Target] = ["openai-strict", "anthropic-strict"]
ORDINARY: list[Target] = [target for target in DIALECTS if target not in STRICT]
ANNOTATIONS = {"title", "default", "description", "examples", "discriminator", "deprecated"}
# losses after which less is valid than before, not more
NARROWING = {"null", "type"}

SCHEMAS = st.one_of(tool_schemas(), st.sampled_from(list(MODEL_SCHEMAS.values())))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Json, Json]:
    """A schema of a tool's parameters, and an object to try on it."""
    schema = draw(SCHEMAS)
    value = draw(values_of(schema, schema))
    assume(isinstance(value, dict))
    return schema, value


def lost(compiled: Compiled) -> set[str]:
    """The constraints that were lost."""
    return {loss.what for loss in compiled.losses} - ANNOTATIONS


def as_json_schema(compiled: Compiled, target: Target) -> Json:
    """The compiled schema as one a validator understands."""
    if target == "gemini-legacy":
        return parse_definition({"name": "t", "parameters": compiled.schema}).schema
    return compiled.schema


def wire(value: Json, compiled: Compiled) -> Json:
    """`value` with the property names it has on the wire."""
    return restore_keys(value, {alias: own for own, alias in compiled.keys.items()})


@given(cases(), st.sampled_from(ORDINARY))
def test_a_schema_compiled_without_loss_admits_the_same_values(
    case: tuple[Json, Json], target: Target
) -> None:
    schema, value = case
    compiled = compile_schema(schema, target)
    assume(not lost(compiled))
    sent = as_json_schema(compiled, target)
    assert is_valid(sent, wire(value, compiled)) == is_valid(schema, value)


@given(cases(), st.sampled_from(ORDINARY))
def test_what_was_valid_stays_valid_unless_the_report_says_otherwise(
    case: tuple[Json, Json], target: Target
) -> None:
    schema, value = case
    compiled = compile_schema(schema, target)
    assume(not NARROWING & lost(compiled))
    if is_valid(schema, value):
        assert is_valid(as_json_schema(compiled, target), wire(value, compiled))


def close(schema: Json) -> Json:
    """`schema` with every object closed, so that strict mode need not."""
    if isinstance(schema, list):
        return [close(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: close(value) for key, value in schema.items()}
    if closed.get("type") == "object" and isinstance(closed.get("properties"), dict):
        closed["additionalProperties"] = False
    return closed


@given(cases())
def test_strict_mode_admits_the_same_values_with_null_for_unset(case: tuple[Json, Json]) -> None:
    schema, value = close(case[0]), case[1]
    compiled = compile_schema(schema, "openai-strict")
    assume(compiled.strict and not lost(compiled) and "default" not in _whats(compiled))
    filled = fill_unset(value, schema, schema)
    if is_valid(schema, value):
        assert is_valid(compiled.schema, filled)
    elif is_valid(compiled.schema, value):
        assert is_valid(schema, without_unset(value, schema, schema))


def _whats(compiled: Compiled) -> set[str]:
    return {loss.what for loss in compiled.losses}


def without_unset(value: Json, schema: Json, root: Json) -> Json:
    """`value` less the nulls that stand for "not set"."""
    if isinstance(value, dict):
        return {k: without_unset(v, {}, root) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_unset(item, {}, root) for item in value]
    return value


@given(cases())
def test_anthropics_strict_mode_admits_the_same_values(case: tuple[Json, Json]) -> None:
    schema, value = close(case[0]), case[1]
    compiled = compile_schema(schema, "anthropic-strict")
    assume(compiled.strict and not lost(compiled))
    assert is_valid(compiled.schema, wire(value, compiled)) == is_valid(schema, value)


@given(SCHEMAS, st.sampled_from(list(DIALECTS)))
def test_compiling_changes_nothing_it_was_given_and_always_says_the_same(
    schema: Json, target: Target
) -> None:
    before = copy.deepcopy(schema)
    first = compile_schema(schema, target)
    assert schema == before
    assert json.dumps(compile_schema(schema, target).schema) == json.dumps(first.schema)
    assert compile_schema(schema, target).losses == first.losses
    first.schema.clear()
    assert schema == before


@given(SCHEMAS, st.sampled_from(list(DIALECTS)))
def test_every_compiled_schema_is_a_schema_of_an_object(schema: Json, target: Target) -> None:
    compiled = compile_schema(schema, target)
    assert compiled.schema["type"] == "object"
    jsonschema_rs.meta.validate(as_json_schema(compiled, target))
    jsonschema_rs.Draft202012Validator(as_json_schema(compiled, target))  # every $ref is there


@given(SCHEMAS)
def test_strict_is_given_up_only_with_a_reason_and_never_silently(schema: Json) -> None:
    for target in STRICT:
        compiled = compile_schema(schema, target)
        if compiled.strict:
            assert_strict(compiled.schema, target)
        else:
            fallback = compile_schema(schema, DIALECTS[target].fallback or "plain")
            assert compiled.schema == fallback.schema
            assert len(compiled.losses) > len(fallback.losses)


# — what each provider documents, said once more, in other words —

OPENAI_STRICT = word_set(
    "type properties required additionalProperties items enum const anyOf $ref $defs title"
    " description pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum"
    " minItems maxItems"
)
ANTHROPIC_STRICT = word_set(
    "type properties required additionalProperties items enum const anyOf $ref $defs title"
    " description default pattern format minItems"
)
GEMINI_LEGACY = word_set(
    "type format title description nullable default enum items minItems maxItems properties"
    " required minProperties maxProperties minimum maximum minLength maxLength pattern"
    " anyOf"
)
COMPATIBLE = word_set(
    "type description enum properties required items minimum maximum minItems maxItems minLength"
    " maxLength pattern"
)


def nodes(schema: Json) -> list[Json]:
    """Every schema object inside `schema`, itself first."""
    found = [schema]
    for key in ("properties", "$defs", "patternProperties", "dependentSchemas"):
        found += [n for child in schema.get(key, {}).values() for n in _nodes(child)]
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        found += [n for child in schema.get(key, ()) for n in _nodes(child)]
    for key in ("items", "additionalProperties", "not", "contains", "if", "then", "else"):
        found += _nodes(schema.get(key))
    return found


def _nodes(schema: Json) -> list[Json]:
    return nodes(schema) if isinstance(schema, dict) else []


def assert_strict(schema: Json, target: Target) -> None:
    """The rules of strict mode, node by node."""
    allowed = OPENAI_STRICT if target == "openai-strict" else ANTHROPIC_STRICT
    assert "anyOf" not in schema
    for node in nodes(schema):
        assert node.keys() <= allowed, node
        assert {"type", "anyOf", "$ref", "enum", "const"} & node.keys(), node
        if "$ref" in node:
            assert node.keys() == {"$ref"}
        kinds = node.get("type")
        if "object" in ([kinds] if isinstance(kinds, str) else kinds or ()):
            assert node["additionalProperties"] is False
            if target == "openai-strict":
                assert node["required"] == list(node["properties"])


@given(SCHEMAS)
def test_geminis_openapi_form_has_only_fields_of_its_message(schema: Json) -> None:
    for node in nodes(compile_schema(schema, "gemini-legacy").schema):
        assert node.keys() <= GEMINI_LEGACY
        assert isinstance(node.get("type", ""), str)
        assert all(isinstance(value, str) for value in node.get("enum", ()))
        if "anyOf" in node:
            assert node.keys() == {"anyOf"}
        if node.get("type") == "array":
            assert "items" in node
        assert {*node.get("required", ())} <= node.get("properties", {}).keys()


@given(SCHEMAS)
def test_the_compatible_form_has_only_what_every_imitator_takes(schema: Json) -> None:
    for node in nodes(compile_schema(schema, "compatible").schema):
        assert node.keys() <= COMPATIBLE
        assert isinstance(node.get("type", ""), str)


@given(SCHEMAS)
def test_openai_gets_items_in_every_array_and_properties_in_every_object(schema: Json) -> None:
    for node in nodes(compile_schema(schema, "openai").schema):
        kinds = node.get("type", ())
        kinds = [kinds] if isinstance(kinds, str) else kinds
        assert "items" in node or "array" not in kinds
        assert "properties" in node or "object" not in kinds


@given(SCHEMAS)
def test_gemini_gets_no_neighbours_of_a_reference(schema: Json) -> None:
    for node in nodes(compile_schema(schema, "gemini").schema):
        assert "$ref" not in node or node.keys() == {"$ref"}


# — the JSON Schema Test Suite, each schema as the type of one argument —


def suite() -> list[tuple[str, Json, list[Json]]]:
    folder = shared_file("data/json-schema-test-suite/tests/draft2020-12")
    return [
        (f"{path.stem}: {group['description']}", group["schema"], group["tests"])
        for path in sorted(folder.glob("*.json"))
        if path.stem not in ("refRemote", "dynamicRef", "vocabulary", "anchor")
        for group in json.loads(path.read_text("utf-8"))
    ]


def as_argument(schema: Json) -> Json:
    """`schema` as that of a tool's one argument; its own root becomes a definition."""
    text = (
        json.dumps(schema)
        .replace('"#/', '"#/$defs/it/')
        .replace('"$ref": "#"', '"$ref": "#/$defs/it"')
    )
    return {
        "type": "object",
        "properties": {"it": {"$ref": "#/$defs/it"}},
        "required": ["it"],
        "$defs": {"it": json.loads(text)},
    }


# how many of the suite's verdicts each target keeps; the others have a loss in the report
SUITE: dict[Target, int] = dict.fromkeys(DIALECTS, 1150)
SUITE |= {"openai-strict": 25, "anthropic-strict": 40, "gemini-legacy": 600, "compatible": 850}


@pytest.mark.parametrize("target", DIALECTS)
def test_the_schema_test_suite_means_the_same_for_every_target(target: Target) -> None:
    checked = 0
    for name, schema, tests in suite():
        if '"$id"' in json.dumps(schema):
            continue  # references are then relative to an address
        argument = as_argument(schema)
        compiled = compile_schema(argument, target)
        sent = as_json_schema(compiled, target)
        for test in tests:
            value = {"it": test["data"]}
            if not is_valid(argument, value) and lost(compiled):
                continue  # a loss may admit more
            if NARROWING & lost(compiled) or compiled.strict:
                continue
            assert is_valid(sent, wire(value, compiled)) == is_valid(argument, value), (
                name,
                test["description"],
                compiled,
            )
            checked += 1
    assert checked >= SUITE[target]
