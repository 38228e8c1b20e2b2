"""Logins: kept in files of their owner, refreshed, and never without a person.

The whole way through a login is in `test_conformance_client`.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx2
import pytest
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from toolkeel import SetupError
from toolkeel.mcp.client.login import OAuth, Tokens, _Browser, _Login, provider
from toolkeel.mcp.config import parse_source

WEB = parse_source("https://mcp.example.com/mcp")
REDIRECT = AnyUrl("http://127.0.0.1:1/callback")


def test_a_login_is_kept_in_a_file_of_its_owner_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "login.json"
    tokens = OAuthToken(access_token="a", refresh_token="r", expires_in=3600, scope="read")
    client = OAuthClientInformationFull(client_id="c", redirect_uris=[REDIRECT])

    async def keep() -> None:
        kept = Tokens(path, None)
        assert await kept.get_tokens() is None and await kept.get_client_info() is None
        await kept.set_tokens(tokens)
        await kept.set_client_info(client)

    asyncio.run(keep())
    assert path.stat().st_mode & 0o077 == 0
    again = Tokens(path, None)
    assert asyncio.run(again.get_tokens()) == tokens
    assert asyncio.run(again.get_client_info()) == client


def test_a_token_that_has_expired_comes_back_empty_so_that_it_is_refreshed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Tokens(tmp_path / "login.json", None)
    asyncio.run(kept.set_tokens(OAuthToken(access_token="a", refresh_token="r", expires_in=60)))
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    tokens = asyncio.run(kept.get_tokens())
    assert tokens is not None and (tokens.access_token, tokens.refresh_token) == ("", "r")


def test_a_client_registered_beforehand_is_never_replaced(tmp_path: Path) -> None:
    mine = OAuthClientInformationFull(client_id="mine", redirect_uris=[REDIRECT])
    kept = Tokens(tmp_path / "login.json", mine)
    other = OAuthClientInformationFull(client_id="other", redirect_uris=[REDIRECT])
    asyncio.run(kept.set_client_info(other))
    assert asyncio.run(kept.get_client_info()) == mine


def test_what_authorizes_is_checked_when_it_is_given() -> None:
    own = httpx2.BasicAuth("me", "pw")
    assert provider(own, WEB) is own and provider(None, WEB) is None
    with pytest.raises(SetupError, match="is for servers with an address"):
        provider("oauth", parse_source("npx files"))
    with pytest.raises(SetupError, match="give 'oauth'"):
        provider("basic", WEB)  # type: ignore[arg-type]


def test_a_login_nobody_can_see_is_refused_rather_than_waited_for() -> None:
    with pytest.raises(SetupError, match="nobody is there to log in"):
        asyncio.run(_Browser("web", 0)("https://login.example.com"))


@pytest.mark.parametrize(
    ("query", "told"),
    [("error=access_denied&error_description=No", "refused: No"), ("x=1", "it sent no code")],
)
def test_a_login_that_was_refused_is_told(query: str, told: str) -> None:
    async def visit(url: str) -> str:
        return f"http://127.0.0.1:1/callback?{query}"

    async def main() -> None:
        login = _Login(OAuth(visit=visit), "web")
        await login.begin("https://login.example.com")
        await login.end()

    with pytest.raises(SetupError, match=told):
        asyncio.run(main())


def test_what_the_login_sent_back_is_read() -> None:
    async def visit(url: str) -> str:
        return "http://127.0.0.1:1/callback?code=c%20d&state=s&iss=https://i"

    async def main() -> tuple[str, str | None, str | None]:
        login = _Login(OAuth(visit=visit), "web")
        await login.begin("https://login.example.com")
        result = await login.end()
        return result.code, result.state, result.iss

    assert asyncio.run(main()) == ("c d", "s", "https://i")
