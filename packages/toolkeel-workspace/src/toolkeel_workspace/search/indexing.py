"""Update a store from a folder: only changed files are read again."""

from __future__ import annotations

import hashlib
import mimetypes
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from toolkeel._records.record import record
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.search.document_text import read_document
from toolkeel_workspace.search.stores import Source, Store, StoredFile

MAX_BYTES = 20 * 1024 * 1024
"""Largest file that is read."""
SKIPPED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "venv", "env", "site-packages", "target", "dist", "build"}
)
"""Folders with generated files; hidden folders are skipped, too."""
BATCH_CHARS = 1_000_000
"""Characters added at once."""

ProgressCallback: TypeAlias = Callable[[int, int, str], object]
DescribeFile: TypeAlias = Callable[[Path], Mapping[str, Any]]


@record
class IndexReport:
    """What an update did.

    Args:
        added: Number of new files.
        changed: Number of files read again.
        unchanged: Number of unchanged files.
        removed: Number of files that no longer exist.
        skipped: Files without readable text, with the reason.
    """

    added: int
    changed: int
    unchanged: int
    removed: int
    skipped: Mapping[str, str]


def index_folder(
    store: Store,
    folder: str | PathLike[str],
    *,
    on_progress: ProgressCallback | None = None,
    describe: DescribeFile | None = None,
) -> IndexReport:
    """Update a store from a folder.

    Links are not followed. A file is compared by size and time, and if these differ by its content; a file
    without vectors is read again if the store makes vectors now. Files of other folders in the store stay.

    Args:
        store: The store.
        folder: All files below it are added, except `SKIPPED_FOLDERS` and hidden files.
        on_progress: Called with ``(done, total, name)``, once per file.
        describe: Returns further attributes of a file for filters, besides ``path`` and
            ``extension``.

    Raises:
        SetupError: if there is no such folder.
        ToolError: if the store's embedder fails; what was done until then stays.
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise SetupError(f"there is no folder {str(folder)!r} to index")
    return _Indexer(store, root, describe).run(on_progress)


class _Indexer:
    """One pass over one folder."""

    def __init__(self, store: Store, root: Path, describe: DescribeFile | None) -> None:
        self._store = store
        self._root = root
        self._describe = describe
        known = store.list_files()
        self._known = {file.name: file for file in known if self._is_mine(file)}
        self._without_vectors = (
            store.list_without_vectors() if store.embedder is not None else frozenset[str]()
        )
        self._other_names = {file.name for file in known} - set(self._known)
        self._batch: list[Source] = []
        self._size = 0
        self._counts = {"added": 0, "changed": 0, "unchanged": 0}
        self._skipped: dict[str, str] = {}

    def _is_mine(self, file: StoredFile) -> bool:
        return file.stamp.startswith(f"{self._root}|")

    def run(self, on_progress: ProgressCallback | None) -> IndexReport:
        """Read changed files, and remove missing ones."""
        paths = sorted(_iter_files(self._root))
        seen: set[str] = set()
        for number, path in enumerate(paths):
            name = self._make_name(path)
            if self._add_file(path, name):
                seen.add(name)
            if on_progress is not None:
                on_progress(number + 1, len(paths), name)
        self._flush()
        gone = [name for name in self._known if name not in seen]
        if gone:
            self._store.remove(*gone)
        return IndexReport(**self._counts, removed=len(gone), skipped=self._skipped)

    def _make_name(self, path: Path) -> str:
        """Return the file's path below the folder, with the folder's name if the path is taken."""
        name = path.relative_to(self._root).as_posix()
        return f"{self._root.name}/{name}" if name in self._other_names else name

    def _add_file(self, path: Path, name: str) -> bool:
        """Add a file if it changed. Return true if it is in the store or the batch."""
        known = self._known.get(name)
        try:
            name.encode()  # a name of other bytes than UTF-8 is in no store
            facts = path.lstat()
            stamp = f"{self._root}|{facts.st_size}|{facts.st_mtime_ns}"
            was = known if name not in self._without_vectors else None
            if was is not None and was.stamp == stamp:
                self._counts["unchanged"] += 1
                return True
            if facts.st_size > MAX_BYTES:
                raise ToolError(f"it has more than {MAX_BYTES:,} bytes")
            data = _read_file(path)
            digest = hashlib.sha256(data).hexdigest()
            if was is not None and was.digest == digest:
                self._store.update_stamp(name, stamp)
                self._counts["unchanged"] += 1
                return True
            self._add_to_batch(path, data, Source(name, "", stamp=stamp, digest=digest))
        except (OSError, UnicodeEncodeError, ToolError) as error:
            self._skipped[name] = str(error)
            return False
        self._counts["changed" if known is not None else "added"] += 1
        return True

    def _add_to_batch(self, path: Path, data: bytes, source: Source) -> None:
        kind = mimetypes.guess_type(path.name)[0] or ""
        document = read_document(data, kind if kind == "text/html" else "")
        attributes: dict[str, Any] = {"path": source.name, "extension": path.suffix.lower()}
        if self._describe is not None:
            attributes |= self._describe(path)
        made = Source(
            source.name, document.text, document.title, attributes, source.stamp, source.digest
        )
        self._batch.append(made)
        self._size += len(document.text)
        if self._size > BATCH_CHARS:
            self._flush()

    def _flush(self) -> None:
        if self._batch:
            self._store.add(*self._batch)
        self._batch, self._size = [], 0


def _read_file(path: Path) -> bytes:
    """Read a regular file, unless a link or pipe has replaced it since the listing."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ToolError("it is a special file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ToolError(f"it has more than {MAX_BYTES:,} bytes")
    return data


def _iter_files(root: Path) -> Iterator[Path]:
    """Yield regular files below a folder, except hidden and generated ones."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS and name[0] != "."]
        for name in names:
            path = Path(folder, name)
            if name[0] != "." and not path.is_symlink() and path.is_file():
                yield path
