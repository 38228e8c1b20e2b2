"""The folder that code works in: files go in, and what code has written comes out."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from toolkeel._records.record import record
from toolkeel.content import Image, sniff
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.files.open_beneath import Root, clean
from toolkeel_workspace.pictures.too_large import MAX_BYTES, check_picture

Given = bytes | str | os.PathLike[str]
MOST = 200
"""Most files that are looked at."""


@record
class Written:
    """A file that code has written.

    Args:
        path: Within the folder.
        size: In bytes.
    """

    path: str
    size: int


class CodeFolder:
    """A folder for code.

    Args:
        path: Which; None for one of its own, removed at the end.
        files: What lies in it at first: a file's name there, and its bytes, or the path of a file
            to copy.

    Raises:
        SetupError: a file is not there, or would lie elsewhere.
    """

    def __init__(self, path: str | os.PathLike[str] | None, files: Mapping[str, Given]) -> None:
        self._own = path is None
        self.path = Path(tempfile.mkdtemp(prefix="toolkeel-code-") if path is None else path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.path = self.path.resolve()
        for name, given in files.items():
            self._add(name, given)
        self._root = Root(self.path)
        self._known = self._stamps()

    def close(self) -> None:
        """Remove it, if it is one of its own."""
        if self._own:
            shutil.rmtree(self.path, ignore_errors=True)

    def written(self) -> list[Written]:
        """The files that are new or changed since this was asked last."""
        before, self._known = self._known, self._stamps()
        new = (name for name, stamp in self._known.items() if before.get(name) != stamp)
        return [Written(name, self._known[name][0]) for name in sorted(new)]

    def picture(self, path: str) -> Image | None:
        """A file as a picture, if it is one that can be shown."""
        try:
            descriptor = self._root.open_file(path)
        except ToolError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        kind = sniff(data)
        try:
            check_picture(data, kind)
        except ToolError:
            return None
        return Image(data, kind) if kind.startswith("image/") else None

    def _add(self, name: str, given: Given) -> None:
        try:
            place = self.path / clean(name)
        except ToolError as error:
            raise SetupError(f"files: {error.text}") from None
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(given, bytes):
            place.write_bytes(given)
            return
        source = Path(given)
        if not source.is_file():
            raise SetupError(f"files: {str(given)!r} is not a file")
        shutil.copyfile(source, place)

    def _stamps(self) -> dict[str, tuple[int, int]]:
        """Size and time of each file; links are not followed, neither of files nor of folders."""
        found: dict[str, tuple[int, int]] = {}
        for path, status in _walk(str(self.path)):
            found[os.path.relpath(path, self.path)] = (status.st_size, status.st_mtime_ns)
            if len(found) == MOST:
                break
        return found


def _walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    folders = [folder]
    while folders:
        for entry in _entries(folders.pop()):
            if entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # code may still be taking it away
                    yield entry.path, entry.stat(follow_symlinks=False)
            elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith((".", "__py")):
                folders.append(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(islice(found, MOST))
    except OSError:  # it is gone, or closed to us
        return []
