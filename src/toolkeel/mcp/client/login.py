"""Logging in to a server on the network: OAuth 2.1 by the SDK, tokens kept in files of our own.

The person sees the address they are sent to. Its answer comes back to a port of this machine that
is open only meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
import webbrowser
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.client.login_flow import LoginFlow
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.consent_files import home, load, save

PORT = 28_471
"""Where the browser comes back to: one port, since servers compare the whole address."""
LOGIN = 300.0
"""Seconds a person may take to log in."""
_EARLY = 30.0

Visit: TypeAlias = Callable[[str], Awaitable[str]]
"""Takes the address of a login and gives the address it redirected to in the end."""


@record
class OAuth:
    """How to log in.

    Args:
        scope: What to ask for; what the server names by default.
        client_id: Of a client registered beforehand; otherwise it registers itself.
        client_secret: Its secret, if it has one.
        client_metadata_url: An ``https`` address where this client's metadata is published; for
            servers that take it as the client's id.
        visit: Brings a person through the login; the browser by default.
        port: Where the browser comes back to.
        tokens: A file that keeps the login; one for each address in the user's own by default.
        name: What the login page calls this client.
    """

    scope: str | None = None
    client_id: str = ""
    client_secret: str = ""
    client_metadata_url: str | None = None
    visit: Visit | None = None
    port: int = PORT
    tokens: Path | None = None
    name: str = "toolkeel"


Auth: TypeAlias = OAuth | Literal["oauth"] | httpx2.Auth | None


def provider(auth: Auth, config: ServerConfig) -> httpx2.Auth | None:
    """What authorizes requests to a server.

    Raises:
        SetupError: it cannot be used with this server.
    """
    if auth is None or isinstance(auth, httpx2.Auth):
        return auth
    if auth == "oauth":
        auth = OAuth()
    if not isinstance(auth, OAuth):
        raise SetupError(f"auth={auth!r} is none: give 'oauth', OAuth(...) or an httpx2.Auth")
    if not config.url:
        raise SetupError(f"auth= is for servers with an address; {config.name} is a command")
    redirect = f"http://127.0.0.1:{auth.port}/callback"
    secret = bool(auth.client_secret)
    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect)],
        client_name=auth.name,
        scope=auth.scope,
        token_endpoint_auth_method="client_secret_basic" if secret else None,
    )
    login = _Login(auth, config.name)
    return LoginFlow(
        config.url,
        metadata,
        Tokens(_path(auth, config), _registered(auth, redirect)),
        redirect_handler=login.begin,
        callback_handler=login.end,
        client_metadata_url=auth.client_metadata_url,
    )


def _path(auth: OAuth, config: ServerConfig) -> Path:
    digest = hashlib.sha256(config.identity.encode()).hexdigest()[:16]
    return auth.tokens or home() / "logins" / f"{config.name}-{digest}.json"


def _registered(auth: OAuth, redirect: str) -> OAuthClientInformationFull | None:
    if not auth.client_id:
        return None
    return OAuthClientInformationFull(
        client_id=auth.client_id,
        client_secret=auth.client_secret or None,
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="client_secret_basic" if auth.client_secret else "none",
    )


class Tokens:
    """A login kept in a file that is its owner's alone.

    Args:
        path: Of the file.
        registered: A client registered beforehand, which is never replaced.
    """

    def __init__(self, path: Path, registered: OAuthClientInformationFull | None) -> None:
        self._path = path
        self._registered = registered

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens; one that has expired is empty, so that it is refreshed."""
        kept = load(self._path)
        if "tokens" not in kept:
            return None
        tokens = OAuthToken.model_validate(kept["tokens"])
        expires = kept.get("expires")
        if isinstance(expires, int | float) and expires - _EARLY < time.time():
            tokens = tokens.model_copy(update={"access_token": ""})
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the tokens, and when they expire."""
        expires = None if tokens.expires_in is None else time.time() + tokens.expires_in
        plain = json.loads(tokens.model_dump_json(exclude_none=True))
        save(self._path, {**load(self._path), "tokens": plain, "expires": expires})

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The registered client."""
        if self._registered is not None:
            return self._registered
        kept = load(self._path).get("client")
        return None if kept is None else OAuthClientInformationFull.model_validate(kept)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep what the server has registered."""
        plain = json.loads(client_info.model_dump_json(exclude_none=True))
        save(self._path, {**load(self._path), "client": plain})

    def metadata(self) -> OAuthMetadata | None:
        """What the authorization server said of itself: where tokens are refreshed."""
        kept = load(self._path).get("server")
        return None if kept is None else OAuthMetadata.model_validate(kept)

    def keep_metadata(self, metadata: OAuthMetadata | None) -> None:
        """Keep it with the tokens, so that they never go anywhere else."""
        if metadata is not None:
            plain = json.loads(metadata.model_dump_json(exclude_none=True))
            save(self._path, {**load(self._path), "server": plain})


def kept(config: ServerConfig) -> httpx2.Auth | None:
    """What authorizes requests to a server somebody has logged in to; None if nobody has."""
    if not config.url or not _path(OAuth(), config).is_file():
        return None
    return provider("oauth", config)


class _Login:
    """One person's way through a login page."""

    def __init__(self, auth: OAuth, server: str) -> None:
        self._auth = auth
        self._server = server
        self._visit: asyncio.Future[str] | None = None

    async def begin(self, url: str) -> None:
        """Send the person there."""
        visit = self._auth.visit or _Browser(self._server, self._auth.port)
        self._visit = asyncio.ensure_future(visit(url))

    async def end(self) -> AuthorizationCodeResult:
        """What the login page sent back.

        Raises:
            SetupError: the login was refused, or took too long.
        """
        assert self._visit is not None
        try:
            back = await asyncio.wait_for(self._visit, LOGIN)
        except TimeoutError:
            raise SetupError(f"nobody logged in to {self._server} in time") from None
        said = {key: values[0] for key, values in parse_qs(urlsplit(back).query).items()}
        if "code" not in said:
            why = said.get("error_description") or said.get("error") or "it sent no code"
            raise SetupError(f"the login to {self._server} was refused: {why}")
        return AuthorizationCodeResult(
            code=said["code"], state=said.get("state"), iss=said.get("iss")
        )


