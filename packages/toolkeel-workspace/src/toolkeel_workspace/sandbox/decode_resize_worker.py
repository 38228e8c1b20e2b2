"""Decode a picture or a PDF file in a process that can do nothing else.

This file is a separate program and imports nothing of toolkeel: decoders of untrusted files are written
for speed, and an exploit must find nothing here. Its import path is Python's own and one folder, so that
a project file named like a library is never imported instead.

::

    python -I -S decode_resize_worker.py FOLDER < REQUEST > RESPONSE

``FOLDER`` is where the decoding package is installed. The request is a line of JSON (``kind`` and
limits) and the file's bytes; the response a line of JSON (fields, or ``error``) and bytes.
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
_ORIENTATION, _FIRST_ROTATED = 0x0112, 5  # of EXIF: from 5 on, width and height are swapped
Decoded = tuple[dict[str, object], bytes]


def main() -> None:
    """Read a request and a file from standard input, and write the response."""
    sys.path.append(sys.argv[1])
    request = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    response, made = (
        decode_picture(data, request)
        if request["kind"] == "picture"
        else extract_pdf_text(data, request)
    )
    sys.stdout.buffer.write(json.dumps(response).encode() + b"\n" + made)
    sys.stdout.buffer.flush()


# — pictures —


def decode_picture(data: bytes, request: dict[str, Any]) -> Decoded:
    """Decode a picture and scale it to fit ``side``, ``bytes`` and ``pixels``, upright.

    Of several frames the first is used. With ``raw``, the bytes are its pixels, three bytes each.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as opened:
            if opened.size[0] * opened.size[1] > request["pixels"]:
                return {"too_large": opened.size}, b""
            if request.get("raw"):
                opened.draft("RGB", (request["side"], request["side"]))
                decoded = _to_eight_bit(ImageOps.exif_transpose(opened)).convert("RGB")
                decoded.thumbnail((request["side"], request["side"]))
                return {"after": decoded.size}, decoded.tobytes()
            return _fit_picture(opened, request["side"], request["bytes"])
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, MemoryError) as error:
        return {"error": str(error)}, b""


def _fit_picture(opened: Image, max_side: int, max_bytes: int) -> Decoded:
    from PIL import ImageOps
    from PIL.Image import Resampling

    before = opened.size
    if opened.getexif().get(_ORIENTATION, 1) >= _FIRST_ROTATED:
        before = (before[1], before[0])
    opened.draft("RGB", (max_side, max_side))  # a JPEG decodes faster at a lower resolution
    decoded = _to_eight_bit(ImageOps.exif_transpose(opened))
    lossy = opened.format in ("JPEG", "WEBP") and decoded.mode == "RGB"
    side = min(max_side, max(before))
    while side:
        part = side / max(before)
        after = (max(1, round(before[0] * part)), max(1, round(before[1] * part)))
        small = decoded.resize(after, Resampling.LANCZOS)
        for data, media_type in _encode_candidates(small, lossy):
            if len(data) <= max_bytes:
                return {"media_type": media_type, "before": before, "after": after}, data
        side = side * 3 // 4
    return {"too_many_bytes": max_bytes}, b""


def _to_eight_bit(opened: Image) -> Image:
    """Convert a picture to eight bits per channel, with alpha if it has transparency."""
    if opened.mode.startswith("I"):  # sixteen bits; convert() would use the lower eight
        opened = opened.convert("I").point(lambda value: value / 256).convert("L")
    return opened.convert("RGBA" if opened.has_transparency_data else "RGB")


def _encode_candidates(small: Image, lossy: bool) -> Iterator[tuple[bytes, str]]:
    """Encode a picture in several ways, the best quality first, the smallest last."""
    if not lossy:
        yield _encode(small, "PNG"), "image/png"
    if small.mode == "RGBA":
        on_white = small.copy()
        on_white.paste("white", (0, 0, *small.size))
        on_white.alpha_composite(small)
        small = on_white.convert("RGB")
    for quality in _QUALITIES:
        yield _encode(small, "JPEG", quality=quality), "image/jpeg"


def _encode(small: Image, file_format: str, **options: int) -> bytes:
    file = io.BytesIO()
    small.save(file, file_format, **options)
    return file.getvalue()


# — PDF files —


def extract_pdf_text(data: bytes, request: dict[str, Any]) -> Decoded:
    """Extract the text of each page, within ``pages``, ``text`` characters and ``seconds``."""
    import pypdf
    from pypdf.errors import PyPdfError

    left, end = request["text"], time.monotonic() + request["seconds"]
    found: list[str] = []
    with pypdf.apply_configuration(pypdf.Configuration(**request["limits"])):
        try:
            pages = pypdf.PdfReader(io.BytesIO(data)).pages
            count = len(pages)
            for number in range(count):
                if number >= request["pages"] or left <= 0 or time.monotonic() > end:
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
