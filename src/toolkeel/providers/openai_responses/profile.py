"""What the Responses wire takes and says: options, reasons, statuses, items, usage."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolkeel.messages import FinishReason, Usage
from toolkeel.providers.wire.plain_json import (
    Json,
    TextPieces,
    as_count,
    as_dict,
    as_list,
    as_text,
    extra_under,
    input_text,
)

WIRE: Final = "openai-responses"

CALLS: Mapping[str, str] = MappingProxyType(
    {"function_call": "arguments", "custom_tool_call": "input"}
)
"""Items that are calls of the program's own tools, and where their arguments are."""

INCOMPLETE: Mapping[str, FinishReason] = MappingProxyType(
    {
        "max_output_tokens": "length",
        "max_messages": "length",
        "content_filter": "filtered",
        "steered": "incomplete",
    }
)
"""Why a response is incomplete; any other reason counts as ``length``."""

_SAID = frozenset({"type", "call_id", "name", "arguments", "input"})
_BREAK = "\n\n"
_NOT_SENT = frozenset({"created_by", "parsed_arguments", "status"})


class Item:
    """An output item whose pieces are still coming.

    Args:
        wire: As it was last seen.
        number: Of a call, which one of the reply it is.
    """

    __slots__ = ("arguments", "done", "number", "part", "said", "wire")

    def __init__(self, wire: Json, number: int) -> None:
        self.wire = wire
        self.number = number
        self.arguments = TextPieces(keep_lone=True)
        self.said: list[str] = []
        """What was said, thought or argued so far."""
        self.part: object = None
        """Which part of the reasoning is coming."""
        self.done = False

    @property
    def type(self) -> str:
        return as_text(self.wire.get("type"))

    def text(self) -> str:
        """What the item itself says, thinks or argues, once it is whole."""
        if self.type in CALLS:
            value = self.wire.get(CALLS[self.type])
            return input_text(value) if value else ""
        if self.type == "reasoning":
            parts = [*as_list(self.wire.get("summary")), *as_list(self.wire.get("content"))]
            return _BREAK.join(text for part in parts if (text := part_text(part)))
        return spoken(self.wire)

    def complete(self) -> None:
        """Put what was only said in pieces into the item's own form."""
        said = "".join(self.said)
        if said and not self.text():
            if self.type in CALLS:
                self.wire = {**self.wire, CALLS[self.type]: said}
            elif self.type == "message":
                part = {"type": "output_text", "text": said, "annotations": []}
                self.wire = {**self.wire, "role": "assistant", "content": [part]}

    def separator(self, part: object) -> str:
        """What stands before a piece of reasoning: a blank line if another part begins."""
        begins = self.part is not None and self.part != part and bool(self.said)
        self.part = part
        return _BREAK if begins else ""


def place_of(event: Json) -> int:
    """Which item of the answer an event is about."""
    index = event.get("output_index")
    return index if isinstance(index, int) else 0


def spoken(item: Json) -> str:
    """The text of a message item, a refusal's too; nothing of any other item."""
    if item.get("type") != "message":
        return ""
    content = item.get("content")
    return content if isinstance(content, str) else "".join(map(part_text, as_list(content)))


def part_text(part: object) -> str:
    """The text of a part of a message or of reasoning."""
    data = as_dict(part)
    return as_text(data.get("text")) or as_text(data.get("refusal"))


def refuses(item: Json) -> bool:
    """Whether a message item is a refusal, in part at least."""
    return any(as_dict(part).get("type") == "refusal" for part in as_list(item.get("content")))


def call_extra(item: Json) -> Json:
    """What a call's item says beside the call, such as its own id and its namespace."""
    keys = item.keys() - _SAID - _NOT_SENT
    extra = {key: item[key] for key in sorted(keys) if item[key] is not None}
    if item.get("type") == "custom_tool_call":
        return {**extra_under(WIRE, {**extra, "type": "custom_tool_call"}), "type": "custom"}
    return dict(extra_under(WIRE, extra))


def usage_of(usage: Json) -> Usage:
    """One request's tokens."""
    details_in = as_dict(usage.get("input_tokens_details"))
    details_out = as_dict(usage.get("output_tokens_details"))
    return Usage(
        1,
        as_count(usage.get("input_tokens")),
        as_count(usage.get("output_tokens")),
        as_count(details_in.get("cached_tokens")),
        as_count(details_out.get("reasoning_tokens")),
        as_count(details_in.get("cache_write_tokens")),
    )
