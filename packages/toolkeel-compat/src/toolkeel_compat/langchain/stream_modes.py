"""The parts that `stream` yields in each ``stream_mode`` of an agent, and versions of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.events import Emitted, Event, Replied, Streamed, ToolFinished
from toolkeel.model_interface import TextDelta
from toolkeel_compat.langchain.interrupts import Interrupt
from toolkeel_compat.langchain.messages import AIMessage, convert_to_messages

INTERRUPT_KEY = "__interrupt__"
"""Key of the final state, and of a part, for what waits."""
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


@record
class GraphOutput:
    """The result of ``invoke(..., version="v2")``: the final state, and what waits.

    Args:
        value: The state.
        interrupts: The waiting interrupts.
    """

    value: dict[str, Any]
    interrupts: tuple[Interrupt, ...] = ()


def check_version(version: str) -> None:
    """Raise `SetupError` unless a version of the parts is known."""
    if version not in ("v1", "v2"):
        raise SetupError(f"version={version!r}: write 'v1' or 'v2'")


def to_output(state: dict[str, Any], version: str) -> Any:
    """Return the final state in a version: as it is, or as `GraphOutput`."""
    if version == "v1":
        return state
    waits = tuple(state.pop(INTERRUPT_KEY, ()))
    return GraphOutput(state, waits)


def to_part(mode: str, part: Any, version: str, *, alone: bool) -> Any:
    """Return a part of a stream in a version.

    Args:
        mode: Its mode.
        part: The part.
        version: ``v2`` for a dict.
        alone: The stream has one mode, which ``v1`` does not name.
    """
    if version == "v1":
        return part if alone else (mode, part)
    made = {"type": mode, "ns": (), "data": part}
    return {**made, "interrupts": ()} if mode == "values" else made
