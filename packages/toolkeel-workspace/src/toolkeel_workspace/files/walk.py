"""The files below a folder that a search visits, without those that git ignores."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cached_property

from toolkeel.errors import ToolError
from toolkeel_workspace.files.open_beneath import MAX_ENTRIES, TEMPORARY_NAME, Entry, Root
from toolkeel_workspace.files.patterns.linear_regex import compile_regex, escape_regex
from toolkeel_workspace.sandbox.secret_files import read_start
from toolkeel_workspace.shell.git_identity import find_exclude_files

SKIPPED_FOLDERS = frozenset(
    (".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache")
)
"""Folders a search does not enter unless it starts there."""
MAX_SKIPPED = 1000
"""Most names of what was left out that are recorded."""
MAX_IGNORE = 256 * 1024
"""How much of a ``.gitignore`` is read, in bytes."""
MAX_RULES = 2000
"""Most lines of a ``.gitignore`` that count."""
MAX_RULE_CHARS = 1000
"""Most characters of a line that counts."""
_PARTS = re.compile(r"(\*\*/|/\*\*$|\*+|\?|\[[!^]?\]?[^\]/]{0,64}\]|\\.)")
_WILDCARDS = {"**/": "(?:[^/]+/)*", "/**": "/.+", "?": "[^/]"}


class FileWalk:
    """Files below a root.

    Args:
        root: The folder that bounds the walk.
        folder: Where to start, cleaned. ``.gitignore`` files above it, up to the root, apply too,
            unless it is itself ignored: then it was named on purpose.
        include_links: Yield links as well, without following them.

    Attributes:
        truncated_folders: Folders with more names than are read.
        folders: Folders that were entered.
        unreadable: Folders that could not be listed.
        links: Links, which are not followed.
        skipped: Files and folders that were left out, folders with a slash; at most `MAX_SKIPPED`.
        skipped_count: How many were left out.
    """

    def __init__(self, root: Root, folder: str, *, include_links: bool = False) -> None:
        self.root = root
        self.folder = folder
        self._kinds = ("file", "link") if include_links else ("file",)
        self._rules: dict[str, list[_IgnoreRule]] = {}
        self.truncated_folders: list[str] = []
        self.folders: list[str] = []
        self.unreadable: list[str] = []
        self.links: list[str] = []
        self.skipped: list[str] = []
        self.skipped_count = 0

    def __iter__(self) -> Iterator[str]:
        """Yield paths in order: a folder's files by name, then the folders below it.

        Raises:
            ToolError: if the folder to start from cannot be listed.
        """
        pending = [self.folder]
        while pending:
            here = pending.pop()
            prefix = _folder_prefix(here)
            try:
                entries = sorted(self.root.list_entries(here))
            except ToolError:
                if here == self.folder:
                    raise
                self.unreadable.append(f"{here}/")
                continue
            if len(entries) == MAX_ENTRIES:
                self.truncated_folders.append(here)
            wanted = [each for each in entries if self._is_wanted(prefix, each)]
            if len(wanted) < len(entries):
                self._record_skipped(prefix, entries, wanted)
            yield from (prefix + each.name for each in wanted if each.kind in self._kinds)
            self.links += [prefix + each.name for each in wanted if each.kind == "link"]
            below = [prefix + each.name for each in wanted if each.kind == "folder"]
            self.folders += below
            pending.extend(reversed(below))

    def _record_skipped(self, prefix: str, entries: list[Entry], wanted: list[Entry]) -> None:
        names = {each.name for each in wanted}
        skipped = [
            f"{prefix}{each.name}{'/' * (each.kind == 'folder')}"
            for each in entries
            if each.name not in names and not TEMPORARY_NAME.fullmatch(each.name)
        ]
        self.skipped_count += len(skipped)
        self.skipped += skipped[: MAX_SKIPPED - len(self.skipped)]

    def is_included(self, path: str) -> bool:
        """Return true if the walk visits a file below the folder."""
        parts = path.removeprefix(_folder_prefix(self.folder)).split("/")
        prefix = _folder_prefix(self.folder)
        for part in parts[:-1]:
            if not self._is_wanted(prefix, Entry(part, "folder")):
                return False
            prefix += f"{part}/"
        return self._is_wanted(prefix, Entry(parts[-1], "file"))

    def _is_wanted(self, prefix: str, entry: Entry) -> bool:
        folder = entry.kind == "folder"
        if (folder and entry.name in SKIPPED_FOLDERS) or TEMPORARY_NAME.fullmatch(entry.name):
            return False
        return not self._is_ignored(prefix + entry.name, folder, self._top_folder)

    @cached_property
    def _top_folder(self) -> str:
        """The highest folder whose rules apply."""
        parts = [] if self.folder == "." else self.folder.split("/")
        paths = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        return self.folder if any(self._is_ignored(path, True, ".") for path in paths) else "."

    @cached_property
    def _outer_rules(self) -> list[list[_IgnoreRule]]:
        """The rules of the repository's and the person's own files, the strongest first."""
        return [_parse_rules(read_start(path)) for path in find_exclude_files(self.root.path)]

    def _is_ignored(self, path: str, folder: bool, top: str) -> bool:
        """Apply the last matching rule of the nearest folder that has one, else of the outer files."""
        here = path
        while here != top and here != ".":
            here = here.rpartition("/")[0] or "."
            relative = path.removeprefix(_folder_prefix(here))
            for rule in reversed(self._load_rules(here)):
                if (folder or not rule.folders_only) and rule.matches(relative):
                    return not rule.is_negated
        if top != ".":
            return False
        for rules in self._outer_rules:
            for rule in reversed(rules):
                if (folder or not rule.folders_only) and rule.matches(path):
                    return not rule.is_negated
        return False

    def _load_rules(self, folder: str) -> list[_IgnoreRule]:
        if folder not in self._rules:
            self._rules[folder] = _read_rules(self.root, f"{_folder_prefix(folder)}.gitignore")
        return self._rules[folder]


def sort_key(path: str) -> list[tuple[bool, str]]:
    """Return the key that sorts paths in the order of a walk.

    >>> sorted(["a/x", "b", "a/b/c", "a.txt"], key=sort_key)
    ['a.txt', 'b', 'a/x', 'a/b/c']
    """
    *folders, name = path.split("/")
    return [*((True, each) for each in folders), (False, name)]


class _IgnoreRule:
    """One line of a ``.gitignore``, by gitignore(5)."""

    def __init__(self, line: str) -> None:
        self.is_negated = line.startswith("!")
        line = line.removeprefix("!")
        self.folders_only = line.endswith("/")
        line = line.rstrip("/") if self.folders_only else line
        anywhere = "/" not in line
        parts = _PARTS.split(line.removeprefix("/"))
        body = "".join(map(_part_to_regex, parts))
        self.matches: Callable[[str], bool] = compile_regex(
            f"^{'(?:[^/]+/)*' if anywhere else ''}{body}$"
        )


def _part_to_regex(part: str) -> str:
    if part in _WILDCARDS:
        return _WILDCARDS[part]
    if part.startswith("*"):
        return "[^/]*"
    if part.startswith("[") and part.endswith("]"):
        inner = re.sub(r"([\\\[\]&~])", r"\\\1", part[1:-1].lstrip("!^"))
        return f"[^/{inner}]" if part[1] in "!^" else f"[{inner}]"
    return escape_regex(part[1:] if part.startswith("\\") else part)


def _read_rules(root: Root, path: str) -> list[_IgnoreRule]:
    try:
        with os.fdopen(root.open_file(path), "rb") as file:
            text = file.read(MAX_IGNORE).decode("utf-8-sig", "replace")
    except (ToolError, OSError):
        return []
    return _parse_rules(text)


def _parse_rules(text: str) -> list[_IgnoreRule]:
    rules = []
    for line in text.splitlines()[:MAX_RULES]:
        rule = line.rstrip(" ")
        rule += " " if rule.endswith("\\") and rule != line else ""
        if len(rule) <= MAX_RULE_CHARS and rule and not rule.startswith("#") and rule.strip("/!"):
            try:
                rules.append(_IgnoreRule(rule))
            except ValueError:
                continue  # like git, ignore a line that cannot be parsed
    return rules


def _folder_prefix(folder: str) -> str:
    return "" if folder == "." else f"{folder}/"
