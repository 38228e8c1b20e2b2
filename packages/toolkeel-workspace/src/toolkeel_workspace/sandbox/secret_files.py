"""Which files with secrets a command has read, by its words and by what it has said.

A sandbox sees no single file being read, so this is a best effort from two sides: a secret file that
the command names, by a pattern of the shell too, and a value of one that stands in its output. What
is read under another name and told in other letters (encoded, reversed) is not seen.
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

from toolkeel._common.path_patterns import secret_part
from toolkeel._records.taint_sources import Source, dump_sources
from toolkeel_workspace.sandbox.protected_files import protected_below

MOST, LARGEST = 100, 65_536
"""How many files are looked at, and how much of each, in bytes."""
# What may be a secret: twelve characters and more, with letters and digits.
_VALUE = re.compile(r"[^\s\"'=,;<>(){}\[\]]{12,}")
_WORD = re.compile(r"[^\s\"'=,;<>(){}|&`]+")


class SecretFiles:
    """The files with secrets below some folders, as they were before something ran.

    Args:
        paths: Those that are there, and folders that hold nothing else.
    """

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._values: dict[str, frozenset[str]] = {}
        for path in islice(_files(paths), MOST):
            self._values[path] = frozenset(_values(path))

    @classmethod
    def below(cls, *roots: Path) -> SecretFiles:
        """Those that are there below some folders now."""
        return cls(path for root in roots for path in protected_below(root))

    def read_by(self, line: str, said: str, tool: str) -> dict[str, object]:
        """Those that a command has read, as labels for the details of its result.

        Args:
            line: The command, or the code.
            said: What it said.
            tool: Whose call it was.
        """
        words = set(_WORD.findall(line))
        names = {word.rstrip("/").rpartition("/")[2] for word in words}
        found = [
            path
            for path, values in self._values.items()
            if any(_names(name, path) for name in names) or any(value in said for value in values)
        ]
        elsewhere = (os.path.expanduser(word) for word in words if word.startswith(("/", "~")))
        found += [path for path in elsewhere if secret_part(path) and os.path.isfile(path)]
        labels = dump_sources(Source("secret", tool, path) for path in dict.fromkeys(found))
        return {"taint": labels} if labels else {}


def _names(word: str, path: str) -> bool:
    """Whether a word of a command means a file, or a folder with secrets that it lies in."""
    parts = path.split("/")[-3:]
    hidden = any(part.startswith(".") and not word.startswith(".") for part in parts[-1:])
    if any(char in word for char in "*?["):
        return not hidden and fnmatchcase(parts[-1], word)
    return word == parts[-1] or (word in parts and bool(secret_part(word)))


def _files(paths: Iterable[str | Path]) -> Iterator[str]:
    for path in map(Path, paths):
        inside = sorted(islice(path.rglob("*"), MOST)) if path.is_dir() else [path]
        yield from (str(each) for each in inside if each.is_file() and secret_part(str(each)))


def _values(path: str) -> Iterator[str]:
    """What in a file looks like a secret."""
    for value in _VALUE.findall(start_of(path)):
        if re.search(r"\d", value) and re.search(r"[^\W\d]", value):
            yield value


def start_of(path: str | Path) -> str:
    """The first `LARGEST` bytes of a plain file, as text; empty for a pipe, a link or no file."""
    with suppress(OSError), open(os.open(path, _READ), "rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read(LARGEST).decode("utf-8", "replace")
    return ""


_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
