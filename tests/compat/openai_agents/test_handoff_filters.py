"""Filters of what an agent sees that takes a run."""

from __future__ import annotations

from toolkeel.compat.openai_agents import HandoffInputData, handoff_filters
from toolkeel.compat.openai_agents.items import items_of
from toolkeel.messages import AssistantMessage, Reasoning, ToolCall, ToolMessage


def test_without_tools_what_was_said_is_left() -> None:
    call = ToolCall("c1", "look", "{}")
    reply = AssistantMessage("I look", (call,), reasoning=(Reasoning("hm"),))
    items = tuple(items_of(None, reply) + items_of(None, ToolMessage("seen", "c1", "look")))
    history = ({"role": "user", "content": "hi"}, {"type": "function_call", "call_id": "c0"})
    data = handoff_filters.remove_all_tools(HandoffInputData(history, items, items))
    assert data.input_history == history[:1]
    assert [item.type for item in (*data.pre_handoff_items, *data.new_items)] == [
        "message_output_item", "message_output_item",
    ]  # fmt: skip
    assert handoff_filters.remove_all_tools(HandoffInputData("hi", (), ())).input_history == "hi"
