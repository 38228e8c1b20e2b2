"""Content of messages as clients send and read it: texts, and pictures, sound and files as data."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Final

from toolkeel.content import Audio, Block, Content, Data, File, Image, Source, Text
from toolkeel.messages import AssistantMessage
from toolkeel_studio.serve.errors import ChannelError

MAX_PARTS: Final = 64
"""Parts of one message of a person."""


def plain_text(content: Content) -> str:
    """Return the text of content, without placeholders of pictures and files."""
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if isinstance(block, Text | Data))


def media_of(content: Content) -> list[Image | Audio | File]:
    """Return the pictures, sound and files of content."""
    blocks = () if isinstance(content, str) else content
    return [block for block in blocks if isinstance(block, Image | Audio | File)]


def base64_of(block: Image | Audio | File) -> str:
    """Return the bytes of a picture, sound or file as base64; empty if it has only an address."""
    return base64.b64encode(block.data).decode("ascii")


def address_of(block: Image | Audio | File) -> str:
    """Return the address of a picture or file, with its bytes in it if it has them."""
    if not block.data and not isinstance(block, Audio):
        return block.url
    return f"data:{block.media_type};base64,{base64_of(block)}"


def is_on_web(source: Source) -> bool:
    """Return True if a page may link to a source; an address of another kind could be a script."""
    return source.url.lower().startswith(("https://", "http://"))


def places_of(source: Source, message: AssistantMessage, end: int) -> list[tuple[int, int]]:
    """Return the places of a source in a client's text, which ends with the text of a reply.

    Args:
        source: What the reply cites.
        message: The reply.
        end: Number of characters of the client's text.

    Returns:
        Start and end of each place; the end of the text if no place is known.
    """
    text = plain_text(message.content)
    moved = [(start + end - len(text), stop + end - len(text)) for start, stop in source.spans]
    known = [place for place in moved if place[0] >= 0] if text == message.text else []
    return known or [(end, end)]


def check_parts(parts: Sequence[object]) -> None:
    """Raise unless a message may have so many parts.

    Raises:
        ChannelError: it may not.
    """
    if len(parts) > MAX_PARTS:
        raise ChannelError(f"a message has at most {MAX_PARTS} parts")


def join_blocks(blocks: Sequence[Block]) -> Content:
    """Return blocks as content: as one text if all are the person's own."""
    if all(isinstance(block, Text) and not block.extra for block in blocks):
        return "\n".join(block.text for block in blocks if isinstance(block, Text))
    return tuple(blocks)


def decode_base64(data: str) -> bytes:
    """Return the bytes that a client sent.

    Raises:
        ChannelError: they are no base64.
    """
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ChannelError("a picture or file is no base64") from None


def decode_media(data: str, media_type: str, name: str = "") -> Image | Audio | File:
    """Return a picture, sound or file of base64, by its media type.

    Raises:
        ChannelError: it is no base64.
    """
    content = decode_base64(data)
    if media_type.startswith("image/"):
        return Image(content, media_type)
    if media_type.startswith("audio/"):
        return Audio(content, media_type)
    return File(content, name or "file", media_type or "text/plain")


def decode_data_url(url: object, name: str = "") -> Image | Audio | File:
    """Return the picture, sound or file of a ``data:`` URL.

    Raises:
        ChannelError: it is somewhere else, or no base64.
    """
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    media_type, *options = head.removeprefix("data:").split(";")
    if not (comma and head.startswith("data:") and "base64" in options):
        raise ChannelError("send files as data: URLs; this server fetches nothing for a client")
    return decode_media(data, media_type, name)
