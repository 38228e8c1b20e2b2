"""Bodies grow with their transcript and always say what a fresh encoding would."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.providers.tools import TOOLS
from toolkeel.content import Image
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import openai_chat
from toolkeel.providers.chat_servers import COMPATIBLE
from toolkeel.providers.openai_chat.encode import ChatEncoder
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.wire import body_cache as growing
from toolkeel.providers.wire.body_cache import BodyCache


def turn(number: int) -> list[Message]:
    call = ToolCall(f"call_{number}", "clock.now", f'{{"n": {number}}}')
    return [
        AssistantMessage(tool_calls=(call,)),
        ToolMessage("中" * 200, call.id, "clock.now"),
    ]


def cache() -> BodyCache[ChatTarget]:
    return BodyCache(ChatEncoder, ChatTarget("m", True))


def check(bodies: BodyCache[ChatTarget], request: ModelRequest) -> None:
    fresh = openai_chat.encode(request, "m", stream=True)
    assert json.loads(bodies.encode(request)) == fresh


def test_a_growing_transcript_is_always_sent_whole() -> None:
    bodies, messages = cache(), [UserMessage("几点?")]
    for number in range(5):
        check(bodies, ModelRequest(messages, tuple(TOOLS)))
        messages += turn(number)
    check(bodies, ModelRequest(tuple(messages), tuple(TOOLS)))


def test_two_runs_over_one_model_do_not_mix() -> None:
    bodies = cache()
    first: list[Message] = [UserMessage("a")]
    second: list[Message] = [UserMessage("b")]
    for number in range(4):
        for messages in (first, second):
            messages += turn(number)
            check(bodies, ModelRequest(messages))


def test_a_transcript_that_was_cut_or_changed_is_encoded_anew() -> None:
    bodies = cache()
    messages: list[Message] = [UserMessage("a"), *turn(1), *turn(2), UserMessage("b")]
    check(bodies, ModelRequest(messages))
    check(bodies, ModelRequest(messages[:3]))
    messages[2] = ToolMessage("redacted", "call_1", "clock.now")
    check(bodies, ModelRequest(messages))
    check(bodies, ModelRequest([UserMessage("summary"), *messages[3:]]))
    check(bodies, ModelRequest([]))


def test_tools_that_change_their_aliases_change_the_history_too() -> None:
    bodies, messages = cache(), [UserMessage("a"), *turn(1)]
    check(bodies, ModelRequest(messages, tuple(TOOLS)))
    others = TOOLS.rename({"add": "clock_now"})
    request = ModelRequest(messages, tuple(others))
    check(bodies, request)
    assert bodies.prepare(request).tools.names["clock.now"] != "clock_now"


def test_settings_that_change_are_sent() -> None:
    bodies, messages = cache(), [UserMessage("a")]
    for settings_ in (
        Settings(),
        Settings(temperature=1.0),
        Settings(tool_choice="add"),
        Settings(),
    ):
        check(bodies, ModelRequest(messages, tuple(TOOLS), settings_))


def test_pictures_at_the_end_move_behind_later_results() -> None:
    bodies = cache()
    calls = ToolCall("a", "shot"), ToolCall("b", "shot")
    messages: list[Message] = [UserMessage("a"), AssistantMessage(tool_calls=calls)]
    for id in ("a", "b"):
        messages.append(ToolMessage((Image(b"x"),), id, "shot"))
        check(bodies, ModelRequest(messages))


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=30))
def test_any_mixture_of_runs_gives_each_its_own_body(steps: Sequence[tuple[int, int]]):
    bodies = BodyCache(ChatEncoder, ChatTarget("m", server=COMPATIBLE))
    runs: list[list[Message]] = [[], [], []]
    for number, (run, action) in enumerate(steps):
        messages = runs[run]
        if action == 0:
            messages.append(UserMessage(str(number)))
        elif action == 1:
            messages += turn(number)
        elif messages and action == 2:
            del messages[number % len(messages) :]
        else:
            runs[run] = list(runs[run - 1])
        request = ModelRequest(runs[run])
        fresh = openai_chat.encode(request, "m", profile=COMPATIBLE)
        assert json.loads(bodies.encode(request)) == fresh


def test_only_so_many_transcripts_are_remembered() -> None:
    bodies = cache()
    for number in range(3 * growing.MAX_TRANSCRIPTS):
        bodies.encode(ModelRequest([UserMessage(str(number))]))
    assert len(bodies._transcripts) == growing.MAX_TRANSCRIPTS


def test_surrogates_and_control_characters_never_break_a_body() -> None:
    odd = "a\ud83d\0b\x01"
    call = ToolCall(odd, odd, {odd: odd}, provider_options={"x": odd})
    messages = [UserMessage(odd), AssistantMessage(odd, (call,)), ToolMessage(odd, odd)]
    body: Any = json.loads(cache().encode(ModelRequest(messages)))
    assert body["messages"][0]["content"] == "ab\x01"
    assert body["messages"][1]["tool_calls"][0]["x"] == "ab\x01"


def seconds_per_turn(turns: int) -> float:
    bodies = cache()
    messages: list[Message] = [UserMessage("go")]
    for number in range(turns):
        messages += turn(number)
    bodies.encode(ModelRequest(messages))
    times = []
    for number in range(30):
        messages += turn(turns + number)
        start = time.perf_counter()
        bodies.encode(ModelRequest(messages))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def test_a_turn_of_a_long_run_costs_a_copy_and_not_an_encoding() -> None:
    messages = [message for number in range(1000) for message in turn(number)]
    start = time.perf_counter()
    openai_chat.encode(ModelRequest(messages), "m")
    whole = time.perf_counter() - start
    assert seconds_per_turn(1000) * 8 < whole
