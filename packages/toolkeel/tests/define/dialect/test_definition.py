from __future__ import annotations

from typing import Any, get_args

import pytest

from toolkeel.define.dialect.definition import FORMS, Form, definition
from toolkeel.define.names import POLICIES
from toolkeel.errors import DefinitionError

Json = Any

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "城市"}},
    "required": ["city"],
    "additionalProperties": False,
}
EMPTY = {"type": "object", "properties": {}}


def test_every_form_is_in_the_table_and_has_a_name_policy() -> None:
    assert {*get_args(Form)} == FORMS.keys() == POLICIES.keys()


@pytest.mark.parametrize(
    ("target", "body"),
    [
        (
            "openai-chat",
            {
                "type": "function",
                "function": {"name": "w", "description": "天气", "parameters": SCHEMA},
            },
        ),
        (
            "openai-responses",
            {
                "type": "function",
                "name": "w",
                "description": "天气",
                "parameters": SCHEMA,
                "strict": False,
            },
        ),
        ("anthropic", {"name": "w", "description": "天气", "input_schema": SCHEMA}),
        (
            "bedrock",
            {"toolSpec": {"name": "w", "description": "天气", "inputSchema": {"json": SCHEMA}}},
        ),
        ("gemini", {"name": "w", "description": "天气", "parametersJsonSchema": SCHEMA}),
        (
            "gemini-legacy",
            {
                "name": "w",
                "description": "天气",
                "parameters": {k: v for k, v in SCHEMA.items() if k != "additionalProperties"},
            },
        ),
        (
            "mistral",
            {
                "type": "function",
                "function": {"name": "w", "description": "天气", "parameters": SCHEMA},
            },
        ),
        ("mcp", {"name": "w", "description": "天气", "inputSchema": SCHEMA}),
        ("plain", {"title": "w", "description": "天气", **SCHEMA}),
    ],
)
def test_each_provider_gets_its_own_envelope(target: Form, body: Json) -> None:
    assert definition("w", "天气", SCHEMA, target).body == body


@pytest.mark.parametrize(
    ("target", "where"),
    [
        ("openai-chat", ("function", "strict")),
        ("openai-responses", ("strict",)),
        ("anthropic", ("strict",)),
        ("bedrock", ("toolSpec", "strict")),
        ("mistral", ("function", "strict")),
    ],
)
def test_strict_is_asked_for_where_it_exists(target: Form, where: tuple[str, ...]) -> None:
    made = definition("w", "", SCHEMA, target, strict=True)
    flag: Json = made.body
    for key in where:
        flag = flag[key]
    assert flag is True
    assert made.strict
    assert made.losses == ()


@pytest.mark.parametrize("target", ["gemini", "gemini-legacy", "compatible", "mcp", "plain"])
def test_strict_is_reported_where_it_does_not_exist(target: Form) -> None:
    made = definition("w", "", SCHEMA, target, strict=True)
    assert not made.strict
    assert made.losses[0].what == "strict"
    assert "strict" not in str(made.body)


def test_a_tool_that_strict_mode_cannot_say_goes_out_as_an_ordinary_one() -> None:
    schema = {
        "type": "object",
        "properties": {"m": {"type": "object"}},
        "additionalProperties": False,
    }
    made = definition("w", "", schema, "openai-chat", strict=True)
    assert made.body["function"]["strict"] is False
    assert "required" not in made.body["function"]["parameters"]
    assert made.losses[0].path == "#/properties/m"
    assert "strict" not in definition("w", "", schema, "anthropic", strict=True).body


def test_the_compatible_form_never_speaks_of_strict() -> None:
    assert "strict" not in str(definition("w", "", SCHEMA, "compatible", strict=False).body)
    assert "strict" in definition("w", "", SCHEMA, "openai-chat", strict=False).body["function"]


def test_no_description_is_sent_rather_than_an_empty_one() -> None:
    for target in FORMS:
        assert "'description': ''" not in str(definition("w", "", EMPTY, target).body)


def test_a_function_without_parameters_has_none_in_geminis_openapi_form() -> None:
    assert definition("now", "d", EMPTY, "gemini-legacy").body == {
        "name": "now",
        "description": "d",
    }


def test_extras_go_where_they_are_known_and_are_reported_elsewhere() -> None:
    extras = {"cache_control": {"type": "ephemeral"}}
    made = definition("w", "", EMPTY, "anthropic", provider_options=extras)
    assert made.body["cache_control"] == {"type": "ephemeral"}
    assert made.losses == ()
    for target in ("openai-chat", "bedrock", "gemini", "mcp"):
        made = definition("w", "", EMPTY, target, provider_options=extras)  # type: ignore[arg-type]
        assert "cache_control" not in str(made.body)
        assert [loss.path for loss in made.losses] == ["provider_options/cache_control"]


def test_an_output_schema_is_called_what_each_provider_calls_it() -> None:
    out = {"output_schema": {"type": "object"}}
    assert definition("w", "", EMPTY, "mcp", provider_options=out).body["outputSchema"] == {
        "type": "object"
    }
    responses = definition("w", "", EMPTY, "openai-responses", provider_options=out)
    assert responses.body["output_schema"] == {"type": "object"}


def test_a_name_the_provider_would_refuse_is_refused_here_with_an_alias() -> None:
    with pytest.raises(DefinitionError, match="'weather_get'"):
        definition("weather.get", "", EMPTY, "openai-chat")
    assert definition("weather.get", "", EMPTY, "gemini").body["name"] == "weather.get"
    assert definition("查询天气", "", EMPTY, "plain").body["title"] == "查询天气"


def test_the_table_cannot_be_asked_for_a_stranger() -> None:
    with pytest.raises(DefinitionError, match="'cohere'"):
        definition("w", "", EMPTY, "cohere")  # type: ignore[arg-type]


def test_a_definition_shares_nothing_with_what_it_was_made_from() -> None:
    extras = {"cache_control": {"type": "ephemeral"}}
    made = definition("w", "", SCHEMA, "anthropic", provider_options=extras)
    made.body["input_schema"]["properties"].clear()
    made.body["cache_control"].clear()
    assert SCHEMA["properties"]
    assert extras == {"cache_control": {"type": "ephemeral"}}
