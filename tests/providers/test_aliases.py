"""A run over an alias: a server answers under another name than it is asked by, and gets back what
it signed, byte for byte, in every request of the run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.providers.loopback import Json, answer, saying
from tests.providers.models import anthropic, chat, gemini, responses
from toolkeel import Agent, tool
from toolkeel.messages import AssistantMessage

TURNS = 20
REAL = "real-model-2026"


@tool
def step(number: int) -> str:
    """Take a step."""
    return f"step {number}"


def signed(turn: int) -> str:
    """What the server signs in a turn: base64 that is longer than any name."""
    return f"c2lnbmVk{turn:04d}" + "QUJD" * 20


def anthropic_says(turn: int) -> Json:
    thought = {"type": "thinking", "thinking": f"turn {turn}", "signature": signed(turn)}
    use = {"type": "tool_use", "id": f"toolu_{turn}", "name": "step", "input": {"number": turn}}
    blocks = [thought, use] if turn < TURNS else [thought, {"type": "text", "text": "done"}]
    reason = "tool_use" if turn < TURNS else "end_turn"
    return {"type": "message", "model": REAL, "content": blocks, "stop_reason": reason}


def responses_say(turn: int) -> Json:
    thought = {"type": "reasoning", "id": f"rs_{turn}", "summary": []}
    thought["encrypted_content"] = signed(turn)
    call = {"type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "name": "step"}
    call["arguments"] = json.dumps({"number": turn})
    text = {"type": "output_text", "text": "done", "annotations": []}
    said = {"type": "message", "id": f"msg_{turn}", "role": "assistant", "content": [text]}
    output = [thought, call if turn < TURNS else said]
    return {"object": "response", "status": "completed", "model": REAL, "output": output}


def gemini_says(turn: int) -> Json:
    call = {"functionCall": {"name": "step", "args": {"number": turn}}}
    part = {**(call if turn < TURNS else {"text": "done"}), "thoughtSignature": signed(turn)}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return {"modelVersion": REAL, "candidates": [candidate]}


def chat_says(turn: int) -> Json:
    function = {"name": "step", "arguments": json.dumps({"number": turn})}
    call = {"id": f"call_{turn}", "type": "function", "function": function}
    details = [{"type": "reasoning.encrypted", "data": signed(turn)}]
    message: Json = {"role": "assistant", "content": None, "reasoning_details": details}
    message |= {"tool_calls": [call]} if turn < TURNS else {"content": "done"}
    return {"model": REAL, "choices": [{"message": message, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (anthropic, anthropic_says),
        (responses, responses_say),
        (gemini, gemini_says),
        (chat, chat_says),
    ],
)
def test_a_long_run_over_an_alias_sends_back_all_that_was_signed(
    make: Callable[..., Any], says: Callable[[int], Json]
) -> None:
    answers = [answer(json.dumps(says(turn))) for turn in range(TURNS + 1)]
    with saying(*answers) as server:
        agent = Agent(make(server, stream=False), [step], max_turns=TURNS + 2)
        result = asyncio.run(agent.run("go"))
    assert result.output == "done"
    assert len(server.requests) == TURNS + 1
    for turn, body in enumerate(server.requests):
        sent = json.dumps(body)
        assert [number for number in range(TURNS) if signed(number) in sent] == [*range(turn)]
    replies = [one for one in result.messages if isinstance(one, AssistantMessage)]
    assert {one.model for one in replies} == {REAL}
