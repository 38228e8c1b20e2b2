"""Filters of what an agent sees that takes a run, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolkeel.compat.openai_agents.handoffs import HandoffInputData


def remove_all_tools(handoff_input_data: HandoffInputData) -> HandoffInputData:
    """All that was said, without calls, their results and what was thought."""
    data = handoff_input_data
    history = data.input_history
    return data.clone(
        input_history=history if isinstance(history, str) else tuple(filter(_is_said, history)),
        pre_handoff_items=tuple(filter(_is_said, data.pre_handoff_items)),
        new_items=tuple(filter(_is_said, data.new_items)),
    )


def _is_said(item: Any) -> bool:
    kind = item.get("type", "message") if isinstance(item, Mapping) else item.type
    return kind in ("message", "message_output_item")
