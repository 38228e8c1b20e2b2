"""Find whole lines at another indentation, and indent what takes their place likewise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MIN_LETTERS = 12
"""Letters a passage must have to be found at another indentation."""


class Moved(NamedTuple):
    """A passage that was found, and what to put in its place.

    Args:
        start: Where it begins in the text.
        end: Where it ends.
        new: With its lines indented as the passage is.
    """

    start: int
    end: int
    new: str


def moved_along(text: str, old: str, new: str) -> Moved | None:
    """Lines that stand in a text once, but are all indented by the same amount more or less.

    Args:
        text: Where they are looked for; lines end with a line feed.
        old: The lines.
        new: What shall take their place.

    Returns:
        None if they do not stand there so, or more than once, or `new` cannot be indented as they
        are.

    >>> moved_along("if x:\\n    total = one + two\\n", "total = one + two", "total = 0")
    Moved(start=6, end=27, new='    total = 0')
    """
    lines, sought = text.split("\n"), old.strip("\n").split("\n")
    start = _only_place([line.strip() for line in lines], [line.strip() for line in sought])
    if start is None:
        return None
    there = lines[start : start + len(sought)]
    step = _step(sought, there)
    put = new.strip("\n").split("\n")
    if step is None or any(line.strip() and not line.startswith(step[0]) for line in put):
        return None
    less, more = step
    moved = "\n".join(more + line.removeprefix(less) if line.strip() else line for line in put)
    begin = sum(len(line) + 1 for line in lines[:start])
    return Moved(begin, begin + sum(len(line) + 1 for line in there) - 1, moved)


def _only_place(lines: Sequence[str], sought: Sequence[str]) -> int | None:
    if sum(map(len, sought)) < MIN_LETTERS:
        return None
    size = len(sought)
    found = [
        number
        for number, line in enumerate(lines)
        if line == sought[0] and lines[number : number + size] == sought
    ]
    return found[0] if len(found) == 1 else None


def _step(lines: Sequence[str], others: Sequence[str]) -> tuple[str, str] | None:
    """What goes from each line's indentation, and what comes; None if lines differ in that."""
    steps = {_between(one, other) for one, other in zip(lines, others, strict=True) if one.strip()}
    return steps.pop() if len(steps) == 1 else None


def _between(one: str, other: str) -> tuple[str, str] | None:
    had, has = (line[: len(line) - len(line.lstrip())] for line in (one, other))
    if has.endswith(had):
        return "", has.removesuffix(had)
    return (had.removesuffix(has), "") if had.endswith(has) else None
