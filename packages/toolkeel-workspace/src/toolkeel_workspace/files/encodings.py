"""Text files that are not UTF-8: which encoding they are in, so that they are shown and stay as it.

UTF-8 is tried first, always. What is not UTF-8 is taken for UTF-16 by its byte order mark, for GBK
if its bytes pair up as those of common Chinese, and for Windows-1252 if its letters stand among
ASCII ones. A guess is told to whoever reads. Where there is none, single bytes are carried through
as they are, and shown as U+FFFD.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_BOM = "\ufeff"
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_PAIRS = re.compile(rb"(?:[\x00-\x7f]|[\xa1-\xfe][\xa1-\xfe])*")
_COMMON = re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")  # punctuation and everyday characters
_LATIN = re.compile(r"(?:[\x00-\x7f]|[^\W\d_]|[\u2018-\u201e\u20ac\u2013\u2014\u2026\xa0-\xbf])*")
NAMES = {"utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "gb18030": "GBK", "cp1252": "Windows-1252"}
"""What encodings other than UTF-8 are called."""


class Decoded(NamedTuple):
    """A file's text, and how it becomes bytes again.

    Args:
        text: Without a byte order mark; bytes that are nothing are lone surrogates.
        codec: What it is encoded in.
        mark: The byte order mark, or nothing.
    """

    text: str
    codec: str
    mark: str

    def encode(self, text: str) -> bytes:
        """Another text in the same encoding.

        Raises:
            UnicodeEncodeError: the encoding has no such characters.
        """
        errors = "surrogateescape" if self.codec == "utf-8" else "strict"
        return (self.mark + text).encode(self.codec, errors)


def decode(data: bytes) -> Decoded:
    """The text of a whole file; encoded again it is the same bytes.

    >>> decode("中文".encode("gbk")).codec, decode(b"caf\\xe9 ol\\xe9").text
    ('gb18030', 'café olé')
    """
    for codec in _codecs(data):
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        if codec != "utf-8" and text.encode(codec, "replace") != data:
            continue
        if codec == "cp1252" and not _LATIN.fullmatch(text):
            continue
        mark = _BOM if text.startswith(_BOM) else ""
        return Decoded(text.removeprefix(_BOM), codec, mark)
    text = data.decode("utf-8", "surrogateescape")
    mark = _BOM if text.startswith(_BOM) else ""
    return Decoded(text.removeprefix(_BOM), "utf-8", mark)


def _codecs(data: bytes) -> list[str]:
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
    """Whether a file begins as UTF-16 does, whose zero bytes do not make it binary."""
    return head[:2] in _UTF_16 and b"\0" in head


def as_shown(text: str) -> str:
    """A text as a model can be told it: what is no character becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
