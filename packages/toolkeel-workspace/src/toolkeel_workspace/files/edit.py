"""Replace passages of a text, leaving every other byte as it is.

A passage is searched exactly, then leniently: without trailing space, and with typographic quotes,
dashes, spaces and compatible forms (NFKD) taken for plain ones, because models misquote that way. Line
ends never matter for the search; added lines get the line ends of their place. Lines that are all
indented by the same amount more or less are found as well, and the replacement is indented likewise.
What a replacement repeats of the passage stays as it is in the file. The text stays in its encoding.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from toolkeel.errors import ToolError
from toolkeel_workspace.files.binary_kind import HEAD_BYTES, find_binary_kind
from toolkeel_workspace.files.encodings import (
    DecodedText,
    decode_text,
    encode_changed,
    replace_invalid,
    restore_invalid,
)
from toolkeel_workspace.files.passages.indentation import ReindentedPassage, find_reindented
from toolkeel_workspace.files.passages.merged import (
    list_differences,
    merge_replacement,
)
from toolkeel_workspace.files.passages.normalized import (
    NormalizedText,
    find_torn,
    iter_first_lines,
    iter_spans,
    normalize_leniently,
    with_unix_line_ends,
)
from toolkeel_workspace.files.passages.similar_passage import describe_mismatch

CONTEXT_LINES = 4
"""Lines of context in a diff."""
MAX_DESCRIBED = 5
"""Most approximate matches, and different characters of one, that a message describes."""


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
        remarks: Peculiarities of the file and what was matched approximately, to append to the
            message; mostly empty.
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
    lenience: Literal["", "characters", "indentation"] = ""


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
    if decoded.has_cr_lines:
        changes = [_without_cr(change) for change in changes]
    forms = (with_unix_line_ends(shown), normalize_leniently(shown))
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
        changed = changed[: span.start] + _make_replacement(text, span, path) + changed[span.end :]
    if changed == text:
        raise ToolError(f"{path!r} would not change: {_describe_no_change(spans)}.")
    return EditResult(
        encode_changed(decoded, changed, path),
        make_diff(shown, replace_invalid(changed), path),
        text.count("\n", 0, spans[0].start) + 1,
        sum(span.lenience != "" for span in spans),
        len(spans),
        _describe_lenience(shown, spans) + describe_kept(decoded, changed),
    )


def _without_cr(change: Change) -> Change:
    """Return a change for a text in which carriage returns became line feeds."""
    old, new = (part.replace("\r\n", "\n").replace("\r", "\n") for part in change[:2])
    return change._replace(old=old, new=new)


def _make_replacement(text: str, span: _Span, path: str) -> str:
    """Return what replaces a passage, in the line ends of its place, and all it repeats as it is."""
    was, ending = text[span.start : span.end], _find_line_end(text, span.start)
    restored = restore_invalid(was, span.old, span.new)
    if restored is None:
        raise ToolError(
            f"{path!r} has bytes that are no text where this edit is, shown as \ufffd. Write all of "
            "them in new_text as in old_text, or none, or make the edit beside them."
        )
    new = restored.replace("\r\n", "\n")
    old = (restore_invalid(was, span.old, span.old) or span.old).replace("\r\n", "\n")
    if was == old or not new:
        return new.replace("\n", ending)
    merged = merge_replacement(was, old, new, ending)
    if merged is None:
        there = " ".join(list_differences(was, old)[:MAX_DESCRIBED])
        raise ToolError(
            f"old_text matches line {text.count(chr(10), 0, span.start) + 1} of {path!r} only "
            f"approximately: the file has {there} there, and new_text has quotes in other places, so it is "
            "not known which to write. Quote the lines exactly in old_text, and write in new_text the "
            "quotes that you want."
        )
    return merged


def _describe_no_change(spans: Sequence[_Span]) -> str:
    if any(span.lenience and span.old != span.new for span in spans):
        return "it has what new_text has already, in other quotes, dashes, spaces or indentation"
    return "old_text and new_text are the same"


def _describe_lenience(text: str, spans: Sequence[_Span]) -> str:
    """Describe what was matched approximately, as a part of a sentence."""
    said = ""
    if moved := [span for span in spans if span.lenience == "indentation"]:
        said = f"; old_text is at another indentation {_list_lines(text, moved)}, and so is new_text now"
    if alike := [span for span in spans if span.lenience == "characters"]:
        there = dict[str, None]()
        for span in alike:
            old = span.old.replace("\r\n", "\n")
            there |= dict.fromkeys(list_differences(text[span.start : span.end], old))
        what = " ".join(list(there)[:MAX_DESCRIBED]) or "other spaces"
        said += (
            f"; old_text was matched approximately {_list_lines(text, alike)}: the file has {what} there, "
            "and what new_text repeats of it was left as it is"
        )
    return said


def _list_lines(text: str, spans: Sequence[_Span]) -> str:
    lines = list(dict.fromkeys(text.count("\n", 0, span.start) + 1 for span in spans))
    more = " and below" if len(lines) > MAX_DESCRIBED else ""
    return f"at line{'s' * (len(lines) > 1)} {', '.join(map(str, lines[:MAX_DESCRIBED]))}{more}"


def describe_kept(decoded: DecodedText, text: str) -> str:
    """Describe what stays as it is in a changed file, as a part of a sentence."""
    remarks = f"; it is {decoded.description}, and stays so" if decoded.description else ""
    remarks += "; its lines end with CR, and do so still" if decoded.has_cr_lines else ""
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


# — finding —


def _find_passage(
    change: Change, forms: tuple[NormalizedText, NormalizedText], label: str, path: str
) -> list[_Span]:
    if not change.old:
        raise ToolError(f"{label} is empty. To make a new file, write it.")
    for form, as_form in zip(forms, (with_unix_line_ends, normalize_leniently), strict=True):
        wanted = as_form(change.old).text
        if found := [
            _Span(
                _find_start(forms[0], start, change),
                end,
                change.old,
                change.new,
                "characters" if form is forms[1] else "",
            )
            for start, end in iter_spans(form, wanted)
        ]:
            _check_unique(change, form.text, wanted, f"{label} occurs", path)
            return found
    places = forms[0].offsets
    text = forms[0].text
    moved = find_reindented(
        text, with_unix_line_ends(change.old).text, with_unix_line_ends(change.new).text
    )
    if isinstance(moved, ReindentedPassage):
        start, end = places[moved.start], places[moved.end]
        return [_Span(start, end, moved.old, moved.new, "indentation")]
    raise ToolError(
        f"{label} was not found in {path!r}.{_describe_near_misses(text, change, moved)}"
        f"{describe_mismatch(text, replace_invalid(change.old), label)}"
    )


def _find_start(form: NormalizedText, start: int, change: Change) -> int:
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


def _check_unique(change: Change, text: str, wanted: str, label: str, path: str) -> None:
    """Check that a passage occurs once, or that its occurrences can all be replaced.

    Raises:
        ToolError: naming the lines of several occurrences, or of those that overlap.
    """
    first = text.find(wanted)
    if change.replace_all:
        if (torn := find_torn(text, wanted)) is not None:
            raise ToolError(
                f"{label} in {path!r} several times that overlap, first in line "
                f"{text.count(chr(10), 0, torn) + 1}, so it is not known which to replace. Add text "
                "around it until no two overlap."
            )
    elif text.find(wanted, first + 1) >= 0:
        lines = list(map(str, dict.fromkeys(iter_first_lines(text, wanted))))
        raise ToolError(
            f"{label} more than once in {path!r} (line{'s' * (len(lines) > 1)} {', '.join(lines)}). "
            "Add lines around it until it is unique, or pass replace_all."
        )


def _find_line_end(text: str, place: int) -> str:
    """Return the line end used at an offset: of its line, or else of the first line."""
    for start in (place, 0):
        found = text.find("\n", start)
        if found >= 0:
            return "\r\n" if text[found - 1 : found] == "\r" else "\n"
    return "\n"
