"""The SDK's login (OAuth 2.1) without its faults.

It holds one lock while a request is on its way, so that four calls of a second take four. On a 401
it goes to the browser although a refresh token is at hand. In a new process it does not know where
the authorization server is, and sends the refresh token to the server itself. And it does not notice
that the server has forgotten its registration. Here a request holds nothing, a 401 refreshes first,
where to refresh is kept with the tokens, and whoever renews a login is alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import cast
from urllib.parse import urlencode

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthTokenError, utils
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER

from toolkeel.errors import SetupError
from toolkeel.mcp.client.oauth.token_storage import Tokens

Flow = AsyncGenerator[httpx2.Request, httpx2.Response]
_UNKNOWN = ("invalid_client", "unauthorized_client")


class LoginFlow(OAuthClientProvider):
    """The SDK's login, without a lock during requests, and with refresh before a new login.

    Attributes:
        at_login: True while a person logs in; no time limit then applies.
        needs_person: True if a person logs in.
        scope: Scopes to request; None for those that the server names.
        issuer: The only authorization server to log in at; empty for the one that the server names.
        server: Name of the server, for errors.
        own_issuer: The name that the authorization server gives itself, where it differs by a
            final slash from the one that the MCP server writes; empty otherwise.
    """

    at_login = False
    needs_person = True
    scope: str | None = None
    issuer = ""
    server = ""
    own_issuer = ""
    _refused = ""

    @property
    def _tokens(self) -> Tokens:
        """The storage of the login."""
        return cast("Tokens", self.context.storage)

    async def _initialize(self) -> None:
        """Load the stored login, with its expiry time and the authorization server; raise `SetupError` if unreadable.

        A token that was refused counts as expired; one that has expired and cannot be refreshed is dropped.
        """
        await super()._initialize()
        self.context.token_expiry_time = await self._tokens.expires()
        if self._bearer() == self._refused:
            self.context.token_expiry_time = time.time() - 1  # whatever it was said to be
        metadata = await self._tokens.metadata()
        self.context.oauth_metadata = self.context.oauth_metadata or metadata
        if self.context.oauth_metadata is None and not self.context.is_token_valid():
            self.context.clear_tokens()  # nobody knows where it could be refreshed

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        """Store the tokens of a response, and the authorization server that issued them. Raises as the SDK's."""
        await super()._handle_token_response(response)
        await self._tokens.set_metadata(self.context.oauth_metadata)

    async def _auth_flow(self, request: httpx2.Request) -> Flow:
        """Yield a request with its token, after a refresh or a login if there is no valid one or the server refuses it.

        Stores the refused token; `at_login` is True during a login. Sets the request's header.
        """
        self.context.protocol_version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if not self._initialized:
            await self._initialize()
        short: httpx2.Response | None = None
        for refresh in (False, True):
            if refresh:
                async with self._tokens.exclusive():
                    if not await self._restart_login() and self.context.can_refresh_token():
                        await self._refreshed((yield await self._refresh_token()))
            if self.context.is_token_valid():
                self._add_auth_header(request)
                response = yield request
                if _wants_more(response):
                    short = response
                    break
                if response.status_code != 401:
                    return
                self._refused = request.headers["authorization"]
        self.at_login = self.needs_person
        try:
            async with aclosing(self._login(request, short)) as login:
                with suppress(StopAsyncIteration):
                    sent = await anext(login)
                    while True:
                        sent = await login.asend((yield sent))
        finally:
            self.at_login = False

    def _bearer(self) -> str:
        """Return the current authorization header, or an empty string."""
        tokens = self.context.current_tokens
        return f"Bearer {tokens.access_token}" if tokens is not None else ""

    async def _restart_login(self) -> bool:
        """Reload the stored login. Return True if its token is valid, as after another process renewed it."""
        await self._initialize()
        return self.context.is_token_valid()

    async def _refreshed(self, response: httpx2.Response) -> None:
        """Store the result of a refresh; if the server no longer knows the client, forget its registration.

        Raises:
            OAuthTokenError: the authorization server cannot answer now; the login is still good.
        """
        if response.status_code >= 500 or response.status_code == 429:
            raise OAuthTokenError(f"the login cannot be refreshed now: HTTP {response.status_code}")
        body = await response.aread()
        if not await self._handle_refresh_response(response) and _error_in(body) in _UNKNOWN:
            await self._forget_client()

    async def _login(self, request: httpx2.Request, short: httpx2.Response | None) -> Flow:
        """Yield the requests of a person's login, once for all requests that need it.

        Args:
            request: The request that needs it.
            short: The response to a valid token with too small a scope; None for no valid token.
        """
        async with self._tokens.exclusive(), aclosing(super()._auth_flow(request)) as flow:
            if (
                not await self._restart_login()
                or request.headers.get("authorization") == self._bearer()
            ):
                if (knock := self._probe_challenge(short)) is not None:
                    answer = yield knock
                    await answer.aread()
                    if answer.status_code in (400, 401) or _error_in(answer.content) in _UNKNOWN:
                        await self._forget_client()
                self.own_issuer = ""
                try:
                    sent, times = await anext(flow), 0
                    while (times := times + (sent is request)) < 2:
                        answer = yield sent
                        known = answer if sent is request else await self._rename_issuer(answer)
                        sent = await flow.asend(with_scope(known, self.scope))
                except StopAsyncIteration:
                    return
        self._add_auth_header(request)
        yield request

    async def _rename_issuer(self, response: httpx2.Response) -> httpx2.Response:
        """Return metadata of an authorization server under the name of it that the MCP server wrote.

        Only a final slash may differ, as with Google's servers: the SDK compares the names as strings.
        Sets `own_issuer`.
        """
        issuer = self.context.auth_server_url
        if response.status_code != 200 or issuer is None:
            return response
        content = await response.aread()
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            return response
        named = data.get("issuer") if isinstance(data, dict) else None
        if not isinstance(named, str) or named == issuer or not is_same_issuer(named, issuer):
            return response
        self.own_issuer = named
        body = json.dumps({**data, "issuer": issuer}, ensure_ascii=False).encode()
        headers = {"content-type": "application/json"}
        return httpx2.Response(200, headers=headers, content=body, request=response.request)

    def _select_authorization_server(self, advertised: list[str]) -> str:
        """Return the wanted authorization server if the server names it, else the first."""
        same = (each for each in advertised if is_same_issuer(each, self.issuer))
        return next(same, advertised[0])

    def _expected_issuer(self) -> str:
        """Return the authorization server that the server names.

        Raises:
            SetupError: it is not the wanted one.
        """
        named = super()._expected_issuer()
        if self.issuer and not is_same_issuer(named, self.issuer):
            raise SetupError(
                f"the login to {self.server} was stopped: that server wants tokens of {named}, and its "
                f"client is known to {self.issuer} (issuer)"
            )
        return named

    def _probe_challenge(self, short: httpx2.Response | None) -> httpx2.Request | None:
        """Build a request that checks the registration before the login page opens.

        It names the scopes that the person will be asked for. With a response `short` that requires more,
        these and the granted ones are first added to the client's metadata. Return None if the client is
        not registered or the server's metadata is unknown.
        """
        client, server = self.context.client_info, self.context.oauth_metadata
        meta, tokens = self.context.client_metadata, self.context.current_tokens
        if short is not None and tokens is not None:
            more = utils.union_scopes(tokens.scope, utils.extract_scope_from_www_auth(short))
            meta.scope = utils.union_scopes(meta.scope, more)
        if client is None or server is None:
            return None
        query = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": str(*(meta.redirect_uris or ())[:1]),
            "state": "known",
            "code_challenge": "0" * 43,
            "code_challenge_method": "S256",
            **({"scope": meta.scope} if meta.scope else {}),
        }
        return httpx2.Request("GET", f"{server.authorization_endpoint}?{urlencode(query)}")

    async def _forget_client(self) -> None:
        """Delete a registration that the server no longer knows, and its tokens; one made beforehand stays."""
        if await self._tokens.delete_client():
            self.context.client_info = None
            self.context.oauth_metadata = None  # so that it is asked where to register
        if not self.context.is_token_valid():  # a good one tells what was granted
            self.context.clear_tokens()


