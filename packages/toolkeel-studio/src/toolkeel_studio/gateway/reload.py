"""Reloads the files of servers and rules when they change, without disconnecting clients."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from toolkeel.errors import SetupError
from toolkeel.mcp.state_files import file_version

INTERVAL = 1.0
"""Seconds between two checks of the file; editors replace it, so the file itself is not watched."""

log = logging.getLogger("toolkeel.mcp")


async def watch_file(
    file: Path, changed: Callable[[], Awaitable[object]], interval: float = INTERVAL
) -> None:
    """Call a function whenever a file has changed, until cancelled.

    A file that cannot be used changes nothing, and is told once.

    Args:
        file: What is looked at.
        changed: Reads it and does as it says.
        interval: Seconds between two looks.
    """
    last = file_version(file)
    while True:
        await asyncio.sleep(interval)
        now = file_version(file)
        if now == last or now is None:
            continue
        last = now
        try:
            await changed()
        except Exception as error:  # whatever is wrong with it, the next change is read
            known = isinstance(error, SetupError)
            warning = "%s has changed, and all stays as it was: %s"
            log.warning(warning, file, error, exc_info=None if known else error)
