"""The result message of a call that succeeded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pydantic_core import to_json

from toolkeel._common.installed import find_renderer
from toolkeel._records.record import NOTHING
from toolkeel.call.truncate import (
    NARROW,
    NOT_READABLE,
    Keeper,
    content_length,
    limit_content,
    limit_media,
)
from toolkeel.content import Audio, Block, Content, Data, File, Image, Text, block_from_bytes
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import InvalidOutput, Kind
from toolkeel.messages import Status, ToolMessage, ToolOutput

BLOCKS = (Text, Image, Audio, File, Data)
MAX_RENDERED = 20
"""Items of a list that are looked at for tables and figures."""


def render(
    prepared: Prepared, value: object, duration: float, keeper: Keeper | None = None
) -> ToolMessage:
    """Build the result message of a successful call.

    Content longer than the tool's `max_output`, or with too many media, is shortened: the keeper stores
    the text, and the value becomes the artifact, if there is no other.

    Args:
        prepared: The call.
        value: What the body, or a step around it, returned.
        duration: Seconds since the call's start event.
        keeper: Name and function of the tool that reads results too long to show; None for none.

    Raises:
        InvalidOutput: `value` cannot be represented as content.
    """
    tool, call = prepared.tool, prepared.call
    limit = tool.max_output
    shown: Content
    if type(value) is str and tool.returns == "content" and not prepared.changes:  # noqa: SIM102
        if limit is None or len(value) <= limit:
            shown = value if value.isascii() else clean_text(value)
            return ToolMessage(shown, call.id, tool.name, "success", None, None, NOTHING, duration)
    value = render_value(value)
    artifact, details, content = None, NOTHING, value
    status: Status = "success"
    kind: Kind | None = None
    if isinstance(value, ToolMessage):
        status, kind = _status_and_kind(prepared, value)
        artifact, details, content = value.artifact, value.details, value.content
    elif isinstance(value, ToolOutput):
        artifact, details, content = value.artifact, value.details, value.content
    elif tool.returns != "content":
        content, artifact = _pair(tool, value)
    shown = to_content(tool, content)
    if (fewer := limit_media(shown)) is not shown:
        artifact, shown = content if artifact is None else artifact, fewer
    if (
        limit is not None
        and (len(shown) if isinstance(shown, str) else content_length(shown)) > limit
    ):
        takes = properties_of(tool.parameters) or tool.parameters.get("additionalProperties", True)
        rest = NARROW if takes else NOT_READABLE
        shown = limit_content(shown, limit, keeper, rest)
        artifact = content if artifact is None else artifact
    if prepared.changes:
        details = {**details, "coerced": prepared.changes}
    return ToolMessage(shown, call.id, tool.name, status, kind, artifact, details, duration)


def needs_renderer(value: object) -> bool:
    """Return True if a value, its content or an item of it is shown by an installed renderer."""
    content = value.content if isinstance(value, ToolOutput) else value
    items = content if type(content) in (list, tuple) else (content,)
    return any(find_renderer(type(item)) is not None for item in items[:MAX_RENDERED])  # type: ignore[index]


def render_value(value: object) -> object:
    """Return what is shown for a table, a figure or a list with some; any other value unchanged.

    The value itself becomes the artifact, unless there is one. May take as long as drawing a figure.

    Args:
        value: A result. Of a list, the first `MAX_RENDERED` items are looked at.
    """
    if not needs_renderer(value):
        return value
    if isinstance(value, ToolOutput):
        made = _render_content(value.content)
        artifact = made.artifact if value.artifact is None else value.artifact
        return ToolOutput(made.content, artifact, {**made.details, **value.details})
    return _render_content(value)


def _render_content(content: object) -> ToolOutput:
    """Return a value, or a list with such values, as the renderers of their classes show it."""
    if not isinstance(content, list | tuple):
        renderer = find_renderer(type(content))
        assert renderer is not None  # `needs_renderer` has found it
        made: ToolOutput = renderer(content)
        return made
    shown = [
        item if find_renderer(type(item)) is None else _render_content(item).content
        for item in content
    ]
    return ToolOutput([Text(item) if isinstance(item, str) else item for item in shown], content)


def plain_text(prepared: Prepared, value: object) -> str | None:
    """Return a text that is shown as it is, without lone surrogates; None for anything else.

    That is a value that is no text or too long, and any of a tool that returns content and artifact.
    """
    tool = prepared.tool
    if type(value) is not str or tool.returns != "content":
        return None
    if tool.max_output is not None and len(value) > tool.max_output:
        return None
    return value if value.isascii() else clean_text(value)


def clean_text(text: str) -> str:
    """Return `text` with ``?`` for lone surrogates, which UTF-8 cannot encode."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _pair(tool: AnyTool, value: object) -> tuple[object, object]:
    """Return a (content, artifact) pair, or raise `InvalidOutput` if the value is not a pair."""
    if isinstance(value, tuple) and len(value) == 2:
        return value
    raise InvalidOutput(
        f"{tool.name!r} must return a pair (content, artifact) but returned a "
        f"{type(value).__name__}. This is a fault of the tool, not of the call."
    )


