"""The size of a picture from its header, without decoding it."""

from __future__ import annotations

import struct

from toolkeel.errors import ToolError

MAX_SIDE = 8000
"""Most pixels of a side that providers take."""
TARGET_SIDE = 2000
"""Most pixels of a side that are worth sending: models make larger pictures smaller themselves."""
MAX_BYTES = 3_500_000
"""Most bytes of a picture: providers take 4.5 MB and less of its base64 text."""


def check_picture(data: bytes, media_type: str) -> str:
    """Return the size of a picture as text for people.

    Raises:
        ToolError: if it is too large to be shown.
    """
    if len(data) > MAX_BYTES:
        raise ToolError(f"The picture has {len(data):,} bytes; at most {MAX_BYTES:,} can be shown.")
    size = measure_picture(data)
    if size is None:
        return f"{len(data):,} bytes"
    if max(size) > MAX_SIDE:
        raise ToolError(
            f"The picture has {size[0]} x {size[1]} pixels; at most {MAX_SIDE} a side can be shown."
        )
    return f"{size[0]} x {size[1]} pixels, {len(data):,} bytes"


def measure_picture(data: bytes) -> tuple[int, int] | None:
    """Return width and height, or None if the header does not say.

    >>> measure_picture(b"GIF89a" + bytes([10, 0, 20, 0]))
    (10, 20)
    """
    try:
        if data.startswith(b"\x89PNG"):
            return struct.unpack(">II", data[16:24])
        if data.startswith(b"GIF8"):
            return struct.unpack("<HH", data[6:10])
        if data.startswith(b"\xff\xd8"):
            return _measure_jpeg(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _measure_webp(data)
    except (struct.error, IndexError):
        pass
    return None


def _measure_jpeg(data: bytes) -> tuple[int, int] | None:
    """Walk the segments to the frame's header (ITU T.81, annex B)."""
    place = 2
    while data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:  # fill
            place += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        (length,) = struct.unpack(">H", data[place + 2 : place + 4])
        place += 2 + length
    return None


def _measure_webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return (
            1 + int.from_bytes(data[24:27], "little"),
            1 + int.from_bytes(data[27:30], "little"),
        )
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None
