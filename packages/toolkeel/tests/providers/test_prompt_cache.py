"""What a provider can read from its cache: the front of every request of a run stays as it was."""

from __future__ import annotations

import itertools
import json
from importlib import import_module
from typing import Any

import pytest

from tests.providers.tools import TOOLS
from toolkeel.content import Image
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers.wire.plain_json import dumps

MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "gemini": "gemini-3-pro",
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
}
KEYS = {"gemini": "contents", "openai_responses": "input"}
TURNS = 50
OTHER = 400
"""How many bytes the end of a request may differ by beyond its last turn."""


def turn(number: int, model: str) -> list[Message]:
    """Two calls at once, and their results; now and then a picture."""
    calls = tuple(ToolCall(f"call_{number}_{one}", "add", {"a": one, "b": 1}) for one in range(2))
    thought = (Reasoning(f"turn {number}", "c2ln", model),)
    content: Any = (
        (Image(b"\x89PNG\r\n\x1a\n" + bytes(8)),) if number % 7 == 0 else f"结果 {number}"
    )
    reply = AssistantMessage(f"step {number}", calls, "tool_calls", reasoning=thought, model=model)
    return [reply, *(ToolMessage(content, call.id, "add") for call in calls)]


def unmarked(value: Any) -> Any:
    """`value` without marks for the cache, which move with the end."""
    if isinstance(value, dict):
        return {key: unmarked(one) for key, one in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [unmarked(one) for one in value if one != {"cachePoint": {"type": "default"}}]
    return value


def bodies(wire: str) -> list[tuple[str, list[str]]]:
    """The requests of a run: what stands beside the messages, and each message, as text."""
    encode, model = import_module(f"toolkeel.providers.{wire}").encode, MODELS[wire]
    options = {"prompt_cache": True} if wire in ("anthropic", "bedrock") else {}
    messages: list[Message] = [SystemMessage("Be brief."), UserMessage("go")]
    made = []
    for number in range(TURNS):
        request = ModelRequest(list(messages), tuple(TOOLS), Settings(temperature=0.5))
        body = unmarked(encode(request, model, **options))
        wires = body.pop(KEYS.get(wire, "messages"))
        made.append((dumps(body), [dumps(one) for one in wires]))
        messages += turn(number, model)
    return made


@pytest.mark.parametrize("wire", MODELS)
def test_what_a_run_has_sent_is_the_front_of_all_it_sends_later(wire: str) -> None:
    sent = bodies(wire)
    assert len({head for head, _ in sent}) == 1
    for (_, before), (_, now) in itertools.pairwise(sent):
        assert now[: len(before)] == before


@pytest.mark.parametrize("wire", MODELS)
def test_all_but_the_last_turn_of_a_long_run_can_be_read_from_the_cache(wire: str) -> None:
    sent = [head + "".join(messages) for head, messages in bodies(wire)]
    same = sum(len(before) for before in sent[:-1])
    new = len(sent[-1]) + sum(len(now) - len(before) for before, now in itertools.pairwise(sent))
    assert same / (same + new) > 0.9
    largest = max(len(now) - len(before) for before, now in itertools.pairwise(sent))
    assert largest < len(sent[-1]) / 20 + OTHER


@pytest.mark.parametrize(
    ("wire", "mark"), [("anthropic", "cache_control"), ("bedrock", "cachePoint")]
)
def test_marks_stand_behind_tools_instructions_and_the_end_alone(wire: str, mark: str) -> None:
    encode = import_module(f"toolkeel.providers.{wire}").encode
    messages: list[Message] = [SystemMessage("Be brief."), UserMessage("go")]
    for number in range(1, 30):
        messages += turn(number, MODELS[wire])
        request = ModelRequest(list(messages), tuple(TOOLS))
        body = encode(request, MODELS[wire], prompt_cache=True)
        assert json.dumps(body, default=repr).count(f'"{mark}"') == 3
        last = body["messages"][-1]["content"]
        assert mark in json.dumps(last, default=repr)
