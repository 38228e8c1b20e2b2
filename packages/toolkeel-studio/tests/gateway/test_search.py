"""Tools found by words."""

from __future__ import annotations

from time import process_time

import mcp_types as types

from toolkeel_studio.gateway.search import search_tools


def tools(**described: str) -> dict[str, types.Tool]:
    schema = {"type": "object"}
    return {
        name: types.Tool(name=name, description=text, input_schema=schema)
        for name, text in described.items()
    }


def test_a_query_of_many_words_holds_nobody_up() -> None:
    many = tools(**{f"tool{n}": "Does this and that." for n in range(500)}, last="Sends.")
    began = process_time()
    found = search_tools(" ".join(map(str, range(20_000))) + " sends", many)
    assert found[0].name == "last"  # numbers are words, too, and find the others after it
    assert process_time() - began < 2


def test_rare_words_count_more_and_names_more_than_descriptions() -> None:
    many = tools(
        git__push="Send commits.", git__log="Tell of commits.", mail__send="Send a mail.",
        weather__now="天气 at a place.",
    )  # fmt: skip
    assert search_tools("send mail", many)[0].name == "mail__send"
    assert search_tools("push commits", many)[0].name == "git__push"
    assert [tool.name for tool in search_tools("天气", many)] == ["weather__now"]
    assert search_tools("zebra", many) == [] and search_tools("", many) == []
