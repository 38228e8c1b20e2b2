"""Bodies of every wire are made by the same three steps, whatever the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.providers.tools import TOOLS
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers.anthropic.encode import AnthropicEncoder
from toolkeel.providers.anthropic.profile import AnthropicProfile
from toolkeel.providers.bedrock.encode import BedrockEncoder
from toolkeel.providers.bedrock.profile import BedrockProfile
from toolkeel.providers.gemini.encode import GeminiEncoder
from toolkeel.providers.gemini.profile import GeminiProfile
from toolkeel.providers.openai_chat.encode import ChatEncoder
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.openai_responses.encode import ResponsesEncoder
from toolkeel.providers.wire.body_cache import BodyCache
from toolkeel.providers.wire.reasoning_ownership import ModelProfile
from toolkeel.providers.wire.request import Encoder

WIRES: dict[str, tuple[type[Encoder[Any]], ModelProfile]] = {
    "anthropic": (AnthropicEncoder, AnthropicProfile()),
    "bedrock": (BedrockEncoder, BedrockProfile()),
    "gemini": (GeminiEncoder, GeminiProfile()),
    "openai_chat": (ChatEncoder, ChatTarget()),
    "openai_responses": (ResponsesEncoder, ModelProfile()),
}
CALL = ToolCall("c1", "add", '{"a": 1, "b": 2}')
TURN: list[Message] = [UserMessage("go"), AssistantMessage(tool_calls=(CALL,))]
OF_EACH = pytest.mark.parametrize(("wire", "profile"), WIRES.values(), ids=WIRES)


@OF_EACH
def test_a_body_is_its_messages_its_head_and_what_is_fixed(
    wire: type[Encoder[Any]], profile: ModelProfile
) -> None:
    request = ModelRequest([*TURN, ToolMessage("3", "c1")], tuple(TOOLS), Settings())
    body = wire.encode(request, profile)
    prepared = wire.prepare(request, profile)
    assert prepared.static_keys.items() <= body.items()
    encoder = wire(prepared.tools, profile)
    assert body[wire.key] == encoder.encode_transcript(request.messages)
    assert body.keys() == {wire.key, *encoder.encode_head(prepared), *prepared.static_keys}


@OF_EACH
def test_a_result_that_comes_late_is_reported_and_put_in_order(
    wire: type[Encoder[Any]], profile: ModelProfile
) -> None:
    late = [*TURN, UserMessage("well?"), ToolMessage("3", "c1")]
    tools = wire.make_wire_tools((), None, profile)
    encoder = wire(tools, profile)
    for message in late:
        encoder.add(message)
    assert encoder.needs_repair
    in_order = wire(tools, profile).encode_transcript([*TURN, late[3], late[2]])
    assert wire(tools, profile).encode_transcript(late) == in_order


@OF_EACH
def test_results_that_come_in_any_order_are_sent_in_the_order_of_the_calls(
    wire: type[Encoder[Any]], profile: ModelProfile
) -> None:
    calls = tuple(ToolCall(id, "add", "{}") for id in "abcd")
    messages: list[Message] = [UserMessage("go"), AssistantMessage(tool_calls=calls)]
    cache = BodyCache(wire, profile)
    for id in "cab":
        messages.append(ToolMessage(f"of {id}", id))
        grown = json.loads(cache.encode(ModelRequest(messages)))
        assert grown == json.loads(json.dumps(wire.encode(ModelRequest(messages), profile)))
        said = json.dumps(grown)
        places = [said.index(f"of {one}") for one in "abc" if f"of {one}" in said]
        assert places == sorted(places)
