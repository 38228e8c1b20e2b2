"""Split a text into passages that can be found and read on their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolkeel._records.record import record

CHUNK_CHARS = 1600
"""Approximate characters of a passage; Chinese ones count twice."""
OVERLAP_CHARS = 200
"""Approximate characters shared with the previous passage of the same section."""

_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_UNDERLINE = re.compile(r"(=+|-+|~+|\^+|\*+)\s*$")
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_FENCE = re.compile(r"\s*(```|~~~)")
_BREAKS = ("\f", "\n\n", "\n", "。", ". ", " ")


@record
class Chunk:
    """A passage.

    Args:
        text: As it is in the document.
        start: Where it starts there, in characters.
        heading: The headings above it, the outermost first.
    """

    text: str
    start: int
    heading: str = ""


def split_text(text: str, size: int = CHUNK_CHARS, overlap: int = OVERLAP_CHARS) -> list[Chunk]:
    r"""Split a text into passages, in order; together they contain all of it but blank space.

    A heading (Markdown's, or a line underlined as in reStructuredText) starts a new passage and is recorded
    for those below it. Within a section, paragraphs and lines stay together as long as they fit.

    Args:
        text: A document's.
        size: Approximate characters of a passage.
        overlap: Approximate characters shared with the previous passage of the section.

    >>> [(chunk.heading, chunk.text) for chunk in split_text("# A\nfirst\n## B\nsecond")]
    [('A', '# A\nfirst'), ('A > B', '## B\nsecond')]
    """
    chunks: list[Chunk] = []
    for heading, start, end in _iter_sections(text):
        for begin, stop in _iter_passages(text, (start, end), size, overlap):
            piece = text[begin:stop]
            if piece.strip():
                lead = len(piece) - len(piece.lstrip())
                chunks.append(Chunk(piece.strip(), begin + lead, heading))
    return chunks


def _iter_sections(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each section's headings, start and end."""
    path: list[tuple[int, str]] = []
    marks: dict[str, int] = {}
    begin, place, fenced = 0, 0, False
    before, before_at = "", 0
    for line in text.splitlines(keepends=True):
        fenced = fenced is not bool(_FENCE.match(line))
        found = None if fenced else _parse_heading(line, before, marks)
        if found is not None:
            level, title, begins_above = found
            at = before_at if begins_above else place
            if text[begin:at].strip():
                yield _join_headings(path), begin, at
                begin = at
            path = [*((one, name) for one, name in path if one < level), (level, title)]
        before, before_at = line, place
        place += len(line)
    yield _join_headings(path), begin, len(text)


def _parse_heading(line: str, before: str, marks: dict[str, int]) -> tuple[int, str, bool] | None:
    """Return level and title of the heading a line is or ends; true if it started a line above."""
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


def _join_headings(path: list[tuple[int, str]]) -> str:
    return " > ".join(name for _, name in path)[:300]


def _iter_passages(
    text: str, section: tuple[int, int], size: int, overlap: int
) -> Iterator[tuple[int, int]]:
    """Yield start and end of the passages of one section."""
    begin, end = section
    while begin < end:
        stop = _find_limit(text, begin, end, size)
        if stop < end:
            stop = _find_break(text, begin, stop)
        yield begin, stop
        if stop >= end:
            return
        begin = _find_restart(text, max(begin + 1, stop - overlap), stop)


def _find_limit(text: str, begin: int, end: int, size: int) -> int:
    """Return how far `size` characters go from `begin`, with wide ones counted twice."""
    stop = min(end, begin + size)
    if text.isascii():
        return stop
    wide = len(_WIDE.findall(text, begin, stop))
    return stop if stop - begin + wide <= size else max(begin + 1, stop - wide // 2)


def _find_break(text: str, begin: int, stop: int) -> int:
    """Return the best end for a passage that cannot go beyond `stop`."""
    half = begin + (stop - begin) // 2
    for mark in _BREAKS:
        found = text.rfind(mark, half, stop)
        if found >= 0:
            return found + len(mark)
    return stop


def _find_restart(text: str, back: int, stop: int) -> int:
    """Return where the next passage starts: at a line or a word within the overlap."""
    for mark in ("\n", " "):
        found = text.find(mark, back, stop - 1)
        if found >= 0:
            return found + 1
    return back