def with_scope(response: httpx2.Response, scope: str | None) -> httpx2.Response:
    """Return a 401 response that demands `scope` in place of the server's own, which the SDK would take.

    Args:
        response: Response of the server; any other than 401 is returned unchanged.
        scope: Scopes that the program wants; None: the response stays as it is.
    """
    if response.status_code != 401 or not scope:
        return response
    metadata = utils.extract_resource_metadata_from_www_auth(response)
    where = f', resource_metadata="{metadata}"' if metadata else ""
    headers = {"www-authenticate": f'Bearer scope="{scope}"{where}'}
    return httpx2.Response(401, headers=headers, request=response.request)


def is_same_issuer(one: str, other: str) -> bool:
    """Return True if two names of an authorization server differ at most by a final slash.

    >>> is_same_issuer("https://a.example", "https://a.example/")
    True
    >>> is_same_issuer("https://a.example/x", "https://a.example/y")
    False
    """
    return one.removesuffix("/") == other.removesuffix("/")


def _wants_more(response: httpx2.Response) -> bool:
    """Return True if a request was refused for an insufficient scope."""
    error = utils.extract_field_from_www_auth(response, "error")
    return response.status_code == 403 and error == "insufficient_scope"


def _error_in(body: bytes) -> object:
    """Return the code of an OAuth error, or None."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return data.get("error") if isinstance(data, dict) else None
