"""Make a picture small enough for a model; a confined process decodes it."""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel._records.record import record
from toolkeel.content import detect_media_type
from toolkeel.errors import MissingExtraError, ToolError
from toolkeel_workspace.pictures.too_large import MAX_BYTES, TARGET_SIDE, measure_picture
from toolkeel_workspace.sandbox.isolated_decode import decode_file, package_folder

MAX_PIXELS = 64_000_000
"""Most pixels of a picture that is unpacked: 256 MB of memory."""
_PILLOW = package_folder("PIL")  # now, before a model can write a package of that name


@record
class ShrunkPicture:
    """A picture that was made smaller.

    Args:
        data: The encoded file.
        media_type: ``image/png`` or ``image/jpeg``.
        original_size: Width and height it had, upright.
        size: Width and height it has.
    """

    data: bytes
    media_type: str
    original_size: tuple[int, int]
    size: tuple[int, int]

    @property
    def scale(self) -> float:
        """Pixels of the original per pixel."""
        return self.original_size[0] / self.size[0]


def shrink(data: bytes, max_side: int = TARGET_SIDE, max_bytes: int = MAX_BYTES) -> ShrunkPicture:
    """Shrink a picture to both limits, upright and with its proportions; of several frames the first.

    Args:
        data: The encoded file.
        max_side: Pixels per side.
        max_bytes: Bytes of the result.

    Raises:
        ToolError: if it is damaged, or has more than `MAX_PIXELS`.
        MissingExtraError: if Pillow is not installed.
    """
    if not _PILLOW:
        raise MissingExtraError("making pictures smaller", "pictures")
    _check_size(measure_picture(data) or (0, 0))
    request = {"kind": "picture", "side": max_side, "bytes": max_bytes, "pixels": MAX_PIXELS}
    response, made = decode_file(request, data, _PILLOW)
    if "too_large" in response:
        _check_size(response["too_large"])
    if "too_many_bytes" in response:
        raise ToolError(f"The picture cannot be shown in {max_bytes:,} bytes.")
    after = measure_picture(made)
    if "error" in response or after is None or max(after) > max_side or len(made) > max_bytes:
        raise ToolError(
            f"The picture cannot be read ({response.get('error', 'no picture')!s:.300})."
        )
    width, height = response["before"]
    return ShrunkPicture(made, detect_media_type(made), (int(width), int(height)), after)


def decode_pixels(data: bytes, max_side: int) -> tuple[int, int, bytes]:
    """Return width, height and pixels of a picture, red, green and blue one byte each.

    Args:
        data: The encoded file.
        max_side: Pixels per side.

    Raises:
        ToolError: if it cannot be read.
        MissingExtraError: if Pillow is not installed.
    """
    if not _PILLOW:
        raise MissingExtraError("unpacking pictures", "pictures")
    request = {"kind": "picture", "side": max_side, "bytes": 0, "pixels": MAX_PIXELS, "raw": True}
    response, made = decode_file(request, data, _PILLOW)
    width, height = response.get("after", (0, 0))
    if not made or len(made) != width * height * 3:
        raise ToolError(
            f"The picture cannot be read ({response.get('error', 'no picture')!s:.300})."
        )
    return width, height, made


def _check_size(size: Sequence[int]) -> None:
    if size[0] * size[1] > MAX_PIXELS:
        raise ToolError(
            f"The picture has {size[0]} x {size[1]} pixels; at most {MAX_PIXELS:,} are unpacked."
        )
