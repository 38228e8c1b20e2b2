"""How others are reached: wires of providers, schemas, MCP, the command, data of the package."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import importlib.metadata
import io
import json
import pickle
import sys

import toolkeel
from toolkeel import Agent, AssistantMessage, SystemMessage, ToolCall, Toolset, UserMessage, tool
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.schemas import parse_definition
from toolkeel.testing import Scripted, call

ARGUMENTS = {"a": 1, "b": 2}


@tool(description="Add.")
def add(a: int, b: int) -> int:
    return a + b


def chat_completions_are_read_and_answered() -> None:
    function = {"name": "add", "arguments": json.dumps(ARGUMENTS)}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    reply = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    tools = Toolset([add])
    results = tools.run_sync(openai_chat.decode_calls(reply))
    turn = openai_chat.encode_turn(reply, results)
    assert turn[-1] == {"role": "tool", "tool_call_id": "c", "content": "3"}
    assert openai_chat.encode_tools(tools)[0]["function"]["name"] == "add"


def responses_are_read_and_answered() -> None:
    item = {
        "type": "function_call",
        "call_id": "c",
        "name": "add",
        "arguments": json.dumps(ARGUMENTS),
    }
    results = Toolset([add]).run_sync(openai_responses.decode_calls({"output": [item]}))
    turn = openai_responses.encode_turn({"output": [item]}, results)
    assert turn[-1] == {"type": "function_call_output", "call_id": "c", "output": "3"}


def anthropic_messages_are_read_and_answered() -> None:
    block = {"type": "tool_use", "id": "c", "name": "add", "input": ARGUMENTS}
    reply = {"role": "assistant", "content": [block], "stop_reason": "tool_use"}
    turn = anthropic.encode_turn(reply, Toolset([add]).run_sync(anthropic.decode_calls(reply)))
    assert turn[-1]["content"] == [{"type": "tool_result", "tool_use_id": "c", "content": "3"}]


def gemini_is_read_and_answered() -> None:
    part = {"functionCall": {"name": "add", "args": ARGUMENTS}}
    reply = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]
    }
    turn = gemini.encode_turn(reply, Toolset([add]).run_sync(gemini.decode_calls(reply)))
    assert turn[-1]["parts"] == [{"functionResponse": {"name": "add", "response": {"output": "3"}}}]


def bedrock_is_read_and_answered() -> None:
    use = {"toolUseId": "c", "name": "add", "input": ARGUMENTS}
    message = {"role": "assistant", "content": [{"toolUse": use}]}
    reply = {"output": {"message": message}, "stopReason": "tool_use"}
    turn = bedrock.encode_turn(reply, Toolset([add]).run_sync(bedrock.decode_calls(reply)))
    assert turn[-1]["content"][0]["toolResult"]["content"] == [{"text": "3"}]


def a_stream_of_chunks_is_read() -> None:
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": "He"}}]},
        {"choices": [{"index": 0, "delta": {"content": "llo"}, "finish_reason": "stop"}]},
    ]
    *texts, finish = openai_chat.decode_stream(chunks)
    assert "".join(each.text for each in texts) == "Hello" and finish.reason == "stop"  # type: ignore[union-attr]


def one_transcript_moves_between_wires() -> None:
    asked = AssistantMessage("", (ToolCall("c", "add", '{"a": 1, "b": 2}'),))
    results = Toolset([add]).run_sync(asked.tool_calls)
    for wire in (openai_chat, openai_responses, anthropic, gemini, bedrock):
        sent = wire.encode_messages(
            [SystemMessage("Be brief."), UserMessage("世界"), asked, *results]
        )
        assert "世界" in json.dumps(sent, ensure_ascii=False)


def definitions_of_providers_are_read() -> None:
    for wire in (openai_chat, anthropic, bedrock):
        assert parse_definition(wire.encode_tools(Toolset([add]))[0]).name == "add"


def names_that_a_provider_refuses_have_an_alias() -> None:
    tools = Toolset([tool(name="天气.查询", description="Add.")(add.function)])
    alias = openai_chat.encode_tools(tools)[0]["function"]["name"]
    assert (
        alias.isascii() and tools.run_sync([ToolCall("1", "天气.查询", ARGUMENTS)])[0].text == "3"
    )


def messages_are_copied_and_pickled() -> None:
    result = Agent(Scripted([call("add", ARGUMENTS), "3"]), [add]).run_sync("go")
    for message in result.messages:
        assert copy.deepcopy(message) == message == pickle.loads(pickle.dumps(message))


def an_mcp_server_answers_in_memory() -> None:
    from toolkeel.mcp.server import ToolServer

    async def main() -> str:
        async with ToolServer([add], name="adds").client() as client:
            return (await client.call_tool("add", ARGUMENTS)).content[0].text

    assert asyncio.run(main()) == "3"


def the_command_runs_or_names_what_to_install() -> None:
    from toolkeel.__main__ import main

    before, output = sys.argv, io.StringIO()
    sys.argv = ["toolkeel", "--version"]
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            main()
    except SystemExit as end:
        shown = output.getvalue()
        assert "pip install" in shown if end.code else toolkeel.__version__ in shown, shown
    finally:
        sys.argv = before


def the_version_is_that_of_the_distribution() -> None:
    assert importlib.metadata.version("toolkeel") == toolkeel.__version__


def every_public_name_is_there() -> None:
    for name in toolkeel.__all__:
        assert getattr(toolkeel, name) is not None
    assert set(toolkeel.__all__) <= set(dir(toolkeel))


def a_name_of_another_library_is_answered_with_ours() -> None:
    try:
        toolkeel.function_tool  # type: ignore[attr-defined]
    except AttributeError as error:
        assert "tool" in str(error)
    else:
        raise AssertionError("there is such a name")
