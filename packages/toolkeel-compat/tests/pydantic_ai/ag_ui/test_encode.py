"""Replies as events: what was streamed is not sent again."""

from __future__ import annotations

from typing import Any

from ag_ui.core.types import RunAgentInput

from toolkeel.events import Replied, Streamed
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.model_interface import CallDelta, ReasoningDelta, TextDelta
from toolkeel_compat.pydantic_ai.ag_ui.encode import RunEncoder


def types(*parts: Any) -> list[str]:
    sent = RunAgentInput(
        thread_id="t", run_id="r", state={}, messages=[], tools=[], context=[], forwarded_props={}
    )
    encoder = RunEncoder(sent)
    events = [
        Replied(1, 0.0, "r", one)
        if isinstance(one, AssistantMessage)
        else Streamed(1, 0.0, "r", one)
        for one in parts
    ]
    return [made.type.value for event in events for made in encoder.encode(event)]


def test_a_call_is_streamed_piece_by_piece() -> None:
    pieces = (
        CallDelta(0, "c1", "add"),
        CallDelta(0, arguments='{"a"'),
        CallDelta(0, arguments=":1}"),
    )
    reply = AssistantMessage("see", (ToolCall("c1", "add", '{"a":1}'),))
    assert types(TextDelta("see"), *pieces, reply) == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
    ]


def test_reasoning_is_a_message_of_its_own() -> None:
    assert types(ReasoningDelta("hm"), TextDelta("a"), AssistantMessage("a")) == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
    ]
