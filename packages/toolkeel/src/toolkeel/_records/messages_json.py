"""Messages as JSON and back: the form they have in saved runs, journals and exports.

See `record_json` for what is left out and how it is read. Blocks that come as JSON of other programs
hold their bytes in ``data:`` URLs: `inline`.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args
from urllib.parse import unquote_to_bytes

from pydantic_core import to_json

from toolkeel._common.redact_secrets import escape_line
from toolkeel._records import typed_values as typed_values  # which registers artifacts
from toolkeel._records.record_json import (
    Codec,
    Json,
    dump_record,
    literal_codec,
    load_record,
    record_codec,
    register_codecs,
    tuple_codec,
)
from toolkeel.content import Audio, Block, Content, File, Image, detect_media_type
from toolkeel.errors import Kind, SetupError
from toolkeel.messages import (
    AssistantMessage,
    FinishReason,
    Message,
    Origin,
    Reasoning,
    Status,
    ToolCall,
    ToolMessage,
    Usage,
)

T = TypeVar("T")
_TEXT_TYPES = re.compile(r"text/.*|application/(json|xml|yaml|.*\+json|.*\+xml)")
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(.*)", re.DOTALL)


def dump_message(message: Message) -> Json:
    """Return a message as JSON-ready data, without fields that have their default.

    Raises:
        SetupError: the arguments of a call cannot be represented in JSON.
    """
    data = {"role": message.role, **dump_record(message)}
    if isinstance(message, AssistantMessage):
        data["finish_reason"] = message.finish_reason
    if isinstance(message, ToolMessage) and data.get("artifact", 0) is None:
        del data["artifact"]
    return data


def _dump_call(call: ToolCall) -> Json:
    """Return a call as JSON-ready data.

    Raises:
        SetupError: its arguments cannot be represented in JSON.
    """
    try:
        return dump_record(call)
    except (ValueError, TypeError) as error:
        raise SetupError(f"the call {call.id!r} of {call.name!r}: {error}") from None


def _dump_arguments(arguments: object) -> object:
    """Return a call's arguments as JSON-ready data; text stays text.

    Raises:
        TypeError, ValueError: they cannot be represented in JSON.
    """
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, Mapping):
        raise TypeError(f"arguments of the type {type(arguments).__name__}")
    try:
        text = to_json(dict(arguments)).decode()
    except ValueError:
        # Half a surrogate pair, which only an escape can carry: the call failed, the run goes on.
        text = json.dumps(dict(arguments), allow_nan=False)
    return json.loads(text, parse_constant=refuse_constant)


def _dump_content(content: Content) -> object:
    """Return content as JSON-ready data: a text unchanged, else a list of blocks."""
    return content if isinstance(content, str) else [_dump_block(block) for block in content]


def _dump_block(block: Block) -> Json:
    """Return a block of content with its type and all fields, `extra` only if it is set."""
    fields = dump_record(block, whole=True)
    if not block.extra:
        del fields["extra"]
    return {"type": type(block).__name__.lower(), **fields}


def json_text(data: object) -> str:
    """Return JSON text that UTF-8 can encode.

    It is in ASCII, with escapes, if a text in it has half a surrogate pair; else nothing is escaped.

    Raises:
        ValueError: a number is NaN or infinite.
        TypeError: the data has a value that JSON does not know.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can carry
        return json.dumps(data, allow_nan=False)
    return text


def refuse_constant(text: str) -> object:
    """Raise `ValueError` for NaN and Infinity; for ``json.loads(parse_constant=...)``."""
    raise ValueError(f"{text} is no number")


def load_message(data: object) -> Message:
    """Return the message that `dump_message` wrote.

    Raises:
        ValueError: `data` is not a message.
    """
    if not isinstance(data, Mapping):
        raise ValueError("a message is an object")
    kind = _ROLES.get(str(data.get("role")))
    if kind is None:
        raise ValueError(f"there is no role {data.get('role')!r:.40}")
    fields = {key: value for key, value in data.items() if key != "role"}
    made: Message = load_record(
        fields, kind, ["finish_reason"] if kind is AssistantMessage else None
    )
    return made


