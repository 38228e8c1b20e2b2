"""Doors: public modules that re-export names by topic and load what is behind a name on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

PACKAGE = "toolkeel"
NOWHERE: Mapping[str, str] = MappingProxyType({})
Door = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def door(module: str, places: Mapping[str, str], others: Mapping[str, str] = NOWHERE) -> Door:
    """What a door binds: ``__getattr__, __dir__, __all__ = door(__name__, places)``.

    Args:
        module: Dotted name of the door.
        places: For each module of the library, from the package on, the names it gives.
        others: Names that people look for here, and what to write instead.

    >>> get, names, _ = door("toolkeel", {"call.steps.call_limits": "Budget RateLimit"})
    >>> {"Budget", "RateLimit"} <= {*names()}
    True
    >>> get("Budget").__module__
    'toolkeel.call.steps.call_limits'
    """
    place_of = {name: place for place, names in places.items() for name in names.split()}
    space = vars(sys.modules[module])

    def get(name: str) -> Any:
        if name in others:  # an AttributeError's text is lost in "from ... import"
            raise ImportError(f"{module} has no {name!r}; write {others[name]}", name=name)
        if name not in place_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        value = space[name] = getattr(import_module(f"{PACKAGE}.{place_of[name]}"), name)
        return value

    return get, lambda: sorted({*space.get("__all__", ()), *place_of}), sorted(place_of)
