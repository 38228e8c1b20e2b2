"""Tools found by words."""

from __future__ import annotations

import mcp_types as types

from toolkeel.mcp.gateway.search import find


def tools(**described: str) -> dict[str, types.Tool]:
    schema = {"type": "object"}
    return {
        name: types.Tool(name=name, description=text, input_schema=schema)
        for name, text in described.items()
    }


def test_rare_words_count_more_and_names_more_than_descriptions() -> None:
    many = tools(
        git__push="Send commits.", git__log="Tell of commits.", mail__send="Send a mail.",
        weather__now="天气 at a place.",
    )  # fmt: skip
    assert find("send mail", many)[0].name == "mail__send"
    assert find("push commits", many)[0].name == "git__push"
    assert [tool.name for tool in find("天气", many)] == ["weather__now"]
    assert find("zebra", many) == [] and find("", many) == []
