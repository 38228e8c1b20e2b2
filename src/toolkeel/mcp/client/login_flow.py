"""The SDK's login (OAuth 2.1) without three of its faults.

It holds one lock while a request is on its way, so that four calls of a second take four. On a 401
it goes to the browser although a refresh token is at hand. And in a new process it does not know
where the authorization server is, and sends the refresh token to the server itself. Here a request
with a good token holds nothing, a 401 refreshes first, and where to refresh is kept with the tokens.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Protocol, cast

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthMetadata


class KeepsMetadata(Protocol):
    """Storage of tokens that also keeps where they are refreshed."""

    def metadata(self) -> OAuthMetadata | None:
        """What the authorization server said of itself."""

    def keep_metadata(self, metadata: OAuthMetadata | None) -> None:
        """Keep it."""


class LoginFlow(OAuthClientProvider):
    """Authorizes requests; its storage must be one that keeps metadata, too."""

    async def _initialize(self) -> None:
        await super()._initialize()
        kept = cast("KeepsMetadata", self.context.storage).metadata()
        self.context.oauth_metadata = self.context.oauth_metadata or kept
        if self.context.oauth_metadata is None and not self.context.is_token_valid():
            self.context.clear_tokens()  # nobody knows where it could be refreshed

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        cast("KeepsMetadata", self.context.storage).keep_metadata(self.context.oauth_metadata)

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not self._initialized:
            async with self.context.lock:
                if not self._initialized:
                    await self._initialize()
        if self.context.is_token_valid():
            self._add_auth_header(request)
            used = request.headers["authorization"]
            response = yield request
            if response.status_code not in (401, 403):
                return
            if response.status_code == 401:
                self._doubt(used)
        flow = super()._auth_flow(request)
        try:
            sent = await anext(flow)
            while True:
                sent = await flow.asend((yield sent))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _doubt(self, used: str) -> None:
        """Refresh the token that was refused, unless somebody has done so meanwhile."""
        tokens = self.context.current_tokens
        if tokens is not None and used == f"Bearer {tokens.access_token}":
            self.context.token_expiry_time = time.time() - 1
