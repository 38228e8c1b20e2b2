"""Content blocks: what a message or a tool result can hold besides plain text.

Every block has an `extra`: what else its source said about it and a program may want back, such as
the ``annotations`` of the Model Context Protocol (for whom it is, how important). No model sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from toolkeel._records.record import NOTHING, record


@record
class Text:
    """A piece of text."""

    text: str
    extra: Mapping[str, object] = NOTHING


@record
class Image:
    """A picture, as bytes or by address.

    Args:
        data: The encoded file; empty if `url` is passed.
        media_type: Such as ``image/png``.
        url: Where a provider can fetch it.
    """

    data: bytes = b""
    media_type: str = "image/png"
    url: str = ""
    extra: Mapping[str, object] = NOTHING


@record
class Audio:
    """A sound, as bytes.

    Args:
        data: The encoded file.
        media_type: Such as ``audio/wav``.
    """

    data: bytes
    media_type: str = "audio/wav"
    extra: Mapping[str, object] = NOTHING


@record
class File:
    """Any other file, as bytes or by address.

    Args:
        data: The file's bytes; empty if `url` is passed.
        name: File name shown to the model.
        media_type: Such as ``application/pdf``.
        url: Where a provider can fetch it.
    """

    data: bytes = b""
    name: str = "file"
    media_type: str = "application/octet-stream"
    url: str = ""
    extra: Mapping[str, object] = NOTHING


@record
class Source:
    """What a reply cites: a page, a document or a search result.

    Args:
        url: Its address; empty for a document that has none.
        title: Its title or file name.
        text: The cited passage, or the search's excerpt.
        id: The provider's id of a document.
        mark: The mark that stands for it in the reply's text, such as ``[1]``.
        spans: Start and end of each place in the reply's text that it supports, or where its mark is.
    """

    url: str = ""
    title: str = ""
    text: str = ""
    id: str = ""
    mark: str = ""
    spans: tuple[tuple[int, int], ...] = ()


@record
class Data:
    """A JSON value that goes to the model as text and stays a value for programs.

    Args:
        value: Anything JSON can hold.
        text: Its JSON text.
    """

    value: object
    text: str
    extra: Mapping[str, object] = NOTHING


Block: TypeAlias = Text | Image | Audio | File | Data
Content: TypeAlias = str | tuple[Block, ...]

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
)


def detect_media_type(data: bytes) -> str:
    """Return the media type of `data` by its first bytes.

    >>> detect_media_type(b"%PDF-1.7 ...")
    'application/pdf'
    >>> detect_media_type(b"plain")
    'application/octet-stream'
    """
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    if data[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(
            data[8:12], "application/octet-stream"
        )
    return "application/octet-stream"


def block_from_bytes(data: bytes, name: str = "file") -> Block:
    """Wrap bytes in the block that fits their beginning: `Image`, `Audio`, or for anything else `File`.

    Args:
        data: A file's bytes.
        name: Its name, used if it is neither picture nor sound.
    """
    media_type = detect_media_type(data)
    if media_type.startswith("image/"):
        return Image(data, media_type)
    if media_type.startswith("audio/"):
        return Audio(data, media_type)
    return File(data, name, media_type)


def content_text(content: Content) -> str:
    """Return the text in `content`, a block a line, with a short note for each picture, sound and file.

    >>> content_text((Text("see"), Image(b"", "image/png")))
    'see\\n[image/png, 0 bytes]'
    """
    if isinstance(content, str):
        return content
    return "\n".join(_block_text(block) for block in content)


def _block_text(block: Block) -> str:
    """Return the text of a block, or a short note for what is not text."""
    match block:
        case Text(text) | Data(text=text):
            return text
        case Image(url=url, media_type=kind) | File(url=url, media_type=kind) if url:
            return f"[{kind}, {url}]"
        case _:
            return f"[{block.media_type}, {len(block.data)} bytes]"


def data_url(block: Image | Audio | File) -> str:
    """Return a block as a URL that a provider accepts: its own, or a ``data:`` URL (RFC 2397)."""
    url = getattr(block, "url", "")
    if url:
        return str(url)
    import base64  # late: few tools give files

    return f"data:{block.media_type};base64,{base64.b64encode(block.data).decode()}"
