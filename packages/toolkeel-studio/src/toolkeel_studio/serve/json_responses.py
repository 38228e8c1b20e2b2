"""JSON that every client reads: in UTF-8, and without the numbers that JSON lacks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse

HALF_PAIR = re.compile("[\ud800-\udfff]")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def to_json(data: object) -> str:
    """Return data as JSON: only halves of surrogate pairs are escaped; NaN and infinity become null.

    >>> to_json({"text": "界\\ud83d", "share": float("nan")})
    '{"text":"界\\\\ud83d","share":null}'
    """
    try:
        text = _encode(data)
    except ValueError:
        text = _encode(_without_infinity(data))
    return HALF_PAIR.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _without_infinity(data: object) -> object:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: _without_infinity(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_infinity(value) for value in data]
    return data


class JsonResponse(JSONResponse):
    """A response with `to_json`."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return to_json(content).encode()
