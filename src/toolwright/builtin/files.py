"""Read files, list folders and search text below one folder, without changing anything."""

from __future__ import annotations

import os

from toolwright.builtin.beneath import Root, clean
from toolwright.builtin.grep import Query, Search
from toolwright.builtin.pictures import MAX_BYTES as MOST_OF_A_PICTURE
from toolwright.builtin.pictures import SIDE, check_picture, pixels
from toolwright.builtin.shrink import Shrunk, shrink
from toolwright.builtin.window import (
    MAX_BYTES,
    MAX_LINES,
    MAX_SCAN,
    Window,
    count,
    human,
    printable,
    read_window,
)
from toolwright.content import Image, Text, sniff
from toolwright.context import CancelToken
from toolwright.define.decorator import tool
from toolwright.define.tool import AnyTool
from toolwright.effects import Effects
from toolwright.errors import SetupError, ToolError
from toolwright.messages import ToolOutput

MAX_PICTURE = 32 * 1024 * 1024
"""Largest picture that is read, in bytes; `toolwright.builtin.shrink` makes it small enough."""
_READS = Effects(read_only=True, open_world=False, resources=("file:{path}",))


class Files:
    """Read-only tools for what lies below a folder.

    Args:
        root: The folder. Nothing outside it can be opened, through whatever path or link.

    Raises:
        SetupError: if it is not a folder.
    """

    def __init__(self, root: str | os.PathLike[str] = ".") -> None:
        self.root = Root(root)

    @tool(effects=_READS, max_output=None)
    def read(self, path: str, offset: int = 1, limit: int = MAX_LINES) -> ToolOutput:
        """Read a text file, or look at a picture. Also tells how many lines the file has.

        Args:
            path: Path of the file, relative to the root, such as "README.md".
            offset: First line to show, counted from 1.
            limit: Most lines to show.
        """
        if offset < 1 or limit < 1:
            raise ToolError("offset and limit count from 1.")
        name = self.root.spelt(path)
        with os.fdopen(self.root.open_file(name), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.peek(8192)
            if sniff(head).startswith("image/"):
                return _picture(name, file.read(MAX_PICTURE + 1), size)
            _refuse_binary(name, head)
            return _text(name, size, read_window(file, offset, min(limit, MAX_LINES)))

    @tool(effects=_READS, max_output=None)
    def ls(self, path: str = ".", limit: int = 500) -> ToolOutput:
        """List the files in a folder; names of folders end with a slash, of links with "@".

        Args:
            path: Folder to list, relative to the root.
            limit: Most names to show.
        """
        if limit < 1:
            raise ToolError("limit counts from 1.")
        entries = sorted(self.root.entries(path), key=lambda entry: entry.name.casefold())
        marks = {"folder": "/", "link": "@"}
        names = [printable(entry.name) + marks.get(entry.kind, "") for entry in entries]
        shown, used = [], 0
        for name in names[:limit]:
            used += len(name.encode()) + 1
            if used > MAX_BYTES:
                break
            shown.append(name)
        where = clean(path)
        notice = f"[{where}: {count(len(names), 'entry', 'entries')}]"
        if len(shown) < len(names):
            notice = (
                f"[{where}: first {len(shown)} of {count(len(names), 'entry', 'entries')} shown. "
                "List a folder below it, or search with grep.]"
            )
        details = {"path": where, "entries": len(names), "shown": len(shown)}
        return ToolOutput("\n".join([*shown, "", notice] if shown else [notice]), details=details)

    @tool(effects=_READS, max_output=None)
    def grep(
        self,
        pattern: str,
        path: str = ".",
        *,
        glob: str = "",
        ignore_case: bool = False,
        literal: bool = False,
        context: int = 0,
        limit: int = 100,
        cancel: CancelToken,
    ) -> ToolOutput:
        """Search files for lines that match a pattern; tells file and line number of each.

        Args:
            pattern: Regular expression (without look-around and backreferences), or text.
            path: File or folder to search, relative to the root.
            glob: Only files whose name or path matches, such as "*.py".
            ignore_case: Whether letter case is ignored.
            literal: Whether the pattern is plain text.
            context: Lines to show before and after each match.
            limit: Most matches to show.
        """
        query = Query(pattern, glob, ignore_case, literal, context, limit)
        return Search(self.root, query, cancel).run(clean(path))


def tools(root: str | os.PathLike[str] = ".") -> tuple[AnyTool, ...]:
    """The tools of this file, for what lies below a folder."""
    files = Files(root)
    return (files.read, files.ls, files.grep)


def _refuse_binary(path: str, head: bytes) -> None:
    kind = sniff(head)
    if b"\0" in head or kind != "application/octet-stream":
        what = "binary" if kind == "application/octet-stream" else f"binary ({kind})"
        raise ToolError(f"{path!r} is {what}, not text. This tool reads text and pictures.")


def _picture(path: str, data: bytes, size: int) -> ToolOutput:
    """A picture as it is, or made smaller if it is larger than models look at."""
    if size > MAX_PICTURE:
        raise ToolError(
            f"The picture {path!r} has {human(size)}; at most {human(MAX_PICTURE)} are read."
        )
    media_type, measured = sniff(data), pixels(data)
    details: dict[str, object] = {"path": path, "media_type": media_type, "bytes": size}
    told = f"{path}: {media_type}, {human(size)}"
    if measured is not None:
        told += f", {measured[0]} x {measured[1]} pixels"
        details["pixels"] = measured
    small = _shrunk(data) if len(data) > MOST_OF_A_PICTURE or max(measured or (0,)) > SIDE else None
    if small is not None:
        told += (
            f". Shown smaller, as {small.media_type}, {human(len(small.data))}, "
            f"{small.after[0]} x {small.after[1]} pixels: multiply its coordinates by "
            f"{small.scale:.2f} to get those of the original"
        )
        details |= {"pixels": small.before, "shown_pixels": small.after, "scale": small.scale}
        data, media_type = small.data, small.media_type
    return ToolOutput((Text(f"[{told}]"), Image(data, media_type)), details=details)


def _shrunk(data: bytes) -> Shrunk | None:
    """The picture made smaller; None if it need not be and cannot.

    Raises:
        ToolError: if it must be, and cannot.
    """
    try:
        return shrink(data)
    except SetupError as error:
        try:
            check_picture(data, sniff(data))
        except ToolError as refused:
            raise ToolError(f"{refused.text} To see it made smaller, {error}.") from None
        return None


def _text(path: str, size: int, window: Window) -> ToolOutput:
    if window.first > max(window.total, 1):
        raise ToolError(
            f"{path!r} has {count(window.total, 'line')}; line {window.first} is past its end."
        )
    text = window.data.decode("utf-8", "replace")
    broken = text.count("\ufffd") - window.data.count("\ufffd".encode())
    text = text.removeprefix("\ufeff")
    notice = _notice(path, size, window)
    if broken:
        notice += f"\n[Not all of it is UTF-8: {broken} broken characters are shown as \ufffd.]"
    details = {
        "path": path,
        "total_lines": window.total,
        "total_bytes": size,
        "first_line": window.first,
        "shown_lines": window.shown,
        "truncated_by": window.cut or None,
    }
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return ToolOutput(f"{text}{gap}{notice}", details=details)


def _notice(path: str, size: int, window: Window) -> str:
    """What was shown, the totals, and the next call to make."""
    total = ("more than " if size > MAX_SCAN else "") + count(window.total, "line")
    whole = f"{total}, {human(size)}"
    first, last = window.first, window.first + window.shown - 1
    if window.cut == "line":
        return (
            f"[{path}: {whole}. Line {first} alone is longer than {human(MAX_BYTES)} and not "
            f"shown: search it with grep, or read on with offset={first + 1}.]"
        )
    if first == 1 and not window.cut:
        return f"[{path}: {whole}]"
    shown = f"[{path}: {whole}. Lines {first} to {last} are shown"
    if not window.cut:
        return f"{shown}.]"
    return f'{shown}. Read on with read(path="{path}", offset={last + 1}).]'
