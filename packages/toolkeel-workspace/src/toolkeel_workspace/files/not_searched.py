"""What a search of files did not look into, as a sentence of its result."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice

from toolkeel_workspace.files.find import list_names
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.walk import FileWalk

MAX_SURVEYED = 20_000
"""Most files that are looked at for their size and their links, after a search."""


class NotSearched:
    """Files and folders that a search left out, by the reason.

    Args:
        root: The folder that bounds the search.
    """

    def __init__(self, root: Root) -> None:
        self._root = root
        self._names: dict[str, list[str]] = {}
        self._is_cut = False

    def add(self, reason: str, name: str) -> None:
        """Record a file or folder."""
        self._names.setdefault(reason, []).append(name)

    def survey(self, folder: str, max_bytes: int, is_wanted: Callable[[str], bool]) -> None:
        """Record what a walk below a folder leaves out: ignored names, links and large files.

        Args:
            folder: Where the search started.
            max_bytes: Size of the largest file that is searched.
            is_wanted: Returns True for files that were to be searched.
        """
        walk = FileWalk(self._root, folder, include_links=True)
        names = iter(walk)
        for name in islice(names, MAX_SURVEYED):
            try:
                size = os.lstat(self._root.path / name).st_size
            except (OSError, ValueError):
                continue
            if size > max_bytes and is_wanted(name):
                self.add(f"above {max_bytes >> 20} MB", name)
        self._is_cut = next(names, None) is not None
        left_out = [name for name in walk.skipped if name.endswith("/") or is_wanted(name)]
        for reason, paths in (
            ("ignored", left_out),
            ("links", list(filter(is_wanted, walk.links))),
            ("not to be listed", walk.unreadable),
        ):
            for name in paths:
                self.add(reason, name)

    def describe(self) -> str:
        """Return the reasons and the first names of each, as sentences; empty if there are none."""
        parts = [f"{list_names(names)} ({reason})" for reason, names in sorted(self._names.items())]
        said = [f"Not searched: {'; '.join(parts)}."] if parts else []
        if self._is_cut:
            said.append(
                f"More may have been left out: only the first {MAX_SURVEYED:,} files were looked at for that."
            )
        return " ".join(said)
