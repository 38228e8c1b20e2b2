"""Sealed reasoning in plain functions: it goes back complete, and never as the end of a reply."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.messages import ToolMessage, UserMessage
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses

Json = dict[str, Any]
CLAUDE = "claude-sonnet-4-5"


def answer_of(wire: Any, kinds: list[str], end: str) -> Json:
    """Build an answer of parts, where each part of reasoning is sealed under its number."""
    parts: list[Json] = []
    for number, kind in enumerate(kinds):
        seal, text, call = f"c2ln{number:04d}", f"part {number}.", {"name": "f"}
        if wire is openai_responses:
            said = [{"type": "output_text", "text": text}]
            parts += {
                "reasoning": [
                    {
                        "type": "reasoning",
                        "id": f"rs_{number}",
                        "summary": [],
                        "encrypted_content": seal,
                    }
                ],
                "text": [
                    {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": said}
                ],
                "call": [
                    {
                        "type": "function_call",
                        "id": f"fc_{number}",
                        "call_id": f"c{number}",
                        "arguments": "{}",
                        **call,
                    }
                ],
            }[kind]
        elif wire is anthropic:
            parts += {
                "reasoning": [{"type": "thinking", "thinking": "hm", "signature": seal}],
                "text": [{"type": "text", "text": text}],
                "call": [{"type": "tool_use", "id": f"c{number}", "input": {}, **call}],
            }[kind]
        elif wire is bedrock:
            parts += {
                "reasoning": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": seal}}}
                ],
                "text": [{"text": text}],
                "call": [{"toolUse": {"toolUseId": f"c{number}", "input": {}, **call}}],
            }[kind]
        else:
            parts += {
                "reasoning": [{"text": "hm", "thought": True}],
                "text": [{"text": text, "thoughtSignature": seal}],
                "call": [{"functionCall": {"args": {}, **call}, "thoughtSignature": seal}],
            }[kind]
    reason = {"stop_reason": end}
    if wire is openai_responses:
        return {"object": "response", "model": "gpt-5", "status": end, "output": parts}
    if wire is anthropic:
        return {"type": "message", "role": "assistant", "model": CLAUDE, "content": parts, **reason}
    if wire is bedrock:
        return {"output": {"message": {"role": "assistant", "content": parts}}, "stopReason": end}
    content = {"role": "model", "parts": parts}
    return {"candidates": [{"content": content, "finishReason": end}], "modelVersion": "gemini-3"}


ENDS = [
    (openai_responses, "fast", ["completed", "incomplete"]),
    (anthropic, "fast", ["end_turn", "max_tokens"]),
    (bedrock, f"us.anthropic.{CLAUDE}-20250929-v1:0", ["end_turn", "max_tokens"]),
    (gemini, "fast", ["STOP", "MAX_TOKENS"]),
]
"""Wires, the names by which a model is requested, and how an answer ends complete and cut off."""


@given(
    st.sampled_from(ENDS),
    st.lists(st.sampled_from(["reasoning", "text", "call"]), min_size=1, max_size=5),
    st.booleans(),
)
def test_sealed_reasoning_goes_back_up_to_the_last_part_that_follows_it(
    where: Any, kinds: list[str], is_cut: bool
) -> None:
    wire, model, ends = where
    reply = wire.decode(answer_of(wire, kinds, ends[is_cut]), model=model)
    results = [ToolMessage("1", call.id, "f") for call in reply.tool_calls]
    messages = [UserMessage("go"), reply, *results, UserMessage("on")]
    sent = json.dumps(wire.encode_messages(messages, model=model))
    last = max((at for at, kind in enumerate(kinds) if kind != "reasoning"), default=-1)
    sealed = [
        f"c2ln{at:04d}"
        for at, kind in enumerate(kinds[: last + 1])
        if (kind == "reasoning") != (wire is gemini)
    ]
    assert re.findall(r"c2ln\d{4}", sent) == sealed


@given(st.sampled_from(["reasoning_details", "thinking_blocks"]), st.booleans(), st.booleans())
def test_sealed_blocks_go_back_beside_the_calls_of_an_alias(
    key: str, is_called: bool, is_cut: bool
) -> None:
    sealed = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]
    calls = [{"id": "c", "function": {"name": "f", "arguments": "{}"}}] * is_called
    message = {"role": "assistant", "content": "", key: sealed, "tool_calls": calls}
    choice = {"message": message, "finish_reason": "length" if is_cut else "stop"}
    reply = openai_chat.decode({"model": "m", "choices": [choice]}, model="fast")
    results = [ToolMessage("1", call.id) for call in reply.tool_calls]
    messages = [UserMessage("go"), reply, *results, UserMessage("on")]
    sent = [one for one in openai_chat.encode_messages(messages, model="fast") if key in one]
    assert [one[key] for one in sent] == [sealed] * is_called
