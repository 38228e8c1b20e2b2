"""What every provider asks of a transcript, checked strictly."""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel.messages import AssistantMessage, Message, ToolMessage


def problems(messages: Sequence[Message]) -> list[str]:
    """Where a transcript breaks the rule: each call answered once, at once, in call order."""
    found: list[str] = []
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if not waiting or waiting[0] != message.tool_call_id:
                found.append(f"{index}: a result of {message.tool_call_id!r}, due were {waiting}")
            else:
                waiting.pop(0)
            continue
        if waiting:
            found.append(f"{index}: {type(message).__name__} while {waiting} had no result")
        waiting = (
            [c.id for c in message.tool_calls] if isinstance(message, AssistantMessage) else []
        )
    if waiting:
        found.append(f"at the end {waiting} have no result")
    return found
