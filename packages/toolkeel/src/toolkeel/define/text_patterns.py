"""Patterns of texts whose form a schema's ``format`` does not determine, and their words in messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_DECIMAL = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_NOT_ZERO = r"(0*[1-9][0-9]*(\.[0-9]*)?|0*\.0*[1-9][0-9]*)([eE][+-]?[0-9]+)?"
DECIMAL = rf"^[+-]?{_DECIMAL}$"
POSITIVE, NEGATIVE = rf"^\+?{_NOT_ZERO}$", rf"^-{_NOT_ZERO}$"
_ZERO = r"0+(\.0*)?"
NOT_NEGATIVE, NOT_POSITIVE = rf"^(\+?{_DECIMAL}|-{_ZERO})$", rf"^(-{_DECIMAL}|{_ZERO})$"
DECIMALS = frozenset([DECIMAL, POSITIVE, NEGATIVE, NOT_NEGATIVE, NOT_POSITIVE])
"""Patterns of the texts that `Decimal` is read from, by the sign that its bounds leave."""
FRACTION = r"^[+-]?([0-9]+/0*[1-9][0-9]*|[0-9]+(\.[0-9]*)?|\.[0-9]+)$"
"""Without an exponent, whose power would be computed exactly."""
COMPLEX = rf"^[+-]?({_DECIMAL}([+-]({_DECIMAL})?[jJ])?|({_DECIMAL})?[jJ])$"
BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
BASE64URL = r"^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?$"
BYTE_SIZE = r"^([0-9]+|[0-9]*\.[0-9]+) ?([bB]|[bB][iI][tT]|[kmgtpeKMGTPE]([iI]?[bB]([iI][tT])?)?)?$"
WITH_ZONE, WITHOUT_ZONE = r"([Zz]|[+-][0-9]{2}:?[0-9]{2})$", r"[Tt _][0-9:.]+$"
"""How a date and time with a zone ends, and one without."""

_HEX = "[0-9a-fA-F]"
_WITH_SLASHES = frozenset(["http", "https", "ws", "wss", "ftp", "file"])


def uuid_pattern(version: int) -> str:
    """Return the pattern of UUIDs of one version (RFC 9562)."""
    return f"^{_HEX}{{8}}-{_HEX}{{4}}-{version}{_HEX}{{3}}-[89abAB]{_HEX}{{3}}-{_HEX}{{12}}$"


def zone_pattern(constraint: object) -> str | None:
    """Return the pattern of dates and times that are "aware" or "naive"; None for any other constraint."""
    return {"aware": WITH_ZONE, "naive": WITHOUT_ZONE}.get(str(constraint))


def decimal_pattern(bounds: Mapping[str, Any]) -> str:
    """Return the pattern of the texts of a decimal, with the sign that its bounds leave.

    Args:
        bounds: ``gt``, ``ge``, ``lt`` and ``le``, as far as they are given.
    """
    above, least = bounds.get("gt"), bounds.get("ge")
    below, most = bounds.get("lt"), bounds.get("le")
    if (above is not None and above >= 0) or (least is not None and least > 0):
        return POSITIVE
    if (below is not None and below <= 0) or (most is not None and most < 0):
        return NEGATIVE
    if least is not None and least >= 0:
        return NOT_NEGATIVE
    return NOT_POSITIVE if most is not None and most <= 0 else DECIMAL


def url_pattern(schemes: Sequence[str]) -> str:
    """Return the pattern of URLs with one of the schemes, in lower case.

    >>> url_pattern(["http", "https"])
    '^(http|https)://'
    """
    slashes = "//" * ({*schemes} <= _WITH_SLASHES)
    escaped = "|".join(map(re.escape, schemes))
    names = escaped.replace(r"\-", "-")  # JavaScript's Unicode mode refuses that escape
    return f"^({names}):{slashes}"


WORDS: Mapping[str, str] = {
    DECIMAL: "a decimal number as a string",
    POSITIVE: "a decimal number greater than 0 as a string",
    NEGATIVE: "a decimal number less than 0 as a string",
    NOT_NEGATIVE: "a decimal number of at least 0 as a string",
    NOT_POSITIVE: "a decimal number of at most 0 as a string",
    FRACTION: "a fraction as a string (1/3)",
    COMPLEX: "a complex number as a string (1+2j)",
    BASE64: "a string of base64 data",
    BASE64URL: "a string of base64url data",
    BYTE_SIZE: "a size as a string (10 MB)",
    WITH_ZONE: "a date and time (ISO 8601) with a time zone (Z or +02:00)",
    WITHOUT_ZONE: "a date and time (ISO 8601) without a time zone",
    **{uuid_pattern(version): f"a UUID of version {version}" for version in range(1, 9)},
}
"""What a text with a known pattern is called."""

_URL = re.compile(r"\^\(([a-z0-9|+.\\-]+)\)(:(?://)?)")


def describe_pattern(pattern: object) -> str | None:
    """Return the words for texts with a known pattern; None for any other pattern.

    >>> describe_pattern("^(http|https)://")
    'a URL (http://… or https://…)'
    """
    if not isinstance(pattern, str):  # of a server's schema it may be anything
        return None
    if pattern in WORDS:
        return WORDS[pattern]
    if (found := _URL.fullmatch(pattern)) is None:
        return None
    schemes = [f"{each}{found[2]}…" for each in found[1].replace("\\", "").split("|")]
    shown = schemes if len(schemes) < 5 else [*schemes[:3], "…"]
    return f"a URL ({' or '.join([', '.join(shown[:-1]), shown[-1]]) if shown[1:] else shown[0]})"
