"""Responses bodies grow with their transcript and stay what `encode` makes."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.providers.tools import TOOLS
from tests.providers.transcripts import transcripts
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import openai_responses
from toolkeel.providers.openai_responses.encode import ResponsesEncoder
from toolkeel.providers.wire.body_cache import BodyCache
from toolkeel.providers.wire.reasoning_ownership import ModelProfile


@given(transcripts, st.booleans())
def test_a_growing_body_is_what_encode_makes_at_every_length(
    messages: list[Message], stream: bool
) -> None:
    cache = BodyCache(ResponsesEncoder, ModelProfile("gpt-5", stream))
    for length in range(len(messages) + 1):
        request = ModelRequest(messages[:length], tuple(TOOLS))
        expected = openai_responses.encode(request, "gpt-5", stream=stream)
        body = json.loads(cache.encode(request))
        assert {**body, "input": None} == {**json.loads(json.dumps(expected)), "input": None}
        assert len(body["input"]) == len(expected["input"])  # type: ignore[arg-type]


def test_a_turn_in_order_is_the_same_to_the_letter() -> None:
    call = AssistantMessage(tool_calls=(ToolCall("c", "add", '{"a": 1, "b": 2}'),))
    messages = [UserMessage("北京"), call, ToolMessage("3", "c"), AssistantMessage("3")]
    cache = BodyCache(ResponsesEncoder, ModelProfile("gpt-5", True))
    for length in range(1, 5):
        request = ModelRequest(messages[:length], tuple(TOOLS))
        assert json.loads(cache.encode(request)) == openai_responses.encode(
            request, "gpt-5", stream=True
        )


def test_new_settings_change_the_rest_of_the_body() -> None:
    cache = BodyCache(ResponsesEncoder, ModelProfile("gpt-5"))
    messages = [UserMessage("x")]
    for most in (5, 6):
        request = ModelRequest(messages, (), Settings(max_tokens=most))
        assert json.loads(cache.encode(request))["max_output_tokens"] == most
