"""Types that have a stored form besides JSON: those of the standard library, and a program's own classes.

Each is stored as parts: JSON data, or values that have a stored form themselves. `typed_values` stores
the parts in turn. Classes are looked up among the imported modules; nothing is imported.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import sys
import uuid
import zoneinfo
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pydantic import BaseModel, RootModel

from toolkeel._records.record_json import Codec

_MAX_BITS = 10_000  # Python refuses to write longer integers as text


class Unsavable(Exception):
    """Raised for a value without a stored form. `path` leads to it, the last step first."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.path: list[str] = []


def name_of(kind: type) -> str:
    """Return a class's name with its module, unless that is `builtins`."""
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


def is_text(value: str) -> bool:
    """Return True if UTF-8 can encode a text: not one with half a surrogate pair."""
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


# — types of the standard library —


def _base64(data: bytes | bytearray) -> str:
    """Return bytes as base64 text."""
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    """Return the bytes of base64 text, or raise ValueError if it is none."""
    return base64.b64decode(text, validate=True)


def _sorted(values: Iterable[Any]) -> list[Any]:
    """Return the members of a set in an order that does not change between processes."""
    return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def _dump_datetime(value: datetime.datetime | datetime.time) -> Any:
    """Return ISO text, zone name and fold of a datetime or time.

    Raises:
        Unsavable: its time zone is neither a fixed offset nor a named zone.
    """
    zone = value.tzinfo
    if zone is None or type(zone) is datetime.timezone:
        return [value.isoformat(), "", value.fold]
    if type(zone) is zoneinfo.ZoneInfo and zone.key:
        return [value.replace(tzinfo=None).isoformat(), zone.key, value.fold]
    raise Unsavable(f"the time zone {name_of(type(zone))} has no stored form")


def _load_datetime(kind: Any) -> Callable[[Any], Any]:
    """Return a function that loads what `_dump_datetime` wrote as a class."""

    def load(stored: Any) -> Any:
        """Return the datetime or time, with its zone and fold."""
        made = kind.fromisoformat(stored[0]).replace(fold=stored[2])
        return made.replace(tzinfo=zoneinfo.ZoneInfo(stored[1])) if stored[1] else made

    return load


def _items(make: Callable[[Any], Any]) -> Codec:
    """Return the codec of a collection that is stored as a list."""
    return Codec((list,), list, lambda stored: make(stored))


def _text(make: Callable[[str], Any]) -> Codec:
    """Return the codec of a type that is stored as its `str`."""
    return Codec((str,), str, make)


TYPES: dict[str, Codec] = {
    "int": Codec((str,), hex, lambda text: int(text, 16)),
    "float": Codec((str,), repr, float),
    "str": Codec(
        (str,),
        lambda text: _base64(text.encode("utf-8", "surrogatepass")),
        lambda text: _bytes(text).decode("utf-8", "surrogatepass"),
    ),
    "complex": _text(complex),
    "bytes": Codec((str,), _base64, _bytes),
    "bytearray": Codec((str,), _base64, lambda text: bytearray(_bytes(text))),
    "tuple": _items(tuple),
    "set": _items(set)._replace(dump=_sorted),
    "frozenset": _items(frozenset)._replace(dump=_sorted),
    "deque": Codec(
        (list,),
        lambda value: [list(value), value.maxlen],
        lambda stored: collections.deque(stored[0], stored[1]),
    ),
    "dict": _items(dict)._replace(dump=lambda value: list(map(list, value.items()))),
    "OrderedDict": _items(collections.OrderedDict)._replace(
        dump=lambda value: list(map(list, value.items()))
    ),
    "Counter": _items(lambda pairs: collections.Counter(dict(pairs)))._replace(
        dump=lambda value: list(map(list, value.items()))
    ),
    "datetime": Codec((list,), _dump_datetime, _load_datetime(datetime.datetime)),
    "time": Codec((list,), _dump_datetime, _load_datetime(datetime.time)),
    "date": _text(datetime.date.fromisoformat),
    "timedelta": Codec(
        (list,),
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda stored: datetime.timedelta(*stored),
    ),
    "Decimal": _text(decimal.Decimal),
    "Fraction": _text(fractions.Fraction),
    "UUID": _text(uuid.UUID),
    "PurePosixPath": _text(pathlib.PurePosixPath),
    "PureWindowsPath": _text(pathlib.PureWindowsPath),
    "Path": _text(pathlib.Path),
}
"""By name; the dumped parts are stored in turn."""
BY_TYPE: dict[type, str] = {
    **{each: each.__name__ for each in (int, float, str, complex, bytes, bytearray, tuple, set)},
    **{each: each.__name__ for each in (frozenset, dict, decimal.Decimal, fractions.Fraction)},
    **{each: each.__name__ for each in (collections.deque, collections.OrderedDict)},
    **{each: each.__name__ for each in (collections.Counter, uuid.UUID)},
    **{each: each.__name__ for each in (datetime.datetime, datetime.time, datetime.date)},
    datetime.timedelta: "timedelta",
    pathlib.PurePosixPath: "PurePosixPath",
    pathlib.PureWindowsPath: "PureWindowsPath",
    type(pathlib.Path()): "Path",
}
AS_JSON: dict[type, Callable[[Any], bool]] = {
    int: lambda value: value.bit_length() < _MAX_BITS,
    float: math.isfinite,
    str: is_text,
}
"""Values of these types that JSON holds as they are."""


