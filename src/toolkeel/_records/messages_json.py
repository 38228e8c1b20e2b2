"""Messages as JSON and back: the form they have in saved runs, journals and exports.

Plain data, without what is at its default. Nothing in it is ever imported, called or evaluated, and
each field is checked when it is read. Blocks that come as JSON of other programs hold their bytes in
``data:`` URLs: `inline`.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args
from urllib.parse import unquote_to_bytes

from pydantic_core import to_json

from toolkeel._records.record import read_fields
from toolkeel._records.redact import one_line
from toolkeel.content import Audio, Block, Content, Data, File, Image, sniff
from toolkeel.errors import Kind, SetupError
from toolkeel.messages import (
    AssistantMessage,
    FinishReason,
    Message,
    Reasoning,
    Status,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)

DEPTH = 100
"""Levels of lists and objects that are kept of a value; what lies deeper stays behind."""
Json = dict[str, Any]
_TEXT_TYPES = re.compile(r"text/.*|application/(json|xml|yaml|.*\+json|.*\+xml)")
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(.*)", re.DOTALL)


def dump_message(message: Message) -> Json:
    """One message as JSON-ready data, without what is at its default.

    Raises:
        SetupError: if a call's arguments are no JSON.
    """
    match message:
        case SystemMessage(content):
            return {"role": "system", "content": _dump_content(content)}
        case UserMessage(content):
            return {"role": "user", "content": _dump_content(content)}
        case AssistantMessage():
            return {"role": "assistant", **_dump_reply(message)}
        case _:
            return {"role": "tool", **_dump_result(message)}


def _dump_reply(message: AssistantMessage) -> Json:
    fields = {
        "content": _dump_content(message.content),
        "tool_calls": [_dump_call(call) for call in message.tool_calls],
        "usage": changed(message.usage),
        "reasoning": [changed(item) for item in message.reasoning],
        "model": message.model,
        "provider_options": plain(message.provider_options),
    }
    given = {name: value for name, value in fields.items() if value}
    return {**given, "finish_reason": message.finish_reason}


def _dump_call(call: ToolCall) -> Json:
    fields: Json = {**changed(call), "id": call.id, "name": call.name}
    if not isinstance(call.arguments, str):
        try:
            fields["arguments"] = json.loads(_arguments(call), parse_constant=refuse_constant)
        except (ValueError, TypeError) as error:
            raise SetupError(f"the call {call.id!r} of {call.name!r}: {error}") from None
    if call.provider_options:
        fields["provider_options"] = plain(call.provider_options)
    return fields


def _arguments(call: ToolCall) -> str:
    if not isinstance(call.arguments, Mapping):
        raise TypeError(f"arguments of the type {type(call.arguments).__name__}")
    arguments = dict(call.arguments)
    try:
        return to_json(arguments).decode()
    except ValueError:
        # Half a surrogate pair, which only an escape can carry: the call failed, the run goes on.
        return json.dumps(arguments, allow_nan=False)


def _dump_result(message: ToolMessage) -> Json:
    fields = {**changed(message), "content": _dump_content(message.content)}
    if message.details:
        fields["details"] = plain(message.details)
    fields["artifact"] = plain(message.artifact)
    if fields["artifact"] is None:
        del fields["artifact"]
    return fields


def changed(item: Any) -> Json:
    """A record's fields that are not at their default."""
    values = {f.name: (getattr(item, f.name), f.default) for f in dataclasses.fields(item)}
    return {name: value for name, (value, default) in values.items() if not _same(value, default)}


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _dump_content(content: Content) -> object:
    return content if isinstance(content, str) else [_dump_block(block) for block in content]


def _dump_block(block: Block) -> Json:
    fields = {f.name: getattr(block, f.name) for f in dataclasses.fields(block)}
    if "data" in fields:
        fields["data"] = base64.b64encode(fields["data"]).decode()
    if isinstance(block, Data):
        fields["value"] = plain(block.value)
    del fields["extra"]
    if block.extra:
        fields["extra"] = plain(block.extra)
    return {"type": type(block).__name__.lower(), **fields}


def plain(value: object, depth: int = DEPTH) -> Any:
    """`value` as JSON holds it; what it cannot hold is left behind, never guessed."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if not depth or not isinstance(value, Mapping | list | tuple):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth - 1) for key, item in value.items()}
    return [plain(item, depth - 1) for item in value]


def json_text(data: object) -> str:
    """JSON text that is read as it was written: nothing escaped that need not be.

    Raises:
        ValueError: for a number that JSON does not know.
        TypeError: for what is no data.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can carry
        return json.dumps(data, allow_nan=False)
    return text


