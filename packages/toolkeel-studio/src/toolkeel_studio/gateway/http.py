"""The gateway over HTTP: who may reach it, and as whom.

Each client has a token of its own, from the file of rules. A token ends at the gateway: nothing a
client sends besides its message goes on to a server.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse

from toolkeel.errors import SetupError
from toolkeel.mcp.server.http import asgi, is_loopback
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.policy import Policy

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send


class ClientTokens:
    """ASGI middleware that admits only clients with a token of the policy (RFC 6750).

    The name stands where the SDK looks whose a session, or the state of a waiting call, is: with
    another's token it is not found.

    Args:
        app: What is protected.
        policy: Knows the tokens.
    """

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app = AuthContextMiddleware(app)
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        name = self._policy.client_of_token(token.strip()) if scheme.lower() == "bearer" else None
        if name is None:
            challenge = {"WWW-Authenticate": 'Bearer realm="toolkeel"'}
            await JSONResponse({"error": "invalid_token"}, 401, challenge)(scope, receive, send)
            return
        user = AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[]))
        await self._app({**scope, "user": user}, receive, send)


def gateway_app(
    gateway: Gateway,
    policy: Policy,
    *,
    host: str = "127.0.0.1",
    token: str = "",
    allowed_hosts: Iterable[str] = (),
    **options: Any,
) -> Starlette:
    """Return a gateway as an ASGI application.

    Args:
        gateway: What is served.
        policy: Whose clients may reach it; where it names none, `token` is asked for.
        host: The address it will be bound to.
        token: One token for everybody.
        allowed_hosts: Host headers to accept besides those of this machine.
        options: Those of `toolkeel.mcp.server.http.asgi`.

    Raises:
        SetupError: others than this machine could reach it, and nothing asks who they are.
    """
    if not policy.has_clients:
        return asgi(gateway, host=host, token=token, allowed_hosts=allowed_hosts, **options)
    if token:
        raise SetupError("the file of rules has clients with tokens of their own: give no other")
    named = [] if is_loopback(host) else [host, f"{host}:*"]
    hosts = [*allowed_hosts, *named]
    app = asgi(gateway, host="127.0.0.1", allowed_hosts=hosts, **options)
    app.user_middleware.insert(1, Middleware(ClientTokens, policy=policy))  # within the health
    return app
