"""The folder code works in: files placed in it, and files code has written."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from toolkeel._common.data_folder import temporary_folder
from toolkeel._records.record import record
from toolkeel.content import Image, detect_media_type
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.relative_path import clean_path
from toolkeel_workspace.pictures.too_large import MAX_BYTES, check_picture

FileSource = bytes | str | os.PathLike[str]
MAX_FILES = 200
"""Most files that are listed."""


@record
class WrittenFile:
    """A file that code has written.

    Args:
        path: Relative to the folder.
        size: In bytes.
    """

    path: str
    size: int


class CodeFolder:
    """A folder for code.

    Args:
        path: The folder; None for a temporary one, removed at the end.
        files: Initial files: a name, and its bytes or the path of a file to copy.

    Raises:
        SetupError: a file is missing, or would be outside of the folder.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, files: Mapping[str, FileSource]
    ) -> None:
        self._is_temporary = path is None
        made = path or tempfile.mkdtemp(prefix="toolkeel-code-", dir=temporary_folder())
        self.path = Path(made)
        self.path.mkdir(parents=True, exist_ok=True)
        self.path = self.path.resolve()
        for name, source in files.items():
            self._add_file(name, source)
        self._root = Root(self.path)
        self._last_stamps = self._scan_stamps()

    def close(self) -> None:
        """Remove the folder if it is temporary."""
        if self._is_temporary:
            shutil.rmtree(self.path, ignore_errors=True)

    def take_changes(self) -> list[WrittenFile]:
        """Return the files that are new or changed since the last call."""
        before, self._last_stamps = self._last_stamps, self._scan_stamps()
        new = (name for name, stamp in self._last_stamps.items() if before.get(name) != stamp)
        return [WrittenFile(name, self._last_stamps[name][0]) for name in sorted(new)]

    def read_picture(self, path: str) -> Image | None:
        """Read a file as a picture, or None if it is no picture that can be shown."""
        try:
            descriptor = self._root.open_file(path)
        except ToolError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        kind = detect_media_type(data)
        try:
            check_picture(data, kind)
        except ToolError:
            return None
        return Image(data, kind) if kind.startswith("image/") else None

    def _add_file(self, name: str, source: FileSource) -> None:
        try:
            place = self.path / clean_path(name)
        except ToolError as error:
            raise SetupError(f"files: {error.text}") from None
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, bytes):
            place.write_bytes(source)
            return
        source = Path(source)
        if not source.is_file():
            raise SetupError(f"files: {str(source)!r} is not a file")
        shutil.copyfile(source, place)

    def _scan_stamps(self) -> dict[str, tuple[int, int]]:
        """Return size and time of each file; links to files and folders are not followed."""
        found: dict[str, tuple[int, int]] = {}
        for path, status in _iter_files(str(self.path)):
            found[os.path.relpath(path, self.path)] = (status.st_size, status.st_mtime_ns)
            if len(found) == MAX_FILES:
                break
        return found


def _iter_files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    folders = [folder]
    while folders:
        for entry in _scan_folder(folders.pop()):
            if entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # code may still be deleting it
                    yield entry.path, entry.stat(follow_symlinks=False)
            elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith((".", "__py")):
                folders.append(entry.path)


def _scan_folder(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(islice(found, MAX_FILES))
    except OSError:  # it was deleted, or is unreadable
        return []
