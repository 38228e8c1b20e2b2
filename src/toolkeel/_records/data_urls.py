"""Content blocks that are more than they look: ``data:`` URLs hold bytes, and some files text."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import unquote_to_bytes

from toolkeel.content import Audio, File, Image, sniff

_TEXT_TYPES = re.compile(r"text/.*|application/(json|xml|yaml|.*\+json|.*\+xml)")
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(.*)", re.DOTALL)


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
