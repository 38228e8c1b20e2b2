"""The parts that `stream` yields in each ``stream_mode`` of an agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolkeel.errors import SetupError
from toolkeel.events import Emitted, Event, Replied, Streamed, ToolFinished
from toolkeel.model_interface import TextDelta
from toolkeel_compat.langchain.messages import AIMessage, convert_to_messages

MODES = ("messages", "updates", "values", "custom")


def sort_modes(asked: Sequence[str]) -> list[str]:
    """Return the modes in `MODES` order. Raise `SetupError` for an unknown one."""
    if strange := [mode for mode in asked if mode not in MODES]:
        raise SetupError(f"stream_mode {strange[0]!r} is not here: there are {MODES}")
    return sorted(asked, key=MODES.index)


def convert_event(mode: str, event: Event, state: dict[str, Any], node: str) -> Iterator[Any]:
    """Yield an event's parts in a mode; `state` is the current one, `node` the model's node name."""
    node = "tools" if isinstance(event, ToolFinished) else node
    match mode, event:
        case "updates", Replied(message=message) | ToolFinished(message=message):
            yield {node: {"messages": convert_to_messages([message])}}
        case "values", Replied() | ToolFinished():
            yield state
        case "messages", Streamed(delta=TextDelta(text=text)):
            yield AIMessage(text), {"langgraph_node": node}
        case "messages", Replied(message=message) if message.tool_calls:
            yield AIMessage("", message.tool_calls), {"langgraph_node": node}
        case "messages", ToolFinished(message=message):
            yield convert_to_messages([message])[0], {"langgraph_node": node}
        case "custom", Emitted(value=value):
            yield value
