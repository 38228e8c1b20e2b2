"""Constants and options of the Responses wire: items, statuses, reasons, usage."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolkeel.messages import FinishReason, Usage
from toolkeel.providers.wire.plain_json import (
    Json,
    as_count,
    as_dict,
    as_list,
    as_parts,
    as_text,
    wire_options,
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

_CALL_KEYS = frozenset({"type", "call_id", "name", "arguments", "input"})
_NOT_SENT = frozenset({"created_by", "parsed_arguments", "status"})


def output_index(event: Json) -> int:
    """Return the index of the item that an event is about; 0 if it names none."""
    index = event.get("output_index")
    return index if isinstance(index, int) else 0


def output_items(response: Json) -> list[Json]:
    """Return a response's output items, or its text alone as one; messages without a type get it."""
    output, text = response.get("output"), response.get("output_text")
    if not output and isinstance(text, str) and text:
        output = {"role": "assistant", "content": [{"type": "output_text", "text": text}]}
    listed = map(as_dict, output if isinstance(output, list) else as_parts(output))
    return [{"type": "message", **one} if "content" in one else one for one in listed]


def message_text(item: Json) -> str:
    """Return the text of a message item, refusals included, or empty for any other item."""
    if item.get("type") != "message":
        return ""
    content = item.get("content")
    return content if isinstance(content, str) else "".join(map(part_text, as_parts(content)))


def part_text(part: object) -> str:
    """Return the text of a part of a message or of reasoning."""
    data = as_dict(part)
    return as_text(data.get("text")) or as_text(data.get("refusal"))


def is_refusal(item: Json) -> bool:
    """Return True if a message item has a refusal."""
    return any(as_dict(part).get("type") == "refusal" for part in as_list(item.get("content")))


def call_extra(item: Json) -> Json:
    """Return a call item's further keys, such as its own id and its namespace, as provider options."""
    keys = item.keys() - _CALL_KEYS - _NOT_SENT
    extra = {key: item[key] for key in sorted(keys) if item[key] is not None}
    if item.get("type") == "custom_tool_call":
        return {**wire_options(WIRE, {**extra, "type": "custom_tool_call"}), "type": "custom"}
    return dict(wire_options(WIRE, extra))


def parse_usage(usage: Json) -> Usage:
    """Convert one request's usage."""
    details_in = as_dict(usage.get("input_tokens_details"))
    details_out = as_dict(usage.get("output_tokens_details"))
    return Usage(
        1,
        as_count(usage.get("input_tokens") or usage.get("prompt_tokens")),
        as_count(usage.get("output_tokens") or usage.get("completion_tokens")),
        as_count(details_in.get("cached_tokens")),
        as_count(details_out.get("reasoning_tokens")),
        as_count(details_in.get("cache_write_tokens")),
    )
