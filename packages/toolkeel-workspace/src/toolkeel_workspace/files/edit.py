"""Replace passages of a text, leaving every other byte as it is.

A passage is searched exactly, then leniently: without trailing space, and with typographic quotes,
dashes, spaces and compatible forms (NFKD) taken for plain ones, because models misquote that way. Line
ends never matter for the search; a replacement gets the line ends of its place. Lines that are all
indented by the same amount more or less are found as well, and the replacement is indented likewise. The
text stays in its encoding.
"""

from __future__ import annotations

import difflib
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from toolkeel.errors import ToolError
from toolkeel_workspace.files.encodings import (
    HEAD_BYTES,
    DecodedText,
    decode_text,
    encode_changed,
    find_binary_kind,
    replace_invalid,
    restore_invalid,
)
from toolkeel_workspace.files.indentation import ReindentedPassage, find_reindented
from toolkeel_workspace.files.similar_passage import describe_mismatch

_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2009\u200a\u202f\u205f\u3000", " "),
}
CONTEXT_LINES = 4
"""Lines of context in a diff."""


class Change(NamedTuple):
    """One passage and its replacement.

    Args:
        old: The passage.
        new: The replacement.
        replace_all: Replace every occurrence; otherwise it must occur once.
    """

    old: str
    new: str
    replace_all: bool = False


class Replacement(TypedDict):
    """One passage to replace."""

    old_text: Annotated[str, Field(description="Exact text to replace; it must be unique.")]
    new_text: Annotated[str, Field(description="What to put in its place.")]
    replace_all: NotRequired[
        Annotated[bool, Field(description="Replace it wherever it stands; it need not be unique.")]
    ]


class EditResult(NamedTuple):
    """The result of an edit.

    Args:
        data: The new content.
        diff: Unified diff of the changes.
        first_line: First changed line in the new content, from 1.
        lenient_count: How many passages were found leniently.
        replaced_count: How many passages were replaced.
        remarks: Peculiarities of the file, to append to the message; mostly empty.
    """

    data: bytes
    diff: str
    first_line: int
    lenient_count: int
    replaced_count: int
    remarks: str


class _Span(NamedTuple):
    start: int
    end: int
    old: str
    new: str
    is_lenient: bool


class _NormalizedText(NamedTuple):
    """A text in a normalized form, with the original offset of each character."""

    text: str
    offsets: Sequence[int]  # one more than there are characters


def parse_changes(
    old_text: str | None = None,
    new_text: str | None = None,
    edits: list[Replacement] | None = None,
    replace_all: bool = False,
) -> list[Change]:
    """Convert the arguments of ``edit`` to changes.

    Raises:
        ToolError: there is neither one pair of texts nor a list of edits, or half a pair.
    """
    changes = [
        Change(each["old_text"], each["new_text"], each.get("replace_all", False))
        for each in edits or ()
    ]
    if old_text is not None and new_text is not None:
        changes.insert(0, Change(old_text, new_text, replace_all))
    elif not changes or old_text is not None or new_text is not None:
        raise ToolError("Give old_text and new_text together, or a list of edits.")
    return changes


def apply_changes(data: bytes, changes: Sequence[Change], path: str) -> EditResult:
    """Apply several changes, each searched in the original content.

    Args:
        data: The content.
        changes: Passages that each occur exactly once and do not overlap.
        path: For errors.

    Raises:
        ToolError: naming the change and what is wrong with it; nothing is changed then.
    """
    if kind := find_binary_kind(data[:HEAD_BYTES]):
        raise ToolError(f"{path!r} is {kind}.")
    decoded = decode_text(data)
    text = decoded.text
    shown = replace_invalid(text)
    forms = (_with_unix_line_ends(shown), _normalize_leniently(shown))
    spans = list[_Span]()
    for number, change in enumerate(changes, 1):
        what = "old_text" if len(changes) == 1 else f"old_text of edit {number}"
        spans += _find_passage(change, forms, what, path)
    spans.sort()
    for before, after in pairwise(spans):
        if after.start < before.end:
            raise ToolError(f"Two edits of {path!r} overlap. Join them into one.")
    changed = text
    for span in reversed(spans):
        new = _restore_bytes(text[span.start : span.end], span, path)
        ending = _find_line_end(text, span.start)
        new = new.replace("\r\n", "\n").replace("\n", ending)
        changed = changed[: span.start] + new + changed[span.end :]
    if changed == text:
        raise ToolError(f"{path!r} would not change: old_text and new_text are the same.")
    first = text.count("\n", 0, spans[0].start) + 1
    lenient = sum(span.is_lenient for span in spans)
    return EditResult(
        encode_changed(decoded, changed, path),
        make_diff(shown, replace_invalid(changed), path),
        first,
        lenient,
        len(spans),
        _describe_remarks(decoded, changed),
    )


