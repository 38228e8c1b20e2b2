"""Messages of JSON-RPC as lines, for the connection of an editor; what is no message is passed over."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

log = logging.getLogger("toolkeel")


class Lines:
    """A transport of the protocol's library that no line ends: its own stops reading after a JSON array.

    Args:
        reader: Has the lines of the editor.
        writer: Gets those for it.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sending = asyncio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message, and wait while the editor does not read."""
        line = json.dumps(message, separators=(",", ":")) + "\n"
        async with self._sending:
            self._writer.write(line.encode())
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end. An ``error`` that is no object becomes the message of one."""
        while line := await self._read_line():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict) and not isinstance(message.get("id"), dict | list):
                error = message.get("error")
                if not isinstance(error, dict | None):  # the library's loop would end at it
                    message["error"] = {"message": str(error)}
                return message
            if line.strip():
                log.warning("the editor has sent a line that is no message of JSON-RPC")
        return None

    async def close(self) -> None:
        """Wait for what is being written."""
        async with self._sending:
            pass

    async def _read_line(self) -> bytes:
        """Read a line of any length; empty at the end."""
        chunks: list[bytes] = []
        while True:
            try:
                return b"".join([*chunks, await self._reader.readuntil(b"\n")])
            except asyncio.LimitOverrunError as error:
                chunks.append(await self._reader.readexactly(error.consumed))
            except asyncio.IncompleteReadError as error:
                return b"".join([*chunks, error.partial])
