"""Replace passages of a text, leaving every other byte as it is.

A passage is looked for as it is, then leniently: ends of lines trimmed, and typographic quotes,
dashes, spaces and compatible forms (NFKD) taken for plain ones, since that is how models misquote.
Line ends never matter for finding; what is put in gets those of the place it goes to. Whole lines
that are all indented by the same amount more or less are found as well, and what is put in is
indented likewise. The text stays in the encoding it is in.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from toolkeel.errors import ToolError
from toolkeel_workspace.files.encodings import NAMES, Decoded, as_shown, decode
from toolkeel_workspace.files.indentation import moved_along
from toolkeel_workspace.files.similar_passage import described

_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2009\u200a\u202f\u205f\u3000", " "),
}
CONTEXT = 4
"""Lines of context in a diff."""


class Change(NamedTuple):
    """One passage and what it becomes.

    Args:
        old: The passage.
        new: What to put in its place.
        everywhere: Wherever it stands, rather than where it stands once.
    """

    old: str
    new: str
    everywhere: bool = False


class Edited(NamedTuple):
    """What came of an edit.

    Args:
        data: The new content.
        diff: Unified diff of what changed.
        first_line: Number of the first line that changed, in the new content, from 1.
        lenient: How many passages were found leniently.
        made: How many passages were replaced.
        oddities: What is odd about the file, to be told after the number; mostly nothing.
    """

    data: bytes
    diff: str
    first_line: int
    lenient: int
    made: int
    oddities: str


class _Span(NamedTuple):
    start: int
    end: int
    new: str
    lenient: bool


class _Form(NamedTuple):
    """A text in another form, and where each of its characters comes from."""

    text: str
    places: Sequence[int]  # one more than there are characters


def apply(data: bytes, changes: Sequence[Change], path: str) -> Edited:
    """Make several changes, each looked for in the content as it was.

    Args:
        data: The content.
        changes: Passages that each stand there exactly once and do not overlap.
        path: For errors.

    Raises:
        ToolError: naming the change and what is wrong with it; nothing is changed then.
    """
    decoded = decode(data)
    text = decoded.text
    forms = (_unix(text), _lenient(text))
    spans = list[_Span]()
    for number, change in enumerate(changes, 1):
        what = "old_text" if len(changes) == 1 else f"old_text of edit {number}"
        spans += _find(change, forms, what, path)
    spans.sort()
    for before, after in pairwise(spans):
        if after.start < before.end:
            raise ToolError(f"Two edits of {path!r} overlap. Join them into one.")
    changed = text
    for span in reversed(spans):
        ending = _ending(text, span.start)
        new = span.new.replace("\r\n", "\n").replace("\n", ending)
        changed = changed[: span.start] + new + changed[span.end :]
    if changed == text:
        raise ToolError(f"{path!r} would not change: old_text and new_text are the same.")
    first = text.count("\n", 0, spans[0].start) + 1
    lenient = sum(span.lenient for span in spans)
    return Edited(
        encoded(decoded, changed, path),
        diff(text, changed, path),
        first,
        lenient,
        len(spans),
        _oddities(decoded.codec, changed),
    )


def encoded(decoded: Decoded, changed: str, path: str) -> bytes:
    """A changed text in the encoding of its file.

    Raises:
        ToolError: the encoding has no such characters.
    """
    try:
        return decoded.encode(changed)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{path!r} is {NAMES.get(decoded.codec, 'UTF-8')}, which has no "
            f"{error.object[error.start : error.end][:20]!r}. Nothing was changed."
        ) from None


def _oddities(codec: str, text: str) -> str:
    said = f"; it is {NAMES[codec]}, and stays so" if codec in NAMES else ""
    if text and not text.endswith("\n"):
        said += "; no line end at its end"
    return said


def diff(before: str, after: str, path: str) -> str:
    """A unified diff; lines that both begin and end with are left out before comparing."""
    old, new = before.splitlines(), after.splitlines()
    head = _common(zip(old, new, strict=False))
    most = min(len(old), len(new)) - head
    tail = min(_common(zip(reversed(old), reversed(new), strict=False)), most)
    start, end = max(head - CONTEXT, 0), max(tail - CONTEXT, 0)
    rows = difflib.unified_diff(
        old[start : len(old) - end],
        new[start : len(new) - end],
        f"a/{path}",
        f"b/{path}",
        n=CONTEXT,
        lineterm="",
    )
    text = "\n".join(_moved(row, start) for row in rows)
    return text.encode("utf-8", "replace").decode()


def _common(pairs: Iterator[tuple[str, str]]) -> int:
    number = 0
    for one, other in pairs:
        if one != other:
            break
        number += 1
    return number


def _moved(row: str, lines: int) -> str:
    """A hunk's header with its line numbers moved down."""
    if not row.startswith("@@ "):
        return row
    words = row.split(" ")
    for index in (1, 2):
        number, comma, length = words[index][1:].partition(",")
        words[index] = f"{words[index][0]}{int(number) + lines}{comma}{length}"
    return " ".join(words)


