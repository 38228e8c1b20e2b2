"""One reader for the content blocks of other libraries, and one writer.

It knows OpenAI's parts (Chat and Responses), Anthropic's, LangChain's of both versions and the
Agents SDK's outputs of tools, as dicts or as objects.
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

_TEXTS = frozenset({"text", "input_text", "output_text", "text-plain", "refusal"})
_IMAGES = frozenset({"image", "image_url", "input_image"})
_AUDIO = frozenset({"audio", "input_audio"})
_FILES = frozenset({"file", "input_file", "document", "video", "image", "image_url", "input_image"})
_INNER = ("source", "image_url", "input_audio", "file")
"""Keys whose value may be an object with the rest."""
_NAMES = ("filename", "name", "title")


def fields_of(part: object) -> Mapping[str, Any]:
    """The fields of a part, be it a dict or an object; none if it is neither.

    >>> fields_of({"type": "text"}), fields_of(3)
    ({'type': 'text'}, {})
    """
    if isinstance(part, Mapping):
        return part
    return getattr(part, "__dict__", {}) if hasattr(part, "type") else {}


def block_of(part: object) -> Block | None:
    """One part as a block; None if it is none that can be shown to a model.

    >>> block_of({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}).url
    'https://a.example/b.png'
    >>> block_of({"type": "audio", "base64": "aGk=", "mime_type": "audio/mpeg"}).data
    b'hi'
    >>> block_of({"type": "image", "file_id": "file_1"})
    """
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, Text | Image | Audio | File | Data):
        return part
    fields: dict[str, Any] = dict(fields_of(part))
    kind = fields.get("type")
    if not isinstance(kind, str):
        return None
    for key in _INNER:
        if isinstance(fields.get(key), Mapping):
            fields |= {"kind": fields[key].get("type")} | {**fields.pop(key)}
    text = fields.get("text") if kind != "refusal" else fields.get("refusal")
    if isinstance(text, str) and (kind in _TEXTS or fields.get("source_type") == "text"):
        return Text(text)
    if kind == "json" and "json" in fields:
        return Data(fields["json"], dumps(fields["json"]))
    return _media(kind, fields)


def _media(kind: str, fields: Mapping[str, Any]) -> Block | None:
    """A picture, a sound or a file, of its bytes or its address."""
    media_type = _first(fields, "mime_type", "media_type")
    data, url = _bytes_or_url(fields)
    extra = fields["extras"] if isinstance(fields.get("extras"), Mapping) else {}
    if not url and not data:
        return None
    if kind in _IMAGES:
        closely = {"detail": fields["detail"]} if fields.get("detail") in ("low", "high") else {}
        return Image(data, media_type or "image/png", url, {**closely, **extra})
    if data and (kind in _AUDIO or media_type.startswith("audio/")):
        return Audio(data, media_type or f"audio/{fields.get('format') or 'wav'}", extra)
    if kind not in _FILES:
        return None
    name = _first(fields, *_NAMES) or "file"
    default = "application/pdf" if data or url.startswith("data:") else "application/octet-stream"
    return inline(File(data, name, media_type or default, url, extra))


def _bytes_or_url(fields: Mapping[str, Any]) -> tuple[bytes, str]:
    """The bytes, or else the address, which may hold them; neither if they cannot be read."""
    coded = _first(fields, "base64", "data", "file_data")
    if fields.get("kind") == "text":  # a document of Anthropic's
        return coded.encode(), ""
    if coded.startswith("data:"):
        return b"", coded
    try:
        return base64.b64decode(coded, validate=True), _first(
            fields, "url", "image_url", "file_url"
        )
    except (ValueError, binascii.Error):
        return b"", ""


def _first(fields: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that is a text."""
    found = (fields[name] for name in names if isinstance(fields.get(name), str))
    return next(found, "")


def content_of(given: object) -> Content:
    """What a message or a result holds, of the parts of any of these libraries.

    >>> content_of([{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}])
    'ab'

    Raises:
        SetupError: for a part that cannot be read, by its type.
    """
    if isinstance(given, str):
        return given
    if not isinstance(given, list | tuple):
        raise SetupError(f"{given!r:.80} is no content of a message")
    blocks = tuple(_read(part) for part in given)
    texts = [block.text for block in blocks if isinstance(block, Text)]
    return "".join(texts) if len(texts) == len(blocks) else blocks


def _read(part: object) -> Block:
    block = block_of(part)
    if block is None:
        kind = fields_of(part).get("type")
        raise SetupError(
            f"a part of the type {kind!r:.60} is not read here; use Text, Image or File"
        )
    return block


def written(content: Content) -> str | list[dict[str, Any]]:
    """Content as LangChain's blocks; a text as it is.

    >>> written((Text("see"), Image(url="https://a.example/b.png")))[1]
    {'type': 'image', 'url': 'https://a.example/b.png'}
    """
    return content if isinstance(content, str) else [_written(block) for block in content]


def _written(block: Block) -> dict[str, Any]:
    if isinstance(block, Text | Data):
        return {"type": "text", "text": block.text}
    kind = type(block).__name__.lower()
    more: dict[str, Any] = {"filename": block.name} if isinstance(block, File) else {}
    more |= {"extras": dict(block.extra)} if block.extra else {}
    if url := getattr(block, "url", ""):
        told = kind == "file" and block.media_type != File().media_type
        return {"type": kind, "url": url, **more} | (
            {"mime_type": block.media_type} if told else {}
        )
    coded = data_url(block).partition(",")[2]
    return {"type": kind, "base64": coded, "mime_type": block.media_type, **more}
