"""Names of another library that a compat package or class lacks: asking for one says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from toolkeel._lazy_exports import Door, missing_name

_C = TypeVar("_C", bound=type)


class MissingAttribute:
    """An attribute of another library's class that is not here; reading it raises `AttributeError`.

    Args:
        name: Its name.
        instead: What to write instead.
    """

    def __init__(self, name: str, instead: str) -> None:
        self.name, self.instead = name, instead

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__}.{self.name} is not here: {self.instead}")


def refuse_attributes(hints: Mapping[str, str]) -> Callable[[_C], _C]:
    """Return a class decorator that adds a `MissingAttribute` for each name that the class lacks.

    Args:
        hints: What to write instead, by names separated by blanks.
    """

    def add(cls: _C) -> _C:
        for names, instead in hints.items():
            for name in names.split():
                setattr(cls, name, MissingAttribute(name, instead))
        return cls

    return add


def make_module_getattr(
    library: str, hints: Mapping[str, str], door: Door | None = None
) -> Callable[[str], Any]:
    """Return a module ``__getattr__`` that names the replacement of each missing name.

    >>> ask = make_module_getattr("a library", {"Old|Older": "write New", "Lost.*": ""})
    >>> ask("Older")
    Traceback (most recent call last):
    ...
    toolkeel._lazy_exports.ReplacedName: a library's Older is not here: write New
    >>> ask("LostAway")
    Traceback (most recent call last):
    ...
    toolkeel._lazy_exports.ReplacedName: a library's LostAway is not here, and has no counterpart

    Args:
        library: The library's name, for messages.
        hints: Replacement by regular expression of the full name; empty if there is
            none.
        door: Loads the names that exist, if they load lazily.
    """
    load, _, known = door or (None, None, ())

    def get_name(name: str) -> Any:
        if load is not None and name in known:
            return load(name)
        if message := replacement_hint(library, hints, name):
            raise missing_name(name, message)
        raise AttributeError(f"there is no {name!r} here", name=name)

    return get_name


def replacement_hint(library: str, hints: Mapping[str, str], name: str) -> str:
    """Say that a library's name is missing and what replaces it; empty for an unknown name."""
    if name.startswith("__"):
        return ""
    for pattern, instead in hints.items():
        if re.fullmatch(pattern, name):
            ending = f": {instead}" if instead else ", and has no counterpart"
            return f"{library}'s {name} is not here{ending}"
    return ""
