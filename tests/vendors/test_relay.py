"""One conversation that moves from provider to provider after every turn, and each accepts it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.providers.gemini.test_public import check_body as check_gemini
from tests.providers.judge import check_body as check_chat
from tests.providers.openai_responses.test_public import check_body as check_responses
from tests.providers.tools import TOOLS
from tests.providers.vendors import check_anthropic, check_bedrock
from toolkeel.content import Image, Text
from toolkeel.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
ARGUMENTS = {"city": "北京"}

Check = Callable[[Any], None]
WIRES: dict[str, tuple[ModuleType, str, Check]] = {
    "chat": (openai_chat, "gpt-4.1", check_chat),
    "responses": (openai_responses, "gpt-5", check_responses),
    "anthropic": (anthropic, "claude-sonnet-4-5", check_anthropic),
    "bedrock": (bedrock, "anthropic.claude-sonnet-4-5-20250929-v1:0", check_bedrock),
    "gemini": (gemini, "gemini-3-pro", check_gemini),
}

REPLIES: dict[str, dict[str, Any]] = {
    "chat": {
        "model": "gpt-4.1",
        "choices": [
            {
                "finish_reason": "tool_calls",
                "message": {
                    "content": "Looking.",
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": json.dumps(ARGUMENTS)},
                        }
                    ],
                },
            }
        ],
    },
    "responses": {
        "status": "completed",
        "model": "gpt-5",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {
                "type": "web_search_call",
                "id": "ws_1",
                "status": "completed",
                "action": {"type": "search", "query": "x"},
            },
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Looking.", "annotations": []}],
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "get_weather",
                "arguments": json.dumps(ARGUMENTS),
            },
        ],
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": ARGUMENTS},
        ],
    },
    "bedrock": {
        "stopReason": "tool_use",
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"text": "Looking."},
                    {
                        "toolUse": {
                            "toolUseId": "tooluse_1",
                            "name": "get_weather",
                            "input": ARGUMENTS,
                        }
                    },
                ],
            }
        },
    },
    "gemini": {
        "modelVersion": "gemini-3-pro",
        "candidates": [
            {
                "finishReason": "STOP",
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "hm", "thought": True},
                        {"text": "Looking."},
                        {
                            "functionCall": {"name": "get_weather", "args": ARGUMENTS},
                            "thoughtSignature": "QUJD",
                        },
                    ],
                },
            }
        ],
    },
}


def check(name: str, messages: list[Message]) -> Any:
    """The body for a wire, judged by its vendor."""
    module, model, judge = WIRES[name]
    body = module.encode(ModelRequest(messages, tuple(TOOLS)), model)
    judge(body)
    text = json.dumps(body, default=repr, ensure_ascii=False)
    turns = sum(isinstance(one, AssistantMessage) for one in messages)
    assert text.count("Looking.") == turns
    assert text.count("北京: sunny") == turns
    return body


@pytest.mark.parametrize("route", list(itertools.permutations(WIRES))[::5], ids="-".join)
def test_a_conversation_moves_through_all_providers(route: tuple[str, ...]) -> None:
    messages: list[Message] = [
        SystemMessage("Be brief."),
        UserMessage((Text("Where is this?"), Image(PNG))),
    ]
    for name in route:
        check(name, messages)
        reply = WIRES[name][0].decode(REPLIES[name])
        [call] = reply.tool_calls
        result = ToolMessage((Text("北京: sunny"), Image(PNG)), call.id, call.name)
        messages += [reply, result]
        for other in WIRES:
            check(other, messages)


def test_only_the_own_model_gets_what_is_its_own() -> None:
    secrets = {"responses": ("gAAA", "ws_1"), "anthropic": ("c2ln",), "gemini": ("QUJD",)}
    messages: list[Message] = [UserMessage("Where is this?")]
    for name in WIRES:
        reply = WIRES[name][0].decode(REPLIES[name])
        messages += [reply, ToolMessage("北京: sunny", reply.tool_calls[0].id)]
    bodies = {name: json.dumps(check(name, messages), default=repr) for name in WIRES}
    for owner, words in secrets.items():
        for name, body in bodies.items():
            if (owner, name) == ("anthropic", "bedrock"):  # one model in two places
                continue
            assert [word for word in words if word in body] == (
                list(words) if name == owner else []
            )
