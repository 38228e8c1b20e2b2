"""What a body returned becomes the one record of its call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from toolwright.content import Audio, Content, Data, File, Image, Text, block_of
from toolwright.define.tool import AnyTool, Prepared
from toolwright.errors import InvalidOutput
from toolwright.messages import ToolMessage, ToolOutput
from toolwright.record import NOTHING

BLOCKS = (Text, Image, Audio, File, Data)


def render(prepared: Prepared, value: object, duration: float) -> ToolMessage:
    """Make the result message of a successful call.

    Args:
        prepared: The call.
        value: What the body, or a step around it, returned.
        duration: Seconds since the call's start event.

    Raises:
        InvalidOutput: if `value` has no form a model can read.
    """
    tool, call = prepared.tool, prepared.call
    limit = tool.max_output
    if (
        type(value) is str
        and not prepared.changes
        and (limit is None or len(value) <= limit)
        and tool.response_format == "content"
    ):
        text = clean(value)
        return ToolMessage(text, call.id, tool.name, "success", None, None, NOTHING, duration)
    if isinstance(value, ToolMessage):
        return _own_message(prepared, value, duration)
    artifact, details, content = _parts(tool, value)
    shown = to_content(tool, content)
    if isinstance(shown, str) and limit is not None and len(shown) > limit:
        if artifact is None:
            artifact = content
        shown = shorten(shown, limit)
    if prepared.changes:
        details = {**details, "coerced": prepared.changes}
    return ToolMessage(shown, call.id, tool.name, "success", None, artifact, details, duration)


def clean(text: str) -> str:
    """`text` as it can be sent: no lone surrogates, which UTF-8 cannot carry."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def shorten(text: str, limit: int) -> str:
    """Head and tail of a text that is too long, with the totals and the way to the rest.

    >>> shorten("a" * 100, 20).splitlines()[0]
    'aaaaaaaaaaaaa'
    """
    head = text[: limit * 2 // 3]
    tail = text[len(text) - (limit - len(head)) :]
    left_out = len(text) - len(head) - len(tail)
    return (
        f"{head}\n\n[{left_out:,} of {len(text):,} characters left out here; ask for a smaller "
        f"part, or narrow the arguments, to see them]\n\n{tail}"
    )


def _parts(tool: AnyTool, value: object) -> tuple[object, Mapping[str, object], object]:
    """Artifact, details and content of a value."""
    if isinstance(value, ToolOutput):
        return value.artifact, value.details, value.content
    if tool.response_format == "content":
        return None, NOTHING, value
    if isinstance(value, tuple) and len(value) == 2:
        return value[1], NOTHING, value[0]
    raise InvalidOutput(
        f"{tool.name!r} must return a pair (content, artifact) but returned a "
        f"{type(value).__name__}. This is a fault of the tool, not of the call."
    )


def _own_message(prepared: Prepared, message: ToolMessage, duration: float) -> ToolMessage:
    """A message the body made itself: it must answer this call."""
    call, tool = prepared.call, prepared.tool
    if message.tool_call_id not in ("", call.id):
        raise InvalidOutput(
            f"{tool.name!r} answered another call. This is a fault of the tool, not of the call.",
            {"tool_call_id": message.tool_call_id},
        )
    return ToolMessage(
        to_content(tool, message.content),
        call.id,
        tool.name,
        message.status,
        message.kind or ("tool_error" if message.failed else None),
        message.artifact,
        message.details,
        duration,
    )


def to_content(tool: AnyTool, value: object) -> Content:
    """Any value a body may return, as a model reads it.

    Text stays as it is, None is the empty text, blocks stay blocks, bytes become the file they
    are, and everything else becomes JSON with its characters unescaped.

    Raises:
        InvalidOutput: if there is no JSON for it.
    """
    if isinstance(value, str):
        return clean(value)
    if value is None:
        return ""
    if isinstance(value, BLOCKS):
        return (value,)
    if isinstance(value, bytes | bytearray | memoryview):
        return (block_of(bytes(value)),)
    if isinstance(value, list | tuple) and value and any(_is_block(item) for item in value):
        return tuple(_block(tool, item) for item in value)
    return _json(tool, value)


def _is_block(item: object) -> bool:
    return isinstance(item, (*BLOCKS, bytes)) or (
        isinstance(item, Mapping) and item.get("type") == "text" and set(item) == {"type", "text"}
    )


def _block(tool: AnyTool, item: object) -> Any:
    if isinstance(item, BLOCKS):
        return item
    if isinstance(item, bytes):
        return block_of(item)
    if isinstance(item, str):
        return Text(clean(item))
    if isinstance(item, Mapping) and _is_block(item):
        return Text(clean(str(item["text"])))
    return Data(item, _json(tool, item))


def _json(tool: AnyTool, value: object) -> str:
    try:
        return to_json(value, inf_nan_mode="strings").decode()
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise InvalidOutput(
            f"{tool.name!r} returned a {type(value).__name__}, which has no JSON form. This is a "
            "fault of the tool, not of the call.",
            {"error": str(error)},
        ) from error
