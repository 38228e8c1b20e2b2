"""Texts in a normalized form, and where a passage occurs in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2009\u200a\u202f\u205f\u3000", " "),
}


class NormalizedText(NamedTuple):
    """A text in a normalized form, with the original offset of each character."""

    text: str
    offsets: Sequence[int]  # one more than there are characters


class PlainText(NamedTuple):
    """A text in plain characters, with the original offset of each.

    Args:
        characters: Quotes, dashes and spaces in their plain form, others decomposed (NFKD).
        offsets: One for each character, and one for the end.
    """

    characters: list[str]
    offsets: list[int]


def to_plain(text: str, start: int = 0) -> PlainText:
    """Return a text in plain characters; `start` is the offset of its first one."""
    characters = list[str]()
    offsets = list[int]()
    for offset, char in enumerate(text, start):
        for plain in unicodedata.normalize("NFKD", _PLAIN.get(char, char)):
            characters.append(plain)
            offsets.append(offset)
    return PlainText(characters, [*offsets, start + len(text)])


def iter_spans(form: NormalizedText, wanted: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each occurrence of a passage, in the original text."""
    found = form.text.find(wanted) if wanted else -1
    while found >= 0:
        last = found + len(wanted)
        start, end = form.offsets[found], form.offsets[last]
        inside = start in form.offsets[max(found - 1, 0) : found] or end == form.offsets[last - 1]
        if not inside:  # it does not start or end inside a character that expands to several
            yield start, end
        found = form.text.find(wanted, last if not inside else found + 1)


def iter_first_lines(text: str, wanted: str) -> Iterator[int]:
    """Yield the line numbers of the first five occurrences."""
    place = -1
    for _ in range(5):
        place = text.find(wanted, place + 1)
        if place < 0:
            return
        yield text.count("\n", 0, place) + 1


def with_unix_line_ends(text: str) -> NormalizedText:
    """Normalize line ends to one character."""
    if "\r\n" not in text:
        return NormalizedText(text, range(len(text) + 1))
    places = [i for i, c in enumerate(text) if c != "\r" or text[i + 1 : i + 2] != "\n"]
    # A line end starts at its carriage return.
    starts = [i - 1 if text[i] == "\n" and text[i - 1 : i] == "\r" else i for i in places]
    return NormalizedText("".join(text[i] for i in places), [*starts, len(text)])


def normalize_leniently(text: str) -> NormalizedText:
    """Normalize to plain characters without trailing space. The last line is left as it is."""
    characters, places, start = list[str](), list[int](), 0
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        plain = to_plain(line if number == len(lines) else line.rstrip(), start)
        characters += plain.characters
        places += plain.offsets
        if number < len(lines):
            characters.append("\n")
        start += len(line) + 1
    return NormalizedText("".join(characters), places)


def find_torn(text: str, wanted: str) -> int | None:
    """Return where an occurrence starts of which only a part would be replaced with those before it."""
    place, size = text.find(wanted), len(wanted)
    while place >= 0:
        following = text.find(wanted, place + size)
        inside = text.find(wanted, place + 1, place + 2 * size - 1)
        if inside >= 0 and following != place + size:
            return inside
        place = following
    return None
