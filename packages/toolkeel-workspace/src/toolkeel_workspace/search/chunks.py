"""Cutting a text into passages that can be found and read by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolkeel._records.record import record

SIZE = 1600
"""About how many characters a passage has; Chinese ones count twice."""
OVERLAP = 200
"""About how many of them it shares with the one before, where a section is cut in its midst."""

_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_UNDERLINE = re.compile(r"(=+|-+|~+|\^+|\*+)\s*$")
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_FENCE = re.compile(r"\s*(```|~~~)")
_BREAKS = ("\f", "\n\n", "\n", "。", ". ", " ")


@record
class Chunk:
    """A passage.

    Args:
        text: As it stands in the document.
        start: Where it begins there, in characters.
        heading: The headings it stands under, the outermost first.
    """

    text: str
    start: int
    heading: str = ""


def split(text: str, size: int = SIZE, overlap: int = OVERLAP) -> list[Chunk]:
    """The passages of a text, in order; together they hold all of it but blank space.

    A heading (Markdown's, or a line underlined as reStructuredText does it) begins a new passage
    and is remembered for those below it. Within a section, paragraphs and lines are kept whole as
    long as they fit.

    Args:
        text: A document's.
        size: About how many characters a passage has.
        overlap: About how many it shares with the one before in its section.

    >>> [(chunk.heading, chunk.text) for chunk in split("# A\\nfirst\\n## B\\nsecond")]
    [('A', '# A\\nfirst'), ('A > B', '## B\\nsecond')]
    """
    chunks: list[Chunk] = []
    for heading, start, end in _sections(text):
        for begin, stop in _passages(text, (start, end), size, overlap):
            piece = text[begin:stop]
            if piece.strip():
                lead = len(piece) - len(piece.lstrip())
                chunks.append(Chunk(piece.strip(), begin + lead, heading))
    return chunks


def _sections(text: str) -> Iterator[tuple[str, int, int]]:
    """Each section's headings, beginning and end."""
    path: list[tuple[int, str]] = []
    marks: dict[str, int] = {}
    begin, place, fenced = 0, 0, False
    before, before_at = "", 0
    for line in text.splitlines(keepends=True):
        fenced = fenced is not bool(_FENCE.match(line))
        found = None if fenced else _heading(line, before, marks)
        if found is not None:
            level, title, begins_above = found
            at = before_at if begins_above else place
            if text[begin:at].strip():
                yield _joined(path), begin, at
                begin = at
            path = [*((one, name) for one, name in path if one < level), (level, title)]
        before, before_at = line, place
        place += len(line)
    yield _joined(path), begin, len(text)


def _heading(line: str, before: str, marks: dict[str, int]) -> tuple[int, str, bool] | None:
    """Level and title of the heading that a line is or ends, and whether it began above."""
    found = _HEADING.match(line)
    if found:
        title = found[2].rstrip()
        return len(found[1]), title.rstrip("#").rstrip() or title, False
    title, rule = before.strip(), line.rstrip()
    if len(rule) < 3 or not _UNDERLINE.fullmatch(rule):
        return None
    if not title or len(title) > 120 or title[0] in "-=|*>" or len(rule) < len(title) / 2:
        return None
    return marks.setdefault(line[0], len(marks) + 1), title, True


def _joined(path: list[tuple[int, str]]) -> str:
    return " > ".join(name for _, name in path)[:300]


def _passages(
    text: str, section: tuple[int, int], size: int, overlap: int
) -> Iterator[tuple[int, int]]:
    """Beginnings and ends of the passages of one section."""
    begin, end = section
    while begin < end:
        stop = _reach(text, begin, end, size)
        if stop < end:
            stop = _break(text, begin, stop)
        yield begin, stop
        if stop >= end:
            return
        begin = _resume(text, max(begin + 1, stop - overlap), stop)


def _reach(text: str, begin: int, end: int, size: int) -> int:
    """How far `size` characters go from `begin`, wide ones counted twice."""
    stop = min(end, begin + size)
    if text.isascii():
        return stop
    wide = len(_WIDE.findall(text, begin, stop))
    return stop if stop - begin + wide <= size else max(begin + 1, stop - wide // 2)


def _break(text: str, begin: int, stop: int) -> int:
    """The best place to end a passage that cannot go further than `stop`."""
    half = begin + (stop - begin) // 2
    for mark in _BREAKS:
        found = text.rfind(mark, half, stop)
        if found >= 0:
            return found + len(mark)
    return stop


def _resume(text: str, back: int, stop: int) -> int:
    """Where the next passage begins: at a line or a word within what both share."""
    for mark in ("\n", " "):
        found = text.find(mark, back, stop - 1)
        if found >= 0:
            return found + 1
    return back
