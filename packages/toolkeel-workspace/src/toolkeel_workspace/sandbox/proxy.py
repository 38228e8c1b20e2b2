"""A proxy on loopback that lets out only to what may be reached: the gate of browsers and commands.

Redirects, frames, workers, WebSockets and prefetches of a page ask nobody who watches single
requests, and a command asks nobody at all, but all of them pass by the proxy. Each connection is a hop of its own: its host is
resolved once, all addresses are checked (`engines/reachable_hosts.py`), and the connection goes to one of those.
TLS is not opened. Whoever uses the proxy needs its password, so that no other user of the machine
can.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import re
import secrets
import socket
from collections import deque
from contextlib import suppress
from types import TracebackType
from urllib.parse import urlsplit

from toolkeel.errors import ToolError
from toolkeel_workspace.sandbox.reachable_hosts import Reach

MOST = 128
"""Most connections at once."""
MAX_BYTES = 512 << 20
"""Bytes that may come and go in all, until the proxy is closed."""
IDLE, CONNECT = 120.0, 10.0
_HEAD = 65_536
_PIECE = 65_536
_REQUEST = re.compile(rb"([A-Z]{1,16}) ([^ \r\n]{1,32768}) HTTP/1\.[01]\r\n")
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d{1,15})[ \t]*\r?$")
_OURS = re.compile(
    rb"(?im)^(?:proxy-[\w-]+|connection|keep-alive|host)[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*"
)
_USER = "toolkeel"


class _Refused(Exception):
    """A request that is answered by the proxy itself."""

    def __init__(self, status: str, why: str, header: str = "") -> None:
        super().__init__(why)
        self.response = (
            f"HTTP/1.1 {status}\r\n{header}Content-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(why.encode())}\r\nConnection: close\r\n\r\n{why}"
        ).encode()


class Proxy:
    """The proxy; use it with ``async with``.

    Args:
        reach: What may be reached.

    Attributes:
        refused: What was refused last, as ``host:port``, each with the reason.
        sent: Bytes that have left by it.
        received: Bytes that have come.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._port: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._unknown: deque[asyncio.Task[None]] = deque()
        """Those who have not told the password yet, in the order they came."""
        self.password = secrets.token_urlsafe(24)
        self.user = _USER
        self.refused: deque[tuple[str, str]] = deque(maxlen=100)
        self.sent = self.received = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def at(self, port: socket.socket) -> Proxy:
        """The same, to listen at a port that is open already."""
        self._port = port
        return self

    async def __aenter__(self) -> Proxy:
        port = self._port or socket.create_server(("127.0.0.1", 0))
        self._server = await asyncio.start_server(self._serve_client, sock=port, limit=_HEAD)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve_client(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._unknown.append(task)
        if len(self._unknown) > MOST:  # whoever does not know the password holds up nobody who does
            self._unknown.popleft().cancel()
        try:
            head = await self._head(reader)
            self._unknown.remove(task)
            await self._serve(head, reader, writer)
        except _Refused as refused:
            with suppress(OSError):
                writer.write(refused.response)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # one side has gone, or the browser is closed: that ends the connection, no more
        finally:
            with suppress(ValueError):
                self._unknown.remove(task)
            await _close(writer)
            self._tasks.discard(task)

    async def _head(self, reader: asyncio.StreamReader) -> bytes:
        """What is asked, by somebody who knows the password."""
        try:
            async with asyncio.timeout(CONNECT):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise _Refused("431 Request Header Fields Too Large", "The head is too long.") from None
        self._check_password(head)
        return head

    async def _serve(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        found = _REQUEST.match(head)
        if found is None:
            raise _Refused("400 Bad Request", "This is no request.")
        method, target = found[1].decode(), found[2].decode("latin-1")
        if len(self._tasks) - len(self._unknown) > MOST:
            raise _Refused("503 Service Unavailable", f"There are {MOST} connections already.")
        host, port = _place(method, target)
        length = _length(head) if method != "CONNECT" else -1
        there, out = await self._connected(host, port)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                out.write(_forwarded(head, found.end(), method, target))
            up = asyncio.create_task(self._up(reader, out, length))
            try:
                await self._down(there, writer)
            finally:
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)
        finally:
            await _close(out)

    def _check_password(self, head: bytes) -> None:
        wanted = base64.b64encode(f"{self.user}:{self.password}".encode())
        given = re.search(rb"(?im)^proxy-authorization:[ \t]*basic[ \t]+(\S+)[ \t]*\r?$", head)
        if given is None or not hmac.compare_digest(given[1], wanted):
            ask = 'Proxy-Authenticate: Basic realm="toolkeel"\r\n'
            raise _Refused("407 Proxy Authentication Required", "The password is missing.", ask)

    async def _connected(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the first address that takes one, of those that were checked."""
        try:
            addresses = await self._reach.addresses(host, port)
        except ToolError as error:
            self.refused.append((f"{host}:{port}", error.text))
            raise _Refused("403 Forbidden", error.text) from None
        for address in addresses:
            with suppress(OSError):
                async with asyncio.timeout(CONNECT):
                    return await asyncio.open_connection(address, port)
        raise _Refused("502 Bad Gateway", f"{host}:{port} cannot be reached.")

    async def _up(
        self, reader: asyncio.StreamReader, out: asyncio.StreamWriter, length: int
    ) -> None:
        """What the browser sends: all of a tunnel, of a request its body alone."""
        while length and (
            piece := await reader.read(min(_PIECE, length) if length > 0 else _PIECE)
        ):
            length -= len(piece) if length > 0 else 0
            self.sent += len(piece)
            await self._pass(piece, out)
        if length < 0:
            with suppress(OSError, RuntimeError):
                out.write_eof()

    async def _down(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            async with asyncio.timeout(IDLE):
                piece = await there.read(_PIECE)
            if not piece:
                return
            self.received += len(piece)
            await self._pass(piece, writer)

    async def _pass(self, piece: bytes, to: asyncio.StreamWriter) -> None:
        """Pass on what has come, to somebody who reads."""
        if self.sent + self.received > MAX_BYTES:
            raise OSError("more has come and gone than may")
        to.write(piece)
        async with asyncio.timeout(IDLE):
            await to.drain()


def _place(method: str, target: str) -> tuple[str, int]:
    """Host and port of a request."""
    is_tunnel = method == "CONNECT"
    try:
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        host, port = parts.hostname, parts.port
        plain = not (parts.path or parts.query) if is_tunnel else parts.scheme == "http"
    except ValueError:
        raise _Refused("400 Bad Request", "The address cannot be read.") from None
    if not host or not plain or "@" in parts.netloc or (is_tunnel and port is None):
        raise _Refused("405 Method Not Allowed", "This is no place that the proxy asks.")
    return host, port or 80


def _length(head: bytes) -> int:
    """How many bytes of body follow a request."""
    if re.search(rb"(?im)^(?:transfer-encoding|upgrade):", head):
        raise _Refused("411 Length Required", "A body must say its length.")
    lengths = {int(found) for found in _LENGTH.findall(head)}
    if len(lengths) > 1:
        raise _Refused("400 Bad Request", "It says two lengths.")
    return lengths.pop() if lengths else 0


def _forwarded(head: bytes, end: int, method: str, target: str) -> bytes:
    """The head of a request as the server shall see it: its own path and host, and one answer alone."""
    path = target.split("/", 3)[3:]
    first = f"{method} /{path[0] if path else ''} HTTP/1.1\r\nConnection: close\r\n"
    host = f"Host: {urlsplit(target).netloc}\r\n"  # that was checked, whatever else it says
    return (first + host).encode("latin-1") + _OURS.sub(b"", head[end:])


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, asyncio.CancelledError, TimeoutError):
        async with asyncio.timeout(CONNECT):
            await writer.wait_closed()
    writer.transport.abort()  # what is left was not read
