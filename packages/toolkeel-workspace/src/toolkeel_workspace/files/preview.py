"""A preview of a call's change in a file for the approver: a diff, or why there is none.

The file is opened as the tool opens it. Files with secrets are not shown, because tickets are saved and
sent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolkeel._common.path_patterns import secret_pattern
from toolkeel.errors import ToolError
from toolkeel_workspace.files.binary_kind import HEAD_BYTES, find_binary_kind
from toolkeel_workspace.files.changed_since_read import FileSnapshots
from toolkeel_workspace.files.edit import make_diff
from toolkeel_workspace.files.encodings import decode_text, replace_invalid
from toolkeel_workspace.files.line_window import escape_name, format_size, pluralize
from toolkeel_workspace.files.open_beneath import Root

ContentChange: TypeAlias = Callable[[bytes | None], bytes]
"""Returns a file's new content for the old one, or for None if it is missing."""
MAX_BYTES = 256 * 1024
"""Largest content that is compared, in bytes."""
MAX_LINES = 5_000
"""Most lines that are compared."""
MAX_ROWS = 400
"""Most rows of a difference that are shown."""
MAX_ROW_CHARS = 1_000
"""Most characters of a row."""


def make_preview(
    root: Root, snapshots: FileSnapshots, make_change: Callable[..., ContentChange]
) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that describes a call's change, by its arguments.

    Args:
        root: The folder of the tool.
        snapshots: The files that were read.
        make_change: Returns, for the arguments, how the call changes the content of its file.
    """

    def difference_of(arguments: Mapping[str, Any]) -> str:
        name = root.match_spelling(arguments["path"])
        real = os.path.relpath(root.resolve(name), root.path)
        if part := secret_pattern(name) or secret_pattern(real):
            raise ToolError(f"{name!r} may hold secrets ({part}).")
        before, _ = snapshots.read_unchanged(name)
        if before is None and (f"{real}/".startswith("../") or os.path.lexists(root.path / real)):
            os.close(root.open_file(name))  # says what is wrong with it
            raise ToolError(f"{name!r} is too large.")
        if before is not None and len(before) > MAX_BYTES:
            raise ToolError(f"{name!r} has {format_size(len(before))}, too much to compare.")
        return _describe_difference(name, before, make_change(**arguments)(before))

    return difference_of


def _describe_difference(name: str, before: bytes | None, after: bytes) -> str:
    old = before or b""
    sizes = f"{format_size(len(old))} become {format_size(len(after))}"
    if _is_binary(old) or _is_binary(after):
        raise ToolError(f"{name!r} is binary; {sizes}.")
    if len(after) > MAX_BYTES or max(old.count(b"\n"), after.count(b"\n")) > MAX_LINES:
        raise ToolError(f"{name!r} is too much to compare; {sizes}.")
    shown = make_diff(
        replace_invalid(decode_text(old).text),
        replace_invalid(decode_text(after).text),
        escape_name(name),
    )
    if before is None:
        return "\n".join([f"{name!r} is new.", *_limit_rows(shown)])
    what = "Nothing of" if old == after else "Only ends of lines, or the encoding, of"
    return "\n".join(_limit_rows(shown)) or f"{what} {name!r} would change."


def _limit_rows(shown: str) -> list[str]:
    rows = [
        row[:MAX_ROW_CHARS] + "…" * (len(row) > MAX_ROW_CHARS) for row in shown.split("\n") if shown
    ]
    if len(rows) > MAX_ROWS:
        rows[MAX_ROWS:] = [f"… {pluralize(len(rows) - MAX_ROWS, 'more line')}"]
    return rows


def _is_binary(data: bytes) -> bool:
    return bool(find_binary_kind(data[:HEAD_BYTES]))