def _load_content(content: object) -> Content:
    """Return stored content as text or a tuple of blocks, or raise `ValueError`."""
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return tuple(_load_block(block) for block in content)


def _load_block(data: object) -> Block:
    """Return the block of content that `_dump_block` wrote.

    Raises:
        ValueError: the data is not a block of a known type.
    """
    if not isinstance(data, Mapping) or str(data.get("type")) not in _BLOCKS:
        raise ValueError("a block of content of no known type")
    kind = _BLOCKS[str(data["type"])]
    needed = [f.name for f in dataclasses.fields(kind) if f.name != "extra"]
    block: Block = load_record({key: data[key] for key in data if key != "type"}, kind, needed)
    return block


_BLOCKS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(Block)}
_ROLES: dict[str, type[Any]] = {kind.role: kind for kind in get_args(Message)}


def _load_a(kind: type[T]) -> Callable[[Any], T]:
    """Return a function that loads a message and raises `ValueError` for one of another class."""

    def load(data: Any) -> T:
        """Load a message, or raise ValueError if it is not of class `kind`."""
        message = load_message(data)
        if not isinstance(message, kind):
            raise ValueError(f"a {type(message).__name__} where a {kind.__name__} belongs")
        return message

    return load


_MESSAGE = Codec((Mapping,), dump_message, load_message)
_CALL = Codec((Mapping,), _dump_call, lambda data: load_record(data, ToolCall))
register_codecs(
    {
        "Message": _MESSAGE,
        "tuple[Message, ...]": tuple_codec(_MESSAGE),
        "AssistantMessage": _MESSAGE._replace(load=_load_a(AssistantMessage)),
        "ToolMessage": _MESSAGE._replace(load=_load_a(ToolMessage)),
        "tuple[ToolCall, ...]": tuple_codec(_CALL),
        "str | Mapping[str, object]": Codec((str, Mapping), _dump_arguments),
        "tuple[Reasoning, ...]": tuple_codec(record_codec(Reasoning)),
        "Usage": record_codec(Usage),
        "Content": Codec((str, list), _dump_content, _load_content),
        "bytes": Codec(
            (str,),
            lambda data: base64.b64encode(data).decode(),
            lambda text: base64.b64decode(text, validate=True),
        ),
        "FinishReason": literal_codec(*get_args(FinishReason)),
        "Origin": literal_codec(*get_args(Origin)),
        "Status": literal_codec(*get_args(Status)),
        "Kind | None": literal_codec(*get_args(Kind)),
    }
)


def json_line(value: object) -> str:
    r"""Return a value as one line of JSON with a final newline. Unknown objects become their `str`.

    >>> json_line({"text": "a\u0085b 猫"})
    '{"text": "a\\u0085b 猫"}\n'
    """
    return escape_line(json.dumps(value, ensure_ascii=False, default=str)) + "\n"


def is_text_type(media_type: str) -> bool:
    """Return True if files of this media type are text.

    >>> is_text_type("application/geo+json"), is_text_type("application/pdf")
    (True, False)
    """
    return _TEXT_TYPES.fullmatch(media_type) is not None


def inline(block: Image | Audio | File) -> Image | Audio | File:
    """Return a block with the bytes of its ``data:`` URL, and a picture with its true media type.

    Providers compare a picture's media type with its bytes. A block with another URL, or a malformed
    one, is returned unchanged (RFC 2397).

    >>> inline(Image(url="data:image/gif;base64,R0lGODlh")).data
    b'GIF89a'
    """
    url = getattr(block, "url", "")
    if url:
        return _from_data_url(block, url)
    if isinstance(block, Image):
        media_type = detect_media_type(block.data)
        if media_type.startswith("image/") and media_type != block.media_type:
            return Image(block.data, media_type, "", block.extra)
    return block


def _from_data_url(block: Image | Audio | File, url: str) -> Image | Audio | File:
    """Return the block with the bytes of a ``data:`` URL, or unchanged for another or malformed URL.

    Anything but a picture becomes a `File`.
    """
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
