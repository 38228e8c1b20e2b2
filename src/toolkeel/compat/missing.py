"""Names of another library that are not here: each import says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from toolkeel._lazy_exports import Door


def missing(
    library: str, hints: Mapping[str, str], door: Door | None = None
) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that answers for names it does not have.

    >>> ask = missing("a library", {"Old|Older": "write New", "Gone.*": ""})
    >>> ask("Older")
    Traceback (most recent call last):
    ...
    ImportError: a library's Older is not here: write New
    >>> ask("GoneAway")
    Traceback (most recent call last):
    ...
    ImportError: a library's GoneAway is not here, and has no counterpart

    Args:
        library: Whose names they are.
        hints: By regular expression of the whole name: what to write instead; empty if there is
            nothing.
        door: What gives the names that are there, if they load late.
    """
    load, _, known = door or (None, None, ())
    table = [(re.compile(pattern), hint) for pattern, hint in hints.items()]

    def get_name(name: str) -> Any:
        if load is not None and name in known:
            return load(name)
        for pattern, instead in table:
            if pattern.fullmatch(name) and not name.startswith("__"):
                told = f": {instead}" if instead else ", and has no counterpart"
                # An AttributeError would reach nobody: `from ... import` puts its own in its place.
                raise ImportError(f"{library}'s {name} is not here{told}", name=name)
        raise AttributeError(f"there is no {name!r} here", name=name)

    return get_name
