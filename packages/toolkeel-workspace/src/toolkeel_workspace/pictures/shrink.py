"""Making a picture small enough to be shown to a model; it is decoded in a confined process."""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel._records.record import record
from toolkeel.content import sniff
from toolkeel.errors import MissingExtraError, ToolError
from toolkeel_workspace.pictures.too_large import MAX_BYTES, SIDE, pixels
from toolkeel_workspace.sandbox.isolated_decode import decode, package_folder

MAX_PIXELS = 64_000_000
"""Most pixels of a picture that is unpacked: 256 MB of memory."""
_PILLOW = package_folder("PIL")  # now, before a model can write a package of that name


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
    if not _PILLOW:
        raise MissingExtraError("making pictures smaller", "pictures")
    _check(pixels(data) or (0, 0))
    order = {"kind": "picture", "side": most_side, "bytes": most_bytes, "pixels": MAX_PIXELS}
    told, made = decode(order, data, _PILLOW)
    if "too_large" in told:
        _check(told["too_large"])
    if "too_many_bytes" in told:
        raise ToolError(f"The picture cannot be shown in {most_bytes:,} bytes.")
    after = pixels(made)
    if "error" in told or after is None or max(after) > most_side or len(made) > most_bytes:
        raise ToolError(f"The picture cannot be read ({told.get('error', 'no picture')!s:.300}).")
    width, height = told["before"]
    return Shrunk(made, sniff(made), (int(width), int(height)), after)


def unpacked(data: bytes, most_side: int) -> tuple[int, int, bytes]:
    """Width, height and pixels of a picture, red, green and blue a byte each.

    Args:
        data: The encoded file.
        most_side: Most pixels of a side.

    Raises:
        ToolError: if it cannot be read.
        MissingExtraError: if Pillow is not installed.
    """
    if not _PILLOW:
        raise MissingExtraError("unpacking pictures", "pictures")
    order = {"kind": "picture", "side": most_side, "bytes": 0, "pixels": MAX_PIXELS, "raw": True}
    told, made = decode(order, data, _PILLOW)
    width, height = told.get("after", (0, 0))
    if not made or len(made) != width * height * 3:
        raise ToolError(f"The picture cannot be read ({told.get('error', 'no picture')!s:.300}).")
    return width, height, made


def _check(size: Sequence[int]) -> None:
    if size[0] * size[1] > MAX_PIXELS:
        raise ToolError(
            f"The picture has {size[0]} x {size[1]} pixels; at most {MAX_PIXELS:,} are unpacked."
        )
