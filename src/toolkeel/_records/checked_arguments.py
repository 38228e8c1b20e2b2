"""Constructors that check the kinds of their arguments: a mistake is told where it is written."""

from __future__ import annotations

import collections.abc
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from toolkeel.errors import SetupError

F = TypeVar("F", bound=Callable[..., Any])
Kind = tuple[Callable[[Any], bool], str]
"""Whether a value is of it, and what to give."""


def checked(made: F) -> F:
    """Have each argument looked at, whenever a class is made or a method called, by its annotation.

    Flags, numbers, texts, paths, functions, choices, classes, and lists and dicts of these are
    looked at; other annotations say nothing here.

    >>> @checked
    ... class Oven:
    ...     def __init__(self, degrees: int = 180, *, fan: bool = False) -> None: ...
    >>> Oven(fan="no")
    Traceback (most recent call last):
    toolkeel.errors.SetupError: Oven(fan=...): expected True or False, got 'no'
    """
    cls: Any = made
    if not isinstance(made, type):
        cls = _checking(cls, cls.__qualname__, cls.__annotations__)
    elif cls.__init__ is object.__init__:  # a record
        cls.__new__ = _checking(cls.__new__, cls.__name__, cls.__annotations__)
    else:
        cls.__init__ = _checking(cls.__init__, cls.__name__, cls.__init__.__annotations__)
    return cast(F, cls)


def _checking(make: Any, owner: str, told: Mapping[str, object]) -> Any:
    own = list(inspect.signature(make).parameters)[1:]
    kinds: dict[str, Kind | None] = {}

    @wraps(make)
    def checking(self: Any, *args: Any, **options: Any) -> Any:
        if not kinds:  # when it is first called: all names are there then
            names = vars(sys.modules[make.__module__])
            kinds.update({name: kind_of(text, names) for name, text in told.items()})
        check_values(owner, {**dict(zip(own, args, strict=False)), **options}, kinds)
        return make(self, *args, **options)

    return checking


def check_values(owner: str, given: Mapping[str, Any], kinds: Mapping[str, Kind | None]) -> None:
    """See that each value is of its kind.

    Raises:
        SetupError: naming the option and what it should be.
    """
    for option, value in given.items():
        kind = kinds.get(option)
        if kind is not None and not kind[0](value):
            simple = isinstance(value, str | int | float | NoneType)
            got = repr(value) if simple else type(value).__name__
            raise SetupError(f"{owner}({option}=...): expected {kind[1]}, got {got:.60}")


def kind_of(text: Any, names: dict[str, Any]) -> Kind | None:
    """What an annotation admits, and how that is told; None if only type checkers know.

    Args:
        text: The annotation, or its text.
        names: What its text may name: those of the module that holds it.
    """
    try:
        told = get_type_hints(SimpleNamespace(__annotations__={"it": text}), names)
    except (NameError, TypeError):  # known to type checkers alone
        return None
    return _kind(told["it"])


def _kind(annotation: Any) -> Kind | None:
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return lambda value: value in args, " or ".join(map(repr, args))
    if origin in (Union, UnionType):
        return _either([_kind(each) for each in args])
    if origin is collections.abc.Callable:
        return callable, "a function"
    if origin in (dict, collections.abc.Mapping):
        return lambda value: isinstance(value, Mapping), "a dict"
    if origin in (list, tuple, collections.abc.Sequence, collections.abc.Iterable):
        return _several(kind) if (kind := _kind(args[0])) else None
    if isinstance(annotation, type) and not is_typeddict(annotation):
        named = vars(annotation)
        by_type = not named.get("_is_protocol") or named.get("_is_runtime_protocol")
        return (_is(annotation), _named(annotation)) if by_type else None
    return None


def _named(cls: type) -> str:
    if not cls.__module__.startswith("toolkeel"):
        return f"{cls.__module__}.{cls.__qualname__}"
    return f"{'an' if cls.__name__[0] in 'AEIOU' else 'a'} {cls.__name__}"


def _either(kinds: list[Kind | None]) -> Kind | None:
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    wanted = [each for _, each in known]
    return lambda value: any(good(value) for good, _ in known), " or ".join(dict.fromkeys(wanted))


def _several(each: Kind) -> Kind:
    good, wanted = each

    def fits(value: Any) -> bool:
        if isinstance(value, list | tuple | set | frozenset):
            return all(map(good, value))
        return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)

    several = [_PLURAL.get(one, one) for one in wanted.split(" or ")]
    return fits, f"a list of {' or '.join(several)}"


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds) and not isinstance(value, bool)


_SIMPLE: dict[object, Kind | None] = {
    bool: (lambda value: isinstance(value, bool), "True or False"),
    int: (_is(Integral), "a whole number"),
    float: (_is(Real), "a number"),
    str: (_is(str), "a text"),
    bytes: (_is(bytes, bytearray, memoryview), "bytes"),
    NoneType: (lambda value: value is None, "None"),
    PathLike: (_is(PathLike), "a path"),
    PathLike[str]: (_is(PathLike), "a path"),
    Path: (_is(Path), "a Path"),
    Any: None,
    object: None,
}
_PLURAL = {
    "a text": "texts",
    "a whole number": "whole numbers",
    "a number": "numbers",
    "a path": "paths",
}
