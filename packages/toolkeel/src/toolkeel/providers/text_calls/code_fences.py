"""Decides if a place in a text that arrives in pieces is inside a fenced block of code."""

from __future__ import annotations

import re

_FENCE = re.compile(r"[\s>*+-]*(?:\d+[.)]\s+)?(?P<mark>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)


class CodeFences:
    """Tracker of code fences in a text that arrives in pieces; parsed only on demand.

    Attributes:
        add: Appends a piece of the text.

    >>> fences = CodeFences()
    >>> fences.add("So:\\n``")
    >>> fences.add("`python\\nx")
    >>> fences.is_open()
    True
    """

    __slots__ = ("_mark", "_pieces", "add")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._mark = ""
        """The fence that is open."""
        self.add = self._pieces.append

    def is_open(self) -> bool:
        """Read the lines so far, and return True if the text ends inside a fence."""
        *lines, rest = "".join(self._pieces).split("\n")
        self._pieces[:] = [rest]  # a line without its end may still become a fence
        for line in lines:
            self._read(line)
        return bool(self._mark)

    def _read(self, line: str) -> None:
        """Read one line, which may open or close a fence."""
        found = _FENCE.match(line)
        if found is None:
            return
        mark, info = found["mark"], found["info"]
        if not self._mark:
            self._mark = "" if mark[0] == "`" and "`" in info else mark
        elif mark.startswith(self._mark) and not info.strip():
            self._mark = ""