def _status_and_kind(prepared: Prepared, message: ToolMessage) -> tuple[Status, Kind | None]:
    """Return status and kind of a message that the body built; raise InvalidOutput for another call's."""
    call, tool = prepared.call, prepared.tool
    if message.tool_call_id not in ("", call.id):
        raise InvalidOutput(
            f"{tool.name!r} answered another call. This is a fault of the tool, not of the call.",
            {"tool_call_id": message.tool_call_id},
        )
    return ("error", message.kind or "tool_error") if message.failed else ("success", None)


def to_content(tool: AnyTool, value: object) -> Content:
    """Convert any value of a body to content for a model.

    Text and blocks stay, None becomes empty text, bytes a picture, sound or file, and anything else
    JSON without escapes.

    Raises:
        InvalidOutput: JSON cannot represent it.
    """
    if isinstance(value, str):
        return clean_text(str.__str__(value))  # a plain text, also of an Enum's member
    if value is None:
        return ""
    if isinstance(value, BLOCKS):
        return (_block(tool, value),)
    if isinstance(value, bytes | bytearray | memoryview):
        return (block_from_bytes(bytes(value)),)
    if isinstance(value, list | tuple) and value and any(_is_block(item) for item in value):
        return tuple(_block(tool, item) for item in value)
    return _json(tool, value)


def _is_block(item: object) -> bool:
    """Return True if an item is a content block, bytes, or a dict with a block's text."""
    return isinstance(item, (*BLOCKS, bytes)) or (
        isinstance(item, Mapping) and item.get("type") == "text" and set(item) == {"type", "text"}
    )


def _block(tool: AnyTool, item: object) -> Block:
    """Return one content block, `Data` for other values; raise `InvalidOutput` without its text, bytes or JSON form."""
    match item:
        case Text(str(text), extra):
            return Text(clean_text(text), extra)
        case str(text) | {"type": "text", "text": str(text)}:
            return Text(clean_text(text))
        case Data(value, str(text), extra):
            return Data(value, clean_text(text), extra)
        case Image(bytes()) | Audio(bytes()) | File(bytes()):
            return item
        case Text() | Data() | Image() | Audio() | File():
            raise InvalidOutput(
                f"{tool.name!r} returned a {type(item).__name__} block without the text or bytes "
                "it needs. This is a fault of the tool, not of the call."
            )
        case bytes():
            return block_from_bytes(item)
        case _:
            return Data(item, _json(tool, item))


def _json(tool: AnyTool, value: object) -> str:
    """Return a value as JSON, NaN and infinities as texts, or raise `InvalidOutput` if it has no JSON form."""
    try:
        try:
            text = to_json(value, inf_nan_mode="strings", fallback=_as_data)
        except ValueError:  # perhaps half a surrogate pair somewhere inside
            text = to_json(_cleaned(value), inf_nan_mode="strings", fallback=_as_data)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidOutput(
            f"{tool.name!r} returned a value of type {type(value).__name__} without a JSON form. "
            "This is a fault of the tool, not of the call.",
            {"error": str(error)},
        ) from error
    return text.decode()


def _as_data(value: object) -> object:
    """Convert a value unknown to pydantic to JSON data, or raise `TypeError` if it has no form.

    It may be a mapping, a sequence, a path, or a number or array like numpy's.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Sequence) and not isinstance(value, memoryview):
        return list(value)
    if callable(plain := getattr(value, "tolist", None)) and not isinstance(value, type):
        return plain()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _cleaned(value: object) -> object:
    """Return a copy of a value with unpaired surrogates replaced in all of its texts and keys."""
    if isinstance(value, str):
        return clean_text(str.__str__(value))
    if isinstance(value, Mapping):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_cleaned(item) for item in value]
    return value
