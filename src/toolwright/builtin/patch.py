"""``apply_patch``, as OpenAI's models are trained on it, run here, on any model.

A patch is about one file: it makes it, changes it, or deletes it. A change is a list of hunks: lines
that begin with a space stand there and stay, those with ``-`` go, those with ``+`` come; a line
``@@ text`` says after which line to look on. Line numbers are not used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from toolwright.builtin.beneath import clean
from toolwright.builtin.workspace import Workspace
from toolwright.define.decorator import tool
from toolwright.define.tool import AnyTool
from toolwright.effects import Effects
from toolwright.errors import ToolError
from toolwright.hosted import Hosted, Native, Where
from toolwright.messages import ToolOutput

Kind = Literal["create_file", "update_file", "delete_file"]
_END = "*** End of File"


class Hunk(NamedTuple):
    """One place that changes.

    Args:
        after: Line to look behind; empty for none.
        old: The lines that stand there.
        new: The lines that shall stand there.
    """

    after: str
    old: tuple[str, ...]
    new: tuple[str, ...]


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
        effects=Effects(open_world=False, resources=("file:{path}",)),
        approval=workspace.asks,
    )
    def run(type: Kind, path: str, diff: str = "") -> ToolOutput:
        """Make, change or delete one file.

        Args:
            type: What to do.
            path: Path of the file, relative to the root.
            diff: For a change, hunks of lines that begin with " ", "-" or "+", each after a line
                "@@" or "@@ a line above it". For a new file, its lines, each after a "+".
        """
        name = clean(path)
        if type == "delete_file":
            return _delete(workspace, name)
        if type == "create_file":
            return workspace.change(name, lambda before: _created(before, diff, name))
        return workspace.change(name, lambda before: _updated(before, diff, name))

    return run


def _created(before: bytes | None, diff: str, path: str) -> bytes:
    if before is not None:
        raise ToolError(f"{path!r} exists already. Update it, or delete it first.")
    rows = diff.splitlines()
    wrong = next((row for row in rows if not row.startswith("+")), None)
    if wrong is not None:
        raise ToolError(f"Each line of a new file begins with '+'; this one does not: {wrong!r}")
    return "".join(f"{row[1:]}\n" for row in rows).encode()


def _updated(before: bytes | None, diff: str, path: str) -> bytes:
    if before is None:
        raise ToolError(f"{path!r} does not exist. To make it, use create_file.")
    text = before.decode("utf-8", "surrogateescape")
    return patched(text, diff).encode("utf-8", "surrogateescape")


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
    place = 0
    for hunk in parse(diff):
        if hunk.after:
            place = _find(lines, (hunk.after,), place, "the line after @@") + 1
        start = len(lines) - (lines[-1] == "") if not hunk.old else -1
        if hunk.old:
            start = _find(lines, hunk.old, place, "these lines")
        elif hunk.after:
            start = place
        lines[start : start + len(hunk.old)] = hunk.new
        place = start + len(hunk.new)
    return ending.join(lines)


def parse(diff: str) -> list[Hunk]:
    """The hunks of a patch.

    Raises:
        ToolError: naming the line that is none of a patch.
    """
    hunks: list[Hunk] = []
    after, old, new = "", list[str](), list[str]()
    for row in [*diff.splitlines(), "@@"]:
        if row.startswith("@@"):
            if old or new:
                hunks.append(Hunk(after, tuple(old), tuple(new)))
            after, old, new = row.removeprefix("@@").strip(), [], []
        elif row.startswith(_END):
            continue
        elif row[:1] in ("", " ", "-"):
            old.append(row[1:])
            if row[:1] != "-":
                new.append(row[1:])
        elif row.startswith("+"):
            new.append(row[1:])
        else:
            raise ToolError(f"A line of a patch begins with ' ', '-', '+' or '@@', not {row!r}.")
    if not hunks:
        raise ToolError("The patch is empty.")
    return hunks


def _find(lines: Sequence[str], wanted: Sequence[str], start: int, what: str) -> int:
    """Where lines stand together, at or after a place: as they are, else by their words."""
    ways: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)
    for way in ways:
        seen, sought = [way(line) for line in lines], [way(line) for line in wanted]
        for at in range(start, len(lines) - len(wanted) + 1):
            if seen[at : at + len(wanted)] == sought:
                return at
    shown = "\n".join(wanted[:5])[:300]
    raise ToolError(f"The patch does not fit: {what} were not found in order:\n{shown}")
