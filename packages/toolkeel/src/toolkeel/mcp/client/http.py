"""A server on the network: an HTTP client whose failures cost one request, not the connection.

The SDK ends the whole connection when a request cannot be sent. Here what goes wrong on the network
becomes an answer of the protocol to that one request, which says whether the request can have
reached the server. Bodies are bounded.
"""

from __future__ import annotations

import ipaddress
import json
import re
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from toolkeel._common.public_addresses import is_public, unwrap_ipv4
from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.client.frames import MAX_FRAME_BYTES
from toolkeel.mcp.client.lost_sessions import session_error
from toolkeel.mcp.client.mend_responses import (
    FORGOTTEN,
    LOST,
    NOT_SENT,
    REFUSED,
    UNCLEAR,
    UNREACHED,
    transport_error,
)
from toolkeel.mcp.client.proxies import ClientTransport, ProxyTransport, tls_context
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.messages import repair_event, repair_response_body, replace_lone_surrogates

_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
)
_KEEP_OPEN = 3600.0


class BoundedTransport(httpx2.AsyncBaseTransport):
    """HTTP transport that bounds bodies and turns failures into JSON-RPC error responses.

    Args:
        inner: Transport that sends.
        limit: Most bytes of a body that is no stream of events.
        home: Address of the server. Other addresses that it names, such as for logging in, are
            requested only if they are public.
    """

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, limit: int = MAX_FRAME_BYTES, home: str = ""
    ) -> None:
        self._inner = inner
        self._limit = limit
        self._home = httpx2.URL(home).host

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; answer 403 if `_leaves_origin` forbids it. A failed POST of a message becomes an error response."""
        if self._home and _leaves_origin(request.url, self._home):
            await request.aread()
            return httpx2.Response(403, text="This address is not asked.", request=request)
        if request.method != "POST" or not _is_message(request):
            return await self._read(await self._inner.handle_async_request(request))
        await request.aread()  # what a redirect leads to has its message as a stream
        try:
            response = await self._inner.handle_async_request(request)
            if response.status_code in (404, 410) and "mcp-session-id" in request.headers:
                await response.aclose()
                return _error_response(request, FORGOTTEN, "the server has ended the session")
            return await self._read(response, request)
        except _UNSENT as error:
            why = f"{request.url.host} cannot be reached: {error}"
            return _error_response(request, UNREACHED, why)
        except httpx2.TransportError as error:
            why = str(error) or type(error).__name__
            return _error_response(
                request, LOST, f"the connection to {request.url.host} broke: {why}"
            )

    async def _read(
        self, response: httpx2.Response, message: httpx2.Request | None = None
    ) -> httpx2.Response:
        """Read the body of a response, repaired; leave an event stream open, but limit the size of its events.

        Args:
            response: The response, its body unread.
            message: The request, if it carries a message of the protocol, as then must a refusal.

        Raises:
            httpx2.ReadError: the body is too large, or compressed in an unknown way.
        """
        await _decompress(response)
        if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _EventStream(response.stream, self._limit)
            return response
        content, headers = await self._body(response), response.headers
        named = headers.get("content-type", "").lower().startswith("application/json")
        is_json = named or content.lstrip()[:1] in (b"{", b"[")  # whatever it is called
        if message is not None and response.status_code == 200 and is_json:
            content, headers = repair_response_body(content, message.content), _as_json(headers)
        elif named:
            content = replace_lone_surrogates(content)
        status = response.status_code
        if message is not None and status >= 400 and status != 404:
            status, content, headers = _status_error(status, content, headers, message)
        return httpx2.Response(
            status,
            headers=headers,
            stream=httpx2.ByteStream(content),
            extensions=response.extensions,
        )

    async def _body(self, response: httpx2.Response) -> bytes:
        """Read a body, and close the response, also after an error.

        Raises:
            httpx2.ReadError: it is larger than the limit.
        """
        body = bytearray()
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        try:
            async for chunk in response.stream:
                body += chunk
                if len(body) > self._limit:
                    raise httpx2.ReadError(f"an answer is larger than {self._limit} bytes")
        finally:
            await response.aclose()
        return bytes(body)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _EventStream(httpx2.AsyncByteStream):
    """Event stream whose events are repaired as they arrive."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        buffer, searched = bytearray(), 0
        async for chunk in self._inner:
            buffer += chunk
            while (end := _END_OF_EVENT.search(buffer, searched)) is not None:
                yield repair_event(bytes(buffer[: end.start()])) + b"\n\n"
                del buffer[: end.end()]
                searched = 0
            searched = max(len(buffer) - 3, 0)
            if len(buffer) > self._limit:  # the reader has a bound of its own, and tells
                yield bytes(buffer)
                buffer.clear()
                searched = 0
        last = bytes(buffer)
        event = repair_event(last)
        yield last if event == last else event + b"\n\n"  # cut short, it is none: it may come again

    async def aclose(self) -> None:
        """Close the response's own stream."""
        await self._inner.aclose()


