"""Reading the file of servers again when it changes, without dropping anybody (reload)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from toolkeel.errors import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.gateway.gateway import Gateway

INTERVAL = 1.0
"""Seconds between two looks at the file; editors replace it, so the file itself is not watched."""

log = logging.getLogger("toolkeel.mcp")
Read = Callable[[], Mapping[str, ServerConfig]]


async def follow(gateway: Gateway, file: Path, read: Read, interval: float = INTERVAL) -> None:
    """Give the gateway the servers of the file whenever it has changed, until cancelled.

    A file that cannot be read changes nothing, and is told once.

    Args:
        gateway: Whose servers they are.
        file: What is looked at.
        read: Reads it.
        interval: Seconds between two looks.
    """
    seen = _stamp(file)
    while True:
        await asyncio.sleep(interval)
        now = _stamp(file)
        if now == seen or now is None:
            continue
        seen = now
        try:
            await gateway.replace(await asyncio.to_thread(read))
        except SetupError as error:
            log.warning("%s has changed, and the servers stay as they were: %s", file, error)


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
