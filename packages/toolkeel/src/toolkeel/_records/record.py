"""Frozen records that cost no more to make than ordinary objects.

A frozen dataclass with slots pays ``object.__setattr__`` for every field, which makes a
record three times as dear as a plain one; a call makes half a dozen. `record` keeps what
`dataclasses` gives (fields, equality, hash, repr, match arguments, `replace`) and changes the
constructor alone: a twin class with the same slots and no guard is filled by plain
assignments and then becomes the frozen class. Python allows that change of class because
both have the same layout.

`dataclasses` also compiles six methods for each class, which is most of what importing a hundred
records costs. Here all classes share them; only the constructor is compiled.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: type[T]) -> type[T]:
    """Turn a class into a frozen, slotted dataclass with a fast constructor.

    Raises:
        TypeError: the class inherits from anything but `object`, `Generic` or records, since the
            change of class needs one layout; or it has ``__post_init__``, keyword-only fields or fields
            without ``init``.

    >>> @record
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1)
    Point(x=1, y=0)
    """
    frozen: Any = dataclasses.dataclass(slots=True, init=False, repr=False, eq=False)(cls)
    above = frozen.__mro__[1:-1]
    records = [base for base in above if vars(base).get("__setattr__") is _setattr]
    if others := [one.__name__ for one in above if one is not Generic and one not in records]:
        raise TypeError(f"{cls.__name__}: a record cannot inherit from {', '.join(others)}")
    fields = dataclasses.fields(frozen)
    if "__post_init__" in vars(cls) or any(f.kw_only or not f.init for f in fields):
        raise TypeError(f"{cls.__name__}: a record takes its fields as they are, all in one way")
    layout = {"__slots__": frozen.__slots__}
    if records:  # the twin is filled like any object, though what it inherits from is frozen
        layout |= {"__new__": object.__new__, "__setattr__": object.__setattr__}
    if "__orig_bases__" in vars(frozen):  # `Generic` refuses to be inherited from without it
        layout["__orig_bases__"] = frozen.__orig_bases__
    twin = type(cls.__name__, frozen.__bases__, layout)
    frozen.__new__ = _constructor(frozen, fields, twin)
    for name, method in _SHARED.items():
        if name not in vars(cls):
            setattr(frozen, name, method)
    return frozen  # type: ignore[no-any-return]


def _constructor(
    cls: type[Any], fields: tuple[dataclasses.Field[Any], ...], twin: type[Any]
) -> Callable[..., Any]:
    """Compile and return a ``__new__`` that assigns the fields to a twin and changes its class."""
    scope: dict[str, Any] = {"_twin": twin}
    heads, lines = [], []
    for field in fields:
        name = field.name
        if field.default_factory is not dataclasses.MISSING:
            scope[f"_{name}_factory"], scope["_missing"] = field.default_factory, _MISSING
            heads.append(f"{name}=_missing")
            lines.append(f"self.{name} = _{name}_factory() if {name} is _missing else {name}")
            continue
        if field.default is not dataclasses.MISSING:
            scope[f"_{name}_default"] = field.default
            heads.append(f"{name}=_{name}_default")
        else:
            heads.append(name)
        lines.append(f"self.{name} = {name}")
    body = "\n    ".join(["self = _twin()", *lines, "self.__class__ = cls", "return self"])
    exec(f"def __new__(cls, {', '.join(heads)}):\n    {body}", scope)
    new: Callable[..., Any] = scope["__new__"]
    new.__qualname__ = cls.__qualname__  # as errors of arguments name it
    new.__module__ = cls.__module__
    return new


_MISSING: Any = object()


def _values(self: Any) -> tuple[Any, ...]:
    """Return the values of all fields, in order."""
    return tuple([getattr(self, name) for name in self.__match_args__])  # all fields, in order


def _reduce(self: Any) -> tuple[Any, ...]:
    """Copy and pickle through the constructor."""
    return type(self), _values(self)


def _eq(self: Any, other: object) -> Any:
    """Compare the fields with those of another record of the same class; NotImplemented for others."""
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _values(self) == _values(other)


def _hash(self: Any) -> int:
    """Return the hash of all fields."""
    return hash(_values(self))


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    """Return the constructor call that makes an equal record."""
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self))
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _setattr(self: Any, name: str, value: object) -> None:
    """Raise FrozenInstanceError."""
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    """Raise FrozenInstanceError."""
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_SHARED = {
    "__reduce__": _reduce,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
}


_html: list[Callable[[object], str]] = []


def set_html_renderer(give: Callable[[object], str]) -> None:
    """Set the function by which `notebook_html` renders records as HTML.

    `observe` is imported after this module, so the package passes the function in.
    """
    _html[:] = [give]


def notebook_html(self: object) -> str:
    """Return a record as HTML for notebooks, by the function that `set_html_renderer` has set."""
    return _html[0](self)


class NotebookDisplay:
    """The protocol of objects that notebooks render. A record sets ``_repr_html_ = notebook_html``."""

    __slots__ = ()
    _repr_html_ = notebook_html


class _Nothing(Mapping[str, object]):
    """The empty, immutable mapping, shared by all records."""

    __slots__ = ()

    def __getitem__(self, key: str) -> object:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING: Mapping[str, object] = _Nothing()
"""Default of a record's mapping field."""
