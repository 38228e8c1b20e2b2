"""``apply_patch``, as OpenAI's models are trained on it, run here, on any model.

A patch is about one file: it makes it, changes it, or deletes it. A change is a list of hunks: lines
that begin with a space stand there and stay, those with ``-`` go, those with ``+`` come. Lines
``@@ text`` before them say after which lines to look on, one after the other: ``@@ class B``, then
``@@ def run``. What stands there more than once is not guessed at; the line number of a unified diff
chooses the nearest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import ToolError
from toolkeel.hosted import Hosted, Native, Where
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.edit import encoded
from toolkeel_workspace.files.encodings import as_shown, decode
from toolkeel_workspace.files.open_beneath import FileResource
from toolkeel_workspace.files.preview import Make
from toolkeel_workspace.files.similar_passage import described
from toolkeel_workspace.files.workspace import Workspace

Kind = Literal["create_file", "update_file", "delete_file"]
_NUMBERS = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_PASSED_OVER = ("*** ", "\\ No newline", "diff --git ", "index ")


class Hunk(NamedTuple):
    """One place that changes.

    Args:
        after: Lines to look behind, one after the other.
        old: The lines that stand there.
        new: The lines that shall stand there.
        line: Number of the first of them, if the patch says it; 0 if not.
    """

    after: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int = 0


def apply_patch(workspace: Workspace, where: Where = "auto") -> AnyTool:
    """The tool ``apply_patch`` for a folder.

    Args:
        workspace: The folder; what holds for its ``write`` and ``edit`` holds here.
        where: ``local`` sends it as a function even where the provider has a form of its own for
            it; it runs here in any case.
    """

    @tool(
        name="apply_patch",
        hosted=Hosted({"openai-responses": Native({"type": "apply_patch"}, here=True)}, where),
        effects=Effects(open_world=False, resources=(FileResource(workspace.root, "path"),)),
        approval=workspace.asks,
        metadata=workspace.changing(_making),
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
        name = workspace.root.clean(path)
        if type == "delete_file":
            return _delete(workspace, name)
        return workspace.change(name, _making(type, name, diff))

    return run


def _making(type: Kind, path: str, diff: str = "") -> Make:
    if type == "create_file":
        return lambda before: _created(before, diff, path)
    if type == "update_file":
        return lambda before: _updated(before, diff, path)
    return lambda before: _deleted(before, path)


def _deleted(before: bytes | None, path: str) -> bytes:
    if before is None:
        raise ToolError(f"{path!r} does not exist.")
    return b""


def _created(before: bytes | None, diff: str, path: str) -> bytes:
    if before is not None:
        raise ToolError(f"{path!r} exists already. Update it, or delete it first.")
    text = created(diff)
    return (text + "\n" * bool(text and not text.endswith("\n"))).encode()


def created(diff: str) -> str:
    """The text of a new file, whose lines are each after a ``+``.

    Raises:
        ToolError: one is not.
    """
    rows = diff.splitlines(keepends=True)
    if wrong := [row for row in rows if not row.startswith("+")]:
        raise ToolError(f"Each line of a new file begins with '+'; this one does not: {wrong[0]!r}")
    return "".join(row[1:] for row in rows)


def _updated(before: bytes | None, diff: str, path: str) -> bytes:
    if before is None:
        raise ToolError(f"{path!r} does not exist. To make it, use create_file.")
    decoded = decode(before)
    return encoded(decoded, patched(decoded.text, diff), path)


def _delete(workspace: Workspace, name: str) -> ToolOutput:
    os.close(workspace.root.open_file(name))
    folder, _, last = name.rpartition("/")
    handle = workspace.root.open_folder(folder or ".")
    try:
        os.unlink(last, dir_fd=handle)
    except OSError as error:
        raise ToolError(f"{name!r} was not deleted: {error.strerror}.") from None
    finally:
        os.close(handle)
    return ToolOutput(f"File deleted: {name}", details={"path": name, "deleted": True})


def patched(text: str, diff: str) -> str:
    """A text with a patch applied; line ends stay those of the text.

    Raises:
        ToolError: if the patch has no hunks, or lines of one are not found in order.

    >>> patched("a\\nb\\nc\\n", "@@\\n a\\n-b\\n+B")
    'a\\nB\\nc\\n'
    """
    ending = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(ending)
    place, grown = 0, 0
    for hunk in parse(diff):
        for anchor in hunk.after:
            place = _behind(lines, anchor, place)
        start = place if hunk.after else len(lines) - (lines[-1:] == [""])
        if hunk.old:
            wanted = hunk.line - 1 + grown if hunk.line else place if hunk.after else None
            start = _nearest(_places(lines, hunk.old, place), wanted, lines, hunk.old)
        lines[start : start + len(hunk.old)] = hunk.new
        place = start + len(hunk.new)
        grown += len(hunk.new) - len(hunk.old)
    return ending.join(lines)


def parse(diff: str) -> list[Hunk]:
    """The hunks of a patch.

    Raises:
        ToolError: naming the line that is none of a patch.
    """
    hunks: list[Hunk] = []
    after, old, new, line = list[str](), list[str](), list[str](), 0
    for row in [*_body(diff), "@@"]:
        if row.startswith("@@"):
            if old or new:
                hunks.append(Hunk(tuple(after), tuple(old), tuple(new), line))
                after, old, new, line = [], [], [], 0
            if numbers := _NUMBERS.match(row):
                line = int(numbers[1])
            elif anchor := row.removeprefix("@@").strip():
                after.append(anchor)
        elif row[:1] in ("", " ", "-"):
            old.append(row[1:])
            if row[:1] != "-":
                new.append(row[1:])
        elif row.startswith("+"):
            new.append(row[1:])
        else:
            raise ToolError(f"A line of a patch begins with ' ', '-', '+' or '@@', not {row!r}.")
    return _checked(hunks)


def _checked(hunks: list[Hunk]) -> list[Hunk]:
    if all(hunk.old == hunk.new for hunk in hunks):
        raise ToolError(
            "The patch is empty or changes nothing; its lines begin with ' ', '-' or '+'."
        )
    return hunks


def _body(diff: str) -> list[str]:
    """The lines of a patch without what only says which file it is about."""
    rows = [row for row in diff.splitlines() if not row.startswith(_PASSED_OVER)]
    if len(rows) > 1 and rows[0].startswith("--- ") and rows[1].startswith("+++ "):
        rows = rows[2:]
    return rows


_WAYS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)


def _places(lines: Sequence[str], wanted: Sequence[str], start: int) -> list[int]:
    """Where lines stand together, at or after a place: as they are, else by their words."""
    for way in _WAYS:
        seen, sought = [way(line) for line in lines], [way(line) for line in wanted]
        if found := [
            at
            for at in range(start, len(lines) - len(wanted) + 1)
            if seen[at] == sought[0] and seen[at : at + len(wanted)] == sought
        ]:
            return found
    return []


def _behind(lines: Sequence[str], anchor: str, start: int) -> int:
    """The place after the next line that is an anchor, or else begins with it."""
    if found := _places(lines, (anchor,), start):
        return found[0] + 1
    for number in range(start, len(lines)):
        if lines[number].strip().startswith(anchor):
            return number + 1
    raise ToolError(f"The patch does not fit: no line {anchor[:300]!r} after line {start}.")


def _nearest(
    places: Sequence[int], wanted: int | None, lines: Sequence[str], old: Sequence[str]
) -> int:
    """The place a hunk is about.

    Args:
        places: Where its lines stand.
        wanted: Where it says it is, if it does.
        lines: The file's, to show what is like it.
        old: Its own.

    Raises:
        ToolError: there is none, or it does not say which.
    """
    if not places:
        near = as_shown(described("\n".join(lines), "\n".join(old), "the patch"))
        raise ToolError(f"The patch does not fit: these lines were not found in order.{near}")
    if len(places) > 1 and wanted is None:
        numbers = ", ".join(str(place + 1) for place in places[:5])
        raise ToolError(
            f"The lines of a hunk stand more than once (lines {numbers}). Put a line '@@ text' with "
            "a line that stands above the right ones before them, or more lines around them."
        )
    return places[0] if wanted is None else min(places, key=lambda place: abs(place - wanted))