class _Decompressed(httpx2.AsyncByteStream):
    """Body that is decompressed in small pieces, so that readers can stop at their limit."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decompressor = zlib.decompressobj(wbits=47)  # of gzip or zlib
        async for chunk in self._inner:
            while chunk:
                try:
                    yield decompressor.decompress(chunk, _PIECE_BYTES)
                except zlib.error as error:
                    raise httpx2.ReadError(f"an answer cannot be decompressed: {error}") from None
                chunk = decompressor.unconsumed_tail

    async def aclose(self) -> None:
        await self._inner.aclose()


_PIECE_BYTES = 65_536


async def _decompress(response: httpx2.Response) -> None:
    """Replace the stream and headers of a response in place if it is compressed, though nothing asked for that.

    Raises:
        httpx2.ReadError: the encoding is not known; the response is closed.
    """
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        await response.aclose()
        raise httpx2.ReadError(f"an answer is compressed ({encoding:.20}), which was not asked for")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Decompressed(response.stream)
    for name in ("content-encoding", "content-length"):
        response.headers.pop(name, None)


_END_OF_EVENT = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")


def _leaves_origin(url: httpx2.URL, home: str) -> bool:
    """Return True if a URL named by a server must not be requested (SSRF).

    Over http only its own host, or any of this machine if it is one itself; over https any name,
    since whoever answers must prove to be it, but no address that is not public.
    """
    if url.host == home or (_is_loopback_host(home) and _is_loopback_host(url.host)):
        return False
    if url.scheme != "https" or _is_loopback_host(url.host):
        return True
    try:
        return not is_public(ipaddress.ip_address(url.host))
    except ValueError:
        return False


def _is_loopback_host(host: str) -> bool:
    """Return True for a loopback address or ``localhost``."""
    try:
        return unwrap_ipv4(ipaddress.ip_address(host)).is_loopback
    except ValueError:
        return host.rstrip(".") == "localhost"


def _is_message(request: httpx2.Request) -> bool:
    """Return True if a request posts a message of the protocol."""
    return request.headers.get("content-type", "").startswith("application/json") and (
        "text/event-stream" in request.headers.get("accept", "")
    )


def _status_error(
    status: int, content: bytes, headers: httpx2.Headers, message: httpx2.Request
) -> tuple[int, bytes, httpx2.Headers]:
    """Convert an HTTP refusal, whose reason the SDK would drop, to a JSON-RPC error; keep one that is.

    One about a forgotten session becomes that error. A result that is refused so is an answer (200).
    """
    reason = content.decode("utf-8", "replace").strip()[:300]
    in_session = status in _OF_SESSIONS and "mcp-session-id" in message.headers
    if in_session and (code := session_error(content, message.content)) is not None:
        said = f"the server has ended the session (HTTP {status}: {reason})"
        return status, _error(code, said), _as_json(headers)
    if headers.get("content-type", "").lower().startswith("application/json"):
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        if isinstance(body, dict) and "jsonrpc" in body:
            is_answer = "result" in body
            mended = repair_response_body(content, message.content) if is_answer else content
            return 200 if is_answer else status, mended, headers
    text = f"HTTP {status}" + (f": {reason}" if reason and not reason.startswith("<") else "")
    text += _LOGIN if status == 401 else ""
    code = REFUSED if status in _UNREAD else UNCLEAR
    error = _error(code, f"the server refused the request: {text}")
    if status >= 500:  # whatever stands between may have lost an answer that there was
        error = _error(LOST, f"instead of an answer came {text}")
    return status, error, _as_json(headers)


def _as_json(headers: httpx2.Headers) -> httpx2.Headers:
    """Return headers for a JSON body, without those about the former body."""
    others = [(key, value) for key, value in headers.multi_items() if key.lower() not in _FRAMING]
    return httpx2.Headers([*others, ("content-type", "application/json")])


_LOGIN = ' (to log in: auth="oauth", or toolkeel mcp login with its name or address)'
_UNREAD = (401, 403, 405, 406, 415, 429)
"""Refusals of a request that was surely not looked at."""
_OF_SESSIONS = (400, 405, 422)
"""Refusals that may be about the session, if their text says so."""
_FRAMING = ("content-type", "content-length", "content-encoding", "transfer-encoding")


def _error_response(request: httpx2.Request, code: int, text: str) -> httpx2.Response:
    """Return a 503 response with a JSON-RPC error."""
    return httpx2.Response(
        503,
        headers={"content-type": "application/json"},
        content=_error(code, text),
        request=request,
    )


def _error(code: int, text: str) -> bytes:
    """Return a JSON-RPC error response of our transport as bytes, with null as its id."""
    error = transport_error(code, text).model_dump(mode="json")
    body = {"jsonrpc": "2.0", "id": None, "error": error}
    return json.dumps(body, ensure_ascii=False).encode()


class _Client(httpx2.AsyncClient):
    """HTTP client whose failed logins fail one request, not the connection."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request with authorization; a failed login becomes an error response, but raises in a handshake."""
        try:
            return await super().send(request, **options)
        except (OAuthFlowError, SetupError) as error:
            if not _is_message(request) or _METHOD.search(request.content) is not None:
                raise
            return _error_response(request, NOT_SENT, str(error))


