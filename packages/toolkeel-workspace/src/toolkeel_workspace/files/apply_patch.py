"""``apply_patch``, as OpenAI's models are trained on it, run here, with any model.

A patch is about one file: it creates it, changes it, or deletes it. A change is a list of hunks: lines
that start with a space are context, those with ``-`` are removed, those with ``+`` are added. Lines
``@@ text`` before them name lines to search below, one after the other: ``@@ class B``, then
``@@ def run``. If a hunk fits in several places, it fails; the line number of a unified diff chooses the
nearest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from toolkeel.define.decorator import tool
from toolkeel.define.folder_tools import movable
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import ToolError
from toolkeel.hosted import Hosted, Native, Where
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.encodings import (
    HEAD_BYTES,
    decode_text,
    encode_changed,
    find_binary_kind,
    replace_invalid,
    restore_invalid,
)
from toolkeel_workspace.files.line_window import escape_name
from toolkeel_workspace.files.open_beneath import FileResource
from toolkeel_workspace.files.passages.indentation import find_shift, shift_lines
from toolkeel_workspace.files.passages.similar_passage import describe_mismatch
from toolkeel_workspace.files.preview import ContentChange
from toolkeel_workspace.files.workspace import Workspace

Kind = Literal["create_file", "update_file", "delete_file"]
_NUMBERS = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_IGNORED_PREFIXES = ("*** ", "\\ No newline", "diff --git ", "index ")


class Hunk(NamedTuple):
    """One place that changes.

    Args:
        anchors: Lines to search below, one after the other.
        rows: Its lines, each after its mark: "-", "+" or " ".
        line: Number of the first existing line, if the patch has it; else 0.
    """

    anchors: tuple[str, ...]
    rows: tuple[str, ...]
    line: int = 0

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


def apply_patch(workspace: Workspace, where: Where = "auto") -> AnyTool:
    """Create the tool ``apply_patch`` for a folder.

    Args:
        workspace: The folder; the rules of its ``write`` and ``edit`` apply.
        where: ``local`` sends it as a function even where the provider has a form of its own for
            it; it runs here in any case.
    """

    @tool(
        name="apply_patch",
        hosted=Hosted({"openai-responses": Native({"type": "apply_patch"}, runs_here=True)}, where),
        effects=Effects(open_world=False, resources=(FileResource(workspace.root, "path"),)),
        approval=workspace.needs_approval,
        metadata=workspace.make_change_metadata(_make_change),
    )
    def run(type: Kind, path: str, diff: str = "") -> ToolOutput:
        """Make, change or delete one file.

        Args:
            type: What to do.
            path: Path of the file, relative to the root.
            diff: For a change, hunks of lines that begin with " ", "-" or "+", each after a line
                "@@" or "@@ a line above it", or several of these: "@@ class A", "@@ def run". For a
                new file, its lines, each after a "+".
        """
        name = workspace.root.match_spelling(path)
        if type == "delete_file":
            return _delete_file(workspace, name)
        return workspace.change_file(name, _make_change(type, name, diff))

    return movable(run, lambda folder: apply_patch(workspace.in_folder(folder), where))


def _make_change(type: Kind, path: str, diff: str = "") -> ContentChange:
    if type == "create_file":
        return lambda before: _create_content(before, diff, path)
    if type == "update_file":
        return lambda before: _update_content(before, diff, path)
    return lambda before: _delete_content(before, path)


def _delete_content(before: bytes | None, path: str) -> bytes:
    if before is None:
        raise ToolError(f"{path!r} does not exist.")
    return b""


def _create_content(before: bytes | None, diff: str, path: str) -> bytes:
    if before is not None:
        raise ToolError(f"{path!r} exists already. Update it, or delete it first.")
    text = parse_new_file(diff)
    return (text + "\n" * bool(text and not text.endswith("\n"))).encode()


def parse_new_file(diff: str) -> str:
    """Return the text of a new file, whose lines each start with ``+``.

    Raises:
        ToolError: a line does not.
    """
    rows = diff.split("\n")
    rows = rows[:-1] if rows[-1] == "" else rows
    if wrong := [row for row in rows if not row.startswith("+")]:
        raise ToolError(f"Each line of a new file begins with '+'; this one does not: {wrong[0]!r}")
    return "\n".join(row[1:] for row in rows)


def _update_content(before: bytes | None, diff: str, path: str) -> bytes:
    if before is None:
        raise ToolError(f"{path!r} does not exist. To make it, use create_file.")
    if kind := find_binary_kind(before[:HEAD_BYTES]):
        raise ToolError(f"{path!r} is {kind}.")
    decoded = decode_text(before)
    return encode_changed(decoded, patch_text(decoded.text, diff), path)


def _delete_file(workspace: Workspace, name: str) -> ToolOutput:
    os.close(workspace.root.open_file(name))
    folder, _, last = name.rpartition("/")
    opened = workspace.root.open_folder(folder or ".")
    try:
        os.unlink(opened.name_of(last), dir_fd=opened.handle)
    except OSError as error:
        raise ToolError(f"{name!r} was not deleted: {error.strerror}.") from None
    finally:
        opened.close()
    return ToolOutput(
        f"File deleted: {escape_name(name)}", details={"path": escape_name(name), "deleted": True}
    )


def patch_text(text: str, diff: str) -> str:
    r"""Apply a patch to a text, in the line ends of each place.

    Raises:
        ToolError: if the patch has no hunks, or lines of one are not found in order.

    >>> patch_text("a\nb\nc\n", "@@\n a\n-b\n+B")
    'a\nB\nc\n'
    """
    lines = text.split("\n")  # each with its carriage return
    place, grown = 0, 0
    for hunk in parse_hunks(diff):
        begin = place
        for anchor in hunk.anchors:
            place = _skip_past_anchor(_show(lines), anchor, place)
        start = place if hunk.anchors else len(lines) - (lines[-1:] == [""])
        if old := hunk.old:
            wanted = hunk.line - 1 + grown if hunk.line else place if hunk.anchors else None
            shown = _show(lines)
            places = _find_lines(shown, old, place)
            start = _choose_place(places, wanted, shown, old)
            if len(hunk.anchors) == 1 and not hunk.line:
                _check_anchor(shown, hunk.anchors[0], begin, places)
        place = _replace_lines(lines, start, hunk)
        grown += len(hunk.new) - sum(row[0] == "-" for row in hunk.rows)
    return "\n".join(lines)


def _show(lines: Sequence[str]) -> list[str]:
    """Return lines as a model sees them."""
    return [replace_invalid(line.removesuffix("\r")) for line in lines]


def _replace_lines(lines: list[str], start: int, hunk: Hunk) -> int:
    """Replace the lines of a hunk, and return the position after them.

    Added lines get the line ends of their place, and its indentation if the patch has another one.
    """
    stop, last = start + len(hunk.old), lines[-1] if lines else ""
    put = _indent_added(hunk, _show(lines[start:stop]), start)
    ended = (at for at in (start, start - 1, 0) if 0 <= at < len(lines) - 1)
    end = "\r" if (at := next(ended, -1)) >= 0 and lines[at].endswith("\r") else ""
    if lines and start == len(lines) and last:  # it gets an end, as something follows
        lines[-1] += end
    new = hunk.replace(lines[start:stop], [line + end for line in put])
    lines[start:stop] = new
    if lines and lines[-1] != last:  # a line without an end
        lines[-1] = lines[-1].removesuffix("\r")
    return start + len(new)


def _indent_added(hunk: Hunk, there: Sequence[str], start: int) -> Sequence[str]:
    """Return the added lines of a hunk with the indentation of the lines that it was found at.

    Raises:
        ToolError: lines differ in how they are indented there.
    """
    pairs = list(zip((row for row in hunk.rows if row[0] != "+"), there, strict=True))
    removed = [(row[1:], line) for row, line in pairs if row[0] == "-"]  # else context alone
    pairs = removed or [(row[1:], line) for row, line in pairs]
    if all(one.rstrip() == other.rstrip() for one, other in pairs):
        return hunk.new
    step = find_shift(*zip(*pairs, strict=True))
    put = None if step is None else shift_lines(hunk.new, step)
    if put is None:
        near = describe_mismatch("\n".join(there), "\n".join(hunk.old), "the patch")
        raise ToolError(
            f"The lines of the patch are at line {start + 1} only with another indentation.{near}"
        )
    return put


def parse_hunks(diff: str) -> list[Hunk]:
    """Parse the hunks of a patch.

    Raises:
        ToolError: naming the invalid line.
    """
    hunks: list[Hunk] = []
    after, rows, line = list[str](), list[str](), 0
    for row in [*_strip_headers(diff), "@@"]:
        if row.startswith("@@"):
            if rows:
                hunks.append(Hunk(tuple(after), tuple(rows), line))
                after, rows, line = [], [], 0
            if numbers := _NUMBERS.match(row):
                line = int(numbers[1])
            elif anchor := row.removeprefix("@@").strip():
                after.append(anchor)
        elif row[:1] in ("", " ", "-", "+"):
            rows.append(row or " ")
        else:
            raise ToolError(f"A line of a patch begins with ' ', '-', '+' or '@@', not {row!r}.")
    return _check_hunks(hunks)


def _check_hunks(hunks: list[Hunk]) -> list[Hunk]:
    if all(hunk.replace(hunk.old, hunk.new) == list(hunk.old) for hunk in hunks):
        raise ToolError(
            "The patch is empty or changes nothing; its lines begin with ' ', '-' or '+'."
        )
    return hunks


def _strip_headers(diff: str) -> list[str]:
    """Return the lines of a patch without headers that only name the file."""
    rows = [row.removesuffix("\r") for row in diff.removesuffix("\n").split("\n") if diff]
    rows = [row for row in rows if not row.startswith(_IGNORED_PREFIXES)]
    if len(rows) > 1 and rows[0].startswith("--- ") and rows[1].startswith("+++ "):
        rows = rows[2:]
    return rows


_NORMALIZERS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)


def _find_lines(lines: Sequence[str], wanted: Sequence[str], start: int) -> list[int]:
    """Find where lines occur together, from a line on: exactly, else without surrounding space."""
    for way in _NORMALIZERS:
        normalized, sought = [way(line) for line in lines], [way(line) for line in wanted]
        if found := [
            at
            for at in range(start, len(lines) - len(wanted) + 1)
            if normalized[at] == sought[0] and normalized[at : at + len(wanted)] == sought
        ]:
            return found
    return []


def _find_anchors(lines: Sequence[str], anchor: str, start: int) -> list[int]:
    """Find the lines that equal an anchor, or else those that start with it."""
    return _find_lines(lines, (anchor,), start) or [
        number for number in range(start, len(lines)) if lines[number].strip().startswith(anchor)
    ]


def _skip_past_anchor(lines: Sequence[str], anchor: str, start: int) -> int:
    """Return the position after the next line that equals an anchor, or else starts with it."""
    if found := _find_anchors(lines, anchor, start):
        return found[0] + 1
    raise ToolError(f"The patch does not fit: no line {anchor[:300]!r} after line {start}.")


def _check_anchor(lines: Sequence[str], anchor: str, start: int, places: Sequence[int]) -> None:
    """Check that a hunk fits below one of the lines that its only anchor names.

    Raises:
        ToolError: the anchor occurs more than once, and the hunk's lines follow each.
    """
    above = [-1, *_find_anchors(lines, anchor, start)]
    first = dict[int, int]()
    for place in reversed(places):
        first[max(line for line in above if line < place)] = place
    first.pop(-1, None)
    if len(first) > 1:
        numbers = ", ".join(str(line + 1) for line in sorted(first)[:5])
        raise ToolError(
            f"The patch fits below each of several lines {anchor[:300]!r} (lines {numbers}). Name a line "
            "above the right one first, such as '@@ class A', then this one."
        )


def _choose_place(
    places: Sequence[int], wanted: int | None, lines: Sequence[str], old: Sequence[str]
) -> int:
    """Choose the position of a hunk.

    Args:
        places: Where its lines occur.
        wanted: The position it states, if any.
        lines: The file's, to show a similar passage.
        old: The hunk's lines.

    Raises:
        ToolError: its lines do not occur, or more than once without a stated position.
    """
    if not places and (above := _find_lines(lines, old, 0)):
        numbers = ", ".join(str(place + 1) for place in above[:5])
        raise ToolError(
            f"The patch does not fit: lines of a hunk occur only above the one before, or its '@@' line "
            f"(lines {numbers}). Write hunks in the order of the file, each line in one hunk."
        )
    if not places:
        near = describe_mismatch("\n".join(lines), "\n".join(old), "the patch")
        raise ToolError(f"The patch does not fit: these lines were not found in order.{near}")
    if len(places) > 1 and wanted is None:
        numbers = ", ".join(str(place + 1) for place in places[:5])
        raise ToolError(
            f"The lines of a hunk occur more than once (lines {numbers}). Add a line '@@ text' before "
            "them, with a line that is above the right ones, or add more lines around them."
        )
    return places[0] if wanted is None else min(places, key=lambda place: abs(place - wanted))
