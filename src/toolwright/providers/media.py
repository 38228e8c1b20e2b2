"""Content blocks as providers can take them: which are text, and the bytes of the others."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import unquote_to_bytes

from toolwright.content import Audio, Block, Content, Data, File, Image, Text, sniff, text_of
from toolwright.providers.wire import clean_text

NO_OUTPUT = "(no tool output)"
"""Stands for an empty result: models make one up where they see nothing."""

BELOW = "(the result follows)"
"""Stands before pictures and files of a result without words."""

NO_TEXT = "(no text)"
"""Stands for an empty prompt, which some providers refuse."""

_TEXT_TYPES = re.compile(r"text/.*|application/(json|xml|yaml|.*\+json|.*\+xml)")
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(.*)", re.DOTALL)


def readable(block: Block) -> str | None:
    """The text of a block that is text: said, JSON, or a file of text.

    >>> readable(File("a,b".encode(), "t.csv", "text/csv"))
    't.csv:\\na,b'
    """
    if isinstance(block, Text | Data):
        return block.text
    if isinstance(block, File) and block.data and _TEXT_TYPES.fullmatch(block.media_type):
        try:
            return f"{block.name}:\n{block.data.decode()}"
        except UnicodeDecodeError:
            return None
    return None


def note(block: Block, where: str) -> str:
    """What stands in place of a block that is not text.

    >>> note(Image(b"1234"), "cannot be shown")
    '[image/png, 4 bytes, cannot be shown]'
    """
    return clean_text(f"{text_of((block,))[:-1]}, {where}]")


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
            return Image(block.data, media_type)
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
        return inline(Image(data, media_type or block.media_type))
    name = block.name if isinstance(block, File) else "file"
    return File(data, name, media_type or block.media_type)


def is_blank(content: Content) -> bool:
    """Whether there is nothing but blank text in `content`.

    >>> is_blank(" \\n"), is_blank((Text(""), Image(b"1")))
    (True, False)
    """
    if isinstance(content, str):
        return not content.strip()
    return all(isinstance(block, Text) and not block.text.strip() for block in content)
