"""Arguments of calls in text: numbers as they were written, each key once, values by their schema."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping

from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, dumps

_BEGIN = re.compile(r"[^\s;,]")
_EXACT_NUMBER = secrets.token_hex(8)
"""Prefix of a number that must be written exactly as it was read."""
_MARKED = re.compile(f'"{_EXACT_NUMBER}([^"]*)"')


def _parse_number(text: str) -> object:
    """Parse a number, or mark it to be written again exactly as it was.

    ``7786572e5565681`` is infinite in Python, ``-0`` is 0, and an integer of five thousand digits is an
    error: the tool must see and refuse the model's own text.
    """
    try:
        value = int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return _EXACT_NUMBER + text
    return value if dumps(value) == text else _EXACT_NUMBER + text


def make_object(pairs: Iterable[tuple[str, object]]) -> Json:
    """Return the object of some pairs.

    Raises:
        ValueError: a key is repeated: its value would be ambiguous.
    """
    pairs = list(pairs)
    if len(made := dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return made


def write_arguments(arguments: Json) -> str:
    """Return arguments as JSON text, with the model's own spelling of marked numbers."""
    return _MARKED.sub(r"\1", dumps(arguments))


_DECODER = json.JSONDecoder(
    parse_float=_parse_number,
    parse_int=_parse_number,
    parse_constant=_parse_number,
    object_pairs_hook=make_object,
)


def parse_values(text: str) -> list[object]:
    """Return the JSON values that `text` consists of, separated by blanks, ``;`` or ``,``.

    Raises `ValueError` if one is no JSON.
    """
    values: list[object] = []
    at = 0
    while begin := _BEGIN.search(text, at):
        value, at = _DECODER.raw_decode(text, begin.start())
        values.append(value)
    return values


def convert_arguments(schema: Mapping[str, object], pairs: Iterable[tuple[str, ...]]) -> Json:
    """Return arguments written as text, converted by the types in the tool's schema.

    Raises:
        ValueError: a key is repeated.
    """
    return make_object(
        (key.strip(), read_value(text, parameter_schema(schema, key.strip())))
        for key, text in pairs
    )


def parameter_schema(parameters: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Return the schema of one parameter, or an empty one."""
    return as_dict(as_dict(parameters.get("properties")).get(key))


def read_value(text: str, schema: Mapping[str, object], declared: str = "") -> object:
    """Return a value written as text: text where the schema, or `declared`, says so; else JSON if it is any."""
    if declared == "string" or (not declared and "string" in set(_list_types(schema))):
        return text
    try:
        [value] = parse_values(text)
    except (ValueError, RecursionError):
        return text
    return value


def _list_types(schema: Mapping[str, object]) -> Iterator[object]:
    """Yield every type that `schema` names at its top; ``string`` if it names none."""
    kind = schema.get("type")
    among = [*as_list(schema.get("anyOf")), *as_list(schema.get("oneOf"))]
    if isinstance(kind, str):
        yield kind
    elif isinstance(kind, list):
        yield from kind
    elif among:
        for one in among:
            yield from _list_types(as_dict(one))
    elif "enum" in schema or "const" in schema:
        values = [*as_list(schema.get("enum")), schema.get("const")]
        yield "string" if any(isinstance(value, str) for value in values) else "number"
    elif "$ref" not in schema:
        yield "string"