def _describe_remarks(decoded: DecodedText, text: str) -> str:
    remarks = f"; it is {decoded.description}, and stays so" if decoded.description else ""
    if text and not text.endswith("\n"):
        remarks += "; no line end at its end"
    return remarks


def make_diff(before: str, after: str, path: str) -> str:
    """Return a unified diff; common lines at start and end are skipped before comparing."""
    old, new = ([row.removesuffix("\r") for row in _split(text)] for text in (before, after))
    head = _count_common(zip(old, new, strict=False))
    most = min(len(old), len(new)) - head
    tail = min(_count_common(zip(reversed(old), reversed(new), strict=False)), most)
    start, end = max(head - CONTEXT_LINES, 0), max(tail - CONTEXT_LINES, 0)
    rows = difflib.unified_diff(
        old[start : len(old) - end],
        new[start : len(new) - end],
        f"a/{path}",
        f"b/{path}",
        n=CONTEXT_LINES,
        lineterm="",
    )
    text = "\n".join(_shift_header(row, start) for row in rows)
    return text.encode("utf-8", "replace").decode()


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _count_common(pairs: Iterator[tuple[str, str]]) -> int:
    number = 0
    for one, other in pairs:
        if one != other:
            break
        number += 1
    return number


def _shift_header(row: str, lines: int) -> str:
    """Shift the line numbers in a hunk's header."""
    if not row.startswith("@@ "):
        return row
    words = row.split(" ")
    for index in (1, 2):
        number, comma, length = words[index][1:].partition(",")
        words[index] = f"{words[index][0]}{int(number) + lines}{comma}{length}"
    return " ".join(words)


def _restore_bytes(was: str, span: _Span, path: str) -> str:
    """Return a replacement with the undecodable bytes of the passage that it leaves."""
    restored = restore_invalid(was, span.old, span.new)
    if restored is None:
        raise ToolError(
            f"{path!r} has bytes that are no text where this edit is, shown as \ufffd. Write all of "
            "them in new_text as in old_text, or none, or make the edit beside them."
        )
    return restored


# — finding —


def _find_passage(
    change: Change, forms: tuple[_NormalizedText, _NormalizedText], label: str, path: str
) -> list[_Span]:
    if not change.old:
        raise ToolError(f"{label} is empty. To make a new file, write it.")
    for form, as_form in zip(forms, (_with_unix_line_ends, _normalize_leniently), strict=True):
        wanted = as_form(change.old).text
        if found := [
            _Span(
                _find_start(forms[0], start, change), end, change.old, change.new, form is forms[1]
            )
            for start, end in _iter_spans(form, wanted)
        ]:
            if not change.replace_all and (len(found) > 1 or _overlaps(form.text, wanted)):
                lines = ", ".join(map(str, dict.fromkeys(_iter_first_lines(form.text, wanted))))
                raise ToolError(
                    f"{label} occurs more than once in {path!r} (lines {lines}). Add lines around "
                    "it until it is unique, or pass replace_all."
                )
            return found
    places = forms[0].offsets
    text = forms[0].text
    moved = find_reindented(
        text, _with_unix_line_ends(change.old).text, _with_unix_line_ends(change.new).text
    )
    if isinstance(moved, ReindentedPassage):
        return [_Span(places[moved.start], places[moved.end], change.old, moved.new, True)]
    raise ToolError(
        f"{label} was not found in {path!r}.{_describe_near_misses(text, change, moved)}"
        f"{describe_mismatch(text, replace_invalid(change.old), label)}"
    )


