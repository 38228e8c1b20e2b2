"""Detect that a command has read files with secrets, by its text and its output.

A sandbox sees no single read, so this is a best effort from two sides: a secret file that the command
names, also by a shell pattern, and a value from one in its output. A read under another name whose value
is encoded or reversed goes undetected.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from toolkeel._common.path_patterns import secret_pattern
from toolkeel._records.taint_sources import Source, dump_sources
from toolkeel_workspace.sandbox.protected_files import find_protected

MAX_FILES, MAX_BYTES = 100, 65_536
"""Most files that are read, and most bytes of each."""
# A possible secret has twelve characters or more, with letters and digits.
_VALUE = re.compile(r"[^\s\"'=,;<>(){}\[\]]{12,}")
_WORD = re.compile(r"[^\s\"'=,;<>(){}|&`]+")


class SecretFiles:
    """The files with secrets below some folders, as they were before something ran.

    Args:
        paths: Such files, and folders that contain nothing else.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._values: dict[str, frozenset[str]] = {}
        for path in islice(_iter_files(paths), MAX_FILES):
            self._values[path] = frozenset(_iter_secrets(path))

    @classmethod
    def find_below(cls, *roots: Path) -> SecretFiles:
        """Find the files with secrets below some folders now."""
        return cls(path for root in roots for path in find_protected(root))

    def label_reads(self, command: str, output: str, tool: str) -> dict[str, object]:
        """Return taint labels for the files a command has read, for the details of its result.

        Args:
            command: The command, or the code.
            output: Its output.
            tool: The tool that ran it.
        """
        words = set(_WORD.findall(command))
        names = {word.rstrip("/").rpartition("/")[2] for word in words}
        found = [
            path
            for path, values in self._values.items()
            if any(_is_mentioned(name, path) for name in names)
            or any(value in output for value in values)
        ]
        elsewhere = (os.path.expanduser(word) for word in words if word.startswith(("/", "~")))
        found += [path for path in elsewhere if secret_pattern(path) and os.path.isfile(path)]
        labels = dump_sources(Source("secret", tool, path) for path in dict.fromkeys(found))
        return {"taint": labels} if labels else {}


def _is_mentioned(word: str, path: str) -> bool:
    """Return true if a word of a command names a file, or a secret folder that contains it."""
    parts = path.split("/")[-3:]
    hidden = any(part.startswith(".") and not word.startswith(".") for part in parts[-1:])
    if any(char in word for char in "*?["):
        return not hidden and fnmatchcase(parts[-1], word)
    return word == parts[-1] or (word in parts and bool(secret_pattern(word)))


def _iter_files(paths: Iterable[str | Path]) -> Iterator[str]:
    for path in map(Path, paths):
        inside = sorted(islice(path.rglob("*"), MAX_FILES)) if path.is_dir() else [path]
        yield from (str(each) for each in inside if each.is_file() and secret_pattern(str(each)))


def _iter_secrets(path: str) -> Iterator[str]:
    """Yield the values in a file that may be secrets."""
    for value in _VALUE.findall(read_start(path)):
        if re.search(r"\d", value) and re.search(r"[^\W\d]", value):
            yield value


def read_start(path: str | Path) -> str:
    """Return the first `MAX_BYTES` of a regular file as text; empty for a pipe, a link or no file."""
    with suppress(OSError), open(os.open(path, _READ), "rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read(MAX_BYTES).decode("utf-8", "replace")
    return ""


_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
