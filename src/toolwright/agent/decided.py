"""Which tickets were decided, noted in a folder that processes share: none serves twice."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from time import time

from toolwright.approval import LIFETIME
from toolwright.errors import SetupError

_ID = re.compile("[0-9a-f]{32}")


def is_id(text: str) -> bool:
    """Whether a text can be the id of a ticket; only then it may name a file."""
    return _ID.fullmatch(text) is not None


def note_decided(folder: Path, tickets: Iterable[str]) -> None:
    """Leave a mark for each ticket, which other processes see.

    Args:
        folder: Where the marks are; it is made. Marks of tickets long expired are removed.
        tickets: Ids of those whose decisions are used now.

    Raises:
        SetupError: one of them was used before, here or in another process; or it cannot be noted.
    """
    wanted = list(tickets)
    if not all(map(is_id, wanted)):
        raise SetupError("a decision is for something that is no ticket")
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        _sweep(folder)
        for ticket in wanted:
            _mark(folder / ticket)
    except OSError as error:
        raise SetupError(f"what was decided cannot be noted, so it is not used: {error}") from None


def _mark(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise SetupError(
            "a decision in this saved run has served already: it is a copy of one that was used"
        ) from None


def _sweep(folder: Path) -> None:
    for mark in folder.iterdir():
        with contextlib.suppress(OSError):  # another process may do the same
            if is_id(mark.name) and mark.stat().st_mtime < time() - 2 * LIFETIME:
                mark.unlink()
