"""Who may send a request at all: Host, Origin, token, kind and size of the body, before any route.

Any web page that a person opens can send requests to a server on their machine. So the Host must be a
name of this server (DNS rebinding), the Origin must be its own or a named one, and a body must be JSON,
which no form of another page can send without asking (CSRF).
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = ("127.0.0.1", "localhost", "[::1]")
"""Hosts that only this machine reaches."""
MAX_BODY = 20_000_000
"""Bytes of a request's body."""


class Guard:
    """ASGI middleware that refuses requests from strangers, other pages and other hosts.

    Args:
        app: The protected application.
        token: Bearer token that each request must carry; empty for none.
        hosts: Host names to accept, with or without port; ``*`` stands for any part.
        origins: Origins of pages to accept, besides those of the accepted hosts.
        max_body: Bytes of a request's body.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str = "",
        hosts: Iterable[str] = LOCAL,
        origins: Iterable[str] = (),
        max_body: int = MAX_BODY,
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = tuple(re.compile(re.escape(host).replace(r"\*", ".*")) for host in hosts)
        self._origins = frozenset(origins)
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._app(scope, _limited(receive, self._max_body), send)

    def _refusal(self, method: str, headers: Headers) -> JSONResponse | None:
        """Return the response to a request that is not allowed, or None if it is."""
        if not self._is_own(headers.get("host", "")):
            return _refuse(421, "this server does not answer to this host")
        origin = headers.get("origin", "")
        if origin and not (origin in self._origins or self._is_own(_host_of(origin))):
            return _refuse(403, "this origin may not call")
        if method == "OPTIONS":
            return None  # the answer names origins that may call, and nothing else
        if self._token and not self._has_token(headers):
            return _refuse(401, "a bearer token is required", {"WWW-Authenticate": "Bearer"})
        if method not in ("GET", "HEAD"):
            return self._refuse_body(headers)
        return None

    def _refuse_body(self, headers: Headers) -> JSONResponse | None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return _refuse(415, "send application/json")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._max_body:
            return _refuse(413, f"send at most {self._max_body} bytes")
        return None

    def _is_own(self, host: str) -> bool:
        name, _, port = host.lower().rpartition(":")
        bare = name if name and port.isdecimal() else host.lower()
        return any(own.fullmatch(bare) or own.fullmatch(host.lower()) for own in self._hosts)

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        sent = token.strip().encode("latin-1", "replace")
        return scheme.lower() == "bearer" and hmac.compare_digest(sent, self._token)


class BodyTooLarge(Exception):
    """Raised while a body is read that is longer than it may be."""


def _limited(receive: Receive, most: int) -> Receive:
    """Return `receive` that raises once a body without a length grows too large."""
    size = 0

    async def receiving() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise BodyTooLarge
        return message

    return receiving


def _host_of(origin: str) -> str:
    """Return the host of an origin, with its port; empty for what is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:  # such as a bracket without its other half
        return ""


def _refuse(status: int, text: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": text}, status, headers)
