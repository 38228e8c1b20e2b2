"""A real authorization server (the SDK's) and a server of ours that wants its tokens, on loopback.

They are two origins, as they nearly always are. Whatever a test wants to go wrong is done to the
authorization server's own records.
"""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import parse_qsl, urlencode

import httpx2
import jwt
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.mcp.peers import free_port
from tests.waiting import until_sync
from toolkeel import ToolContext
from toolkeel.mcp.server.http import asgi
from toolkeel.mcp.server.tool_server import ToolServer


class Authority:
    """What the authorization server knows.

    Attributes:
        clients: Registered, by id; a test may forget some.
        access: Tokens that are good; a test may revoke some.
        refresh: Refresh tokens that are good, each for one use.
        lifetime: Seconds of an access token.
        issuer: What it says in an answer that it is (RFC 9207).
        drops_slash: Whether its metadata name it without the final slash that others write.
        refuses: What it answers instead of a code.
        logins: How often a person was sent back with a code.
        refreshed: How often a token was.
        asked: The scopes of each request for a code.
        calls_need: A scope without which a call of a tool is refused.
        programs: Secrets and public keys of programs that log in without a person, by id.
        granted: The forms of their logins.
    """

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.lifetime = 3600
        self.issuer = ""
        self.own_issuer = ""
        self.drops_slash = False
        self.refuses: dict[str, str] = {}
        self.asked: list[list[str]] = []
        self.calls_need = ""
        self.programs: dict[str, str] = {}
        self.granted: list[dict[str, str]] = []
        self.logins = self.refreshed = self.registered = 0
        self._codes: dict[str, AuthorizationCode] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.registered += 1
        assert client_info.client_id
        client_info.scope = "use write"
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        self.asked.append(params.scopes or [])
        back = {"state": params.state, "iss": self.issuer or None, **self.refuses}
        if not self.refuses:
            code = AuthorizationCode(
                code=secrets.token_urlsafe(8),
                scopes=params.scopes or [],
                expires_at=time.time() + 60,
                client_id=client.client_id or "",
                **params.model_dump(include=_OF_CODES),
            )
            self._codes[code.code] = code
            back["code"] = code.code
        return construct_redirect_uri(str(params.redirect_uri), **back)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self.logins += 1
        del self._codes[authorization_code.code]
        return self._token(client, authorization_code.scopes)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.refreshed += 1
        del self.refresh[refresh_token.token]
        return self._token(client, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.access.get(token)
        return found if found is not None and (found.expires_at or 0) > time.time() else None

    async def verify_token(self, token: str) -> AccessToken | None:
        return await self.load_access_token(token)

    def _token(self, client: OAuthClientInformationFull, scopes: list[str]) -> OAuthToken:
        id, token, again = (
            client.client_id or "",
            secrets.token_urlsafe(8),
            secrets.token_urlsafe(8),
        )
        ends = int(time.time() + self.lifetime)
        self.access[token] = AccessToken(token=token, client_id=id, scopes=scopes, expires_at=ends)
        self.refresh[again] = RefreshToken(token=again, client_id=id, scopes=scopes)
        return OAuthToken(access_token=token, refresh_token=again, expires_in=self.lifetime)

    def grant(self, form: dict[str, str], basic: str) -> OAuthToken | None:
        """Give a program a token for its secret or its signed assertion."""
        if assertion := form.get("client_assertion", ""):
            id = jwt.decode(assertion, options={"verify_signature": False})["sub"]
            with suppress(jwt.PyJWTError):
                jwt.decode(
                    assertion, self.programs[id], ["ES256", "RS256"], audience=self.own_issuer
                )
                form["client_id"] = id
        else:
            id, _, secret = base64.b64decode(basic.removeprefix("Basic ")).decode().partition(":")
            if self.programs.get(id) == secret:
                form["client_id"] = id
        if "client_id" not in form:
            return None
        self.granted.append(form)
        client = OAuthClientInformationFull(client_id=form["client_id"], redirect_uris=None)
        return self._token(client, form.get("scope", "").split()).model_copy(
            update={"refresh_token": None}
        )

    def goes_far_enough(self, bearer: str, message: bytes) -> bool:
        """Whether a token is good for a message."""
        found = self.access.get(bearer.removeprefix("Bearer "))
        return (
            found is None
            or b'"tools/call"' not in message
            or not self.calls_need
            or self.calls_need in found.scopes
        )

    def revoke(self, refresh: bool = False) -> None:
        """Let no token be good any more, nor, if `refresh`, what renews one."""
        self.access.clear()
        if refresh:
            self.refresh.clear()


_OF_CODES = {"code_challenge", "redirect_uri", "redirect_uri_provided_explicitly", "resource"}


async def agreeing(url: str) -> str:
    """A person who agrees to everything."""
    async with httpx2.AsyncClient() as browser:
        response = await browser.get(url)
    assert response.status_code == 302, f"the person sees {response.text}"
    return response.headers["location"]


def answering(**query: str) -> str:
    """Where a login page could send somebody."""
    return f"http://127.0.0.1:1/callback?{urlencode(query)}"


@contextmanager
def listening(app: ASGIApp, port: int) -> Iterator[None]:
    """An application on a port of this machine, in a thread."""
    server = uvicorn.Server(
        uvicorn.Config(app, "127.0.0.1", port, log_level="error", lifespan="on")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until_sync(lambda: server.started, 30)
        yield
    finally:
        server.should_exit = True
        thread.join(30)


def stepping_up(app: ASGIApp, authority: Authority) -> ASGIApp:
    """An application whose calls may need more than the rest of it."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        request = Request(scope, receive)
        body: bytes | None = await request.body()
        if not authority.goes_far_enough(request.headers.get("authorization", ""), body or b""):
            need = f'Bearer error="insufficient_scope", scope="{authority.calls_need}"'
            refusal = Response(status_code=403, headers={"www-authenticate": need})
            await refusal(scope, receive, send)
            return

        async def again() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            first, body = body, None
            return {"type": "http.request", "body": first, "more_body": False}

        await app(scope, again, send)

    return checked


def dropping_slash(app: ASGIApp, authority: Authority) -> ASGIApp:
    """Serve metadata that name the authorization server without its final slash."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if not authority.drops_slash or "oauth-authorization-server" not in scope.get("path", ""):
            await app(scope, receive, send)
            return
        sent: list[Message] = []

        async def note(message: Message) -> None:
            sent.append(message)

        await app(scope, receive, note)
        data = json.loads(b"".join(each.get("body", b"") for each in sent))
        named = {**data, "issuer": data["issuer"].rstrip("/")}
        await JSONResponse(named)(scope, receive, send)

    return served


def serving_programs(app: ASGIApp, authority: Authority) -> ASGIApp:
    """Give tokens to programs, which the SDK's server does not."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") != "/token":
            await app(scope, receive, send)
            return
        request = Request(scope, receive)
        body = await request.body()
        form = dict(parse_qsl(body.decode()))
        if form.get("grant_type") != "client_credentials":

            async def again() -> Message:
                return {"type": "http.request", "body": body, "more_body": False}

            await app(scope, again, send)
            return
        token = authority.grant(form, request.headers.get("authorization", ""))
        refusal = {"error": "invalid_client", "error_description": "unknown program"}
        answer = refusal if token is None else token.model_dump(exclude_none=True)
        await JSONResponse(answer, 401 if token is None else 200)(scope, receive, send)

    return served


@contextmanager
def authorized() -> Iterator[tuple[str, Authority]]:
    """The address of a server that wants a login, and who gives it."""
    authority, at, here = Authority(), free_port(), free_port()
    issuer, resource = AnyHttpUrl(f"http://127.0.0.1:{at}"), f"http://127.0.0.1:{here}"
    routes = create_auth_routes(
        authority,
        issuer,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["use", "write"], default_scopes=["use"]
        ),
    )
    settings = AuthSettings(
        issuer_url=issuer,
        resource_server_url=AnyHttpUrl(f"{resource}/mcp"),
        required_scopes=["use"],
        validate_token_resource=False,
    )

    async def echo(text: str, context: ToolContext) -> str:
        """Say it again."""
        return text

    app = asgi(ToolServer([echo]), auth=settings, token_verifier=authority)
    with ExitStack() as stack:
        behind = serving_programs(Starlette(routes=routes), authority)
        stack.enter_context(listening(dropping_slash(behind, authority), at))
        stack.enter_context(listening(stepping_up(app, authority), here))
        yield f"{resource}/mcp", authority
