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
from typing import cast
from urllib.parse import urlencode

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthTokenError
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER

from toolkeel.mcp.client.tokens import Tokens

Flow = AsyncGenerator[httpx2.Request, httpx2.Response]
_UNKNOWN = ("invalid_client", "unauthorized_client")


class LoginFlow(OAuthClientProvider):
    """Authorizes requests; its storage must be `Tokens`.

    Attributes:
        at_login: Whether a person is at the login, so that nobody shall hurry.
    """

    at_login = False
    _refused = ""

    @property
    def _tokens(self) -> Tokens:
        return cast("Tokens", self.context.storage)

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.token_expiry_time = await self._tokens.expires()
        if self._bearer() == self._refused:
            self.context.token_expiry_time = time.time() - 1  # whatever it was said to be
        kept = await self._tokens.metadata()
        self.context.oauth_metadata = self.context.oauth_metadata or kept
        if self.context.oauth_metadata is None and not self.context.is_token_valid():
            self.context.clear_tokens()  # nobody knows where it could be refreshed

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        await self._tokens.keep_metadata(self.context.oauth_metadata)

    async def _auth_flow(self, request: httpx2.Request) -> Flow:
        self.context.protocol_version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if not self._initialized:
            await self._initialize()
        status = 401
        for refresh in (False, True):
            if refresh:
                async with self._tokens.alone():
                    if not await self._anew() and self.context.can_refresh_token():
                        await self._refreshed((yield await self._refresh_token()))
            if self.context.is_token_valid():
                self._add_auth_header(request)
                used = self._bearer()
                response = yield request
                status = response.status_code
                if status not in (401, 403) or (status == 403 and not _wants_more(response)):
                    return
                if status == 403:
                    break
                self._refused = used
        login = self._login(request, self._bearer() if status == 403 else "")
        self.at_login = True
        try:
            sent = await anext(login)
            while True:
                sent = await login.asend((yield sent))
        except StopAsyncIteration:
            return
        finally:
            self.at_login = False
            await login.aclose()

    def _bearer(self) -> str:
        tokens = self.context.current_tokens
        return tokens.access_token if tokens is not None else ""

    async def _anew(self) -> bool:
        """Read the login again: whether another has renewed it since a token was refused."""
        await self._initialize()
        return self.context.is_token_valid()

    async def _refreshed(self, response: httpx2.Response) -> None:
        """Take what a refresh brought; what it did not tells a new login, or to try later.

        Raises:
            OAuthTokenError: the authorization server cannot answer now; the login is still good.
        """
        if response.status_code >= 500 or response.status_code == 429:
            raise OAuthTokenError(f"the login cannot be refreshed now: HTTP {response.status_code}")
        body = await response.aread()
        if not await self._handle_refresh_response(response) and _error_in(body) in _UNKNOWN:
            await self._forget_client()

    async def _login(self, request: httpx2.Request, short: str) -> Flow:
        """A login by a person, who is asked once however many requests need it.

        Args:
            request: What needs it.
            short: A token that is good, and does not go far enough.
        """
        async with self._tokens.alone():
            if not await self._anew() or self._bearer() == short:
                if self.context.client_info is not None and self.context.oauth_metadata is not None:
                    answer = yield self._knock()
                    await answer.aread()
                    if answer.status_code in (400, 401) or _error_in(answer.content) in _UNKNOWN:
                        await self._forget_client()
                flow, times = super()._auth_flow(request), 0
                try:
                    sent = await anext(flow)
                    while (times := times + (sent is request)) < 2:
                        sent = await flow.asend((yield sent))
                except StopAsyncIteration:
                    return
                finally:
                    await flow.aclose()
        self._add_auth_header(request)
        yield request

    def _knock(self) -> httpx2.Request:
        """Asks whether the kept registration is still known, before a person is sent there."""
        client, server = self.context.client_info, self.context.oauth_metadata
        assert client is not None and server is not None
        said = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": str(*(self.context.client_metadata.redirect_uris or ())[:1]),
            "state": "known",
            "code_challenge": "0" * 43,
            "code_challenge_method": "S256",
        }
        if self.context.client_metadata.scope:
            said["scope"] = self.context.client_metadata.scope
        return httpx2.Request("GET", f"{server.authorization_endpoint}?{urlencode(said)}")

    async def _forget_client(self) -> None:
        if await self._tokens.forget_client():
            self.context.client_info = None
        self.context.clear_tokens()


def _wants_more(response: httpx2.Response) -> bool:
    """Whether a login was refused because it does not go far enough."""
    return extract_field_from_www_auth(response, "error") == "insufficient_scope"


def _error_in(body: bytes) -> object:
    """The code in an error of OAuth; None if it is none."""
    try:
        said = json.loads(body)
    except ValueError:
        return None
    return said.get("error") if isinstance(said, dict) else None
