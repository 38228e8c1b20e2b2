"""Records as JSON and back, each field by its annotation: messages, entries, tickets, saved runs.

Plain data, without what is at its default. Nothing in it is ever imported, called or evaluated, and
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
    pass


def plain(value: object, depth: int = DEPTH, other: Callable[[Any], object] = _nothing) -> Any:
    """`value` as JSON holds it; what it cannot hold is left behind, never guessed, or told by `other`."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else other(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if not depth or not isinstance(value, Mapping | list | tuple):
        return other(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth - 1, other) for key, item in value.items()}
    return [plain(item, depth - 1, other) for item in value]


def _same(value: Any) -> Any:
    return value


class Way(NamedTuple):
    """How values of one annotation go to JSON and back.

    Args:
        kinds: What they are there.
        dump: Makes them so.
        load: Makes them of it.
    """

    kinds: Kinds
    dump: Callable[[Any], object] = _same
    load: Callable[[Any], Any] = _same


def one_of(*words: str) -> Way:
    """One of these words."""

    def load(word: str) -> str:
        if word not in words:
            raise ValueError(f"{word!r:.40} is none of {', '.join(words)}")
        return word

    return Way((str,), load=load)


def several(way: Way) -> Way:
    """A tuple of such values."""
    return Way(
        (list, tuple),
        lambda values: [way.dump(value) for value in values],
        lambda values: tuple(way.load(value) for value in values),
    )


def nested(of: type[T]) -> Way:
    """A record."""
    return Way((Mapping,), dump_record, lambda data: load_record(data, of))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a list of texts holds something else")
    return value


_WAYS: dict[str, Way] = {
    "bool": Way((bool,)),
    "int": Way((int,)),
    "float": Way((int, float)),
    "None": Way(()),
    "object": Way((object, bool), plain),
    "Mapping[str, object]": Way((Mapping,), plain),
    "tuple[str, ...]": several(Way((str,), load=_text)),
}
"""By annotation; what is in no row goes as it is, a union as its parts, all others as text."""


def teach(ways: Mapping[str, Way]) -> None:
    """Know further annotations, before a record that has them is first written or read."""
    _WAYS.update(ways)


@cache
def _fields_of(cls: type[Any]) -> Mapping[str, tuple[Way, object, bool]]:
    """By field of a record: its way, its default, and whether it must be there."""
    fields = {}
    for field in dataclasses.fields(cls):
        parts = str(field.type).split(" | ")
        kinds = (kind for part in parts for kind in _WAYS.get(part, Way((str,))).kinds)
        way = _WAYS.get(str(field.type)) or Way(tuple(kinds))
        needed = field.default is field.default_factory is dataclasses.MISSING
        fields[field.name] = way, field.default, needed
    return fields


def dump_record(item: Any, *, whole: bool = False) -> Json:
    """A record as JSON-ready data: its fields that are not at their default, or all."""
    data: Json = {}
    kind: Any = type(item)
    for name, (way, default, _) in _fields_of(kind).items():
        value = getattr(item, name)
        if whole or not _is_default(value, default):
            data[name] = way.dump(value)
    return data


def _is_default(value: object, default: object) -> bool:
    if value is default:
        return True
    mappings = isinstance(default, Mapping) and isinstance(value, Mapping)
    return (type(value) is type(default) or mappings) and bool(value == default)


def load_record(data: object, of: type[T], required: Iterable[str] | None = None) -> T:
    """Back from `dump_record`.

    Args:
        data: As it came, perhaps from a hostile file.
        of: The record.
        required: See `read_fields`.

    Raises:
        ValueError: naming what is wrong.
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
    """Plain data as the arguments of a record: known names, values of the right types, no more.

    Args:
        data: As it came, perhaps from a hostile file.
        of: The record; or the types that each name may have.
        required: What must be there; the record's fields without a default if nothing is said.

    Raises:
        ValueError: naming what is wrong.

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
