"""A loopback HTTP proxy that connects only to allowed hosts, for browsers and commands.

Redirects, frames, workers, WebSockets and prefetches of a page bypass hooks on single requests, and a
command has no hooks at all. All of them use the proxy. For each connection the proxy resolves the
host once, checks every address (`toolkeel_workspace.sandbox.reachable_hosts`) and connects to a checked one. It does
not decrypt TLS. Clients need its password, so that other users of the machine cannot use it.
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
from toolkeel_workspace.sandbox.reachable_hosts import HostPolicy

MAX_CONNECTIONS = 128
"""Connections at once."""
MAX_BYTES = 512 << 20
"""Bytes in both directions together, until the proxy is closed."""
IDLE_SECONDS, CONNECT_SECONDS = 120.0, 10.0
_MAX_HEAD = 65_536
_CHUNK_SIZE = 65_536
_REQUEST = re.compile(rb"([A-Z]{1,16}) ([^ \r\n]{1,32768}) HTTP/1\.[01]\r\n")
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*(\d{1,15})[ \t]*\r?$")
_HOP_HEADERS = re.compile(
    rb"(?im)^(?:proxy-[\w-]+|connection|keep-alive|host)[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*"
)
_USER = "toolkeel"


class _ErrorResponse(Exception):
    """A request that the proxy answers itself, with an error status."""

    def __init__(self, status: str, why: str, header: str = "") -> None:
        super().__init__(why)
        self.response = (
            f"HTTP/1.1 {status}\r\n{header}Content-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(why.encode())}\r\nConnection: close\r\n\r\n{why}"
        ).encode()


class Proxy:
    """A proxy server; use it with ``async with``.

    Args:
        policy: Which hosts clients may connect to.

    Attributes:
        refused: The last refused hosts as ``host:port``, each with the reason.
        sent: Bytes from clients to servers.
        received: Bytes from servers to clients.
    """

    def __init__(self, policy: HostPolicy) -> None:
        self._policy = policy
        self._listener: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._unauthenticated: deque[asyncio.Task[None]] = deque()
        """Connections without a checked password yet, oldest first."""
        self.password = secrets.token_urlsafe(24)
        self.user = _USER
        self.refused: deque[tuple[str, str]] = deque(maxlen=100)
        self.sent = self.received = 0

    @property
    def url(self) -> str:
        """The address the proxy listens at."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def use_socket(self, listener: socket.socket) -> Proxy:
        """Listen on an existing socket instead of a new one. Return the proxy."""
        self._listener = listener
        return self

    async def __aenter__(self) -> Proxy:
        port = self._listener or socket.create_server(("127.0.0.1", 0))
        self._server = await asyncio.start_server(self._serve_client, sock=port, limit=_MAX_HEAD)
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
        self._unauthenticated.append(task)
        if (
            len(self._unauthenticated) > MAX_CONNECTIONS
        ):  # clients without the password cannot block the others
            self._unauthenticated.popleft().cancel()
        try:
            head = await self._read_head(reader)
            self._unauthenticated.remove(task)
            await self._serve(head, reader, writer)
        except _ErrorResponse as refused:
            with suppress(OSError):
                writer.write(refused.response)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # one side closed the connection, or the proxy is closing
        finally:
            with suppress(ValueError):
                self._unauthenticated.remove(task)
            await _close(writer)
            self._tasks.discard(task)

    async def _read_head(self, reader: asyncio.StreamReader) -> bytes:
        """Read a request's head and check the password in it."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise _ErrorResponse(
                "431 Request Header Fields Too Large", "The request's head is too long."
            ) from None
        self._check_password(head)
        return head

    async def _serve(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        found = _REQUEST.match(head)
        if found is None:
            raise _ErrorResponse("400 Bad Request", "This is not an HTTP request.")
        method, target = found[1].decode(), found[2].decode("latin-1")
        if len(self._tasks) - len(self._unauthenticated) > MAX_CONNECTIONS:
            raise _ErrorResponse(
                "503 Service Unavailable", f"There are {MAX_CONNECTIONS} connections already."
            )
        host, port = _parse_target(method, target)
        length = _parse_body_length(head) if method != "CONNECT" else -1
        there, out = await self._connect(host, port)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                out.write(_rewrite_head(head, found.end(), method, target))
            up = asyncio.create_task(self._forward_upload(reader, out, length))
            try:
                await self._forward_download(there, writer)
            finally:
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)
        finally:
            await _close(out)

    def _check_password(self, head: bytes) -> None:
        wanted = base64.b64encode(f"{self.user}:{self.password}".encode())
        sent = re.search(rb"(?im)^proxy-authorization:[ \t]*basic[ \t]+(\S+)[ \t]*\r?$", head)
        if sent is None or not hmac.compare_digest(sent[1], wanted):
            ask = 'Proxy-Authenticate: Basic realm="toolkeel"\r\n'
            raise _ErrorResponse(
                "407 Proxy Authentication Required", "The password is missing.", ask
            )

    async def _connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first checked address that accepts."""
        try:
            addresses = await self._policy.resolve_addresses(host, port)
        except ToolError as error:
            self.refused.append((f"{host}:{port}", error.text))
            raise _ErrorResponse("403 Forbidden", error.text) from None
        for address in addresses:
            with suppress(OSError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(address, port)
        raise _ErrorResponse("502 Bad Gateway", f"{host}:{port} cannot be reached.")

    async def _forward_upload(
        self, reader: asyncio.StreamReader, out: asyncio.StreamWriter, length: int
    ) -> None:
        """Forward what the client sends: all of a tunnel, or `length` bytes of a request's body."""
        while length and (
            piece := await reader.read(min(_CHUNK_SIZE, length) if length > 0 else _CHUNK_SIZE)
        ):
            length -= len(piece) if length > 0 else 0
            self.sent += len(piece)
            await self._forward(piece, out)
        if length < 0:
            with suppress(OSError, RuntimeError):
                out.write_eof()

    async def _forward_download(
        self, there: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            async with asyncio.timeout(IDLE_SECONDS):
                piece = await there.read(_CHUNK_SIZE)
            if not piece:
                return
            self.received += len(piece)
            await self._forward(piece, writer)

    async def _forward(self, piece: bytes, to: asyncio.StreamWriter) -> None:
        """Write a chunk to a peer, under the limits on bytes and on waiting."""
        if self.sent + self.received > MAX_BYTES:
            raise OSError("the proxy's byte limit is exceeded")
        to.write(piece)
        async with asyncio.timeout(IDLE_SECONDS):
            await to.drain()


def _parse_target(method: str, target: str) -> tuple[str, int]:
    """Parse the host and port of a request."""
    is_tunnel = method == "CONNECT"
    try:
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        host, port = parts.hostname, parts.port
        plain = not (parts.path or parts.query) if is_tunnel else parts.scheme == "http"
    except ValueError:
        raise _ErrorResponse("400 Bad Request", "The address is not valid.") from None
    if not host or not plain or "@" in parts.netloc or (is_tunnel and port is None):
        raise _ErrorResponse(
            "405 Method Not Allowed",
            "The proxy serves http:// addresses and CONNECT host:port only.",
        )
    return host, port or 80


def _parse_body_length(head: bytes) -> int:
    """Parse the length of a request's body, or 0 if it has none."""
    if re.search(rb"(?im)^(?:transfer-encoding|upgrade):", head):
        raise _ErrorResponse("411 Length Required", "The request needs a Content-Length.")
    lengths = {int(found) for found in _LENGTH.findall(head)}
    if len(lengths) > 1:
        raise _ErrorResponse("400 Bad Request", "The request has two different Content-Lengths.")
    return lengths.pop() if lengths else 0


def _rewrite_head(head: bytes, end: int, method: str, target: str) -> bytes:
    """Rewrite a request's head for the server: its path and host, no proxy headers, one response."""
    path = target.split("/", 3)[3:]
    first = f"{method} /{path[0] if path else ''} HTTP/1.1\r\nConnection: close\r\n"
    host = f"Host: {urlsplit(target).netloc}\r\n"  # the checked host, not the client's header
    return (first + host).encode("latin-1") + _HOP_HEADERS.sub(b"", head[end:])


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, asyncio.CancelledError, TimeoutError):
        async with asyncio.timeout(CONNECT_SECONDS):
            await writer.wait_closed()
    writer.transport.abort()  # discard what the peer has not read
