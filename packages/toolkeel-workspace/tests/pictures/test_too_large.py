"""The size of pictures by their headers."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import ToolError
from toolkeel_workspace.pictures.too_large import MAX_BYTES, check_picture, measure_picture


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\2\0\0\0"


def jpeg(width: int, height: int) -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + bytes(14)
    frame = b"\xff\xff\xc2" + struct.pack(">HBHH", 11, 8, height, width)
    return b"\xff\xd8" + app + frame


def webp(kind: bytes, data: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + data


VP8X = webp(b"VP8X", bytes(4) + (29).to_bytes(3, "little") + (39).to_bytes(3, "little"))
VP8L = webp(b"VP8L", b"\x2f" + (29 | 39 << 14).to_bytes(4, "little"))
VP8 = webp(b"VP8 ", bytes(6) + struct.pack("<HH", 30, 40))


@pytest.mark.parametrize(
    "data",
    [png(30, 40), jpeg(30, 40), b"GIF89a" + struct.pack("<HH", 30, 40), VP8X, VP8L, VP8],
    ids=["png", "jpeg", "gif", "vp8x", "vp8l", "vp8"],
)
def test_the_header_says_how_large_a_picture_is(data: bytes) -> None:
    assert measure_picture(data) == (30, 40)


@given(st.binary(max_size=64), st.sampled_from([b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF....WEBP"]))
def test_no_header_can_break_it(data: bytes, start: bytes) -> None:
    size = measure_picture(start + data)
    assert size is None or min(size) >= 0


def test_a_picture_too_large_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(ToolError, match="50000 x 50000 pixels; at most 8000"):
        check_picture(png(50_000, 50_000), "image/png")
    with pytest.raises(ToolError, match="bytes; at most"):
        check_picture(png(1, 1) + bytes(MAX_BYTES), "image/png")
    assert check_picture(png(30, 40), "image/png").startswith("30 x 40 pixels, ")
    assert check_picture(b"BM", "image/bmp") == "2 bytes"
