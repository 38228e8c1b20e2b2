"""Logging in as a program, without a person: client credentials, by a secret or a signed assertion.

The SDK sends a client's secret to the authorization server that the MCP server names. Here the
client's owner names it (`issuer`), and nothing is sent to any other.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.auth.extensions.client_credentials import SignedJWTParameters
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.client.oauth.oauth_flow import LoginFlow, is_same_issuer
from toolkeel.mcp.client.oauth.token_storage import Tokens

_ALGORITHMS = ("RS256", "ES256", "EdDSA", "ES384", "ES512")
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_GRANT = "client_credentials"


@record
class ServiceClient:
    """A program that an authorization server knows.

    Args:
        server: Name of the MCP server, for errors.
        issuer: The authorization server.
        client_id: Id of the client.
        secret: Its secret; empty if it signs.
        private_key: PEM file of the key that it signs with; None if it has a secret.
        scope: Scopes to request; None for those that the server names.
    """

    server: str
    issuer: str
    client_id: str
    secret: str = ""
    private_key: Path | None = None
    scope: str | None = None

    @property
    def registration(self) -> OAuthClientInformationFull:
        """The client as a registration."""
        return OAuthClientInformationFull(
            client_id=self.client_id,
            client_secret=self.secret or None,
            redirect_uris=None,
            grant_types=[_GRANT],
            token_endpoint_auth_method="client_secret_basic" if self.secret else "private_key_jwt",
        )

    async def sign(self, audience: str) -> str:
        """Return a signed assertion (JWT) for an authorization server.

        Raises:
            SetupError: the key cannot be used.
        """
        assert self.private_key is not None
        try:
            key = self.private_key.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise SetupError(f"the key {self.private_key} cannot be read: {error}") from None
        for algorithm in _ALGORITHMS:  # a key fits one of them
            with suppress(Exception):
                return await SignedJWTParameters(
                    issuer=self.client_id,
                    subject=self.client_id,
                    signing_key=key,
                    signing_algorithm=algorithm,
                ).create_assertion_provider()(audience)
        raise SetupError(
            f"{self.private_key} holds no private key that can sign: give a PEM file with an RSA, EC or "
            "Ed25519 key without a passphrase"
        )


class ServiceLogin(LoginFlow):
    """A login of a program. It needs no person.

    Args:
        url: Address of the MCP server.
        client: The program.
        tokens: Storage of the tokens.
    """

    needs_person = False

    def __init__(self, url: str, client: ServiceClient, tokens: Tokens) -> None:
        metadata = OAuthClientMetadata(redirect_uris=None, grant_types=[_GRANT], scope=client.scope)
        super().__init__(url, metadata, tokens)
        self.scope, self.issuer, self.server = client.scope, client.issuer, client.server
        self._client = client

    def _probe_challenge(self, short: httpx2.Response | None) -> httpx2.Request | None:
        """Return None: there is no login page."""
        return None

    def _known_metadata(self) -> OAuthMetadata:
        """Return the metadata of the client's authorization server.

        Raises:
            SetupError: there are none, or they are of another.
        """
        metadata = self.context.oauth_metadata
        if metadata is None or not is_same_issuer(str(metadata.issuer), self._client.issuer):
            raise SetupError(
                f"the login to {self._client.server} failed: {self._client.issuer} has no metadata of an "
                "authorization server (/.well-known/oauth-authorization-server)"
            )
        return metadata

    async def _perform_authorization(self) -> httpx2.Request:
        """Build the request for a token, and make the client that of the login.

        Raises:
            SetupError: there is no metadata, or the key cannot be used.
        """
        metadata, meta = self._known_metadata(), self.context.client_metadata
        data = {"grant_type": _GRANT}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        known = self.context.client_info = self._client.registration
        if self._client.private_key is not None:
            assertion = await self._client.sign(str(metadata.issuer))
            data |= {"client_assertion_type": _ASSERTION, "client_assertion": assertion}
        elif "client_secret_basic" not in (
            metadata.token_endpoint_auth_methods_supported or ("client_secret_basic",)
        ):
            known.token_endpoint_auth_method = "client_secret_post"
        data, headers = self.context.prepare_token_auth(data, headers)
        if self.context.should_include_resource_param(self.context.protocol_version):
            data["resource"] = self.context.get_resource_url()
        if meta.scope:
            data["scope"] = meta.scope
        return httpx2.Request("POST", str(metadata.token_endpoint), data=data, headers=headers)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        """Store new tokens.

        Raises:
            SetupError: the authorization server refused.
        """
        if response.status_code not in (200, 201):
            reason = _reason(await response.aread()) or f"HTTP {response.status_code}"
            raise SetupError(
                f"the login to {self._client.server} was refused by {self._client.issuer} for the client "
                f"{self._client.client_id!r}: {reason}"
            )
        await super()._handle_token_response(response)


def _reason(body: bytes) -> str:
    """Return the reason in an OAuth error, or an empty string."""
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    fields = data if isinstance(data, dict) else {}
    found = [fields.get(key) for key in ("error", "error_description")]
    return ": ".join(each[:300] for each in found if isinstance(each, str))
