"""Folders and files that only their owner reads, and that survive a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make_private_file(path: Path) -> None:
    """Create folder and file, readable by their owner only; an existing file is unchanged."""
    make_folder(path.parent)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def make_folder(path: Path) -> None:
    """Create a folder for its owner only, and missing parents; sync all so that they survive a power cut."""
    new = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(0o700, parents=True, exist_ok=True)
    for each in new:
        sync_folder(each.parent)


def sync_folder(path: Path) -> None:
    """Sync a folder, so that the names in it survive a power cut; do nothing on Windows."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
