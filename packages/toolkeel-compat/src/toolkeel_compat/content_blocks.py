"""Convert content blocks of other libraries to the core's, and back to LangChain's.

Readable formats: OpenAI's parts (Chat and Responses), Anthropic's, LangChain's of both versions and
the Agents SDK's tool outputs, as dicts or as objects.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from toolkeel._records.messages_json import inline
from toolkeel.content import Audio, Block, Content, Data, File, Image, Text, data_url
from toolkeel.errors import SetupError
from toolkeel.providers.wire.plain_json import dumps

_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "text-plain", "refusal"})
_IMAGE_TYPES = frozenset({"image", "image_url", "input_image"})
_AUDIO_TYPES = frozenset({"audio", "input_audio"})
_FILE_TYPES = frozenset(
    {"file", "input_file", "document", "video", "image", "image_url", "input_image"}
)
_NESTED_KEYS = ("source", "image_url", "input_audio", "file")
"""Keys whose value may be an object with the rest."""
_NAME_KEYS = ("filename", "name", "title")


def read_fields(part: object) -> Mapping[str, Any]:
    """Return the fields of a part that is a dict or an object, or an empty dict for anything else.

    >>> read_fields({"type": "text"}), read_fields(3)
    ({'type': 'text'}, {})
    """
    if isinstance(part, Mapping):
        return part
    return getattr(part, "__dict__", {}) if hasattr(part, "type") else {}


def to_block(part: object) -> Block | None:
    """Convert one part to a block; None if no block represents it.

    >>> to_block({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}).url
    'https://a.example/b.png'
    >>> to_block({"type": "audio", "base64": "aGk=", "mime_type": "audio/mpeg"}).data
    b'hi'
    >>> to_block({"type": "image", "file_id": "file_1"})
    """
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, Text | Image | Audio | File | Data):
        return part
    fields: dict[str, Any] = dict(read_fields(part))
    kind = fields.get("type")
    if not isinstance(kind, str):
        return None
    for key in _NESTED_KEYS:
        if isinstance(fields.get(key), Mapping):
            fields |= {"kind": fields[key].get("type")} | {**fields.pop(key)}
    text = fields.get("text") if kind != "refusal" else fields.get("refusal")
    if isinstance(text, str) and (kind in _TEXT_TYPES or fields.get("source_type") == "text"):
        return Text(text)
    if kind == "json" and "json" in fields:
        return Data(fields["json"], dumps(fields["json"]))
    return _build_media_block(kind, fields)


def _build_media_block(kind: str, fields: Mapping[str, Any]) -> Block | None:
    """Build an image, audio or file block from its bytes or URL."""
    media_type = _find_text(fields, "mime_type", "media_type")
    data, url = _read_bytes_or_url(fields)
    extra = fields["extras"] if isinstance(fields.get("extras"), Mapping) else {}
    if not url and not data:
        return None
    if kind in _IMAGE_TYPES:
        closely = {"detail": fields["detail"]} if fields.get("detail") in ("low", "high") else {}
        return Image(data, media_type or "image/png", url, {**closely, **extra})
    if data and (kind in _AUDIO_TYPES or media_type.startswith("audio/")):
        return Audio(data, media_type or f"audio/{fields.get('format') or 'wav'}", extra)
    if kind not in _FILE_TYPES:
        return None
    name = _find_text(fields, *_NAME_KEYS) or "file"
    default = "application/pdf" if data or url.startswith("data:") else "application/octet-stream"
    return inline(File(data, name, media_type or default, url, extra))


def _read_bytes_or_url(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return the decoded bytes, or else the URL, which may be a data URL; both empty if unreadable."""
    coded = _find_text(fields, "base64", "data", "file_data")
    if fields.get("kind") == "text":  # a document of Anthropic's
        return coded.encode(), ""
    if coded.startswith("data:"):
        return b"", coded
    try:
        return base64.b64decode(coded, validate=True), _find_text(
            fields, "url", "image_url", "file_url"
        )
    except (ValueError, binascii.Error):
        return b"", ""


def _find_text(fields: Mapping[str, Any], *names: str) -> str:
    """Return the first of the named fields that is a string, or an empty string."""
    found = (fields[name] for name in names if isinstance(fields.get(name), str))
    return next(found, "")


def to_content(content: object, *, joins: bool = True) -> Content:
    """Convert a message's or result's parts, in any of these formats, to core content.

    Args:
        content: The parts, or a string.
        joins: Join parts that are all text to one string.

    >>> to_content([{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}])
    'ab'

    Raises:
        SetupError: A part has an unknown type.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        raise SetupError(f"{content!r:.80} is no content of a message")
    blocks = tuple(_parse_part(part) for part in content)
    texts = [block.text for block in blocks if isinstance(block, Text)]
    if len(texts) == len(blocks) and (joins or len(texts) < 2):
        return "".join(texts)
    return blocks


def _parse_part(part: object) -> Block:
    """Convert one part to a block, or raise `SetupError`."""
    block = to_block(part)
    if block is None:
        kind = read_fields(part).get("type")
        raise SetupError(
            f"a part of the type {kind!r:.60} is not read here; use Text, Image or File"
        )
    return block


def to_langchain_content(content: Content) -> str | list[dict[str, Any]]:
    """Convert content to LangChain's blocks; a string stays a string.

    >>> to_langchain_content((Text("see"), Image(url="https://a.example/b.png")))[1]
    {'type': 'image', 'url': 'https://a.example/b.png'}
    """
    return (
        content if isinstance(content, str) else [_to_langchain_block(block) for block in content]
    )


def _to_langchain_block(block: Block) -> dict[str, Any]:
    if isinstance(block, Text | Data):
        return {"type": "text", "text": block.text}
    kind = type(block).__name__.lower()
    more: dict[str, Any] = {"filename": block.name} if isinstance(block, File) else {}
    more |= {"extras": dict(block.extra)} if block.extra else {}
    if url := getattr(block, "url", ""):
        has_media_type = kind == "file" and block.media_type != File().media_type
        return {"type": kind, "url": url, **more} | (
            {"mime_type": block.media_type} if has_media_type else {}
        )
    coded = data_url(block).partition(",")[2]
    return {"type": kind, "base64": coded, "mime_type": block.media_type, **more}