# — classes of the program —


class ClassCodec(NamedTuple):
    """How instances of one kind of class, such as enums or dataclasses, are stored.

    Args:
        fits: Returns True for a class of this kind.
        dump: Returns the parts of an instance.
        load: Makes an instance of a class from the stored parts.
    """

    fits: Callable[[type[Any]], bool]
    dump: Callable[[Any], Any]
    load: Callable[[type[Any], Any], Any]


def find_class(path: str, kind: str) -> type[Any]:
    """Return a class by ``module:name`` if its module is imported already.

    Raises:
        ValueError: there is no such class of this kind.
    """
    module, _, name = path.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = vars(found).get(part) if found is not None else None
    if not isinstance(found, type) or not CLASSES[kind].fits(found):
        raise ValueError(f"there is no {kind} {path!r:.200} here")
    return found


def _dump_member(value: enum.Enum) -> Any:
    """Return the name of an enum member, or None and the value of a combination of flags."""
    kind = type(value)
    if value.name is not None and kind.__members__.get(value.name) is value:
        return [value.name]
    return [None, value.value]  # flags that are combined


def _load_member(kind: Any, stored: Any) -> Any:
    """Return the enum member that `_dump_member` wrote."""
    return kind[stored[0]] if stored[0] is not None else kind(stored[1])


def _dump_model(value: BaseModel) -> Any:
    """Return the state of a pydantic model, private attributes included."""
    return dict(value.__getstate__())


def _load_model(kind: Any, stored: Any) -> Any:
    """Return a model with exactly the stored state, once its class has validated the fields."""
    state = dict(stored)
    fields = {name: state["__dict__"][name] for name in kind.model_fields}
    extra = state.get("__pydantic_extra__") or {}
    if issubclass(kind, RootModel):
        kind.model_validate(fields["root"])
    else:
        kind.model_validate({**fields, **extra}, by_name=True)
    made = kind.__new__(kind)
    made.__setstate__(state)
    return made


def _dump_dataclass(value: Any) -> Any:
    """Return the fields of a dataclass by name.

    Raises:
        Unsavable: a field has no value, or the object has attributes besides its fields.
    """
    names = [field.name for field in dataclasses.fields(value)]
    if unset := [name for name in names if not hasattr(value, name)]:
        raise Unsavable(f"{name_of(type(value))} has no value for its field {unset[0]}")
    fields = {name: getattr(value, name) for name in names}
    if more := getattr(value, "__dict__", {}).keys() - fields.keys():
        raise Unsavable(f"{name_of(type(value))} has attributes besides its fields: {min(more)}")
    return fields


def _load_dataclass(kind: Any, stored: Any) -> Any:
    """Return an instance with the stored fields. ``__init__`` and ``__post_init__`` are not called.

    Raises:
        ValueError: the class has other fields now.
    """
    fields = dict(stored)
    if fields.keys() != {field.name for field in dataclasses.fields(kind)}:
        raise ValueError("other fields")
    made = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


CLASSES: dict[str, ClassCodec] = {
    "enum": ClassCodec(lambda kind: issubclass(kind, enum.Enum), _dump_member, _load_member),
    "model": ClassCodec(lambda kind: issubclass(kind, BaseModel), _dump_model, _load_model),
    "dataclass": ClassCodec(dataclasses.is_dataclass, _dump_dataclass, _load_dataclass),
    "named_tuple": ClassCodec(
        lambda kind: issubclass(kind, tuple) and hasattr(kind, "_fields"),
        list,
        lambda kind, stored: kind._make(stored),
    ),
}