# — finding —


def _find(change: Change, forms: tuple[_Form, _Form], what: str, path: str) -> list[_Span]:
    if not change.old:
        raise ToolError(f"{what} is empty. To make a new file, write it.")
    for form, as_form in zip(forms, (_unix, _lenient), strict=True):
        wanted = as_form(change.old).text
        if found := [
            _Span(start, end, change.new, form is forms[1]) for start, end in _places(form, wanted)
        ]:
            if len(found) > 1 and not change.everywhere:
                lines = ", ".join(map(str, dict.fromkeys(_lines(form.text, wanted))))
                raise ToolError(
                    f"{what} stands more than once in {path!r} (lines {lines}). Add lines around "
                    "it until it is unique, or pass replace_all."
                )
            return found
    places = forms[0].places
    if moved := moved_along(forms[0].text, _unix(change.old).text, _unix(change.new).text):
        return [_Span(places[moved.start], places[moved.end], moved.new, True)]
    text = forms[0].text
    there = text.find(_unix(change.new).text) if change.new.strip() else -1
    if there >= 0:
        line = text.count("\n", 0, there) + 1
        already = f" But new_text stands in line {line} already: was it changed before?"
    else:
        already = ""
    raise ToolError(
        f"{what} was not found in {path!r}.{already}{as_shown(described(text, change.old, what))}"
    )


def _places(form: _Form, wanted: str) -> Iterator[tuple[int, int]]:
    """Where a passage begins and ends in the text, each time it stands there."""
    found = form.text.find(wanted) if wanted else -1
    while found >= 0:
        last = found + len(wanted)
        start, end = form.places[found], form.places[last]
        inside = start in form.places[max(found - 1, 0) : found] or end == form.places[last - 1]
        if not inside:  # it neither begins nor ends inside of a character that stands for several
            yield start, end
        found = form.text.find(wanted, last if not inside else found + 1)


def _lines(text: str, wanted: str) -> Iterator[int]:
    """Numbers of the first five lines where it begins."""
    place = -1
    for _ in range(5):
        place = text.find(wanted, place + 1)
        if place < 0:
            return
        yield text.count("\n", 0, place) + 1


def _unix(text: str) -> _Form:
    """The text with line ends of one character."""
    if "\r\n" not in text:
        return _Form(text, range(len(text) + 1))
    places = [i for i, c in enumerate(text) if c != "\r" or text[i + 1 : i + 2] != "\n"]
    # A line end begins where its carriage return stands.
    begun = [i - 1 if text[i] == "\n" and text[i - 1 : i] == "\r" else i for i in places]
    return _Form("".join(text[i] for i in places), [*begun, len(text)])


def _lenient(text: str) -> _Form:
    """The text without ends of lines, with plain characters; its last line keeps its end."""
    characters: list[str] = []
    places: list[int] = []
    start = 0
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        kept = line if number == len(lines) else line.rstrip()
        for offset, char in enumerate(kept):
            for plain in unicodedata.normalize("NFKD", _PLAIN.get(char, char)):
                characters.append(plain)
                places.append(start + offset)
        if number < len(lines):
            characters.append("\n")
            places.append(start + len(kept))
        start += len(line) + 1
    return _Form("".join(characters), [*places, len(text)])


def _ending(text: str, place: int) -> str:
    """The line end used at a place: that of its line, or else of the text's first."""
    for start in (place, 0):
        found = text.find("\n", start)
        if found >= 0:
            return "\r\n" if text[found - 1 : found] == "\r" else "\n"
    return "\n"