class _Browser:
    """Opens the login in a browser and waits for it on this machine."""

    def __init__(self, server: str, port: int) -> None:
        self._server = server
        self._port = port

    async def __call__(self, url: str) -> str:
        if not sys.stderr.isatty():
            raise SetupError(
                f"the MCP server {self._server!r} wants a login, and nobody is there to log in; "
                "run in a terminal first: toolkeel mcp login with its name or address"
            )
        back: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = (await reader.readline()).split()
            path = line[1].decode("ascii", "replace") if len(line) > 1 else ""
            wanted = path.startswith("/callback?")
            text = b"You are logged in. Close this window." if wanted else b"Nothing is here."
            head = b"HTTP/1.1 200 OK" if wanted else b"HTTP/1.1 404 Not Found"
            writer.write(head + b"\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n" + text)
            await writer.drain()
            writer.close()
            if wanted and not back.done():
                back.set_result(f"http://127.0.0.1:{self._port}{path}")

        try:
            listener = await asyncio.start_server(answer, "127.0.0.1", self._port)
        except OSError as error:
            raise SetupError(
                f"port {self._port} is taken, where a login comes back to: {error.strerror}; "
                "name another with auth=OAuth(port=...)"
            ) from None
        async with listener:
            host = urlsplit(url).netloc
            print(f"{self._server}: log in at {host}:\n\n    {url}\n", file=sys.stderr)
            await asyncio.to_thread(webbrowser.open, url)
            return await back
