"""Paths that a model writes, as relative paths with plain components."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

from toolkeel.errors import ToolError

_DRIVE = re.compile(r"^[A-Za-z]:([\\/]|$)|^\\\\")
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?")
_IN_NO_WINDOWS_NAME = re.compile(r'[<>:"|?*\x00-\x1f]')


def explain_unencodable(text: str) -> str:
    """Return why this system's names and commands cannot have a text, or empty if they can."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        letter = text[error.start]
        if "\ud800" <= letter <= "\udfff":
            return "holds half of a surrogate pair"
        return (
            f"holds {letter!r}, which the encoding of this process ({error.encoding}) lacks; it "
            "has every letter if started with PYTHONUTF8=1"
        )
    return ""


def clean_path(path: str, roots: Iterable[str] = ()) -> str:
    """Return a relative path with plain components, or refuse it with the reason.

    The result is stable: cleaning it again changes nothing, so that approval and opening mean the same file.

    Args:
        path: As a model wrote it.
        roots: Absolute names of the root.

    Raises:
        ToolError: for another absolute path, a drive, `~`, `..` or a NUL, and for a path whose
            cleaning is not stable.

    >>> clean_path("./src//main.py")
    'src/main.py'
    >>> clean_path("/project/src", ["/project"])
    'src'
    """
    text = _strip_root(path.strip().removeprefix("@"), roots)
    if "\0" in text:
        raise ToolError("The path contains a NUL character.")
    if why := explain_unencodable(text):
        raise ToolError(f"{path!r} is not a valid name: it {why}.")
    _check_relative(text, path)
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if any(".." in part.split("\\") for part in parts):
        raise ToolError(f"{path!r} leaves the root. Give a path below it, without '..'.")
    _check_windows_names(parts, path)
    found = "/".join(parts) or "."
    _check_relative(found, path)
    if found != (plain := found.strip().removeprefix("@")):
        raise ToolError(f"{path!r} could mean {found!r} or {plain!r}. Give {plain.strip()!r}.")
    return found


def _strip_root(text: str, roots: Iterable[str]) -> str:
    """Return a path without one of the roots that it begins with; on Windows in any spelling."""
    is_windows = sys.platform == "win32"
    if is_windows:
        text = text.removeprefix("\\\\?\\").replace("\\", "/")
        roots = [root.replace("\\", "/") for root in roots]
    for root in roots:
        begins = text[: len(root)]
        if begins != root and not (is_windows and begins.casefold() == root.casefold()):
            continue
        rest = text[len(root) :]
        if not rest or rest.startswith("/") or root.endswith("/"):
            return rest.lstrip("/")
    return text


def _check_relative(text: str, path: str) -> None:
    if text.startswith("/") or _DRIVE.match(text):
        raise ToolError(f"{path!r} is absolute. Give a path relative to the root, such as '.'.")
    if text.startswith("~"):
        raise ToolError(f"{path!r}: there is no home folder here. Give a path below the root.")


def _check_windows_names(parts: list[str], path: str) -> None:
    """Refuse names that Windows reads as a device, a stream of a file, or another name."""
    if sys.platform != "win32":
        return
    for part in parts:
        if found := _IN_NO_WINDOWS_NAME.search(part):
            raise ToolError(f"{path!r}: Windows allows no {found[0]!r} in a name.")
        if _DEVICES.fullmatch(part):
            raise ToolError(f"{path!r}: {part!r} is a device on Windows. Give another name.")
        if part != part.rstrip(" ."):
            raise ToolError(f"{path!r}: Windows drops the space or dot at the end of {part!r}.")
