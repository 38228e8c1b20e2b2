"""Tools are found by the words of their names, descriptions and parameters, in any language."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import ToolCall, Toolset, tool
from toolkeel.call.tool_search import SEARCH, Index, make_search_tool, words
from toolkeel.define.tool import AnyTool, Tool

TOOLS = {
    "get_weather": ("Look up the current weather of a city.", {"city": "Name of the city"}),
    "sendEmail": ("Send an e-mail to somebody.", {"to": "Address", "body": "What to say"}),
    "list_files": ("List the files of a folder.", {"folder": "Path of the folder"}),
    "read_file": ("Read a file.", {"path": "Path of the file"}),
    "查股价": ("查询一只股票的当前价格。", {"代码": "股票代码"}),
    "找图片": ("找猫和狗的图片。", {"词": "要找什么"}),
    "météo": ("Prévisions pour une ville française.", {"ville": "Nom de la ville"}),
    "погода": ("Узнать погоду в городе.", {"город": "Название города"}),
    "HTTPFetch": ("Fetch a page.", {"url": "Address of the page"}),
}


def made() -> list[AnyTool]:
    return [about(name, text, parameters) for name, (text, parameters) in TOOLS.items()]


def about(name: str, text: str, parameters: Mapping[str, str] = {}) -> AnyTool:
    properties = {key: {"type": "string", "description": d} for key, d in parameters.items()}
    schema = {"type": "object", "properties": properties}
    return Tool.from_schema(name, text, schema, lambda context, arguments: "")


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("weather", "get_weather"),
        ("WEATHER in Paris", "get_weather"),
        ("send a mail", "sendEmail"),
        ("email", "sendEmail"),
        ("list file", "list_files"),
        ("folders", "list_files"),
        ("股票价格", "查股价"),
        ("猫", "找图片"),
        ("prévisions", "météo"),
        ("météo", "météo"),
        ("погоду", "погода"),
        ("http", "HTTPFetch"),
        ("url", "HTTPFetch"),
    ],
)
def test_the_tool_that_fits_best_comes_first(query: str, best: str) -> None:
    found = Index(made()).find(query)
    assert found
    assert found[0].name == best


@pytest.mark.parametrize("query", ["", "   ", "___", "quantum chromodynamics", "🎉"])
def test_a_query_that_shares_no_word_finds_nothing(query: str) -> None:
    assert Index(made()).find(query) == []


def test_a_name_counts_more_than_a_description() -> None:
    tools = [about("one", "It can search."), about("search", "It can do one thing.")]
    assert [t.name for t in Index(tools).find("search")] == ["search", "one"]


def test_no_more_than_the_limit_is_found_and_none_of_nothing() -> None:
    assert len(Index(made()).find("the a of file page city", 2)) == 2
    assert Index([]).find("weather") == []


def test_among_a_thousand_tools_the_one_meant_is_found() -> None:
    def numbered(number: int) -> AnyTool:
        return about(f"case_{number}", f"Handle case {number} of department {number % 40}.")

    index = Index(map(numbered, range(1000)))
    assert [t.name for t in index.find("case 731", 1)] == ["case_731"]


@given(st.text())
def test_any_text_has_words_and_no_case(text: str) -> None:
    found = words(text)
    assert all(found)
    assert all(word == word.casefold() for word in found)
    assert len(Index(made()).find(text)) <= 5


@given(st.lists(st.sampled_from(["get", "set", "file", "天气", "город"]), max_size=5))
def test_the_order_of_the_words_of_a_query_does_not_matter(parts: list[str]) -> None:
    index = Index(made())
    forward, backward = index.find(" ".join(parts)), index.find(" ".join(reversed(parts)))
    assert [t.name for t in forward] == [t.name for t in backward]


@tool
def weather(city: str) -> str:
    """Look up the weather."""
    return city


async def is_enabled(_: AnyTool) -> bool:
    return True


@pytest.mark.parametrize(
    ("query", "status", "text", "names"),
    [
        ("  ", "error", "The query is empty.", []),
        ("zeppelin", "success", "No tool fits 'zeppelin'. Try other words", []),
        ("weather", "success", '"name":"weather"', ["weather"]),
    ],
)
def test_a_search_that_finds_nothing_says_so(
    query: str, status: str, text: str, names: list[str]
) -> None:
    found: dict[str, AnyTool] = {}
    search = Toolset([make_search_tool(Toolset([weather]), is_enabled, found)])
    [message] = search.run_sync([ToolCall("1", SEARCH, {"query": query})])
    assert message.status == status and text in message.text
    assert list(found) == names


def test_a_tool_that_cannot_be_called_takes_no_place_among_those_found() -> None:
    @tool
    def weather_now(city: str) -> str:
        """Look up the weather of today, the weather of now."""
        return city

    async def is_weather(one: AnyTool) -> bool:
        return one.name == "weather"

    found: dict[str, AnyTool] = {}
    search = Toolset([make_search_tool(Toolset([weather_now, weather]), is_weather, found)])
    search.run_sync([ToolCall("1", SEARCH, {"query": "weather now", "limit": 1})])
    assert list(found) == ["weather"]