# — in —


def refuse_constant(text: str) -> object:
    """For `json.loads`: NaN and Infinity are no JSON."""
    raise ValueError(f"{text} is no number")


def load_message(data: object) -> Message:
    """Back from `dump_message`.

    Raises:
        ValueError: if `data` is no message.
    """
    if not isinstance(data, Mapping):
        raise ValueError("a message is an object")
    fields = {key: value for key, value in data.items() if key != "role"}
    match data.get("role"):
        case "system":
            return SystemMessage(_load_content(read_fields(fields, SystemMessage)["content"]))
        case "user":
            return UserMessage(_load_content(read_fields(fields, UserMessage)["content"]))
        case "assistant":
            return _load_reply(fields)
        case "tool":
            return _load_result(fields)
    raise ValueError(f"there is no role {data.get('role')!r:.40}")


def _load_reply(data: Json) -> AssistantMessage:
    fields = read_fields(data, AssistantMessage, ["finish_reason"])
    _check_word(fields, "finish_reason", get_args(FinishReason))
    if "content" in fields:
        fields["content"] = _load_content(fields["content"])
    made: tuple[tuple[str, type[Any]], ...] = (("tool_calls", ToolCall), ("reasoning", Reasoning))
    for name, make in made:
        fields[name] = tuple(make(**read_fields(one, make)) for one in fields.get(name, ()))
    fields["usage"] = load_usage(fields.get("usage", {}))
    return AssistantMessage(**fields)


def load_usage(data: object) -> Usage:
    """What was spent, back from JSON.

    Raises:
        ValueError: if `data` is something else.
    """
    return Usage(**read_fields(data, Usage))


def _load_result(data: Json) -> ToolMessage:
    fields = read_fields(data, ToolMessage)
    _check_word(fields, "status", get_args(Status))
    _check_word(fields, "kind", get_args(Kind))
    fields["content"] = _load_content(fields["content"])
    return ToolMessage(**fields)


def _check_word(fields: Json, name: str, words: Sequence[str]) -> None:
    if name in fields and fields[name] not in words:
        raise ValueError(f"{name} cannot be {fields[name]!r:.40}")


def _load_content(content: object) -> Content:
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return tuple(_load_block(block) for block in content)


_BLOCKS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(Block)}


def _load_block(data: object) -> Block:
    if not isinstance(data, Mapping) or str(data.get("type")) not in _BLOCKS:
        raise ValueError("a block of content of no known type")
    make = _BLOCKS[str(data["type"])]
    needed = [f.name for f in dataclasses.fields(make) if f.name != "extra"]
    fields = read_fields({key: data[key] for key in data if key != "type"}, make, needed)
    if "data" in fields:
        fields["data"] = base64.b64decode(fields["data"], validate=True)
    block: Block = make(**fields)
    return block


def json_line(value: object) -> str:
    r"""A value as JSON of one line, which ends with the only newline in it.

    >>> json_line({"text": "a\u0085b 猫"})
    '{"text": "a\\u0085b 猫"}\n'
    """
    return one_line(json.dumps(value, ensure_ascii=False, default=str)) + "\n"


def is_text_type(media_type: str) -> bool:
    """Whether files of this media type are text.

    >>> is_text_type("application/geo+json"), is_text_type("application/pdf")
    (True, False)
    """
    return _TEXT_TYPES.fullmatch(media_type) is not None


def inline(block: Image | Audio | File) -> Image | Audio | File:
    """`block` with its bytes in it and the media type that they have.

    A ``data:`` URL (RFC 2397) is read; a picture named wrongly gets its right type, since
    providers compare. A block by another address is returned as it is.

    >>> inline(Image(url="data:image/gif;base64,R0lGODlh")).data
    b'GIF89a'
    """
    url = getattr(block, "url", "")
    if url:
        return _from_data_url(block, url)
    if isinstance(block, Image):
        media_type = sniff(block.data)
        if media_type.startswith("image/") and media_type != block.media_type:
            return Image(block.data, media_type, "", block.extra)
    return block


def _from_data_url(block: Image | Audio | File, url: str) -> Image | Audio | File:
    match = _DATA_URL.fullmatch(url)
    if match is None:
        return block
    media_type, parameters, text = match.groups()
    try:
        encoded = unquote_to_bytes(text)
        data = base64.b64decode(encoded) if ";base64" in parameters else encoded
    except (ValueError, binascii.Error):
        return block
    if isinstance(block, Image):
        return inline(Image(data, media_type or block.media_type, "", block.extra))
    name = block.name if isinstance(block, File) else "file"
    return File(data, name, media_type or block.media_type, "", block.extra)
