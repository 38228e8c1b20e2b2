"""Tools as a wire knows them, and the way back."""

from __future__ import annotations

import json

import pytest

from toolwright import Toolset, tool
from toolwright.errors import SetupError
from toolwright.providers.wiretools import WireTools, wire_tools


@tool("查询.天气")
def weather(城市: str, unit: str = "c") -> str:
    """查询天气。"""
    return 城市 + unit


@tool
def plain(a: int) -> int:
    """Nothing special."""
    return a


TOOLS = Toolset([weather, plain])


def test_names_go_out_and_come_back() -> None:
    tools = WireTools(TOOLS, "anthropic")
    alias = tools.alias("查询.天气")
    assert alias.isascii()
    assert (tools.own(alias), tools.own("unknown")) == ("查询.天气", "unknown")
    assert tools.alias("gone.tool") == "gone_tool"
    assert [body["name"] for body in tools.bodies] == [alias, "plain"]


def test_keys_of_arguments_go_out_and_come_back() -> None:
    tools = WireTools(TOOLS, "anthropic")
    sent = tools.outward("查询.天气", {"城市": "北京", "unit": "c"})
    assert sent.keys() != {"城市", "unit"}
    assert json.loads(tools.inward("查询.天气", json.dumps(sent))) == {"城市": "北京", "unit": "c"}
    assert tools.outward("plain", {"a": 1}) == {"a": 1}
    assert tools.inward("plain", '{"a": 1}') == '{"a": 1}'


def test_arguments_that_cannot_be_read_stay_as_they_are() -> None:
    assert WireTools(TOOLS, "anthropic").inward("查询.天气", '{"城') == '{"城'


def test_a_tool_to_choose_must_be_there() -> None:
    tools = WireTools(TOOLS, "bedrock")
    assert tools.chosen("plain") == "plain"
    with pytest.raises(SetupError, match=r"no such tool; there are 查询\.天气, plain"):
        tools.chosen("other")
    with pytest.raises(SetupError, match="there are none"):
        WireTools().chosen("other")


def test_a_toolset_is_prepared_once_for_each_form() -> None:
    tools = wire_tools(TOOLS, "anthropic")
    assert wire_tools(TOOLS, "anthropic") is tools
    assert wire_tools(TOOLS, "anthropic", True) is not tools
    assert wire_tools(list(TOOLS), "anthropic") is not tools
    assert wire_tools(tools, "bedrock") is tools
