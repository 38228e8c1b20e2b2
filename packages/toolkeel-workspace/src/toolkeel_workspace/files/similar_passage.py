"""The passage of a text that is most like one that was not found in it, and where they differ."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

MOST_LINES = 200_000
"""How many lines of a text are looked at."""
MOST_SHOWN = 20
"""How many lines of a passage are shown."""
_WIDTH = 300
_NUMBERED = re.compile(r"\s*\d+\s*[:|\t\u2192-]")


class Passage(NamedTuple):
    """Lines of a text.

    Args:
        first: Number of the first one, from 1.
        lines: As they are.
    """

    first: int
    lines: list[str]


def most_similar(text: str, wanted: str) -> Passage | None:
    """The lines of a text that are most like others; None if none are like them.

    Lines that are the same but for space say where the passage begins; where there are none, the
    longest line that is wanted is looked for by its letters.
    """
    lines, sought = text.split("\n")[:MOST_LINES], wanted.strip("\n").split("\n")
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        places.setdefault(_without_blanks(line), []).append(number)
    votes: Counter[int] = Counter()
    for number, line in enumerate(sought):
        if plain := _without_blanks(line):
            for place in places.get(plain, ())[:100]:
                votes[place - number] += len(plain)
    if votes:
        start = max(sorted(votes), key=votes.__getitem__)
    else:
        longest = max(range(len(sought)), key=lambda number: len(_without_blanks(sought[number])))
        known = [line for line in places if line][:20_000]
        near = difflib.get_close_matches(_without_blanks(sought[longest]), known, 1, 0.6)
        if not near:
            return None
        start = places[near[0]][0] - longest
    start = max(start, 0)
    return Passage(start + 1, lines[start : start + len(sought)])


def _without_blanks(line: str) -> str:
    return "".join(line.split())


def described(text: str, wanted: str, what: str) -> str:
    """What to tell about a passage that was not found, as sentences.

    Args:
        text: Where it was looked for.
        wanted: The passage.
        what: What it is called, such as ``old_text``.
    """
    sought = wanted.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in sought if line.strip()):
        return f" {what} has line numbers before its lines: leave them out."
    if (found := most_similar(text, wanted)) is None:
        return " Nothing in it is like it. Read the file again; the passage must be quoted exactly."
    shown = "\n".join(line.removesuffix("\r")[:_WIDTH] for line in found.lines[:MOST_SHOWN])
    last = found.first + len(found.lines) - 1
    where = f"line {found.first}" if last == found.first else f"lines {found.first} to {last}"
    return (
        f" The most similar passage is {where}:\n{shown}\n"
        f"{_difference(found, sought, what)} Quote it exactly."
    )


def _difference(found: Passage, sought: Sequence[str], what: str) -> str:
    """The first line in which they differ, and how."""
    for number, line in enumerate(sought):
        if number >= len(found.lines):
            return f"It ends there, but {what} goes on with {line[:_WIDTH]!r}."
        there = found.lines[number].removesuffix("\r")
        if there == line.removesuffix("\r"):
            continue
        how = ""
        if there.split() == line.split():
            how = " (only spaces differ)"
            if there.lstrip() == line.lstrip():
                how = " (the indentation differs)"
        return (
            f"The first difference is in line {found.first + number}{how}: the file has "
            f"{there[:_WIDTH]!r}, {what} has {line[:_WIDTH]!r}."
        )
    return f"It differs from {what} where it begins or ends."
