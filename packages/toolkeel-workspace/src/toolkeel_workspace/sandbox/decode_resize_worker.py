"""Decode a picture or a PDF file in a process that can do nothing else.

This file is a program of its own and imports nothing of the library: strangers' files are taken
apart by code that was written for speed, and what goes wrong there shall reach nothing. It has no
import path but Python's own and the one folder it is given, so that a file with a library's name in
some project is never imported in its place.

::

    python -I -S decode_resize_worker.py FOLDER < ORDER > ANSWER

``FOLDER`` is where the decoding package is installed. The order is a line of JSON (``kind`` and
limits) and the file's bytes; the answer a line of JSON (what was found, or ``error``) and bytes.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_QUALITIES = (85, 70, 50)
_ORIENTATION, _TURNED = 0x0112, 5  # of EXIF: from 5 on, width and height are swapped
Decoded = tuple[dict[str, object], bytes]


def main() -> None:
    """Read an order and a file from standard input, and write what was decoded of it."""
    sys.path.append(sys.argv[1])
    order = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    told, made = picture(data, order) if order["kind"] == "picture" else pdf(data, order)
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + made)
    sys.stdout.buffer.flush()


# — pictures —


def picture(data: bytes, order: dict[str, Any]) -> Decoded:
    """A picture within ``side``, ``bytes`` and ``pixels``, upright; of several frames the first.

    With ``raw`` its pixels, three bytes each, instead of a file.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as opened:
            if opened.size[0] * opened.size[1] > order["pixels"]:
                return {"too_large": opened.size}, b""
            if order.get("raw"):
                opened.draft("RGB", (order["side"], order["side"]))
                seen = _eight_bit(ImageOps.exif_transpose(opened)).convert("RGB")
                seen.thumbnail((order["side"], order["side"]))
                return {"after": seen.size}, seen.tobytes()
            return _fitted(opened, order["side"], order["bytes"])
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, MemoryError) as error:
        return {"error": str(error)}, b""


def _fitted(opened: Image, most_side: int, most_bytes: int) -> Decoded:
    from PIL import ImageOps
    from PIL.Image import Resampling

    before = opened.size
    if opened.getexif().get(_ORIENTATION, 1) >= _TURNED:
        before = (before[1], before[0])
    opened.draft("RGB", (most_side, most_side))  # a JPEG need not be unpacked whole
    seen = _eight_bit(ImageOps.exif_transpose(opened))
    lossy = opened.format in ("JPEG", "WEBP") and seen.mode == "RGB"
    side = min(most_side, max(before))
    while side:
        part = side / max(before)
        after = (max(1, round(before[0] * part)), max(1, round(before[1] * part)))
        small = seen.resize(after, Resampling.LANCZOS)
        for data, media_type in _encoded(small, lossy):
            if len(data) <= most_bytes:
                return {"media_type": media_type, "before": before, "after": after}, data
        side = side * 3 // 4
    return {"too_many_bytes": most_bytes}, b""


def _eight_bit(opened: Image) -> Image:
    """The picture in eight bits a channel, with transparency if it has some."""
    if opened.mode.startswith("I"):  # sixteen bits, whose lower half would be all that is kept
        opened = opened.convert("I").point(lambda value: value / 256).convert("L")
    return opened.convert("RGBA" if opened.has_transparency_data else "RGB")


def _encoded(small: Image, lossy: bool) -> Iterator[tuple[bytes, str]]:
    """The picture as a file, in one way after another, the better before the smaller."""
    if not lossy:
        yield _saved(small, "PNG"), "image/png"
    if small.mode == "RGBA":
        on_white = small.copy()
        on_white.paste("white", (0, 0, *small.size))
        on_white.alpha_composite(small)
        small = on_white.convert("RGB")
    for quality in _QUALITIES:
        yield _saved(small, "JPEG", quality=quality), "image/jpeg"


def _saved(small: Image, kind: str, **options: int) -> bytes:
    file = io.BytesIO()
    small.save(file, kind, **options)
    return file.getvalue()


# — PDF files —


def pdf(data: bytes, order: dict[str, Any]) -> Decoded:
    """The text of each page, within ``pages``, ``text`` characters and ``seconds``."""
    import pypdf
    from pypdf.errors import PyPdfError

    left, end = order["text"], time.monotonic() + order["seconds"]
    found: list[str] = []
    with pypdf.apply_configuration(pypdf.Configuration(**order["limits"])):
        try:
            pages = pypdf.PdfReader(io.BytesIO(data)).pages
            count = len(pages)
            for number in range(count):
                if number >= order["pages"] or left <= 0 or time.monotonic() > end:
                    found.append(
                        f"[Only the first {number} of {count} pages were read: it has too much.]"
                    )
                    break
                text = pages[number].extract_text()[:left]
                left -= len(text)
                found.append(text)
        except (PyPdfError, ValueError, KeyError, RecursionError, OSError, MemoryError) as error:
            return {"error": str(error)}, b""
    return {"pages": found}, b""


if __name__ == "__main__":
    main()
