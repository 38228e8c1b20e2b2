"""Logging in to a server on the network: OAuth 2.1 by the SDK.

The person sees the address they are sent to. Its answer comes back to a port of this machine that
is open only meanwhile, or is pasted.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError
from mcp.client.auth.utils import validate_authorization_response_iss
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata
from pydantic import AnyUrl

from toolkeel._common.checked_arguments import checked
from toolkeel._common.data_folder import expand_home
from toolkeel._records.record import record
from toolkeel.errors import SetupError, describe_error
from toolkeel.mcp.client.oauth.browser import Browser, query_of
from toolkeel.mcp.client.oauth.oauth_flow import LoginFlow
from toolkeel.mcp.client.oauth.service_login import ServiceClient, ServiceLogin
from toolkeel.mcp.client.oauth.token_storage import Tokens, system_keyring
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.http_options import check_login, is_url
from toolkeel.mcp.state_files import mcp_state_folder

PORT = 28_471
"""Where the browser comes back to: one port, since servers compare the whole address."""
LOGIN = 300.0
"""Seconds a person may take to log in."""

Grant: TypeAlias = Literal["authorization_code", "client_credentials"]
LoginPrompt: TypeAlias = Callable[[str], Awaitable[str]]
"""Takes the address of a login and gives the address it redirected to in the end."""


@checked
@record
class OAuth:
    """OAuth settings for a server: client, scope, port, and token storage.

    Args:
        scope: Scopes to request; those that the server names by default.
        client_id: Id of a client registered beforehand; otherwise it registers itself.
        client_secret: Its secret, if it has one.
        grant: ``"client_credentials"`` for a login without a person, by the client's secret.
        private_key: PEM file of the key that the client signs with instead; such a login needs no
            person either.
        issuer: Address of the only authorization server to log in at, which knows the client. A login
            without a person needs it.
        client_metadata_url: An ``https`` address where this client's metadata is published; for
            servers that take it as the client's id.
        visit: Brings a person through the login; the browser by default.
        port: Local port that the browser is redirected to.
        tokens: A file that keeps the login. By default the system's keyring keeps it, where there is
            a real one and ``toolkeel[keyring]`` is installed; else a file for each address in the
            user's own folder.
        name: This client's name on the login page.
    """

    scope: str | None = None
    client_id: str = ""
    client_secret: str = ""
    grant: Grant = "authorization_code"
    private_key: Path | None = None
    issuer: str = ""
    client_metadata_url: str | None = None
    visit: LoginPrompt | None = None
    port: int = PORT
    tokens: Path | None = None
    name: str = "toolkeel"


Auth: TypeAlias = OAuth | Literal["oauth"] | httpx2.Auth | None


def resolve_auth(auth: Auth, config: ServerConfig) -> httpx2.Auth | None:
    """Return what authorizes requests to a server; by default what `find_login` finds.

    Raises:
        SetupError: the authorization cannot be used with this server.
    """
    if auth is None:
        return find_login(config)
    if isinstance(auth, httpx2.Auth):
        return auth
    if auth == "oauth":
        auth = _oauth_from_config(config)
    if not isinstance(auth, OAuth):
        raise SetupError(f"auth={auth!r} is none: give 'oauth', OAuth(...) or an httpx2.Auth")
    if not config.url:
        raise SetupError(f"auth= is for servers with an address; {config.name} is a command")
    options = {each.name: getattr(auth, each.name) for each in dataclasses.fields(auth)}
    check_login(f"auth= of the MCP server {config.name!r}", options)
    if _is_service(auth):
        client = _service_client(auth, config)
        return ServiceLogin(config.url, client, _token_storage(auth, config, client.registration))
    here = "localhost" if "port" in config.oauth else "127.0.0.1"  # as its host has registered it
    redirect = f"http://{here}:{auth.port}/callback"
    secret = bool(auth.client_secret)
    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect)],
        client_name=auth.name,
        scope=auth.scope,
        token_endpoint_auth_method="client_secret_basic" if secret else None,
    )
    login = _Login(auth, config)
    flow = LoginFlow(
        config.url,
        metadata,
        _token_storage(auth, config, _registered_client(auth, redirect)),
        redirect_handler=login.begin,
        callback_handler=lambda: login.end(flow.context.oauth_metadata, flow.own_issuer),
        client_metadata_url=auth.client_metadata_url,
    )
    flow.scope, flow.issuer, flow.server = auth.scope, auth.issuer, config.name
    return flow


def _is_service(auth: OAuth) -> bool:
    """Return True for a login without a person."""
    return auth.grant == "client_credentials" or auth.private_key is not None


def _service_client(auth: OAuth, config: ServerConfig) -> ServiceClient:
    """Return the client of a login without a person.

    Raises:
        SetupError: not all of client_id, issuer and one of client_secret and private_key, or both.
    """
    where = f"the login to {config.name!r} needs no person (client_credentials), so it needs"
    if not auth.client_id or bool(auth.client_secret) == (auth.private_key is not None):
        raise SetupError(f"{where} a client_id, and either a client_secret or a private_key")
    if not is_url(auth.issuer):
        raise SetupError(
            f"{where} issuer, the address of the authorization server that knows the client: its "
            "secret is sent nowhere else"
        )
    secret = auth.client_secret, auth.private_key
    return ServiceClient(config.name, auth.issuer, auth.client_id, *secret, auth.scope)


def _oauth_from_config(config: ServerConfig) -> OAuth:
    """Return the OAuth settings of the server's file.

    Raises:
        SetupError: its port or grant is none.
    """
    fields: dict[str, Any] = dict(config.oauth)
    where = f"{config.origin}: server {config.name!r}"
    if not str(fields.setdefault("port", PORT)).isdecimal():
        raise SetupError(f"{where}: callbackPort is a number")
    if fields.get("grant", "client_credentials") not in get_args(Grant):
        raise SetupError(f"{where}: grantType is {' or '.join(get_args(Grant))}")
    if "private_key" in fields:
        fields["private_key"] = Path(config.origin).parent / expand_home(fields["private_key"])
    return OAuth(**{**fields, "port": int(fields["port"])})


def _token_storage(
    auth: OAuth, config: ServerConfig, registered: OAuthClientInformationFull | None = None
) -> Tokens:
    """Return the storage of a login: the keyring, or a file if `auth` names one; `registered` is the client, if known."""
    keyring = system_keyring if auth.tokens is None else None
    return Tokens(_token_path(auth, config), registered, keyring)


def _token_path(auth: OAuth, config: ServerConfig) -> Path:
    """Return the file of a login: one for each address, whatever files call the server.

    A login without a person has a file for each client.
    """
    if auth.tokens is not None:
        return auth.tokens
    whose = f"\n{auth.client_id}" if _is_service(auth) else ""
    digest = hashlib.sha256(f"{config.identity}{whose}".encode()).hexdigest()[:16]
    folder = mcp_state_folder() / "logins"
    for known in sorted(folder.glob(f"*-{digest}.json")):
        return known
    host = re.sub(r"[^A-Za-z0-9.-]", "-", urlsplit(config.url).hostname or "")
    return folder / f"{host}-{digest}.json"


def _registered_client(auth: OAuth, redirect: str) -> OAuthClientInformationFull | None:
    """Return the client registered beforehand, or None if no id is set."""
    if not auth.client_id:
        return None
    return OAuthClientInformationFull(
        client_id=auth.client_id,
        client_secret=auth.client_secret or None,
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="client_secret_basic" if auth.client_secret else "none",
    )


def find_login(config: ServerConfig) -> httpx2.Auth | None:
    """Return a server's login: one without a person if its file has it, else a stored one, or None.

    A login of its file that cannot be used fails when it is used, so that it affects no other server.
    """
    if not config.url or any(name.lower() == "authorization" for name in config.headers):
        return None
    try:
        auth = _oauth_from_config(config)
        if _is_service(auth) or _token_path(auth, config).is_file():
            return resolve_auth(auth, config)
    except SetupError as error:
        return _UnusableLogin(error)
    return None


class _UnusableLogin(httpx2.Auth):
    """Login that raises an error when it is used."""

    def __init__(self, error: SetupError) -> None:
        self._error = error

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Raise the error, before any request."""
        raise self._error
        yield request


