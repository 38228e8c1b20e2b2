"""Tools that read files, list folders and search text below one folder, and change nothing."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from typing import BinaryIO, cast

from toolkeel._records.result_store import PREFIX, RESULTS
from toolkeel.call.truncate import KEEPER
from toolkeel.content import Image, Text, detect_media_type
from toolkeel.context import CancelToken
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import SetupError, ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.binary_kind import HEAD_BYTES, find_binary_kind, is_utf_16
from toolkeel_workspace.files.encodings import (
    DecodedText,
    count_invalid,
    decode_text,
    describe_invalid,
    replace_invalid,
)
from toolkeel_workspace.files.grep import GrepQuery, GrepSearch, open_saved_result
from toolkeel_workspace.files.line_window import (
    MAX_BYTES,
    MAX_LINES,
    Window,
    escape_name,
    format_size,
    pluralize,
    read_window,
)
from toolkeel_workspace.files.open_beneath import MAX_ENTRIES, FileResource, Root
from toolkeel_workspace.pictures.damage import find_damage
from toolkeel_workspace.pictures.shrink import ShrunkPicture, shrink
from toolkeel_workspace.pictures.too_large import MAX_BYTES as MOST_OF_A_PICTURE
from toolkeel_workspace.pictures.too_large import TARGET_SIDE, check_picture, measure_picture

MAX_PICTURE_BYTES = 32 * 1024 * 1024
"""Largest picture that is read, in bytes; `toolkeel_workspace.pictures.shrink` makes it small enough."""
MAX_RECODED_BYTES = 16 * 1024 * 1024
"""Largest file that is read in another encoding than UTF-8, in bytes."""
_READ_EFFECTS = Effects(read_only=True, open_world=False, resources=("file:{path}",))


class Files:
    """Read-only tools for a folder.

    Args:
        root: The folder. Nothing outside it can be opened, through any path or link.

    Raises:
        SetupError: if it is not a folder.
    """

    def __init__(self, root: str | os.PathLike[str] = ".") -> None:
        self.root = Root(root)

    @tool(effects=_READ_EFFECTS, max_output=None, metadata={KEEPER: RESULTS.save})
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
            with open_saved_result(path) as saved:
                return _read_text(path, saved, (offset, min(limit, MAX_LINES), column))
        name = self.root.match_spelling(path)
        with os.fdopen(self.root.open_file(name), "rb") as file:
            head = file.peek(HEAD_BYTES)
            if detect_media_type(head).startswith("image/"):
                return _show_picture(
                    escape_name(name), file.read(MAX_PICTURE_BYTES + 1), _get_file_size(file)
                )
            if kind := find_binary_kind(head):
                raise ToolError(f"{name!r} is {kind}. This tool reads text and pictures.")
            return _read_text(escape_name(name), file, (offset, min(limit, MAX_LINES), column))

    @tool(effects=_READ_EFFECTS, max_output=None)
    def ls(self, path: str = ".", limit: int = 500) -> ToolOutput:
        """List the files in a folder; names of folders end with a slash, of links with "@".

        Args:
            path: Folder to list, relative to the root.
            limit: Most names to show.
        """
        if limit < 1:
            raise ToolError("limit counts from 1.")
        entries = sorted(
            self.root.list_entries(self.root.match_spelling(path)),
            key=lambda entry: entry.name.casefold(),
        )
        marks = {"folder": "/", "link": "@"}
        names = [escape_name(entry.name) + marks.get(entry.kind, "") for entry in entries]
        shown, used = [], 0
        for name in names[:limit]:
            used += len(name.encode()) + 1
            if used > MAX_BYTES:
                break
            shown.append(name)
        where = self.root.clean(path)
        total = "more than " if len(names) == MAX_ENTRIES else ""
        total += pluralize(len(names), "entry", "entries")
        notice = f"[{where}: {total}]"
        if len(shown) < len(names):
            notice = (
                f"[{where}: first {len(shown)} of {total} shown. "
                "List a folder below it, or search it.]"
            )
        details = {"path": where, "entries": len(names), "shown": len(shown)}
        return ToolOutput("\n".join([*shown, "", notice] if shown else [notice]), details=details)

    @tool(effects=_READ_EFFECTS, max_output=None)
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
        query = GrepQuery(pattern, glob, ignore_case, literal, context, limit)
        return GrepSearch(self.root, query, cancel).run(path)


def tools(root: str | os.PathLike[str] = ".") -> tuple[AnyTool, ...]:
    """Return the tools of this file for a folder."""
    files = Files(root)
    effects = replace(_READ_EFFECTS, resources=(FileResource(files.root, "path"),))
    return tuple(replace(each, effects=effects) for each in (files.read, files.ls, files.grep))


def _show_picture(path: str, data: bytes, size: int) -> ToolOutput:
    """Return a picture, made smaller if it is larger than models use."""
    if size > MAX_PICTURE_BYTES:
        raise ToolError(
            f"The picture {path!r} has {format_size(size)}; at most {format_size(MAX_PICTURE_BYTES)} are read."
        )
    media_type, measured = detect_media_type(data), measure_picture(data)
    if damage := find_damage(data):
        raise ToolError(
            f"The picture {path!r} ({media_type}, {format_size(size)}) is damaged: {damage}. It cannot "
            "be shown."
        )
    details: dict[str, object] = {"path": path, "media_type": media_type, "bytes": size}
    notice = f"{path}: {media_type}, {format_size(size)}"
    if measured is not None:
        notice += f", {measured[0]} x {measured[1]} pixels"
        details["pixels"] = measured
    small = (
        _shrink_if_possible(data)
        if len(data) > MOST_OF_A_PICTURE or max(measured or (0,)) > TARGET_SIDE
        else None
    )
    if small is not None:
        notice += (
            f". Shown smaller, as {small.media_type}, {format_size(len(small.data))}, "
            f"{small.size[0]} x {small.size[1]} pixels: multiply its coordinates by "
            f"{small.scale:.2f} to get those of the original"
        )
        details |= {"pixels": small.original_size, "shown_pixels": small.size, "scale": small.scale}
        data, media_type = small.data, small.media_type
    return ToolOutput((Text(f"[{notice}]"), Image(data, media_type)), details=details)


def _shrink_if_possible(data: bytes) -> ShrunkPicture | None:
    """Shrink a picture. Return None if it is small enough and cannot be shrunk.

    Raises:
        ToolError: if it must be shrunk, and cannot.
    """
    try:
        return shrink(data)
    except SetupError as error:
        try:
            check_picture(data, detect_media_type(data))
        except ToolError as refused:
            raise ToolError(f"{refused.text} To see it made smaller, {error}.") from None
        return None


def _get_file_size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _read_text(path: str, file: BinaryIO, place: tuple[int, int, int]) -> ToolOutput:
    """Read a part of a text file in its encoding, which the whole file decides."""
    size = _get_file_size(file)
    decoded = DecodedText("", "utf-8")
    if size > MAX_RECODED_BYTES:
        if is_utf_16(cast("io.BufferedReader", file).peek(HEAD_BYTES)):
            raise ToolError(
                f"{path!r} is UTF-16 and larger than {format_size(MAX_RECODED_BYTES)}, too large to "
                "be decoded. Convert it to UTF-8."
            )
    else:
        decoded = decode_text(file.read(MAX_RECODED_BYTES + 1))
        file.seek(0)
    if decoded.codec == "utf-8" and not decoded.has_cr_lines:
        window = read_window(cast("io.BufferedReader", file), *place)
    else:
        data = replace_invalid(decoded.text).encode()
        window = read_window(io.BufferedReader(io.BytesIO(data)), *place)
    return _show_text(path, size, window, decoded)


def _show_text(path: str, size: int, window: Window, decoded: DecodedText) -> ToolOutput:
    if window.first_line > max(window.total_lines, 1):
        raise ToolError(
            f"{path!r} has {'' if window.is_exact else 'more than '}{pluralize(window.total_lines, 'line')}; "
            f"line {window.first_line} is {'past its end' if window.is_exact else 'too far in to be read'}."
        )
    text = window.data.decode("utf-8", "surrogateescape")
    odd = count_invalid(decoded.text or text)
    text = replace_invalid(text.removeprefix("\ufeff"))
    notice = _make_notice(path, size, window, decoded)
    if odd:
        notice += f"\n[{describe_invalid(decoded, odd)} An edit that repeats each \ufffd leaves it as it is.]"
    details = {
        "path": path,
        "total_lines": window.total_lines,
        "total_bytes": size,
        "first_line": window.first_line,
        "shown_lines": window.shown_lines,
        "truncated_by": window.cut_by or None,
    }
    if window.next is not None:
        details["next"] = {"offset": window.next[0], "column": window.next[1]}
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return ToolOutput(f"{text}{gap}{notice}", details=details)


def _make_notice(path: str, size: int, window: Window, decoded: DecodedText) -> str:
    """Describe what is shown, the totals, peculiarities, and the next call."""
    total = ("" if window.is_exact else "more than ") + pluralize(window.total_lines, "line")
    notice = f"{path}: {total}, {format_size(size)}"
    notice += f", {decoded.description}" if decoded.description else ""
    notice += ", lines end with CR" if decoded.has_cr_lines else ""
    notice += _describe_line_ends(window)
    if (window.first_line, window.column, window.next) != (1, 1, None):
        notice += f". {_describe_part(window)}."
    if window.next is None:
        return f"[{notice}]"
    line, column = window.next
    more = f'path="{path}", offset={line}' + (f", column={column}" if column > 1 else "")
    return f"[{notice} Read on with {more}.]"


def _describe_line_ends(window: Window) -> str:
    data, notice = window.data, ""
    if data and data.count(b"\r\n") == data.count(b"\n") > 0:
        notice += ", lines end with CRLF"
    if data and window.next is None and not data.endswith(b"\n"):
        notice += ", no line end at its end"
    return notice


def _describe_part(window: Window) -> str:
    """Describe which lines, or which columns of a long one, are shown."""
    first, last = window.first_line, window.first_line + window.shown_lines - 1
    end = window.next[1] - 1 if window.next is not None else 0
    if window.column == 1 and not end:
        return f"Lines {first} to {last} are shown"
    upto = f"to column {end}" if end else "to its end" if first == last else f"to line {last}"
    return f"Line {first} is shown from column {window.column} {upto}"
