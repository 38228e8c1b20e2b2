"""Pictures made small enough for a model."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.pictures.test_too_large import png
from toolkeel.content import detect_media_type
from toolkeel.errors import ToolError
from toolkeel_workspace.pictures.shrink import MAX_PIXELS, shrink
from toolkeel_workspace.pictures.too_large import MAX_BYTES, TARGET_SIDE, measure_picture


def encoded(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def noise(width: int, height: int) -> Image.Image:
    return Image.frombytes("RGB", (width, height), random.Random(1).randbytes(3 * width * height))


def test_a_wide_picture_keeps_its_proportions() -> None:
    small = shrink(encoded(Image.new("RGB", (5000, 1000), "teal")))
    assert (small.original_size, small.size, small.scale) == ((5000, 1000), (2000, 400), 2.5)
    assert small.media_type == "image/png" == detect_media_type(small.data)
    with Image.open(io.BytesIO(small.data)) as seen:
        assert seen.size == (2000, 400)
        assert seen.getpixel((1000, 200)) == (0, 128, 128)


def test_a_picture_of_many_bytes_becomes_a_jpeg_before_it_loses_pixels() -> None:
    data = encoded(noise(1300, 1000))
    assert len(data) > MAX_BYTES
    small = shrink(data)
    assert (small.size, small.media_type) == ((1300, 1000), "image/jpeg")
    assert len(small.data) <= MAX_BYTES


def test_a_picture_that_no_quality_makes_small_enough_loses_pixels() -> None:
    small = shrink(encoded(noise(400, 300)), max_bytes=10_000)
    assert len(small.data) <= 10_000
    assert 0 < small.size[0] < 400
    assert small.scale == pytest.approx(400 / small.size[0])


def test_a_photo_is_turned_upright_and_its_sizes_are_told_as_it_is_looked_at() -> None:
    picture = Image.new("RGB", (3000, 2400), "red")
    picture.paste("blue", (0, 0, 3000, 100))  # the camera's top is the right side
    exif = Image.Exif()
    exif[0x0112] = 6
    small = shrink(encoded(picture, "JPEG", exif=exif))
    assert (small.original_size, small.size) == ((2400, 3000), (1600, 2000))
    assert small.media_type == "image/jpeg"
    with Image.open(io.BytesIO(small.data)) as seen:
        red, _, blue = seen.convert("RGB").getpixel((1590, 1000))
        assert blue > 200 > 100 > red


@pytest.mark.parametrize(
    ("mode", "kind", "colour"),
    [("RGBA", "PNG", (9, 8, 7, 0)), ("LA", "PNG", (9, 0)), ("P", "GIF", 3), ("1", "PNG", 1)]
    + [("CMYK", "JPEG", (0, 9, 9, 9)), ("L", "JPEG", 9), ("RGBA", "WEBP", (9, 8, 7, 0))],
)
def test_every_kind_of_picture_can_be_made_smaller(mode: str, kind: str, colour: object) -> None:
    small = shrink(encoded(Image.new(mode, (2100, 30), colour), kind))
    assert small.size == (2000, 29) == measure_picture(small.data)


def test_transparent_parts_stay_transparent() -> None:
    small = shrink(encoded(Image.new("RGBA", (2100, 30), (9, 8, 7, 0))))
    with Image.open(io.BytesIO(small.data)) as seen:
        assert seen.getpixel((5, 5))[3] == 0


def test_sixteen_bits_a_pixel_keep_their_brightness() -> None:
    small = shrink(encoded(Image.new("I;16", (2100, 30), 0x8000)))
    with Image.open(io.BytesIO(small.data)) as seen:
        assert seen.convert("L").getpixel((5, 5)) == 0x80


def test_of_an_animation_the_first_frame_is_shown() -> None:
    frames = [Image.new("P", (2100, 30), colour) for colour in (1, 2)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert shrink(data).size == (2000, 29)


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(ToolError, match=r"30000 x 30000 pixels; at most 64,000,000"):
        shrink(png(30_000, 30_000))
    assert MAX_PIXELS >= 8000 * 8000


@pytest.mark.parametrize("size", [30, 60, 500])
def test_a_damaged_picture_is_told_as_such(size: int) -> None:
    with pytest.raises(ToolError, match="The picture cannot be read"):
        shrink(encoded(noise(100, 100))[:size])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 100))
def test_no_side_is_longer_than_allowed_nor_empty(width: int, height: int, side: int) -> None:
    small = shrink(encoded(Image.new("L", (width, height))), max_side=side)
    assert 1 <= min(small.size) <= max(small.size) <= min(side, max(width, height))
    assert small.original_size == (width, height)


def test_the_limits_are_those_of_the_contract() -> None:
    assert TARGET_SIDE == 2000
    assert MAX_BYTES * 4 / 3 < 5_000_000  # of base64, which is what providers count
