"""A `ToolServer` over HTTP: access control and the web server.

Any web page that the user opens can reach a server on this machine, so Host and Origin are checked
(DNS rebinding: specification, "Transports, Security"). The server listens only on loopback addresses
unless a token is required.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse

from toolkeel._common.checked_arguments import checked
from toolkeel.errors import SetupError
from toolkeel.mcp.server.drain import (
    METRICS_PATH,
    SHUTDOWN_SECONDS,
    DrainMiddleware,
    DrainState,
    graceful_shutdown,
)
from toolkeel.mcp.server.keep_alive import web_config
from toolkeel.mcp.server.readable_bodies import ReadableBodies
from toolkeel.mcp.server.tool_server import ToolServer

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

ENDPOINT_PATH = "/mcp"
"""Path of the endpoint, as clients expect it."""
MAX_SESSIONS = 1000
"""Maximum of open sessions of the older revisions."""
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


@checked
class BearerToken:
    """ASGI middleware that rejects requests without the bearer token (RFC 6750).

    Args:
        app: The protected application.
        token: The secret.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._has_token(Headers(scope=scope)):
            refusal = JSONResponse(
                {"error": "invalid_token"}, 401, {"WWW-Authenticate": 'Bearer realm="toolkeel"'}
            )
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _has_token(self, headers: Headers) -> bool:
        """Return True if the headers carry the token, compared in constant time."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(
            token.strip().encode("latin-1", "replace"), self._token
        )


@checked
def asgi(
    server: ToolServer,
    *,
    host: str = "127.0.0.1",
    token: str = "",
    allowed_hosts: Iterable[str] = (),
    allowed_origins: Iterable[str] = (),
    **options: Any,
) -> Starlette:
    """Return the server as an ASGI application, to run in any web server or mount in another one.

    ``/healthz`` answers if it accepts calls, ``/metrics`` with counts of calls.

    Args:
        server: The server.
        host: The address it will be bound to.
        token: Bearer token that each request must carry; empty for none.
        allowed_hosts: Host headers to accept besides those of this machine, such as
            ``tools.example.org`` or ``tools.example.org:*``.
        allowed_origins: Origins of web pages that may call, in the same form.
        options: Options of `mcp.server.Server.streamable_http_app`, such as ``auth`` and
            ``token_verifier`` for OAuth.

    Raises:
        SetupError: Other machines could reach it without authentication.
    """
    if not (token or "token_verifier" in options or is_loopback(host)):
        raise SetupError(
            f"other machines can reach {host} and could call every tool: require a token "
            "(token=..., --token), or bind to 127.0.0.1"
        )
    hosts = [bare for name in _LOCAL for bare in (name, f"{name}:*")]
    if not is_loopback(host) and not _is_unspecified(host):
        hosts += [host, f"{host}:*"]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in hosts]
    security = TransportSecuritySettings(
        allowed_hosts=[*hosts, *allowed_hosts], allowed_origins=[*origins, *allowed_origins]
    )
    options = {"streamable_http_path": ENDPOINT_PATH, "max_sessions": MAX_SESSIONS, **options}
    app = server.sdk.streamable_http_app(transport_security=security, host=host, **options)
    manager: Any = server.sdk.session_manager
    manager._admit_session = partial(_admit_session, manager, manager._admit_session)
    app.user_middleware.append(Middleware(ReadableBodies))  # after access control
    if token:
        app.user_middleware.insert(0, Middleware(BearerToken, token=token))
    app.state.draining = DrainState(server.metrics, server.close_streams)
    access = None if token else TransportSecurityMiddleware(security)
    app.add_route(METRICS_PATH, partial(_serve_metrics, app.state.draining, access))
    app.user_middleware.insert(0, Middleware(DrainMiddleware, draining=app.state.draining))
    return app


async def _serve_metrics(
    draining: DrainState, access: TransportSecurityMiddleware | None, request: Request
) -> Response:
    """Answer with the metrics, or refuse whom the endpoint would refuse.

    Args:
        draining: Has them.
        access: Checks Host and Origin; None if a token was checked.
        request: The request.
    """
    user = request.scope.get("user")  # of OAuth, or of a gateway's clients
    if user is not None and not user.is_authenticated:
        return JSONResponse({"error": "invalid_token"}, 401, {"WWW-Authenticate": "Bearer"})
    refusal = None
    if user is None and access is not None:
        refusal = await access.validate_request(request)
    return refusal or await draining.serve_metrics(request)


def _admit_session(manager: Any, admit: Callable[[Any], Any], owner: Any) -> Any:
    """Admit a session, and return what `admit` does.

    If there are too many, end an idle one first, of the same client if possible.
    """
    known: dict[str, Any] = manager._server_instances
    if manager.max_sessions is not None and len(known) >= manager.max_sessions:
        idle = [
            (manager._session_owners.get(id) != owner, each.idle_scope.deadline, id)
            for id, each in known.items()
            if each.idle_scope is not None and each.idle_scope.deadline < inf
        ]
        if idle:
            known.pop(min(idle)[2]).idle_scope.cancel()
    return admit(owner)


@checked
async def serve_http(
    server: ToolServer,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    shutdown_seconds: int = SHUTDOWN_SECONDS,
    **options: Any,
) -> None:
    """Serve over HTTP until cancelled or signaled. The endpoint is ``http://host:port/mcp``.

    Args:
        server: The server.
        host: Address to listen on.
        port: Port to listen on.
        shutdown_seconds: Seconds to wait for running requests on shutdown.
        options: Options of `asgi`.

    Raises:
        SetupError: Other machines could reach it without authentication.
    """
    await serve_app(asgi(server, host=host, **options), host, port, shutdown_seconds)


async def serve_app(
    app: Starlette, host: str, port: int, shutdown_seconds: int = SHUTDOWN_SECONDS
) -> None:
    """Serve an application of `asgi` until cancelled or signaled."""
    await uvicorn.Server(
        web_config(partial(with_graceful_shutdown, app), host, port, shutdown_seconds)
    ).serve()


def with_graceful_shutdown(app: Starlette) -> Starlette:
    """Set up `graceful_shutdown` for an `asgi` application, and return it.

    For web servers that handle signals themselves.
    """
    graceful_shutdown(app.state.draining)
    return app


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_unspecified(host: str) -> bool:
    """Return True for the address of all interfaces, such as ``0.0.0.0``."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return host == ""
