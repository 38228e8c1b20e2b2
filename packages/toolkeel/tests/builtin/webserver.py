"""A web server on loopback that the tests write in a line each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Asked:
    """One request, as it came.

    Args:
        path: With its query.
        headers: By lower-case name.
        body: Its bytes.
    """

    path: str
    headers: dict[str, str]
    body: bytes = b""
    method: str = "GET"


Write = Callable[[bytes], Awaitable[None]]
Answer = Callable[[Asked, Write], Awaitable[None]]


@dataclass
class WebServer:
    """What it was asked, and how often somebody connected."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[WebServer]:
    """A server that answers each request by `answer`, which writes bytes as it likes."""
    server = WebServer()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            asked = await _read(reader)
            server.asked.append(asked)

            async def write(data: bytes) -> None:
                writer.write(data)
                await writer.drain()

            await answer(asked, write)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = [line.split(":", 1) for line in head[1:] if ":" in line]
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    method, path, _ = head[0].split(" ", 2)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(path, headers, body, method)


def response(
    body: bytes | str = b"", kind: str = "text/html", status: str = "200 OK", **headers: str
) -> bytes:
    """A whole answer."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + data


def always(data: bytes) -> Answer:
    """Answer everything alike."""

    async def answer(asked: Asked, write: Write) -> None:
        await write(data)

    return answer


def redirect(location: str) -> Answer:
    """Send everybody elsewhere."""
    return always(response(status="302 Found", location=location))
