"""Text files in other encodings than UTF-8: shown as text and written back in their encoding.

UTF-8 is always tried first. Other files are taken for UTF-16 by their byte order mark, for GBK if their
bytes pair up like common Chinese, and for Windows-1252 if its letters occur among ASCII ones. The reader
is informed of a guess. Without a guess, single bytes are preserved as they are, and shown as U+FFFD.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_BOM = "\ufeff"
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_PAIRS = re.compile(rb"(?:[\x00-\x7f]|[\xa1-\xfe][\xa1-\xfe])*")
_COMMON = re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")  # punctuation and everyday characters
_LATIN = re.compile(r"(?:[\x00-\x7f]|[^\W\d_]|[\u2018-\u201e\u20ac\u2013\u2014\u2026\xa0-\xbf])*")
ENCODING_NAMES = {
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "gb18030": "GBK",
    "cp1252": "Windows-1252",
}
"""Names of encodings other than UTF-8, for people."""


class DecodedText(NamedTuple):
    """A file's text, and how to encode it again.

    Args:
        text: Without a byte order mark; undecodable bytes are lone surrogates.
        codec: Its encoding.
        mark: The byte order mark, or empty.
    """

    text: str
    codec: str
    mark: str

    def encode(self, text: str) -> bytes:
        """Encode another text in the same encoding.

        Raises:
            UnicodeEncodeError: the encoding lacks a character.
        """
        errors = "surrogateescape" if self.codec == "utf-8" else "strict"
        return (self.mark + text).encode(self.codec, errors)


def decode_text(data: bytes) -> DecodedText:
    r"""Decode a file; encoding the result gives the same bytes.

    >>> decode_text("中文".encode("gbk")).codec, decode_text(b"caf\xe9 ol\xe9").text
    ('gb18030', 'café olé')
    """
    for codec in _guess_codecs(data):
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        if codec != "utf-8" and text.encode(codec, "replace") != data:
            continue
        if codec == "cp1252" and not _LATIN.fullmatch(text):
            continue
        mark = _BOM if text.startswith(_BOM) else ""
        return DecodedText(text.removeprefix(_BOM), codec, mark)
    text = data.decode("utf-8", "surrogateescape")
    mark = _BOM if text.startswith(_BOM) else ""
    return DecodedText(text.removeprefix(_BOM), "utf-8", mark)


def _guess_codecs(data: bytes) -> list[str]:
    if is_utf_16(data):
        return [_UTF_16[data[:2]], "utf-8"]
    codecs = ["utf-8"]
    high = len(data) - len(data.translate(None, bytes(range(128, 256))))
    if _PAIRS.fullmatch(data) and 2 * len(_COMMON.findall(data)) > 0.9 * high:
        codecs.append("gb18030")
    elif 3 * high < len(data):
        codecs.append("cp1252")
    return codecs


def is_utf_16(head: bytes) -> bool:
    """Return true if a file starts as UTF-16, whose zero bytes do not make it binary."""
    return head[:2] in _UTF_16 and b"\0" in head


def replace_invalid(text: str) -> str:
    """Replace lone surrogates by U+FFFD, so that the text can be sent to a model."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