def _find_start(form: _NormalizedText, start: int, change: Change) -> int:
    """Return where a passage starts: of deleted lines, at the indentation of the first."""
    if change.new or not change.old.endswith("\n"):
        return start
    text = form.text
    place = bisect_left(form.offsets, start)
    line = text.rfind("\n", 0, place) + 1
    return form.offsets[line] if not text[line:place].strip(" \t") else start


def _describe_near_misses(text: str, change: Change, indented: Sequence[int]) -> str:
    """Describe where the lines are at another indentation, or are replaced already, as sentences.

    Args:
        text: Where they were not found.
        change: What was to be changed.
        indented: Numbers of lines where they are at another indentation.
    """
    said = ""
    if indented:
        numbers = ", ".join(map(str, indented[:5]))
        said = f" At another indentation it is in several places (lines {numbers})."
    new = [line.rstrip() for line in change.new.strip("\r\n").split("\n")]
    lines = [line.rstrip() for line in text.split("\n")]
    if any(char.isalnum() for char in change.new):
        for number in range(len(lines) - len(new) + 1):
            if lines[number] == new[0] and lines[number : number + len(new)] == new:
                return (
                    f"{said} But new_text is already in line {number + 1}: was it changed before?"
                )
    return said


def _overlaps(text: str, wanted: str) -> bool:
    """Return True if occurrences overlap, of which a search for separate ones finds only the first."""
    first = text.find(wanted)
    return text.find(wanted, first + 1, first + 2 * len(wanted) - 1) >= 0


def _iter_spans(form: _NormalizedText, wanted: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each occurrence of a passage, in the original text."""
    found = form.text.find(wanted) if wanted else -1
    while found >= 0:
        last = found + len(wanted)
        start, end = form.offsets[found], form.offsets[last]
        inside = start in form.offsets[max(found - 1, 0) : found] or end == form.offsets[last - 1]
        if not inside:  # it does not start or end inside a character that expands to several
            yield start, end
        found = form.text.find(wanted, last if not inside else found + 1)


def _iter_first_lines(text: str, wanted: str) -> Iterator[int]:
    """Yield the line numbers of the first five occurrences."""
    place = -1
    for _ in range(5):
        place = text.find(wanted, place + 1)
        if place < 0:
            return
        yield text.count("\n", 0, place) + 1


def _with_unix_line_ends(text: str) -> _NormalizedText:
    """Normalize line ends to one character."""
    if "\r\n" not in text:
        return _NormalizedText(text, range(len(text) + 1))
    places = [i for i, c in enumerate(text) if c != "\r" or text[i + 1 : i + 2] != "\n"]
    # A line end starts at its carriage return.
    starts = [i - 1 if text[i] == "\n" and text[i - 1 : i] == "\r" else i for i in places]
    return _NormalizedText("".join(text[i] for i in places), [*starts, len(text)])


def _normalize_leniently(text: str) -> _NormalizedText:
    """Normalize to plain characters without trailing space. The last line is left as it is."""
    characters: list[str] = []
    places: list[int] = []
    start = 0
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        trimmed = line if number == len(lines) else line.rstrip()
        for offset, char in enumerate(trimmed):
            for plain in unicodedata.normalize("NFKD", _PLAIN.get(char, char)):
                characters.append(plain)
                places.append(start + offset)
        if number < len(lines):
            characters.append("\n")
            places.append(start + len(trimmed))
        start += len(line) + 1
    return _NormalizedText("".join(characters), [*places, len(text)])


def _find_line_end(text: str, place: int) -> str:
    """Return the line end used at an offset: of its line, or else of the first line."""
    for start in (place, 0):
        found = text.find("\n", start)
        if found >= 0:
            return "\r\n" if text[found - 1 : found] == "\r" else "\n"
    return "\n"
