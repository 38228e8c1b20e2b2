"""Where large arguments break the advertised schema, so that coercion looks at nothing else."""

from __future__ import annotations

import re
from collections.abc import Set

from toolkeel.define.explain.error_budget import LARGE, Path
from toolkeel.define.tool import AnyTool

_WHOLE_FLOAT = re.compile(r"[0-9](\.0+(?![0-9])|(\.[0-9]+)?[eE])")
"""A number that may be an integer of the schema, which coercion makes one of Python."""


class WrongPlaces:
    """The places of one value that break a schema; what is around or within one of them is not right either.

    Args:
        places: Paths from the value's root.
    """

    __slots__ = ("_passed", "_places")

    def __init__(self, places: Set[Path]) -> None:
        self._places = places
        self._passed = {place[:length] for place in places for length in range(len(place))}

    def is_right(self, path: Path) -> bool:
        """Return True if nothing at a path, within it or around it breaks the schema."""
        if path in self._passed:
            return False
        return not any(path[:length] in self._places for length in range(len(path) + 1))


def find_wrong_places(tool: AnyTool, text: str, value: dict[str, object]) -> WrongPlaces | None:
    """Return where arguments of more than `LARGE` characters break the advertised schema.

    None if they are shorter, or if that is unknown: then all of them may have to be coerced.

    Args:
        tool: The tool.
        text: The arguments as text.
        value: The parsed text.
    """
    find = tool.arguments.wrong_places
    if find is None or len(text) <= LARGE or _WHOLE_FLOAT.search(text):
        return None
    places = find(value)
    return None if places is None else WrongPlaces(places)
