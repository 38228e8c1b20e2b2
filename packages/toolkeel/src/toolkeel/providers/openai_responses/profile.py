"""What the Responses wire takes and says: options, reasons, statuses, items, usage."""

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
    as_text,
    extra_under,
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
_NOT_SENT = frozenset({"created_by", "parsed_arguments", "status"})


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
