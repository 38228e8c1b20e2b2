"""Finding tools by words, in any script."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolwright import Tool, Toolset, tool
from toolwright.call.search import Index, words


def made(name: str, description: str) -> Tool:
    return tool(name, description=description)(lambda: "x")


TOOLS = Toolset(
    [
        made("get_weather", "Look up the weather of a city."),
        made("sendMail", "Send an e-mail to somebody."),
        made("查询股票", "查询一家公司的股票价格"),
        made("add", "Add two numbers."),
    ]
)


def test_the_best_fit_comes_first():
    index = Index(TOOLS)
    assert [t.name for t in index.find("weather in Paris")] == ["get_weather"]
    assert index.find("send a mail")[0].name == "sendMail"
    assert index.find("股票价格")[0].name == "查询股票"
    assert index.find("zzz") == []


def test_no_more_are_given_than_asked_for():
    many = Toolset([made(f"tool_{n}", "does a thing") for n in range(50)])
    assert len(Index(many).find("thing", 7)) == 7


@given(st.text())
def test_words_are_taken_from_any_text(text: str) -> None:
    assert all(word == word.lower() for word in words(text))


def test_names_are_split_where_people_split_them():
    assert words("getWeather_now") == ["get", "weather", "now"]
