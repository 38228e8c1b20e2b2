"""Find lines at another indentation, and indent their replacement likewise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MIN_LETTERS = 12
"""Letters a passage must have to be found at another indentation."""


class ReindentedPassage(NamedTuple):
    """A passage that was found at another indentation, and its replacement.

    Args:
        start: Where it starts in the text.
        end: Where it ends.
        old: The passage as it was sought, indented as it is in the text.
        new: The replacement, indented likewise.
    """

    start: int
    end: int
    old: str
    new: str


def find_reindented(text: str, old: str, new: str) -> ReindentedPassage | list[int]:
    r"""Find lines that occur once in a text, all indented by the same amount more or less.

    Args:
        text: Where to search; lines end with a line feed.
        old: The lines.
        new: Their replacement.

    Returns:
        The numbers of the lines where they occur, from 1, if that is not once: then none is chosen.
        Empty if they do not occur, or `new` cannot be indented likewise. A passage that is replaced
        by nothing ends after its line end.

    >>> find_reindented("if x:\n    total = one + two\n", "total = one + two", "total = 0")
    ReindentedPassage(start=6, end=27, old='    total = one + two', new='    total = 0')
    """
    lines, sought = text.split("\n"), old.strip("\n").split("\n")
    found = _find_stripped([line.strip() for line in lines], [line.strip() for line in sought])
    if len(found) != 1:
        return [number + 1 for number in found]
    [start] = found
    there = lines[start : start + len(sought)]
    step = find_shift(sought, there)
    put = None if step is None else shift_lines(new.strip("\n").split("\n"), step)
    quoted = None if step is None else shift_lines(sought, step)
    if put is None or quoted is None:
        return []
    begin = sum(len(line) + 1 for line in lines[:start])
    end = begin + sum(len(line) + 1 for line in there) - 1
    if new.strip("\n"):
        end -= len(there[-1]) - len(there[-1].rstrip())
    else:
        end = min(end + 1, len(text))
    quoted[-1] = quoted[-1].rstrip()
    return ReindentedPassage(begin, end, "\n".join(quoted), "\n".join(put))


def _find_stripped(lines: Sequence[str], sought: Sequence[str]) -> list[int]:
    if sum(map(len, sought)) < MIN_LETTERS:
        return []
    size = len(sought)
    return [
        number
        for number, line in enumerate(lines)
        if line == sought[0] and lines[number : number + size] == sought
    ]


def shift_lines(lines: Sequence[str], step: tuple[str, str]) -> list[str] | None:
    """Return lines with another indentation; None if one lacks what is to be removed.

    Args:
        lines: The lines.
        step: The indentation to remove and to add; blank lines stay as they are.
    """
    less, more = step
    if any(line.strip() and not line.startswith(less) for line in lines):
        return None
    return [more + line.removeprefix(less) if line.strip() else line for line in lines]


def find_shift(lines: Sequence[str], others: Sequence[str]) -> tuple[str, str] | None:
    """Return the indentation to remove and to add for each line; None if lines differ in that."""
    steps = {
        _compare_indentation(one, other)
        for one, other in zip(lines, others, strict=True)
        if one.strip()
    }
    return steps.pop() if len(steps) == 1 else None


def _compare_indentation(one: str, other: str) -> tuple[str, str] | None:
    had, has = (line[: len(line) - len(line.lstrip())] for line in (one, other))
    if has.endswith(had):
        return "", has.removesuffix(had)
    return (had.removesuffix(has), "") if had.endswith(has) else None
