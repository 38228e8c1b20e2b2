"""The text of a patch: its hunks, and the headers that name its file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

from toolkeel.errors import ToolError
from toolkeel_workspace.files.encodings import restore_invalid

_NUMBERS = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_FILE_HEADER = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+)|diff --git a/.+ b/(.+)")
_END_OF_FILE = "*** End of File"
_IGNORED_PREFIXES = ("*** Begin Patch", "*** End Patch", "index ")
_NO_LINE_END = "\\ "
"""How a line begins that says that the one before it has no line end: the rest may be translated."""


class Hunk(NamedTuple):
    """One place that changes.

    Args:
        anchors: Lines to search below, one after the other.
        rows: Its lines, each after its mark: "-", "+" or " ".
        line: Number of the first existing line, if the patch has it; else 0.
        is_at_end: The patch says that its lines are the last ones of the file.
        final_line_end: True if the last line gets a line end, False if it loses it; else None.
    """

    anchors: tuple[str, ...]
    rows: tuple[str, ...]
    line: int = 0
    is_at_end: bool = False
    final_line_end: bool | None = None

    @property
    def old(self) -> tuple[str, ...]:
        """The existing lines."""
        return tuple(row[1:] for row in self.rows if row[0] != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """The added lines."""
        return tuple(row[1:] for row in self.rows if row[0] == "+")

    def replace(self, lines: Sequence[str], put: Sequence[str]) -> list[str]:
        """Return what replaces the existing lines: of context, each line as it is in the file.

        Args:
            lines: The existing lines, as in the file.
            put: The added lines, as they are to be in the file.

        Raises:
            ToolError: it cannot be decided what becomes of bytes that are no text.
        """
        rest = iter(put)
        file, made = iter(lines), list[str]()
        removed, shown, added = list[str](), list[str](), list[int]()
        for row in self.rows:
            if row[0] == "+":
                added.append(len(made))
                made.append(next(rest))
            elif row[0] == "-":
                removed.append(next(file))
                shown.append(row[1:])
            else:
                made.append(next(file))
        restored = restore_invalid("\n".join(removed), "\n".join(shown), "\n".join(put))
        if restored is None:
            raise ToolError(
                "The removed lines have bytes that are no text, shown as \ufffd. Write all of them in "
                "the added lines as in the removed ones, or none."
            )
        for number, line in zip(added, restored.split("\n"), strict=False):
            made[number] = line
        return made


def parse_new_file(diff: str, path: str = "", end: str = "\n") -> str:
    """Return the text of a new file, whose lines each start with ``+``.

    Args:
        diff: The patch.
        path: The file, to compare with headers; empty if it is not known.
        end: The end of the last line, unless the patch says that it has none.

    Raises:
        ToolError: a line does not, or a header names another file.
    """
    rows = diff.split("\n")
    rows = rows[:-1] if rows[-1] == "" else rows
    rows = [row for row in _drop_headers(rows, path) if row != _END_OF_FILE]
    if rows and rows[-1].startswith(_NO_LINE_END):
        rows, end = rows[:-1], ""
    if wrong := [row for row in rows if not row.startswith("+")]:
        raise ToolError(f"Each line of a new file begins with '+'; this one does not: {wrong[0]!r}")
    return "\n".join(row[1:] for row in rows) + end * bool(rows)


def parse_hunks(diff: str, path: str = "") -> list[Hunk]:
    """Parse the hunks of a patch.

    Args:
        diff: The patch.
        path: The file, to compare with headers; empty if it is not known.

    Raises:
        ToolError: naming the invalid line, or the header of another file.
    """
    hunks: list[Hunk] = []
    after, rows, line = list[str](), list[str](), 0
    for row in [*_strip_headers(diff, path), "@@"]:
        if row.startswith("@@") or row == _END_OF_FILE:
            if rows:
                hunks.append(_make_hunk(after, rows, line, row == _END_OF_FILE))
                after, rows, line = [], [], 0
            if row == _END_OF_FILE:
                continue
            if numbers := _NUMBERS.match(row):
                line = int(numbers[1])
            elif anchor := row.removeprefix("@@").strip():
                after.append(anchor)
        elif row[:1] in ("", " ", "-", "+") or (rows and row.startswith(_NO_LINE_END)):
            rows.append(row or " ")
        else:
            raise ToolError(f"A line of a patch begins with ' ', '-', '+' or '@@', not {row!r}.")
    return _check_hunks(hunks)


def _make_hunk(anchors: list[str], rows: list[str], line: int, is_at_end: bool) -> Hunk:
    """Return a hunk of its rows, some of which say that the row before has no line end."""
    marked = {one[0] for one, other in pairwise(rows) if other.startswith(_NO_LINE_END)}
    end = None if not {"-", "+"} & marked else "+" not in marked
    plain = tuple(row for row in rows if not row.startswith(_NO_LINE_END))
    return Hunk(tuple(anchors), plain, line, is_at_end or end is not None, end)


def _check_hunks(hunks: list[Hunk]) -> list[Hunk]:
    if all(
        hunk.final_line_end is None and hunk.replace(hunk.old, hunk.new) == list(hunk.old)
        for hunk in hunks
    ):
        raise ToolError(
            "The patch is empty or changes nothing; its lines begin with ' ', '-' or '+'."
        )
    return hunks


def _strip_headers(diff: str, path: str) -> list[str]:
    """Return the lines of a patch without headers that only name the file."""
    rows = [row.removesuffix("\r") for row in diff.removesuffix("\n").split("\n") if diff]
    rows = _drop_headers(rows, path)
    if len(rows) > 1 and rows[0].startswith("--- ") and rows[1].startswith("+++ "):
        _check_name(rows[1][4:].partition("\t")[0], path)
        rows = rows[2:]
    return rows


def _drop_headers(rows: list[str], path: str) -> list[str]:
    """Return lines without those that begin and end a patch, or name its file.

    Raises:
        ToolError: they name another file, or a second one: its lines would go into the first.
    """
    rest, named = list[str](), ""
    for row in rows:
        if header := _FILE_HEADER.match(row):
            if named:
                raise ToolError(
                    f"The patch is about more than one file ({named!r}, {row!r}). "
                    "Call apply_patch once for each file."
                )
            named = row
            _check_name(header[1] or header[2], path)
        elif row.startswith("*** Move to: "):
            raise ToolError(
                f"A patch does not rename a file: {row!r}. Create the other "
                "file, then delete this one."
            )
        elif not row.startswith(_IGNORED_PREFIXES):
            rest.append(row)
    return rest


def _check_name(name: str, path: str) -> None:
    """Check that a header names the file of the call.

    Raises:
        ToolError: it names another one.
    """
    one = PurePosixPath(name.strip().removeprefix("b/")).parts
    other = PurePosixPath(path).parts
    shared = min(len(one), len(other))
    if shared and one[-shared:] != other[-shared:]:
        raise ToolError(
            f"The call is about {path!r}, but its patch names {name.strip()!r}. Call "
            "apply_patch with the path of the file that changes."
        )
