"""Names of another library that are not here: each import says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from toolkeel._lazy_exports import Door, missing_name


def missing(
    library: str, hints: Mapping[str, str], door: Door | None = None
) -> Callable[[str], Any]:
    """Make a module's ``__getattr__`` that says what replaces the names the module lacks.

    >>> ask = missing("a library", {"Old|Older": "write New", "Gone.*": ""})
    >>> ask("Older")
    Traceback (most recent call last):
    ...
    toolkeel._lazy_exports.ReplacedName: a library's Older is not here: write New
    >>> ask("GoneAway")
    Traceback (most recent call last):
    ...
    toolkeel._lazy_exports.ReplacedName: a library's GoneAway is not here, and has no counterpart

    Args:
        library: Whose names they are.
        hints: By regular expression of the full name: what to write instead; empty if there is
            nothing.
        door: What gives the names that are there, if they load late.
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
            told = f": {instead}" if instead else ", and has no counterpart"
            return f"{library}'s {name} is not here{told}"
    return ""
