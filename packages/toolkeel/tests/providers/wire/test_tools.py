"""Tools as a wire knows them, and the way back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel import RunContext, ToolCall, ToolMessage, Toolset, tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.call.truncate import KEEPER
from toolkeel.errors import SetupError
from toolkeel.hosted import Hosted, Native
from toolkeel.messages import AssistantMessage
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.wire.tools import WireTools, wire_tools


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
    assert (tools.name_of(alias), tools.name_of("unknown")) == ("查询.天气", "unknown")
    assert tools.alias("gone.tool") == "gone_tool"
    assert [body["name"] for body in tools.bodies] == [alias, "plain"]


def test_keys_of_arguments_go_out_and_come_back() -> None:
    tools = WireTools(TOOLS, "anthropic")
    sent = tools.to_wire("查询.天气", {"城市": "北京", "unit": "c"})
    assert sent.keys() != {"城市", "unit"}
    assert json.loads(tools.from_wire("查询.天气", json.dumps(sent))) == {
        "城市": "北京",
        "unit": "c",
    }
    assert tools.to_wire("plain", {"a": 1}) == {"a": 1}
    assert tools.from_wire("plain", '{"a": 1}') == '{"a": 1}'


def test_arguments_that_cannot_be_read_stay_as_they_are() -> None:
    assert WireTools(TOOLS, "anthropic").from_wire("查询.天气", '{"城') == '{"城'


def test_a_tool_to_choose_must_be_there() -> None:
    tools = WireTools(TOOLS, "bedrock")
    assert tools.alias_to_call("plain") == "plain"
    with pytest.raises(SetupError, match=r"no such tool; there are 查询\.天气, plain"):
        tools.alias_to_call("other")
    with pytest.raises(SetupError, match="there are none"):
        WireTools().alias_to_call("other")


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
                to_tool_arguments=acts,
                runs_here=True,
            ),
            "gemini": Native(
                {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
                to_tool_arguments=acts,
                runs_here=True,
                aliases=("click_at", "navigate"),
            ),
        }
    ),
)(lambda actions: "done")


def test_a_native_tool_is_sent_apart_and_called_by_its_names() -> None:
    tools = WireTools([plain, COMPUTER], "gemini")
    assert [body["name"] for body in tools.bodies] == ["plain"]
    assert tools.native_bodies == [{"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}]
    assert [tools.name_of(name) for name in ("click_at", "navigate", "plain")] == [
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
    assert tools.translate_native("screen", {"x": 1}, "click_at") == {
        "actions": [{"type": "click_at"}]
    }

    def fails(arguments: Mapping[str, Any]) -> dict[str, object]:
        raise KeyError("action")

    odd = tool("odd", hosted=Hosted({"gemini": Native({"odd": {}}, to_tool_arguments=fails)}))(
        lambda: ""
    )
    assert WireTools([odd], "gemini").translate_native("odd", {"x": 1}) == {"x": 1}


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


# — what the model is told of tools —

NAMES = st.text("ab._天 -", min_size=1, max_size=5).filter(
    lambda name: " " not in name and name.strip("._-") != ""
)


def _sent(wire: str, tools: Toolset, reply: AssistantMessage, result: ToolMessage) -> str:
    """The text of a result as a server receives it."""
    turn: list[Any] = providers_by_name[wire].encode_turn(reply, [result], tools=tools)
    return json.dumps(turn[1:], ensure_ascii=False)


providers_by_name: Mapping[str, Any] = {
    "anthropic": anthropic,
    "bedrock": bedrock,
    "gemini": gemini,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
}
TARGETS: Mapping[str, Any] = {
    "anthropic": "anthropic",
    "bedrock": "bedrock",
    "gemini": "gemini",
    "openai_chat": "openai-chat",
    "openai_responses": "openai-responses",
}


async def _broken(n: int) -> int:
    """Fail."""
    raise RuntimeError(n)


@pytest.mark.parametrize("wire", providers_by_name)
@settings(max_examples=30)
@given(
    names=st.lists(NAMES, min_size=1, max_size=3, unique=True),
    pick=st.integers(0, 2),
    end=st.sampled_from(["unknown", "crash", "arguments", "text", "cut", "denied", "cancelled"]),
)
def test_whatever_goes_wrong_the_model_reads_of_tools_only_by_the_names_it_was_told(
    wire: str, names: list[str], pick: int, end: str
) -> None:
    tools = Toolset([tool(name, approval=end == "denied")(_broken) for name in names])
    name = names[pick % len(names)]
    arguments = {"arguments": '{"n": "x"}', "text": "{"}.get(end, '{"n": 1}')
    call = ToolCall(
        "c1", f"{name}x" if end == "unknown" else name, arguments, complete=end != "cut"
    )
    run = RunContext[None]()
    if end == "cancelled":
        run.cancel.cancel("enough")
    [result] = tools.run_sync([call], run)
    assert result.failed
    aliases = WireTools(tools, TARGETS[wire]).names
    said = _sent(wire, tools, AssistantMessage(tool_calls=(call,)), result)
    for own, alias in aliases.items():
        if own != alias:
            assert f"'{own}'" not in said and f" {own}," not in said and f" {own}." not in said
    if end not in ("unknown", "text"):
        assert f"'{aliases[name]}'" in said or f"of {aliases[name]} " in said


def test_where_the_rest_is_and_what_was_found_is_told_by_the_names_on_the_wire() -> None:
    @tool("files.read", metadata={KEEPER: lambda data: "output:1"})
    def read(path: str) -> str:
        """Read what was kept."""
        return path

    @tool("long.one", max_output=50)
    def long() -> str:
        """Say much; 'long.one' is its name."""
        return "'long.one' says " + "x" * 100

    tools = Toolset([read, long])
    call = ToolCall("c1", "long.one", "{}")
    [result] = tools.run_sync([call])
    said = _sent("anthropic", tools, AssistantMessage(tool_calls=(call,)), result)
    assert 'files_read(path=\\"output:1' in said and "'long.one' says" in said
    found = ToolMessage('[{"name":"long.one","description":"long.one"}]', "c1", "search_tools")
    call = ToolCall("c1", "search_tools", "{}")
    said = _sent("openai_chat", tools, AssistantMessage(tool_calls=(call,)), found)
    assert r"\"name\":\"long_one\",\"description\":\"long.one\"" in said


def test_a_name_of_spaces_is_read_once_however_long_it_is() -> None:
    tools = wire_tools([], "openai")
    for name in (" " * 100_000 + "<", "a" + ":1" * 100_000 + "<"):
        assert tools.name_of(name) == name
