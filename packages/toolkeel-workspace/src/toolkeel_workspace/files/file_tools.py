"""Read files, list folders and search text below one folder, without changing anything."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from typing import BinaryIO, cast

from toolkeel._records.result_store import PREFIX, RESULTS
from toolkeel.call.truncate import KEEPER
from toolkeel.content import Image, Text, sniff
from toolkeel.context import CancelToken
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import SetupError, ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.encodings import NAMES, as_shown, decode, is_utf_16
from toolkeel_workspace.files.grep import Query, Search, open_kept
from toolkeel_workspace.files.line_window import (
    MAX_BYTES,
    MAX_LINES,
    Window,
    count,
    human,
    printable,
    read_window,
)
from toolkeel_workspace.files.open_beneath import MAX_ENTRIES, FileResource, Root
from toolkeel_workspace.pictures.shrink import Shrunk, shrink
from toolkeel_workspace.pictures.too_large import MAX_BYTES as MOST_OF_A_PICTURE
from toolkeel_workspace.pictures.too_large import SIDE, check_picture, pixels

MAX_PICTURE = 32 * 1024 * 1024
"""Largest picture that is read, in bytes; `toolkeel_workspace.pictures.shrink` makes it small enough."""
MAX_RECODED = 16 * 1024 * 1024
"""Largest file that is read in another encoding than UTF-8, in bytes."""
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

    @tool(effects=_READS, max_output=None, metadata={KEEPER: RESULTS.save})
    def read(
        self, path: str, offset: int = 1, limit: int = MAX_LINES, column: int = 1
    ) -> ToolOutput:
        """Read a text file, or look at a picture. Also tells how many lines the file has.

        Args:
            path: Path of the file, relative to the root, such as "README.md"; or "output:...".
            offset: First line to show, counted from 1.
            limit: Most lines to show.
            column: First character of that line to show, for lines too long to be shown at once.
        """
        if offset < 1 or limit < 1 or column < 1:
            raise ToolError("offset, limit and column count from 1.")
        if path.startswith(PREFIX):
            with open_kept(path) as kept:
                return _read_text(path, kept, (offset, min(limit, MAX_LINES), column))
        name = self.root.spelt(path)
        with os.fdopen(self.root.open_file(name), "rb") as file:
            head = file.peek(8192)
            if sniff(head).startswith("image/"):
                return _picture(name, file.read(MAX_PICTURE + 1), _size(file))
            if not is_utf_16(head):
                _refuse_binary(name, head)
            return _read_text(name, file, (offset, min(limit, MAX_LINES), column))

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
        where = self.root.clean(path)
        total = "more than " if len(names) == MAX_ENTRIES else ""
        total += count(len(names), "entry", "entries")
        notice = f"[{where}: {total}]"
        if len(shown) < len(names):
            notice = (
                f"[{where}: first {len(shown)} of {total} shown. "
                "List a folder below it, or search it.]"
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
        return Search(self.root, query, cancel).run(path)


def tools(root: str | os.PathLike[str] = ".") -> tuple[AnyTool, ...]:
    """The tools of this file, for what lies below a folder."""
    files = Files(root)
    effects = replace(_READS, resources=(FileResource(files.root, "path"),))
    return tuple(replace(each, effects=effects) for each in (files.read, files.ls, files.grep))


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


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _read_text(path: str, file: BinaryIO, place: tuple[int, int, int]) -> ToolOutput:
    """A part of a text file: as it is if it is UTF-8, else as what it is in."""
    window, size = read_window(cast("io.BufferedReader", file), *place), _size(file)
    if size > MAX_RECODED or window.data.isascii() or _is_utf_8(window.data):
        return _text(path, size, window)
    file.seek(0)
    decoded = decode(file.read(MAX_RECODED))
    if decoded.codec == "utf-8":
        return _text(path, size, window)
    data = decoded.text.encode()
    window = read_window(io.BufferedReader(io.BytesIO(data)), *place)
    return _text(path, size, window, NAMES[decoded.codec])


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(path: str, size: int, window: Window, encoding: str = "") -> ToolOutput:
    if window.first > max(window.total, 1):
        raise ToolError(
            f"{path!r} has {'' if window.exact else 'more than '}{count(window.total, 'line')}; "
            f"line {window.first} is {'past its end' if window.exact else 'too far in to be read'}."
        )
    text = window.data.decode("utf-8", "surrogateescape")
    broken = sum("\udc80" <= char <= "\udcff" for char in text) if not text.isascii() else 0
    text = as_shown(text.removeprefix("\ufeff"))
    notice = _notice(path, size, window, encoding)
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
    if window.next is not None:
        details["next"] = {"offset": window.next[0], "column": window.next[1]}
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return ToolOutput(f"{text}{gap}{notice}", details=details)


def _notice(path: str, size: int, window: Window, encoding: str) -> str:
    """What was shown, the totals, what is odd about it, and the next call to make."""
    total = ("" if window.exact else "more than ") + count(window.total, "line")
    said = f"{path}: {total}, {human(size)}" + (f", {encoding}" if encoding else "")
    said += _oddities(window)
    if (window.first, window.column, window.next) != (1, 1, None):
        said += f". {_part(window)}."
    if window.next is None:
        return f"[{said}]"
    line, column = window.next
    more = f'path="{path}", offset={line}' + (f", column={column}" if column > 1 else "")
    return f"[{said} Read on with {more}.]"


def _oddities(window: Window) -> str:
    data, said = window.data, ""
    if data and data.count(b"\r\n") == data.count(b"\n") > 0:
        said += ", lines end with CRLF"
    if data and window.next is None and not data.endswith(b"\n"):
        said += ", no line end at its end"
    return said


def _part(window: Window) -> str:
    """Which lines, or which columns of a long one, are shown."""
    first, last = window.first, window.first + window.shown - 1
    end = window.next[1] - 1 if window.next is not None else 0
    if window.column == 1 and not end:
        return f"Lines {first} to {last} are shown"
    upto = f"to column {end}" if end else "to its end" if first == last else f"to line {last}"
    return f"Line {first} is shown from column {window.column} {upto}"
