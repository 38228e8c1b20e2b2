"""Bodies that grow are the bodies that would be made anew."""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.providers.tools import TOOLS
from tests.providers.transcripts import transcripts
from toolkeel import tool
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import anthropic
from toolkeel.providers.anthropic.encode import AnthropicEncoder
from toolkeel.providers.anthropic.profile import AnthropicProfile
from toolkeel.providers.wire.body_cache import BodyCache

MODEL = "claude-sonnet-4-5"


def cache(prompt_cache: bool = True) -> BodyCache[AnthropicProfile]:
    profile = AnthropicProfile(MODEL, True, prompt_cache=prompt_cache, betas_in_header=True)
    return BodyCache(AnthropicEncoder, profile)


def fresh(request: ModelRequest, prompt_cache: bool = True) -> Any:
    body = anthropic.encode(request, MODEL, stream=True, prompt_cache=prompt_cache)
    return json.loads(json.dumps(body))


def turn(number: int) -> list[Message]:
    call = ToolCall(f"t{number}", "add", {"a": number, "b": 1})
    return [AssistantMessage(tool_calls=(call,)), ToolMessage(str(number), call.id)]


@given(transcripts, st.lists(st.integers(1, 4), min_size=1, max_size=4), st.booleans())
def test_a_transcript_that_grows_gives_the_bodies_of_each_of_its_states(
    messages: list[Message], steps: list[int], marked: bool
):
    bodies = cache(marked)
    growing: list[Message] = []
    for step in steps:
        growing += messages[len(growing) : len(growing) + step]
        request = ModelRequest(growing, tuple(TOOLS))
        assert json.loads(bodies.encode(request)) == fresh(request, marked)


def test_a_late_result_is_put_behind_its_call() -> None:
    bodies = cache()
    messages: list[Message] = [UserMessage("go"), turn(1)[0], UserMessage("still there?")]
    first = bodies.encode(ModelRequest(messages)).decode()
    assert "has no result" in first
    messages.append(turn(1)[1])
    body = json.loads(bodies.encode(ModelRequest(messages)))
    assert "has no result" not in str(body)
    assert body == fresh(ModelRequest(messages))
    messages += [AssistantMessage("yes"), UserMessage("good")]
    assert json.loads(bodies.encode(ModelRequest(messages))) == fresh(ModelRequest(messages))


def test_new_tools_and_settings_change_the_rest_of_the_body() -> None:
    @tool
    def other(城市: str) -> str:
        """查询。"""
        return ""

    bodies = cache()
    messages = [UserMessage("go"), *turn(1)]
    for tools in (tuple(TOOLS), (), (other,)):
        for settings in (Settings(), Settings(tool_choice="none"), Settings(max_tokens=7)):
            request = ModelRequest(messages, tools, settings)
            assert json.loads(bodies.encode(request)) == fresh(request)


def test_messages_of_the_wire_may_follow() -> None:
    paused = {"role": "assistant", "content": [{"type": "text", "text": "…"}]}
    request = ModelRequest([UserMessage("go")])
    for _ in range(2):
        body = json.loads(cache().encode(request, [paused]))
        assert body["messages"][-1] == paused
        assert len(body["messages"]) == 2


def test_features_in_test_are_asked_for_beside_the_body() -> None:
    bodies = cache()
    settings = Settings(extra_body={"betas": ["a-1", "b-2"], "metadata": {"user_id": "u"}})
    request = ModelRequest([UserMessage("go")], (), settings)
    assert bodies.prepare(request).settings.extra_body["betas"] == ["a-1", "b-2"]
    body = json.loads(bodies.encode(request))
    assert "betas" not in body
    assert body["metadata"] == {"user_id": "u"}


def test_a_turn_of_a_long_run_costs_a_copy_and_not_an_encoding() -> None:
    bodies = cache()
    messages: list[Message] = [UserMessage("go")]
    for number in range(1000):
        messages += turn(number)
    start = time.perf_counter()
    bodies.encode(ModelRequest(messages))
    whole = time.perf_counter() - start
    times = []
    for number in range(30):
        messages += turn(1000 + number)
        start = time.perf_counter()
        bodies.encode(ModelRequest(messages))
        times.append(time.perf_counter() - start)
    assert statistics.median(times) * 20 < whole
