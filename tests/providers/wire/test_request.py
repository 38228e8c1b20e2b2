"""Bodies of every wire are made by the same three steps, whatever the wire."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.providers.tools import TOOLS
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model import ModelRequest, Settings
from toolkeel.providers.wire.request import encode_request, encode_transcript

PROFILES = {
    "anthropic": "AnthropicProfile",
    "bedrock": "BedrockProfile",
    "gemini": "GeminiProfile",
    "openai_chat": "ChatTarget",
    "openai_responses": "ResponsesProfile",
}
CALL = ToolCall("c1", "add", '{"a": 1, "b": 2}')
TURN: list[Message] = [UserMessage("go"), AssistantMessage(tool_calls=(CALL,))]


@pytest.mark.parametrize("wire", PROFILES)
def test_a_body_is_its_messages_its_head_and_what_is_fixed(wire: str) -> None:
    encoding = import_module(f"toolkeel.providers.{wire}.encode").ENCODING
    profile = getattr(import_module(f"toolkeel.providers.{wire}.profile"), PROFILES[wire])()
    request = ModelRequest([*TURN, ToolMessage("3", "c1")], tuple(TOOLS), Settings())
    body = encode_request(encoding, request, profile)
    prepared = encoding.prepare(request, profile)
    assert prepared.fixed.items() <= body.items()
    encoder = encoding.encoder(prepared.tools, profile)
    assert body[encoding.key] == encode_transcript(encoder, request.messages)
    assert body.keys() == {encoding.key, *encoder.head(prepared), *prepared.fixed}


@pytest.mark.parametrize("wire", PROFILES)
def test_a_result_that_comes_late_is_reported_and_put_in_order(wire: str) -> None:
    encoding = import_module(f"toolkeel.providers.{wire}.encode").ENCODING
    profile = getattr(import_module(f"toolkeel.providers.{wire}.profile"), PROFILES[wire])()
    late = [*TURN, UserMessage("well?"), ToolMessage("3", "c1")]
    tools = encoding.tools((), None, profile)
    encoder = encoding.encoder(tools, profile)
    for message in late:
        encoder.add(message)
    assert encoder.late
    in_order = encode_transcript(encoding.encoder(tools, profile), [*TURN, late[3], late[2]])
    assert encode_transcript(encoding.encoder(tools, profile), late) == in_order
