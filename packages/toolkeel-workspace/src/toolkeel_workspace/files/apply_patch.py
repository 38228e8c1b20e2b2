"""``apply_patch``, as OpenAI's models are trained on it, run here, with any model.

A patch is about one file: it creates it, changes it, or deletes it. A change is a list of hunks: lines
that start with a space are context, those with ``-`` are removed, those with ``+`` are added. Lines
``@@ text`` before them name lines to search below, one after the other: ``@@ class B``, then
``@@ def run``. If a hunk fits in several places, it fails; the line number of a unified diff chooses the
nearest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace as but
from typing import Literal

from toolkeel.define.decorator import tool
from toolkeel.define.folder_tools import movable
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import ToolError
from toolkeel.hosted import Hosted, Native, Where
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.atomic_replace import find_writable
from toolkeel_workspace.files.binary_kind import HEAD_BYTES, find_binary_kind
from toolkeel_workspace.files.content_changes import check_file_name
from toolkeel_workspace.files.encodings import decode_text, encode_changed, replace_invalid
from toolkeel_workspace.files.line_window import escape_name
from toolkeel_workspace.files.open_beneath import FileResource
from toolkeel_workspace.files.passages.indentation import find_shift, shift_lines
from toolkeel_workspace.files.passages.similar_passage import describe_mismatch
from toolkeel_workspace.files.patch_hunks import Hunk, parse_hunks, parse_new_file
from toolkeel_workspace.files.preview import ContentChange
from toolkeel_workspace.files.workspace import Workspace

Kind = Literal["create_file", "update_file", "delete_file"]


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
        if type == "create_file":
            check_file_name(path)
        if type == "delete_file":
            return _delete_file(workspace, name)
        remarks: list[str] = []
        output = workspace.change_file(name, _make_change(type, name, diff, remarks))
        return but(output, content=f"{output.content}{''.join(remarks)}")

    return movable(run, lambda folder: apply_patch(workspace.in_folder(folder), where))


def _make_change(
    type: Kind, path: str, diff: str = "", remarks: list[str] | None = None
) -> ContentChange:
    """Return how a call changes the content of its file. What was matched approximately is a remark."""
    if type == "create_file":
        return lambda before: _create_content(before, diff, path)
    if type == "update_file":
        said = [] if remarks is None else remarks
        return lambda before: _update_content(before, diff, path, said)
    return lambda before: _delete_content(before, path)


def _delete_content(before: bytes | None, path: str) -> bytes:
    if before is None:
        raise ToolError(f"{path!r} does not exist.")
    return b""


def _create_content(before: bytes | None, diff: str, path: str) -> bytes:
    if before is not None:
        raise ToolError(f"{path!r} exists already. Update it, or delete it first.")
    return parse_new_file(diff, path).encode()


def _update_content(before: bytes | None, diff: str, path: str, remarks: list[str]) -> bytes:
    if before is None:
        raise ToolError(f"{path!r} does not exist. To make it, use create_file.")
    if kind := find_binary_kind(before[:HEAD_BYTES]):
        raise ToolError(f"{path!r} is {kind}.")
    decoded = decode_text(before)
    return encode_changed(decoded, patch_text(decoded.text, diff, path, remarks), path)


def _delete_file(workspace: Workspace, name: str) -> ToolOutput:
    os.close(workspace.root.open_file(name))
    workspace.check_unchanged(name)
    folder, _, last = name.rpartition("/")
    opened = workspace.root.open_folder(folder or ".")
    try:
        find_writable(opened, last, name)
        os.unlink(opened.name_of(last), dir_fd=opened.handle)
    except OSError as error:
        raise ToolError(f"{name!r} was not deleted: {error.strerror}.") from None
    finally:
        opened.close()
    return ToolOutput(
        f"File deleted: {escape_name(name)}", details={"path": escape_name(name), "deleted": True}
    )


def patch_text(text: str, diff: str, path: str = "", remarks: list[str] | None = None) -> str:
    r"""Apply a patch to a text, in the line ends of each place.

    Args:
        text: The text.
        diff: The patch.
        path: The file, to compare with headers of the patch; empty if it is not known.
        remarks: Gets a sentence for each hunk that was matched approximately.

    Raises:
        ToolError: if the patch has no hunks, or lines of one are not found in order.

    >>> patch_text("a\nb\nc\n", "@@\n a\n-b\n+B")
    'a\nB\nc\n'
    """
    lines = text.split("\n")  # each with its carriage return
    place, grown = 0, 0
    for hunk in parse_hunks(diff, path):
        begin = place
        for anchor in hunk.anchors:
            place = _skip_past_anchor(_show(lines), anchor, place)
        start = place if hunk.anchors else len(lines) - (lines[-1:] == [""])
        if old := hunk.old:
            wanted = hunk.line - 1 + grown if hunk.line else place if hunk.anchors else None
            shown = _show(lines)
            places = _find_lines(shown, old, place)
            if hunk.is_at_end:
                end = len(lines) - (lines[-1:] == [""])
                places = [each for each in places if each + len(old) >= end] or places
            start = _choose_place(places, wanted, shown, old)
            if len(hunk.anchors) == 1 and not hunk.line:
                _check_anchor(shown, hunk.anchors[0], begin, places)
        there = _show(lines[start : start + len(hunk.old)])
        put = _indent_added(hunk, there, start)
        if remarks is not None and tuple(there) != hunk.old:
            remarks.append(_describe_lenience(hunk, there, start, put))
        place = _replace_lines(lines, start, hunk, put)
        if hunk.final_line_end is not None:
            _set_final_line_end(lines, place, hunk.final_line_end)
        grown += len(hunk.new) - sum(row[0] == "-" for row in hunk.rows)
    return "\n".join(lines)


def _show(lines: Sequence[str]) -> list[str]:
    """Return lines as a model sees them."""
    return [replace_invalid(line.removesuffix("\r")) for line in lines]


def _describe_lenience(hunk: Hunk, there: Sequence[str], start: int, put: Sequence[str]) -> str:
    """Describe how the lines of a file differ from those of a hunk, as a line of the result."""
    spaces = all(one.rstrip() == other.rstrip() for one, other in zip(hunk.old, there, strict=True))
    what = "other spaces at line ends" if spaces else "another indentation"
    moved = ", and the added lines have it now" if tuple(put) != hunk.new else ""
    return f"\n[Matched approximately at line {start + 1}: the file has {what} there{moved}.]"


def _replace_lines(lines: list[str], start: int, hunk: Hunk, put: Sequence[str]) -> int:
    """Replace the lines of a hunk, and return the position after them.

    Args:
        lines: The file's, which it changes.
        start: Where the hunk is.
        hunk: The hunk.
        put: Its added lines, indented; they get the line ends of their place.
    """
    stop, last = start + len(hunk.old), lines[-1] if lines else ""
    ended = (at for at in (start, start - 1, 0) if 0 <= at < len(lines) - 1)
    end = "\r" if (at := next(ended, -1)) >= 0 and lines[at].endswith("\r") else ""
    if lines and start == len(lines) and last:  # it gets an end, as something follows
        lines[-1] += end
    new = hunk.replace(lines[start:stop], [line + end for line in put])
    lines[start:stop] = new
    if lines and lines[-1] != last:  # a line without an end
        lines[-1] = lines[-1].removesuffix("\r")
    return start + len(new)


def _set_final_line_end(lines: list[str], place: int, has_end: bool) -> None:
    """Give the last line of a file a line end, or take it.

    Args:
        lines: The file's, which it changes.
        place: The position after the hunk that says so.
        has_end: Whether it is to have one.

    Raises:
        ToolError: the hunk is not at the end of the file.
    """
    if place < len(lines) - (lines[-1] == ""):
        raise ToolError(
            f"The patch says that line {place} is the last one and has no line end, but lines follow it. "
            "Leave that out, or quote the lines at the end of the file."
        )
    if has_end and lines[-1] != "":
        lines[-1] += "\r" * (len(lines) > 1 and lines[-2].endswith("\r"))
        lines.append("")
    elif not has_end and len(lines) > 1 and lines[-1] == "":
        lines[-2:] = [lines[-2].removesuffix("\r")]


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
