"""The passage most similar to one that was not found in a text, and where they differ."""

from __future__ import annotations

import difflib
import html
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from toolkeel_workspace.files.passages.normalized import normalize_leniently

MAX_LINES = 200_000
"""Most lines of a text that are compared."""
MAX_SHOWN_LINES = 20
"""Most lines of a passage that are shown."""
_MAX_LINE_CHARS = 300
_ESCAPE = re.compile(r"\\([nrt\"'\\])")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_NUMBERED = re.compile(r"\s*\d+\s*[:|\t\u2192-]")


class Passage(NamedTuple):
    """Lines of a text.

    Args:
        first_line: Number of the first one, from 1.
        lines: As they are.
    """

    first_line: int
    lines: list[str]


def find_similar(text: str, wanted: str) -> Passage | None:
    """Find the most similar lines of a text, or None if no lines are similar.

    Lines that are equal without spaces locate the passage; without any, the longest wanted line is matched by
    its letters.
    """
    lines, sought = text.split("\n")[:MAX_LINES], wanted.strip("\n").split("\n")
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


def describe_mismatch(text: str, wanted: str, label: str) -> str:
    """Describe why a passage was not found, as sentences.

    Args:
        text: Where it was searched.
        wanted: The passage.
        label: Its name, such as ``old_text``.
    """
    sought = wanted.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in sought if line.strip()):
        return f" {label} has line numbers before its lines: leave them out."
    if said := _describe_other_form(text, wanted, label):
        return said
    if (found := find_similar(text, wanted)) is None:
        return " Nothing in it is like it. Read the file again; the passage must be quoted exactly."
    shown = "\n".join(
        line.removesuffix("\r")[:_MAX_LINE_CHARS] for line in found.lines[:MAX_SHOWN_LINES]
    )
    last = found.first_line + len(found.lines) - 1
    where = (
        f"line {found.first_line}"
        if last == found.first_line
        else f"lines {found.first_line} to {last}"
    )
    return (
        f" The most similar passage is {where}:\n{shown}\n"
        f"{_describe_difference(found, sought, label)} Quote it exactly."
    )


def _describe_other_form(text: str, wanted: str, label: str) -> str:
    """Describe in which other form a passage is in a text, as sentences; empty if in none.

    Models write escapes and entities where a file has the characters, and the other way round.
    """
    wanted = wanted.replace("\r\n", "\n")
    escaped = wanted.replace("\n", "\\n")
    forms = (
        (_unescape(wanted), "escapes such as \\n where the file has the characters themselves"),
        (
            html.unescape(wanted),
            "entities such as &lt; where the file has the characters themselves",
        ),
        (escaped, "line ends where the file has \\n"),
        (wanted.replace('"', '\\"'), 'quotes where the file has \\"'),
        (escaped.replace('"', '\\"'), 'line ends and quotes where the file has \\n and \\"'),
        (html.escape(wanted, quote=False), "characters where the file has entities, such as &lt;"),
    )
    for form, difference in forms:
        if form != wanted and (place := text.find(form)) >= 0:
            return f" {label} has {difference}, in line {text.count(chr(10), 0, place) + 1}."
    place = text.lower().find(wanted.lower()) if wanted not in text else -1
    if place >= 0 and len(text.lower()) == len(text):
        there = text[place : place + len(wanted)][:_MAX_LINE_CHARS]
        return f" In another case it is in line {text.count(chr(10), 0, place) + 1}: {there!r}."
    plain, sought = normalize_leniently(text).text, normalize_leniently(wanted).text
    if wanted not in text and sought.strip() and (place := plain.find(sought)) >= 0:
        return f" In other quotes, dashes or spaces it is in line {plain.count(chr(10), 0, place) + 1}."
    return ""


def _unescape(text: str) -> str:
    """Return a text with the characters that its escapes stand for."""
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)


def _describe_difference(found: Passage, sought: Sequence[str], label: str) -> str:
    """Describe the first line in which they differ."""
    for number, line in enumerate(sought):
        if number >= len(found.lines):
            return f"It ends there, but {label} goes on with {line[:_MAX_LINE_CHARS]!r}."
        there = found.lines[number].removesuffix("\r")
        if there == line.removesuffix("\r"):
            continue
        how = ""
        if there.split() == line.split():
            how = " (only spaces differ)"
            if there.lstrip() == line.lstrip():
                how = f" ({_compare_indentation(there, line, label)})"
        return (
            f"The first difference is in line {found.first_line + number}{how}: the file has "
            f"{there[:_MAX_LINE_CHARS]!r}, {label} has {line[:_MAX_LINE_CHARS]!r}."
        )
    return f"It differs from {label} where it begins or ends."


def _compare_indentation(there: str, line: str, label: str) -> str:
    """Describe how indentations differ: in tabs and blanks, or in their depth."""
    tabs = ["\t" in text[: len(text) - len(text.lstrip())] for text in (there, line)]
    if tabs[0] == tabs[1]:
        return "the indentation differs"
    kinds = ("tabs", "blanks") if tabs[0] else ("blanks", "tabs")
    return f"the file indents with {kinds[0]}, {label} with {kinds[1]}"
