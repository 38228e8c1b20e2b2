"""Damage of a picture that shows without decoding its pixels: providers refuse such a request.

The structure of the file is followed to its end, in time that grows with its size. Of PNG files, the
checksums and the compressed data are checked as well.
"""

from __future__ import annotations

import struct
import zlib

_PNG_START = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_CHUNK = 1 << 20


def find_damage(data: bytes) -> str:
    """Return what is wrong with a PNG, JPEG, GIF or WebP picture; empty if nothing was found.

    >>> find_damage(b"\\x89PNG\\r\\n\\x1a\\n")
    'it ends before its picture data'
    """
    try:
        if data.startswith(_PNG_START):
            return _check_png(data)
        if data.startswith(b"\xff\xd8"):
            return _check_jpeg(data)
        if data.startswith(b"GIF8"):
            return _check_gif(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _check_webp(data)
    except (struct.error, IndexError):
        return "it ends in the middle"
    return ""


def _check_png(data: bytes) -> str:
    place, parts, header = len(_PNG_START), list[bytes](), b""
    while place < len(data):
        (size,) = struct.unpack_from(">I", data, place)
        kind, end = data[place + 4 : place + 8], place + 12 + size
        if end > len(data):
            return "it ends in the middle"
        (checksum,) = struct.unpack_from(">I", data, end - 4)
        if zlib.crc32(data[place + 4 : end - 4]) != checksum:
            return f"the checksum of its part {kind.decode('ascii', 'replace')!r} is wrong"
        if kind == b"IHDR":
            header = data[place + 8 : end - 4]
        elif kind == b"IDAT":
            parts.append(data[place + 8 : end - 4])
        elif kind == b"IEND":
            return _check_png_pixels(header, b"".join(parts))
        place = end
    return "it ends before its picture data" if not parts else "it ends in the middle"


def _check_png_pixels(header: bytes, packed: bytes) -> str:
    """Return what is wrong with the compressed rows of a PNG file (RFC 2083)."""
    width, height, depth, color, *_, interlaced = struct.unpack(">IIBBBBB", header)
    if not width or not height or color not in _CHANNELS:
        return "its header is wrong"
    bits = depth * _CHANNELS[color]
    least = height * (1 + (width * bits + 7) // 8) if not interlaced else width * height * bits // 8
    decoder, found = zlib.decompressobj(), 0
    try:
        while found < least and packed and not decoder.eof:
            found += len(decoder.decompress(packed, _CHUNK))
            packed = decoder.unconsumed_tail
    except zlib.error:
        return "its compressed data is damaged"
    return "" if found >= least else "its picture data is incomplete"


def _check_jpeg(data: bytes) -> str:
    """Follow the segments to the first scan (ITU T.81, annex B), after which an end must come."""
    place, has_frame = 2, False
    while data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:  # fill
            place += 1
            continue
        (length,) = struct.unpack_from(">H", data, place + 2)
        has_frame = has_frame or (0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC))
        place += 2 + length
        if marker == 0xDA:
            complete = data.find(b"\xff\xd9", place) >= 0
            return "" if has_frame and complete else "it ends in the middle"
    return "its segments are damaged"


def _check_gif(data: bytes) -> str:
    """Follow the blocks to the end of the first picture."""
    if not all(struct.unpack_from("<HH", data, 6)):
        return "its header is wrong"
    place = 13 + _count_colors(data[10])
    while data[place] != 0x3B:
        if data[place] == 0x21:
            place = _skip_gif_blocks(data, place + 2)
        elif data[place] == 0x2C:
            _skip_gif_blocks(data, place + 11 + _count_colors(data[place + 9]))
            return ""
        else:
            return "its blocks are damaged"
    return "it ends before its picture data"


def _count_colors(flags: int) -> int:
    """Return the bytes of a color table."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _skip_gif_blocks(data: bytes, place: int) -> int:
    while size := data[place]:
        place += 1 + size
    return place + 1


def _check_webp(data: bytes) -> str:
    (size,) = struct.unpack_from("<I", data, 4)
    if 8 + size > len(data):
        return "it ends in the middle"
    place, end = 12, 8 + size
    while place + 8 <= end:
        kind, (length,) = data[place : place + 4], struct.unpack_from("<I", data, place + 4)
        place += 8 + length + length % 2
        if kind in (b"VP8 ", b"VP8L", b"ANMF"):
            return "it ends in the middle" if place - length % 2 > end or not length else ""
    return "it ends before its picture data"
