"""What a call would change in a file, for the person who is asked about it: a difference, or why not.

The file is opened as the tool opens it. What holds secrets is not shown: tickets are kept and sent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolkeel._common.path_patterns import secret_part
from toolkeel.content import sniff
from toolkeel.errors import ToolError
from toolkeel_workspace.files.changed_since_read import Seen
from toolkeel_workspace.files.edit import diff
from toolkeel_workspace.files.encodings import as_shown, decode, is_utf_16
from toolkeel_workspace.files.line_window import count, human, printable
from toolkeel_workspace.files.open_beneath import Root

Make: TypeAlias = Callable[[bytes | None], bytes]
"""Given a file's content, or None if it is not there, returns the new one."""
LARGEST = 256 * 1024
"""Largest content that is compared, in bytes."""
MOST_LINES = 5_000
"""Most lines that are compared."""
ROWS = 400
"""Most rows of a difference that are shown."""
ROW = 1_000
"""Most characters of one of them."""


def previewed(
    root: Root, seen: Seen, making: Callable[..., Make]
) -> Callable[[Mapping[str, Any]], str]:
    """A function of a call's arguments that tells what the call would change.

    Args:
        root: The folder of the tool.
        seen: What was read of it.
        making: Given the arguments, how the call changes the content of its file.
    """

    def difference_of(arguments: Mapping[str, Any]) -> str:
        name = root.clean(arguments["path"])
        real = os.path.relpath(root.real(name), root.path)
        if part := secret_part(name) or secret_part(real):
            raise ToolError(f"{name!r} may hold secrets ({part}).")
        before, _ = seen.content(name)
        if before is None and (f"{real}/".startswith("../") or os.path.lexists(root.path / real)):
            os.close(root.open_file(name))  # says what is wrong with it
            raise ToolError(f"{name!r} is too large.")
        if before is not None and len(before) > LARGEST:
            raise ToolError(f"{name!r} has {human(len(before))}, too much to compare.")
        return _difference(name, before, making(**arguments)(before))

    return difference_of


def _difference(name: str, before: bytes | None, after: bytes) -> str:
    old = before or b""
    sizes = f"{human(len(old))} become {human(len(after))}"
    if _is_binary(old) or _is_binary(after):
        raise ToolError(f"{name!r} is binary; {sizes}.")
    if len(after) > LARGEST or max(old.count(b"\n"), after.count(b"\n")) > MOST_LINES:
        raise ToolError(f"{name!r} is too much to compare; {sizes}.")
    shown = diff(as_shown(decode(old).text), as_shown(decode(after).text), printable(name))
    if before is None:
        return "\n".join([f"{name!r} is new.", *_bounded(shown)])
    what = "Nothing of" if old == after else "Only ends of lines, or the encoding, of"
    return "\n".join(_bounded(shown)) or f"{what} {name!r} would change."


def _bounded(shown: str) -> list[str]:
    rows = [row[:ROW] + "…" * (len(row) > ROW) for row in shown.splitlines()]
    if len(rows) > ROWS:
        rows[ROWS:] = [f"… {count(len(rows) - ROWS, 'more line')}"]
    return rows


def _is_binary(data: bytes) -> bool:
    if is_utf_16(data):
        return False
    return b"\0" in data[:8192] or sniff(data) != "application/octet-stream"
