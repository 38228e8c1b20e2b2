"""Making a picture small enough to be shown to a model."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from toolwright.builtin.pictures import MAX_BYTES, SIDE, pixels
from toolwright.errors import MissingExtraError, ToolError
from toolwright.record import record

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 64_000_000
"""Most pixels of a picture that is unpacked: 256 MB of memory."""
_QUALITIES = (85, 70, 50)
_ORIENTATION, _TURNED = 0x0112, 5  # of EXIF: from 5 on, width and height are swapped


@record
class Shrunk:
    """A picture that was made smaller.

    Args:
        data: The encoded file.
        media_type: ``image/png`` or ``image/jpeg``.
        before: Width and height it had, as it is looked at.
        after: Width and height it has.
    """

    data: bytes
    media_type: str
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def scale(self) -> float:
        """How many pixels of the original one pixel stands for."""
        return self.before[0] / self.after[0]


def shrink(data: bytes, most_side: int = SIDE, most_bytes: int = MAX_BYTES) -> Shrunk:
    """A picture with its proportions, upright, within both limits; of several frames the first.

    Args:
        data: The encoded file.
        most_side: Most pixels of a side.
        most_bytes: Most bytes of the result.

    Raises:
        ToolError: if it is damaged, or has more than `MAX_PIXELS`.
        MissingExtraError: if Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("making pictures smaller", "pictures") from error
    _check(pixels(data) or (0, 0))
    try:
        with Image.open(io.BytesIO(data)) as opened:
            _check(opened.size)
            return _fitted(opened, most_side, most_bytes)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ToolError(f"The picture cannot be read ({error}).") from None


def _check(size: tuple[int, int]) -> None:
    if size[0] * size[1] > MAX_PIXELS:
        raise ToolError(
            f"The picture has {size[0]} x {size[1]} pixels; at most {MAX_PIXELS:,} are unpacked."
        )


def _fitted(opened: Image, most_side: int, most_bytes: int) -> Shrunk:
    from PIL import ImageOps
    from PIL.Image import Resampling

    before = opened.size
    if opened.getexif().get(_ORIENTATION, 1) >= _TURNED:
        before = (before[1], before[0])
    opened.draft("RGB", (most_side, most_side))  # a JPEG need not be unpacked whole
    picture = _plain(ImageOps.exif_transpose(opened))
    lossy = opened.format in ("JPEG", "WEBP") and picture.mode == "RGB"
    side = min(most_side, max(before))
    while side:
        part = side / max(before)
        after = (max(1, round(before[0] * part)), max(1, round(before[1] * part)))
        small = picture.resize(after, Resampling.LANCZOS)
        for data, media_type in _encoded(small, lossy):
            if len(data) <= most_bytes:
                return Shrunk(data, media_type, before, after)
        side = side * 3 // 4
    raise ToolError(f"The picture cannot be shown in {most_bytes:,} bytes.")


def _plain(picture: Image) -> Image:
    """The picture in eight bits a channel, with transparency if it has some."""
    if picture.mode.startswith("I"):  # sixteen bits, whose lower half would be all that is kept
        picture = picture.convert("I").point(lambda value: value / 256).convert("L")
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _encoded(picture: Image, lossy: bool) -> Iterator[tuple[bytes, str]]:
    """The picture as a file, in one way after another, the better before the smaller."""
    if not lossy:
        yield _saved(picture, "PNG"), "image/png"
    if picture.mode == "RGBA":
        on_white = picture.copy()
        on_white.paste("white", (0, 0, *picture.size))
        on_white.alpha_composite(picture)
        picture = on_white.convert("RGB")
    for quality in _QUALITIES:
        yield _saved(picture, "JPEG", quality=quality), "image/jpeg"


def _saved(picture: Image, kind: str, **options: int) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()
