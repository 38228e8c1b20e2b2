"""The files below a folder that a search looks at: not those that ``.gitignore`` names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cached_property

from toolkeel.errors import ToolError
from toolkeel_workspace.files.linear_regex import compiled, escaped
from toolkeel_workspace.files.open_beneath import MAX_ENTRIES, TEMPORARY, Entry, Root

SKIPPED = frozenset(
    (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache")
)
"""Folders a search does not enter unless it starts there."""
MAX_IGNORE = 256 * 1024
"""How much of a ``.gitignore`` is read, in bytes."""
MAX_RULES = 2000
"""Most lines of a ``.gitignore`` that count."""
LONGEST = 1000
"""Most characters of a line that counts."""
_PARTS = re.compile(r"(\*\*/|/\*\*$|\*+|\?|\[[!^]?\]?[^\]/]*\]|\\.)")
_MEANING = {"**/": "(?:[^/]+/)*", "/**": "/.+", "?": "[^/]"}


class Walk:
    """Files below a root.

    Args:
        root: Where nothing leads out of.
        folder: Where to start, cleaned. ``.gitignore`` files above it, up to the root, count too,
            unless it is itself ignored: who names such a folder wants to see it.
        links: Whether links are told as well, without following them.

    Attributes:
        cut: Folders with more names than are looked at.
    """

    def __init__(self, root: Root, folder: str, *, links: bool = False) -> None:
        self.root = root
        self.folder = folder
        self._kinds = ("file", "link") if links else ("file",)
        self._rules: dict[str, list[_IgnoreLine]] = {}
        self.cut: list[str] = []

    def __iter__(self) -> Iterator[str]:
        """Paths in order: a folder's files by name, then the folders below it.

        Raises:
            ToolError: if the folder to start from cannot be listed.
        """
        pending = [self.folder]
        while pending:
            here = pending.pop()
            prefix = _prefix(here)
            try:
                entries = sorted(self.root.entries(here))
            except ToolError:
                if here == self.folder:
                    raise
                continue  # it went away, or may not be read
            if len(entries) == MAX_ENTRIES:
                self.cut.append(here)
            kept = [each for each in entries if self._wanted(prefix, each)]
            yield from (prefix + each.name for each in kept if each.kind in self._kinds)
            below = [prefix + each.name for each in kept if each.kind == "folder"]
            pending.extend(reversed(below))

    def includes(self, path: str) -> bool:
        """Whether a file below the folder is one that is looked at."""
        parts = path.removeprefix(_prefix(self.folder)).split("/")
        prefix = _prefix(self.folder)
        for part in parts[:-1]:
            if not self._wanted(prefix, Entry(part, "folder")):
                return False
            prefix += f"{part}/"
        return self._wanted(prefix, Entry(parts[-1], "file"))

    def _wanted(self, prefix: str, entry: Entry) -> bool:
        folder = entry.kind == "folder"
        if (folder and entry.name in SKIPPED) or TEMPORARY.fullmatch(entry.name):
            return False
        return not self._ignored(prefix + entry.name, folder, self._top)

    @cached_property
    def _top(self) -> str:
        """The highest folder whose rules count."""
        parts = [] if self.folder == "." else self.folder.split("/")
        paths = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        return self.folder if any(self._ignored(path, True, ".") for path in paths) else "."

    def _ignored(self, path: str, folder: bool, top: str) -> bool:
        """What the last rule that fits says, of those of the nearest folder that has one."""
        here = path
        while here != top and here != ".":
            here = here.rpartition("/")[0] or "."
            relative = path.removeprefix(_prefix(here))
            for rule in reversed(self._rules_of(here)):
                if (folder or not rule.folders) and rule.matches(relative):
                    return not rule.negated
        return False

    def _rules_of(self, folder: str) -> list[_IgnoreLine]:
        if folder not in self._rules:
            self._rules[folder] = _read(self.root, f"{_prefix(folder)}.gitignore")
        return self._rules[folder]


def order(path: str) -> list[tuple[bool, str]]:
    """The key by which paths are sorted as a walk tells them.

    >>> sorted(["a/x", "b", "a/b/c", "a.txt"], key=order)
    ['a.txt', 'b', 'a/x', 'a/b/c']
    """
    *folders, name = path.split("/")
    return [*((True, each) for each in folders), (False, name)]


class _IgnoreLine:
    """One line of a ``.gitignore``, as gitignore(5) tells it."""

    def __init__(self, line: str) -> None:
        self.negated = line.startswith("!")
        line = line.removeprefix("!")
        self.folders = line.endswith("/")
        line = line.rstrip("/") if self.folders else line
        anywhere = "/" not in line
        parts = _PARTS.split(line.removeprefix("/"))
        body = "".join(map(_meaning, parts))
        self.matches: Callable[[str], bool] = compiled(
            f"^{'(?:[^/]+/)*' if anywhere else ''}{body}$"
        )


def _meaning(part: str) -> str:
    if part in _MEANING:
        return _MEANING[part]
    if part.startswith("*"):
        return "[^/]*"
    if part.startswith("[") and part.endswith("]"):
        inner = re.sub(r"([\\\[\]&~])", r"\\\1", part[1:-1].lstrip("!^"))
        return f"[^/{inner}]" if part[1] in "!^" else f"[{inner}]"
    return escaped(part[1:] if part.startswith("\\") else part)


def _read(root: Root, path: str) -> list[_IgnoreLine]:
    try:
        with os.fdopen(root.open_file(path), "rb") as file:
            text = file.read(MAX_IGNORE).decode("utf-8-sig", "replace")
    except (ToolError, OSError):
        return []
    rules = []
    for line in text.splitlines()[:MAX_RULES]:
        kept = line.rstrip(" ")
        kept += " " if kept.endswith("\\") and kept != line else ""
        if len(kept) <= LONGEST and kept and not kept.startswith("#") and kept.strip("/!"):
            try:
                rules.append(_IgnoreLine(kept))
            except ValueError:
                continue  # git, too, takes a line it cannot read for one that fits nothing
    return rules


def _prefix(folder: str) -> str:
    return "" if folder == "." else f"{folder}/"
