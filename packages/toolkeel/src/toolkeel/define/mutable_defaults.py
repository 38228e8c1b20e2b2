"""Mutable default arguments, made anew for each call, so that no call sees another's changes."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

from toolkeel._records.record import record

Make: TypeAlias = Callable[[], object]


@record
class FactoryDefault:
    """The default of a dataclass's field that a factory makes.

    Args:
        make: The factory.
    """

    make: Callable[[], object]


def copy_factory(default: object) -> Make | None:
    """Return a function that copies a mutable default, or None for an immutable one.

    What has no hash is taken for mutable, as Python does. What cannot be copied, such as a list of
    connections, stays the function's own.

    >>> copy_factory([1])(), copy_factory((1, "a")) is None
    ([1], True)
    """
    if type(default) in (str, int, bool, type(None)):  # most of them
        return None
    try:
        hash(default)
    except TypeError:
        try:
            copy.deepcopy(default)
        except Exception:
            return None
        return lambda: copy.deepcopy(default)
    return None


def dataclass_field_factory(owner: Any, name: str) -> FactoryDefault | None:
    """Return the default factory of a dataclass field, or None if it has none.

    Args:
        owner: The class, or anything else.
        name: The field's.
    """
    if not dataclasses.is_dataclass(owner):
        return None
    for field in dataclasses.fields(owner):
        if field.name == name and field.default_factory is not dataclasses.MISSING:
            return FactoryDefault(field.default_factory)
    return None
