"""Damaged pictures."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Picture

from toolkeel_workspace.pictures.damage import find_damage


def real(file_format: str, mode: str = "RGB", **options: object) -> bytes:
    file = io.BytesIO()
    Picture.new("RGB", (37, 21), "teal").convert(mode).save(file, file_format, **options)
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def real_png(width: int, height: int) -> bytes:
    """Return a complete black picture without its memory."""
    rows = zlib.compressobj(1)
    packed = [rows.compress(bytes(1 + width)) for _ in range(height)]
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", b"".join([*packed, rows.flush()]))
    return b"\x89PNG\r\n\x1a\n" + header + body + chunk(b"IEND", b"")


WHOLE = [
    *(real("PNG", mode) for mode in ("1", "L", "P", "LA", "RGB", "RGBA")),
    real("JPEG"),
    real("JPEG", progressive=True),
    real("GIF"),
    real("GIF", save_all=True, append_images=[Picture.new("RGB", (37, 21), "red")]),
    real("WEBP"),
    real("WEBP", lossless=True),
    real("WEBP", "RGBA"),
    real("WEBP", save_all=True, append_images=[Picture.new("RGB", (37, 21), "red")]),
]


@pytest.mark.parametrize("data", WHOLE, ids=range(len(WHOLE)))
def test_a_complete_picture_is_not_called_damaged_even_with_bytes_after_it(data: bytes) -> None:
    assert find_damage(data) == find_damage(data + b"more") == ""


@given(st.sampled_from(WHOLE), st.data())
def test_a_picture_that_ends_early_is_damaged(whole: bytes, data: st.DataObject) -> None:
    if whole.startswith(b"GIF8"):  # one picture and the end after it, which may be missing
        whole = WHOLE[8][:-2]
    size = data.draw(st.integers(12, len(whole) - (1 if whole[:3] == b"GIF" else 2)))
    assert find_damage(whole[:size])


@given(st.integers(33, len(WHOLE[4]) - 13), st.integers(1, 255))
def test_a_png_with_another_byte_is_damaged(place: int, other: int) -> None:
    data = bytearray(WHOLE[4])
    data[place] ^= other
    assert find_damage(bytes(data))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (WHOLE[4][:33], "it ends before its picture data"),
        (WHOLE[4][:8] + chunk(b"IEND", b""), "it ends in the middle"),
        (WHOLE[4][:33] + chunk(b"IDAT", b"none") + chunk(b"IEND", b""), "its compressed data"),
        (
            WHOLE[4][:33] + chunk(b"IDAT", zlib.compress(b"\0" * 50)) + chunk(b"IEND", b""),
            "its picture data is incomplete",
        ),
        (b"\xff\xd8none", "its segments are damaged"),
        (b"GIF89a\0\0\0\0\0\0\0;", "its header is wrong"),
        (b"GIF89a\1\0\1\0\0\0\0;", "it ends before its picture data"),
        (b"RIFF\4\0\0\0WEBP", "it ends before its picture data"),
    ],
)
def test_what_is_wrong_with_it_is_told(data: bytes, said: str) -> None:
    assert find_damage(data).startswith(said)


@given(
    st.binary(max_size=80),
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"GIF8", b"RIFF....WEBP"]),
)
def test_no_bytes_can_break_it(data: bytes, start: bytes) -> None:
    assert isinstance(find_damage(start + data), str)