_METHOD = re.compile(rb'"method"\s*:\s*"(initialize|server/discover)"')


@record
class NetworkOptions:
    """How a server on the network is reached.

    Args:
        config: Its address, headers and certificates.
        auth: Authorizes requests; None for none.
        http_client: The program's own client that sends them; None for ours.
    """

    config: ServerConfig
    auth: httpx2.Auth | None = None
    http_client: httpx2.AsyncClient | None = None

    def transport(self) -> httpx2.AsyncBaseTransport:
        """Return a new transport that sends requests, protected against SSRF.

        Raises:
            SetupError: its certificates cannot be used.
        """
        home, lent = self.config.url, self.http_client
        sends = (
            ClientTransport(lent, home) if lent else ProxyTransport(tls_context(self.config.tls))
        )
        return BoundedTransport(sends, home=home)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of each request: no compression, and the configuration's, which win."""
        return {"accept-encoding": "identity", **self.config.headers}


def _client(network: NetworkOptions, timeout: float) -> httpx2.AsyncClient:
    """Return an HTTP client with the network's headers, authorization and transport, or raise as `transport`."""
    return _Client(
        headers=network.headers,
        auth=network.auth,
        timeout=httpx2.Timeout(timeout, read=_KEEP_OPEN),
        transport=network.transport(),
    )


@asynccontextmanager
async def http(network: NetworkOptions, timeout: float, *, older: bool) -> AsyncIterator[Any]:
    """Open a connection to a server on the network, and yield its streams.

    Args:
        network: How it is reached.
        timeout: Seconds to connect, and to send.
        older: True if it speaks the older form (SSE).

    Raises `SetupError` if its certificates cannot be used.
    """
    if older:
        factory: Any = partial(httpx2.AsyncClient, transport=network.transport())
        async with sse_client(
            network.config.url,
            network.headers,
            timeout,
            sse_read_timeout=_KEEP_OPEN,
            httpx_client_factory=factory,
            auth=network.auth,
        ) as streams:
            yield streams
        return
    async with (
        _client(network, timeout) as client,
        streamable_http_client(
            network.config.url, http_client=client, max_sse_event_size=MAX_FRAME_BYTES
        ) as streams,
    ):
        yield streams
