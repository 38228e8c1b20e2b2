"""One tool, in whatever form, as a provider wants it."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, Field

from toolkeel import SetupError, Toolset, tool
from toolkeel.errors import DefinitionError
from toolkeel.providers.anthropic.encode import encode_tools
from toolkeel_compat import langchain
from toolkeel_compat.langchain.convert_tool import (
    convert_to_anthropic_tool,
    convert_to_openai_function,
    convert_to_openai_tool,
    convert_tool,
    to_tool,
)


def weather(city: str, days: int = 1) -> str:
    """Look up the weather.

    Args:
        city: Name of the city.
    """
    return city


class Weather(BaseModel):
    """Look up the weather."""

    city: str = Field(description="Name of the city.")
    days: int = 1


SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Name of the city."},
        "days": {"type": "integer", "default": 1},
    },
    "required": ["city"],
    "additionalProperties": False,
}
FORMS: dict[str, Any] = {
    "function": weather,
    "core tool": tool("Weather")(weather),
    "compat tool": langchain.tool("Weather", parse_docstring=True)(weather),
    "model": Weather,
    "anthropic": {"name": "Weather", "description": "Look up the weather.", "input_schema": SCHEMA},
    "titled": {"title": "Weather", "description": "Look up the weather.", **SCHEMA},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_becomes_the_same_definition(form: str) -> None:
    made = convert_to_openai_tool(FORMS[form])
    function = made.pop("function")
    assert made == {"type": "function"}
    assert function.pop("name").lower() == "weather"
    assert function == {"description": "Look up the weather.", "parameters": SCHEMA}


def test_strict_says_so_and_requires_every_field() -> None:
    function = convert_to_openai_function(weather, strict=True)
    assert function["strict"] is True
    assert function["parameters"]["required"] == ["city", "days"]
    assert (
        convert_to_openai_function(convert_to_openai_tool(weather, strict=True))["strict"] is True
    )


def test_other_providers_have_their_own_envelopes() -> None:
    assert convert_to_anthropic_tool(weather)["input_schema"]["required"] == ["city"]
    assert convert_tool(weather, "bedrock")["toolSpec"]["inputSchema"]["json"]["required"] == [
        "city"
    ]
    assert convert_tool(weather, "mcp")["inputSchema"]["required"] == ["city"]


@pytest.mark.parametrize("thing", [7, {"no": "tool"}, "weather"])
def test_what_is_no_tool_is_refused(thing: object) -> None:
    with pytest.raises(DefinitionError):
        convert_to_openai_tool(thing)


class Town(TypedDict):
    """Look up a town."""

    name: Annotated[str, ..., "How it is called."]
    country: Annotated[str, "NO", "Where it is."]
    size: NotRequired[Annotated[int, Field(ge=1)]]


def test_a_typed_dict_is_a_tool_with_langchains_own_annotations() -> None:
    function = convert_to_openai_tool(Town)["function"]
    assert (function["name"], function["description"]) == ("Town", "Look up a town.")
    assert function["parameters"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "How it is called."},
            "country": {"type": "string", "description": "Where it is.", "default": "NO"},
            "size": {"type": "integer", "minimum": 1},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_a_model_is_bound_to_typed_dicts_and_definitions() -> None:
    model = langchain.init_chat_model("offline")
    for one in (Town, convert_to_openai_tool(Town), convert_to_anthropic_tool(Town)):
        reply = model.bind_tools([one], tool_choice="Town").invoke("name Oslo")
        assert [call["name"] for call in reply.tool_calls] == ["Town"]
    unrun = langchain.ToolNode([to_tool(Town)]).invoke(
        [langchain.AIMessage("", [{"name": "Town", "args": {"name": "Oslo"}, "id": "1"}])]
    )
    assert "only a definition" in unrun[0].text


def test_tools_are_written_a_line_each() -> None:
    from toolkeel_compat.langchain import (
        render_text_description,
        render_text_description_and_args,
        tool,
    )

    @tool
    def search(query: str, limit: int = 5) -> str:
        """Search the web."""
        return query

    line = "search(query: 'str', limit: 'int' = 5) -> 'str' - Search the web."
    assert render_text_description([search, search]) == f"{line}\n{line}"
    assert render_text_description_and_args([search]).startswith(f"{line}, args: {{'query': ")


@pytest.mark.parametrize(
    ("body", "wire", "name"),
    [
        ({"type": "web_search"}, "openai-responses", "web_search"),
        ({"type": "web_search_preview_2025_03_11"}, "openai-responses", None),
        ({"type": "file_search", "vector_store_ids": ["vs_1"]}, "openai-responses", "file_search"),
        ({"type": "web_search_20250305", "name": "search"}, "anthropic", "search"),
        ({"google_search": {}}, "gemini", "google_search"),
    ],
)
def test_a_tool_that_a_provider_runs_is_sent_as_it_is_written(
    body: dict[str, Any], wire: Any, name: str | None
) -> None:
    made = to_tool(body)
    assert made.hosted.native_for(wire).body == body
    assert made.name == (name or body["type"])
    with pytest.raises(SetupError, match="openai-chat does not have it"):
        made.hosted.native_for("openai-chat")


@pytest.mark.parametrize("kind", ["mcp", "local_shell", "computer_use_preview"])
def test_a_tool_of_a_provider_that_the_program_answers_is_refused_by_name(kind: str) -> None:
    with pytest.raises(SetupError, match=f"'{kind}' is answered by the program"):
        langchain.create_agent("offline", [{"type": kind}])
    with pytest.raises(SetupError, match=f"'{kind}' is answered by the program"):
        to_tool({"type": kind, "name": "it"})


def test_the_extras_of_a_tool_reach_the_provider() -> None:
    cached = {"cache_control": {"type": "ephemeral"}}

    @langchain.tool(extras=cached)
    def now() -> str:
        """Tell the time."""
        return "noon"

    assert convert_to_anthropic_tool(now)["cache_control"] == cached["cache_control"]
    assert "cache_control" not in convert_to_openai_tool(now)["function"]
    [shown] = encode_tools(Toolset([now]))
    assert shown["cache_control"] == cached["cache_control"]
