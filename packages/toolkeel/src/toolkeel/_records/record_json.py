"""Records as JSON and back, each field by its annotation: messages, entries, tickets, saved runs.

Plain data, without fields that have their default. Nothing in it is ever imported, called or evaluated, and
each field is checked when it is read.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Json = dict[str, Any]
Kinds = tuple[type, ...]
DEPTH = 100
"""Levels of lists and objects that are kept of a value; what lies deeper stays behind."""


def _nothing(value: object) -> None:
    """Return None for a value that JSON cannot represent."""


def to_json_data(
    value: object, depth: int = DEPTH, other: Callable[[Any], object] = _nothing
) -> Any:
    """Convert a value to JSON data: records become objects, and keys texts.

    Each part that JSON cannot represent, or below `depth` levels, becomes `other(part)`, by default None.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else other(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if not depth or not isinstance(value, Mapping | list | tuple):
        return other(value)
    if isinstance(value, Mapping):
        return {str(key): to_json_data(item, depth - 1, other) for key, item in value.items()}
    return [to_json_data(item, depth - 1, other) for item in value]


def describe_value(value: object) -> object:
    """Return the size of bytes or the class of another object in angle brackets; a float unchanged."""
    if isinstance(value, float):
        return value
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else f"<{type(value).__name__}>"


def describe_as_json(value: object) -> Any:
    """Convert a value to JSON data; what JSON cannot represent becomes a text, such as ``nan`` or ``<3 bytes>``."""
    return to_json_data(
        value, other=lambda part: str(part) if isinstance(part, float) else describe_value(part)
    )


def _same(value: Any) -> Any:
    """Return the value itself: the codec of what JSON has."""
    return value


class Codec(NamedTuple):
    """The conversion of the values of one annotation to JSON and back.

    Args:
        kinds: Python types of the JSON value.
        dump: Converts to the JSON value.
        load: Converts back.
    """

    kinds: Kinds
    dump: Callable[[Any], object] = _same
    load: Callable[[Any], Any] = _same


def literal_codec(*words: str) -> Codec:
    """Return the codec of a `Literal` of these words. Loading raises `ValueError` for any other word."""

    def load(word: str) -> str:
        """Return the word, or raise ValueError if it is not one of the literal's words."""
        if word not in words:
            raise ValueError(f"{word!r:.40} is none of {', '.join(words)}")
        return word

    return Codec((str,), load=load)


def tuple_codec(way: Codec) -> Codec:
    """Return the codec of a tuple whose items another codec converts."""
    return Codec(
        (list, tuple),
        lambda values: [way.dump(value) for value in values],
        lambda values: tuple(way.load(value) for value in values),
    )


def record_codec(of: type[T]) -> Codec:
    """Return the codec of a record of a class."""
    return Codec((Mapping,), dump_record, lambda data: load_record(data, of))


def _text(value: object) -> str:
    """Return the value, or raise ValueError if it is not a string."""
    if not isinstance(value, str):
        raise ValueError("a list of texts holds something else")
    return value


_CODECS: dict[str, Codec] = {
    "bool": Codec((bool,)),
    "int": Codec((int,)),
    "float": Codec((int, float)),
    "None": Codec(()),
    "object": Codec((object, bool), describe_as_json),
    "Mapping[str, object]": Codec((Mapping,), describe_as_json),
    "tuple[str, ...]": tuple_codec(Codec((str,), load=_text)),
}
"""By annotation; what is in no row goes as it is, a union as its parts, all others as text."""


def register_codecs(ways: Mapping[str, Codec]) -> None:
    """Register codecs by annotation text, in place of earlier ones, before records with such fields are used."""
    _CODECS.update(ways)


@cache
def _fields_of(cls: type[Any]) -> Mapping[str, tuple[Codec, object, bool]]:
    """Return codec, default and a required flag for each field of a record."""
    fields = {}
    for field in dataclasses.fields(cls):
        parts = str(field.type).split(" | ")
        kinds = (kind for part in parts for kind in _CODECS.get(part, Codec((str,))).kinds)
        way = _CODECS.get(str(field.type)) or Codec(tuple(kinds))
        needed = field.default is field.default_factory is dataclasses.MISSING
        fields[field.name] = way, field.default, needed
    return fields


def dump_record(item: Any, *, whole: bool = False) -> Json:
    """Return a record as JSON-ready data: the fields that differ from their default, or all."""
    data: Json = {}
    kind: Any = type(item)
    for name, (way, default, _) in _fields_of(kind).items():
        value = getattr(item, name)
        if whole or not _is_default(value, default):
            data[name] = way.dump(value)
    return data


def _is_default(value: object, default: object) -> bool:
    """Return True if a value equals the default of its field and has the same type."""
    if value is default:
        return True
    mappings = isinstance(default, Mapping) and isinstance(value, Mapping)
    return (type(value) is type(default) or mappings) and bool(value == default)


def load_record(data: object, of: type[T], required: Iterable[str] | None = None) -> T:
    """Return the record that `dump_record` wrote.

    Args:
        data: The data, perhaps from a hostile file.
        of: The class of the record.
        required: Names that must be present; by default the fields without a default.

    Raises:
        ValueError: a field is unknown, missing or of a wrong type; the message names it.
    """
    make: Any = of
    known, fields = _fields_of(make), read_fields(data, of, required)
    for name, value in fields.items():
        try:
            fields[name] = known[name][0].load(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    made: T = make(**fields)
    return made


def read_fields(data: object, of: Any, required: Iterable[str] | None = None) -> dict[str, Any]:
    """Check the names and types of plain data, and return it as a dict. Values are not converted.

    Args:
        data: The data, perhaps from a hostile file.
        of: The class of the record, or the types allowed for each name.
        required: Names that must be present; by default the fields without a default.

    Raises:
        ValueError: a field is unknown, missing or of a wrong type; the message names it.

    >>> read_fields({"x": 1}, {"x": (int,), "y": (int,)}, ["x"])
    {'x': 1}
    >>> read_fields({"x": True}, {"x": (int,)})
    Traceback (most recent call last):
    ValueError: 'x' is a bool
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"a {type(data).__name__} where an object belongs")
    fields = {} if isinstance(of, Mapping) else _fields_of(of)
    kinds = (
        of if isinstance(of, Mapping) else {name: way.kinds for name, (way, _, _) in fields.items()}
    )
    for name, value in data.items():
        if name not in kinds:
            raise ValueError(f"nothing is called {name!r:.100}")
        if not isinstance(value, kinds[name]) or (type(value) is bool and bool not in kinds[name]):
            raise ValueError(f"{name!r} is a {type(value).__name__}")
    needed = (name for name, (_, _, is_needed) in fields.items() if is_needed)
    for name in needed if required is None else required:
        if name not in data:
            raise ValueError(f"{name!r} is missing")
    return dict(data)