async def delete_login(config: ServerConfig) -> None:
    """Delete the stored login to a server. Do nothing if there is none.

    Raises `SetupError` if the server's settings are wrong, or the stored login is damaged.
    """
    auth = _oauth_from_config(config)
    if config.url and _token_path(auth, config).is_file():
        await _token_storage(auth, config).delete()


class _Login:
    """One person's login through a browser: opens the page, and checks state and issuer of the answer."""

    def __init__(self, auth: OAuth, config: ServerConfig) -> None:
        self._auth = auth
        self._server, self._address = config.name, config.identity
        self._state = ""
        self._visit: asyncio.Future[str] | None = None

    async def begin(self, url: str) -> None:
        """Start the visit of the login page, whose end `end` awaits, and store the login's state."""
        visit = self._auth.visit or Browser(self._server, self._auth.port, self._address)
        self._state = query_of(url).get("state", "")
        self._visit = asyncio.ensure_future(visit(url))

    async def end(
        self, issuer: OAuthMetadata | None, own_issuer: str = ""
    ) -> AuthorizationCodeResult:
        """Return the authorization code that the login page sent back.

        Args:
            issuer: The expected authorization server; an answer from any other is refused. None: any
                that does not name itself.
            own_issuer: Another name that it gives itself; empty if there is none. Names are
                compared as they are (RFC 9207).

        Raises:
            SetupError: the login failed, was refused, took too long, or its answer is another's.
        """
        assert self._visit is not None
        try:
            back = await asyncio.wait_for(self._visit, LOGIN)
        except TimeoutError:
            raise SetupError(f"nobody logged in to {self._server} in time") from None
        except SetupError:
            raise
        except Exception as error:  # of the program's own `visit`
            raise SetupError(
                f"the login to {self._server} failed: {describe_error(error)}"
            ) from error
        answer = query_of(back)
        named = answer.get("iss")
        if named and named == own_issuer and issuer is not None:
            named = str(issuer.issuer)
        try:
            validate_authorization_response_iss(named, issuer)
        except OAuthFlowError:
            why = "its answer came from another server than the one that was asked (mix-up)"
            raise SetupError(f"the login to {self._server} was stopped: {why}") from None
        if answer.get("state") != self._state:
            raise SetupError(
                f"the login to {self._server} was stopped: the answer belongs to another login"
            )
        if "code" not in answer:
            why = answer.get("error_description") or answer.get("error") or "it sent no code"
            raise SetupError(f"the login to {self._server} was refused: {why}")
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=named)
