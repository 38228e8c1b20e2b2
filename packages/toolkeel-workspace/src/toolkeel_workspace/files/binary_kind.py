"""What a file is that is no text, by its first bytes."""

from __future__ import annotations

import unicodedata

from toolkeel.content import detect_media_type

UTF_16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""Encodings of UTF-16 by their byte order marks."""
HEAD_BYTES = 8192
"""Bytes of a file by which text is told from binary data."""
_UTF_32 = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")


def is_utf_16(head: bytes) -> bool:
    """Return true if a file starts as UTF-16, whose zero bytes do not make it binary."""
    return head[:2] in UTF_16_MARKS and b"\0" in head and not head.startswith(_UTF_32)


def find_binary_kind(head: bytes) -> str:
    """Return what a file is that is no text; empty for text.

    Args:
        head: Its first 8 KB.
    """
    if is_utf_16(head):
        return ""
    if head.startswith(_UTF_32):
        return "UTF-32, which is not read as text here: convert it to UTF-8"
    kind = detect_media_type(head)
    if kind != "application/octet-stream":
        return f"binary ({kind}), not text"
    head = head[:HEAD_BYTES]
    if b"\0" not in head:
        return ""
    if codec := _find_unmarked_utf_16(head):
        return (
            f"probably {codec} without a byte order mark, which is a guess and not read as text here: "
            f"convert it to UTF-8 (iconv -f {codec} -t UTF-8)"
        )
    return "binary, not text"


def _find_unmarked_utf_16(head: bytes) -> str:
    """Return which UTF-16 a file with zero bytes and without a mark may be; empty if it is no text so."""
    try:
        plain = head.replace(b"\0", b"").decode()
    except UnicodeDecodeError:
        plain = ""
    is_utf_8 = bool(plain) and not _has_control(plain)  # with single zero bytes between
    for first, codec in ((1, "UTF-16LE"), (0, "UTF-16BE")):
        if b"\0" in head[1 - first :: 2]:
            continue
        text = head[: len(head) // 2 * 2].decode(codec, "replace")
        is_single = is_utf_8 and any(char > "\xff" for char in text)
        if len(text) > 1 and not is_single and not _has_control(text):
            return codec
    return ""


def _has_control(text: str) -> bool:
    """Return true if a text has characters that are in no text, such as control characters."""
    kinds = {unicodedata.category(char) for char in set(text) - {*"\t\n\f\r"}}
    return not kinds.isdisjoint({"Cc", "Cn", "Co", "Cs"})
