"""Tools as a wire knows them, and the way back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from toolwright import Toolset, tool
from toolwright.agent.assemble import assemble
from toolwright.errors import SetupError
from toolwright.hosted import Hosted, Native
from toolwright.providers import anthropic, gemini
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


# — tools that are the provider's own —


def acts(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Another provider's arguments as this tool's own."""
    return {"actions": [{"type": arguments.get("member", arguments.get("action"))}]}


COMPUTER = tool(
    "screen",
    hosted=Hosted(
        {
            "anthropic": Native(
                {"type": "computer_20251124", "name": "computer"},
                betas=("computer-use-2025-11-24",),
                inward=acts,
                here=True,
            ),
            "gemini": Native(
                {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
                inward=acts,
                here=True,
                answers=("click_at", "navigate"),
            ),
        }
    ),
)(lambda actions: "done")


def test_a_native_tool_is_sent_apart_and_called_by_its_names() -> None:
    tools = WireTools([plain, COMPUTER], "gemini")
    assert [body["name"] for body in tools.bodies] == ["plain"]
    assert tools.own_bodies == [{"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}]
    assert [tools.own(name) for name in ("click_at", "navigate", "plain")] == [
        "screen",
        "screen",
        "plain",
    ]
    assert WireTools([COMPUTER], "anthropic").betas == ["computer-use-2025-11-24"]
    assert WireTools([COMPUTER], "openai-responses").natives == {}
    assert WireTools([COMPUTER], "anthropic", hosting=False).natives == {}


def test_a_tool_of_ones_own_cannot_have_a_native_tools_name() -> None:
    mine = tool("computer")(lambda: "mine")
    with pytest.raises(SetupError, match="rename that one, or give 'screen' where='local'"):
        WireTools([mine, COMPUTER], "anthropic")


def test_arguments_that_cannot_be_turned_are_left_for_validation() -> None:
    tools = WireTools([COMPUTER], "gemini")
    assert tools.translated("screen", {"x": 1}, "click_at") == {"actions": [{"type": "click_at"}]}

    def fails(arguments: Mapping[str, Any]) -> dict[str, object]:
        raise KeyError("action")

    odd = tool("odd", hosted=Hosted({"gemini": Native({"odd": {}}, inward=fails)}))(lambda: "")
    assert WireTools([odd], "gemini").translated("odd", {"x": 1}) == {"x": 1}


def test_a_toolsets_wire_tools_are_made_once_for_each_kind_of_server() -> None:
    tools = Toolset([COMPUTER])
    assert wire_tools(tools, "anthropic") is wire_tools(tools, "anthropic")
    assert wire_tools(tools, "anthropic") is not wire_tools(tools, "anthropic", hosting=False)


def test_anthropics_native_call_is_the_tools_own_and_goes_back_as_it_came() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "computer", "input": {"action": "screenshot"}}
    whole = {"type": "message", "model": "c", "content": [block], "stop_reason": "tool_use"}
    tools = Toolset([COMPUTER])
    reply = anthropic.decode(whole, tools=tools)
    [call] = reply.tool_calls
    assert (call.name, json.loads(str(call.arguments))) == (
        "screen",
        {"actions": [{"type": "screenshot"}]},
    )
    back = anthropic.encode_turn(reply, tools.run_sync([call]), tools=tools)
    assert back[0]["content"] == [block]
    events = [
        {"type": "message_start", "message": {"model": "c", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {**block, "input": {}}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"action": "screenshot"}'},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    streamed = assemble(anthropic.decode_stream(events, tools=tools))
    assert streamed.tool_calls == reply.tool_calls


def test_geminis_native_call_is_the_tools_own_and_goes_back_as_it_came() -> None:
    part = {"functionCall": {"name": "click_at", "args": {"x": 1, "y": 2}}}
    whole = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
    tools = Toolset([COMPUTER])
    reply = gemini.decode(whole, tools=tools)
    [call] = reply.tool_calls
    assert json.loads(str(call.arguments)) == {"actions": [{"type": "click_at"}]}
    said, answered = gemini.encode_turn(reply, tools.run_sync([call]), tools=tools)
    assert said["parts"][0]["functionCall"] == part["functionCall"]  # type: ignore[index]
    assert answered["parts"][0]["functionResponse"]["name"] == "click_at"  # type: ignore[index]
