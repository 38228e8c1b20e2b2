"""Conversion of a value to another JSON type, if it only spells a value of that type differently."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from toolkeel.call.arguments.parse import MAX_DIGITS, parse_json
from toolkeel.define.explain.validation_errors import value_at
from toolkeel.define.subschemas import Schema, allowed_values, json_type
from toolkeel.errors import MalformedArguments

NOTHING: Any = object()
"""What a value becomes that is no other spelling of a type."""
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,307})", re.A)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,307})(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?", re.A)
EXACT = 2**53
"""Up to here every integer has a float of its own."""


def kinds_of(schema: Schema) -> list[str]:
    """Return the types a schema names; for a bare `enum` or `const`, the numbers and booleans of its values."""
    wanted = schema.get("type")
    if isinstance(wanted, str):
        return [wanted]
    if isinstance(wanted, list):
        return [str(each) for each in wanted]
    kinds = dict.fromkeys(map(json_type, allowed_values(schema)))
    return [kind for kind in kinds if kind in ("integer", "number", "boolean")]


def convert(value: object, kind: str) -> object:
    """Return the value as a JSON type named by `kind`, or `NOTHING` if it is no other spelling of one."""
    if isinstance(value, float):
        is_integral = kind == "integer" and value.is_integer() and abs(value) <= EXACT
        return int(value) if is_integral else NOTHING
    if not isinstance(value, str):
        return NOTHING
    if kind == "integer":
        return int(value) if _INTEGER.fullmatch(value) else NOTHING
    if kind == "number":
        return _number(value)
    if kind == "boolean":
        return {"true": True, "false": False}.get(value, NOTHING)
    if kind in ("array", "object") and value.lstrip()[:1] in ("[", "{"):
        return _container(value, kind)
    return NOTHING


class WrittenNumbers:
    """The numbers of a JSON text as they were written, digit by digit.

    Args:
        text: Valid JSON; it is parsed again when a number is first asked for.
    """

    __slots__ = ("_parsed", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._parsed: Any = None

    def integer_at(self, path: Iterable[str | int]) -> object:
        """Return the integer at a path that is written with fraction or exponent; else `NOTHING`.

        The text is parsed at the first use. A number that is not an integer, or too long, gives
        `NOTHING`.
        """
        if self._parsed is None:
            self._parsed = json.loads(self._text, parse_float=_Written)
        found = value_at(self._parsed, path)
        if type(found) is not _Written:
            return NOTHING
        number = Decimal(found)
        whole = number.adjusted() < MAX_DIGITS and number == number.to_integral_value()
        return int(number) if whole else NOTHING


class _Written(str):
    """A number with a fraction or an exponent, as its text."""

    __slots__ = ()


def _number(text: str) -> object:
    """Return the integer or finite float that a text spells exactly, or `NOTHING`."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if not _NUMBER.fullmatch(text):
        return NOTHING
    number = float(text)
    return number if abs(number) != float("inf") else NOTHING


def _container(text: str, kind: str) -> object:
    """Return the list or object that a JSON text holds, or `NOTHING` if it is not of this kind."""
    try:
        value = parse_json(text)
    except (MalformedArguments, ValueError):
        return NOTHING
    return value if json_type(value) == kind else NOTHING
