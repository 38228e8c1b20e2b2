from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.define.schema_cases import MODEL_SCHEMAS, is_valid
from tests.shared import shared_file
from toolkeel.define.dialect.definition import FORMS, Definition, Form, definition
from toolkeel.define.import_definition import ForeignDefinition, parse_definition
from toolkeel.define.names import POLICIES, wire_names
from toolkeel.errors import DefinitionError

Json = Any

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NONE = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("source", "body"),
    [
        (
            "openai-chat",
            {
                "type": "function",
                "function": {"name": "w", "description": "d", "parameters": SCHEMA},
            },
        ),
        (
            "openai-responses",
            {"type": "function", "name": "w", "description": "d", "parameters": SCHEMA},
        ),
        ("anthropic", {"name": "w", "description": "d", "input_schema": SCHEMA}),
        ("anthropic", {"type": "custom", "name": "w", "description": "d", "input_schema": SCHEMA}),
        (
            "bedrock",
            {"toolSpec": {"name": "w", "description": "d", "inputSchema": {"json": SCHEMA}}},
        ),
        ("gemini", {"name": "w", "description": "d", "parametersJsonSchema": SCHEMA}),
        ("gemini", {"name": "w", "description": "d", "parameters_json_schema": SCHEMA}),
        (
            "gemini",
            {
                "functionDeclarations": [
                    {"name": "w", "description": "d", "parametersJsonSchema": SCHEMA}
                ]
            },
        ),
        ("mcp", {"name": "w", "description": "d", "inputSchema": SCHEMA}),
        ("bare", {"name": "w", "description": "d", "parameters": SCHEMA}),
        ("plain", {"title": "w", "description": "d", **SCHEMA}),
        (
            "plain",
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": "w",
                "description": "d",
                **SCHEMA,
            },
        ),
    ],
)
def test_every_form_is_recognised(source: str, body: Json) -> None:
    found = parse_definition(body)
    rest = {k: v for k, v in found.schema.items() if k != "$schema"}
    assert (found.name, found.description, rest) == ("w", "d", SCHEMA)
    assert (found.source, found.strict, found.provider_options) == (source, None, {})


def test_geminis_openapi_spelling_becomes_json_schema() -> None:
    found = parse_definition(
        {
            "name": "w",
            "parameters": {
                "type": "OBJECT",
                "properties": {
                    "tags": {"type": "ARRAY", "items": {"type": "STRING"}, "nullable": True},
                    "unit": {"type": "STRING", "enum": ["C", "F"], "nullable": True},
                    "either": {
                        "anyOf": [{"type": "STRING"}, {"type": "INTEGER"}],
                        "nullable": True,
                    },
                    "fixed": {"type": "STRING", "const": "C", "nullable": True},
                    "none": {"type": "NULL", "nullable": True},
                    "type": {"type": "NUMBER", "nullable": False},
                },
            },
        }
    )
    assert found.source == "gemini-legacy"
    assert found.schema == {
        "type": "object",
        "properties": {
            "tags": {"type": ["array", "null"], "items": {"type": "string"}},
            "unit": {"type": ["string", "null"], "enum": ["C", "F", None]},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            "fixed": {"anyOf": [{"type": "string", "const": "C"}, {"type": "null"}]},
            "none": {"type": "null"},
            "type": {"type": "number"},
        },
    }


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ({"type": "STRING"}, "gemini-legacy"),
        ({"type": "string", "nullable": False}, "gemini-legacy"),
        ({"type": "array", "items": {"type": "STRING"}}, "gemini-legacy"),
        ({"anyOf": [{"type": "null"}, {"type": "STRING"}]}, "gemini-legacy"),
        ({"type": "string", "enum": ["STRING"]}, "bare"),
        ({"type": ["string"], "items": True}, "bare"),
    ],
)
def test_a_sign_of_geminis_openapi_spelling_is_found_wherever_it_is(
    part: Json, source: str
) -> None:
    parameters = {"type": "object", "properties": {"a": part}}
    assert parse_definition({"name": "w", "parameters": parameters}).source == source


def test_types_of_other_languages_are_understood() -> None:
    found = parse_definition(
        {
            "name": "w",
            "parameters": {
                "type": "dict",
                "properties": {
                    "a": {"type": "float"},
                    "b": {"type": "tuple"},
                    "c": {"type": "any"},
                },
            },
        }
    )
    assert found.schema == {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "array"}, "c": {}},
    }


def test_strict_and_every_other_key_are_kept() -> None:
    chat = {"type": "function", "function": {"name": "w", "parameters": SCHEMA, "strict": True}}
    assert parse_definition(chat).strict is True
    cached = {"name": "w", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}
    assert parse_definition(cached).provider_options == {"cache_control": {"type": "ephemeral"}}
    hinted = {"name": "w", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
    assert parse_definition(hinted).provider_options == {"annotations": {"readOnlyHint": True}}


@pytest.mark.parametrize(
    "body",
    [
        {"type": "function", "function": {"name": "w"}},
        {"type": "function", "name": "w", "parameters": None, "strict": None},
        {"name": "w"},
        {"name": "w", "inputSchema": {}},
        {"toolSpec": {"name": "w", "inputSchema": {}}},
    ],
)
def test_missing_parameters_mean_none(body: Json) -> None:
    assert parse_definition(body).schema == NONE


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"type": "web_search"}, "'web_search' is run by its provider"),
        ({"type": "computer_20250124", "name": "computer"}, "run by its provider"),
        ({"type": "function", "function": {"parameters": SCHEMA}}, "no name"),
        ({"name": 3, "inputSchema": SCHEMA}, "no name"),
        ({"name": "w", "input_schema": [1]}, "must be a JSON Schema object"),
        ({"name": "w", "description": ["d"], "input_schema": SCHEMA}, "must be text"),
        ({"functionDeclarations": [{}, {}]}, "holds 2 tools"),
        ({"functionDeclarations": {"name": "f"}}, "must be a list of objects"),
        ({"functionDeclarations": [1]}, "must be a list of objects"),
        ({"properties": {}}, "it has the keys properties"),
        ({}, r"\(none\)"),
        ([SCHEMA], "must be an object, not list"),
    ],
)
def test_what_is_no_definition_is_refused_with_the_reason(body: Json, reason: str) -> None:
    with pytest.raises(DefinitionError, match=reason):
        parse_definition(body)


