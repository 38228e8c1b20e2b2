"""Values in short phrases of bounded length: "the number 5", "an object with 'a'"."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from json.encoder import encode_basestring

# Made once: `json.dumps` with options makes an encoder at every call.
_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode
MAX_KEYS = 8
"""Most keys of an object that a phrase lists."""


def count_noun(number: object, noun: str) -> str:
    """Return a number with its noun, in the plural where needed.

    >>> count_noun(1, "key"), count_noun(2, "key")
    ('1 key', '2 keys')
    """
    return f"{number} {noun}{'s' * (number != 1)}"


def quote_names(names: Collection[object]) -> str:
    """Join names in quotation marks; of more than `MAX_KEYS` the first, and their number."""
    shown = ", ".join(quoted(str(name)) for name in list(names)[:MAX_KEYS])
    return f"{shown}, … ({len(names)} in all)" if len(names) > MAX_KEYS else shown


def describe_value(value: object) -> str:
    """Describe a received value in at most 80 characters. Large values are only counted.

    >>> describe_value("twelve")
    '"twelve" (a string)'
    >>> describe_value([1, 2, 3])
    'a list of 3 items'
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        if len(value) <= _SHOWN:
            return f"{quoted(value)} (a string)"
        return f"{quoted(value[:_SHOWN] + '…')} (a string of {len(value):,} characters)"
    if isinstance(value, bool):
        return "true (a boolean)" if value else "false (a boolean)"
    if isinstance(value, int):
        return f"{_digits(value)} (an integer)"
    if isinstance(value, float):
        return f"{value!r} (a number)"
    if isinstance(value, (list, tuple)):
        return f"a list of {count_noun(len(value), 'item')}" if value else "an empty list"
    if isinstance(value, (dict, Mapping)):
        return _described_keys(value)
    return f"a {cut(type(value).__name__, 40)}"


_SHOWN = 36


def _described_keys(value: Mapping[object, object]) -> str:
    """Describe an object by its first `MAX_KEYS` keys, or if that has more than 80 characters by their number."""
    if not value:
        return "an empty object"
    text = f"an object with {quote_names([str(key)[:20] for key in list(value)[:MAX_KEYS]])}"
    return text if len(text) <= 80 else f"an object with {len(value):,} keys"


def _digits(value: int) -> str:
    """Return an integer as text, one of more than 128 bits as a power of ten."""
    if value.bit_length() <= 128:
        return str(value)
    return f"about {'-' if value < 0 else ''}10^{int(value.bit_length() * 0.30103)}"


def cut_json(value: object) -> str:
    """Return a value as JSON text, cut to 60 characters."""
    return cut(_encode(value), 60)


def short_json(value: object) -> str:
    """Return a value as JSON text, or a description if that has more than 60 characters.

    >>> short_json("5"), short_json(True)
    ('"5"', 'true')
    """
    if isinstance(value, (str, list, dict)) and len(value) > _SHOWN:
        return describe_value(value)
    text = _encode(value)
    return text if len(text) <= 60 else describe_value(value)


def quoted(text: str) -> str:
    """Return a text as JSON writes it, with half surrogate pairs replaced."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return encode_basestring(text)


def cut(text: str, length: int) -> str:
    """Return a text of at most `length` characters; of a longer one, the last is an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"