# — round trips —


@cache
def bfcl_tools() -> tuple[Json, ...]:
    """Every tool of the BFCL sample."""
    lines = shared_file("data/bfcl-sample.jsonl").read_text("utf-8").splitlines()
    return tuple(tool for line in lines for tool in json.loads(line)["tools"])


def own_tools() -> list[Json]:
    return [
        {"name": name, "description": f"Makes {name}.", "parameters": schema}
        for name, schema in MODEL_SCHEMAS.items()
    ]


def there_and_back(
    tool: Json, target: Form, strict: bool | None
) -> tuple[Definition, ForeignDefinition, str]:
    """A tool sent to `target` and read from there, and the name it then has here."""
    alias = wire_names([tool["name"]], POLICIES[target])
    sent = definition(
        alias[tool["name"]], tool["description"], tool["parameters"], target, strict=strict
    )
    found = parse_definition(json.loads(json.dumps(sent.body)))
    names = {wire: own for own, wire in alias.items()}
    return sent, found, names[found.name]


def facts(schema: Json, path: str = "#") -> Iterator[tuple[str, str, Json]]:
    """Everything a schema says, each with the place it says it at."""
    for key, value in schema.items():
        if key == "properties":
            yield path, key, sorted(value)
            for name, child in value.items():
                yield from facts(child, f"{path}/properties/{name}")
        elif key == "items":
            yield from facts(value, f"{path}/items")
        else:
            yield path, key, sorted(value) if key == "required" else value


@pytest.mark.parametrize("target", FORMS)
def test_every_tool_of_the_sample_comes_back_from_every_provider(target: Form) -> None:
    assert len(bfcl_tools()) > 150
    for tool in bfcl_tools():
        sent, found, name = there_and_back(tool, target, None)
        assert (name, found.description) == (tool["name"], tool["description"])
        keys = {wire: own for own, wire in sent.keys.items()}
        back = list(facts(_own_names(found.schema, keys)))
        reported = {(loss.path, loss.what) for loss in sent.losses}
        for path, key, value in facts(tool["parameters"]):
            if (path, key, value) not in back:
                told = any(path == p and key == f for p, f, _ in back) or (path, key) in reported
                assert told, (name, path, key)
                assert (path, key) in reported or _noted(sent, path), (name, path, key, value)


def _own_names(schema: Json, keys: dict[str, str]) -> Json:
    if isinstance(schema, dict):
        return {keys.get(key, key): _own_names(value, keys) for key, value in schema.items()}
    if isinstance(schema, list):
        return [
            _own_names(item, keys) if isinstance(item, dict) else keys.get(item, item)
            for item in schema
        ]
    return schema


def _noted(sent: Definition, path: str) -> bool:
    """Whether something at `path` was reported, which lengthened its description."""
    return any(loss.path == path for loss in sent.losses)


@pytest.mark.parametrize(
    "target", ["openai-chat", "openai-responses", "anthropic", "bedrock", "mistral"]
)
def test_every_tool_of_the_sample_comes_back_from_strict_mode(target: Form) -> None:
    strict = 0
    for tool in bfcl_tools():
        sent, found, name = there_and_back(tool, target, True)
        assert name == tool["name"]
        if not sent.strict:
            assert sent.losses
            continue
        strict += 1
        assert found.strict is True
        original, back = tool["parameters"], found.schema
        assert sorted(back["properties"]) == sorted(original["properties"])
        assert {*original["required"]} <= {*back.get("required", ())}
        for extra in {*back.get("required", ())} - {*original["required"]}:
            assert is_valid(back["properties"][extra], None)
    assert strict > 150


@pytest.mark.parametrize(
    "target", ["openai-chat", "anthropic", "bedrock", "gemini", "mistral", "mcp", "plain"]
)
def test_our_own_tools_come_back_whole(target: Form) -> None:
    for tool in own_tools():
        sent, found, name = there_and_back(tool, target, None)
        assert (name, found.description) == (tool["name"], tool["description"])
        assert sent.losses == ()
        again = definition(found.name, found.description, found.schema, target)
        assert again.body == sent.body


@given(st.sampled_from(list(FORMS)), st.sampled_from(range(len(MODEL_SCHEMAS))))
def test_a_definition_read_back_makes_the_same_definition(target: Form, index: int) -> None:
    sent, found, _ = there_and_back(own_tools()[index], target, None)
    again = definition(found.name, found.description, found.schema, target)
    if target == "gemini-legacy":
        final = parse_definition(again.body)
        assert final.schema == found.schema
    else:
        assert again.body == sent.body
