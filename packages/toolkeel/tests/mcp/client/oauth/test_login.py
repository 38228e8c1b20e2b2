"""Logins at a real authorization server: made, kept, refreshed, revoked, forgotten and attacked."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.mcp.authorizing import Authority, agreeing, answering
from toolkeel import RunContext, SetupError, ToolCall, Toolset
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.client.oauth.login import OAuth, _Login, _token_path, delete_login, resolve_auth
from toolkeel.mcp.config import ServerConfig, parse_source

WEB = parse_source("https://mcp.example.com/mcp")


def logged_in(far: str, visit: object = agreeing) -> MCPServer:
    return MCPServer(far, trust=True, auth=OAuth(visit=visit), name="far")  # type: ignore[arg-type]


async def nobody(url: str) -> str:
    raise SetupError("nobody shall be asked")


async def says(server: MCPServer, times: int = 1) -> list[str]:
    """What a call gives, or why it fails, `times` at once."""
    tools = Toolset(await server.get_tools())
    calls = [ToolCall(str(n), "echo", {"text": f"hi {n}"}) for n in range(times)]
    messages = await tools.run(calls, RunContext())
    return [message.text for message in messages]


def use(*servers: MCPServer, times: int = 1) -> list[str]:
    """What all of them give, at once, each from a connection of its own."""

    async def main() -> list[str]:
        try:
            found = await asyncio.gather(*(says(server, times) for server in servers))
        finally:
            await asyncio.gather(*(server.close() for server in servers))
        return [text for each in found for text in each]

    return asyncio.run(main())


def login_file(tmp_path: Path) -> Path:
    [found] = (tmp_path / "toolkeel" / "mcp" / "logins").glob("*.json")
    return found


def test_one_login_serves_the_next_program_and_those_that_name_no_auth(
    far: str, authority: Authority, tmp_path: Path
) -> None:
    assert use(logged_in(far)) == ["hi 0"]
    assert use(logged_in(far, nobody), times=4) == [f"hi {n}" for n in range(4)]
    assert use(MCPServer(far, trust=True, name="far")) == ["hi 0"]
    assert (authority.logins, authority.registered) == (1, 1)
    assert login_file(tmp_path).stat().st_mode & 0o077 == 0


def test_a_login_that_is_needed_is_told_with_what_makes_it(far: str) -> None:
    with pytest.raises(SetupError, match="toolkeel mcp login"):
        use(MCPServer(far, trust=True))


def test_an_expired_login_is_refreshed_once_by_all_programs_together(
    far: str, authority: Authority, tmp_path: Path
) -> None:
    authority.lifetime = 1  # seconds: less than we wait for before its end
    use(logged_in(far))
    authority.refreshed, authority.lifetime = 0, 3600
    several = [logged_in(far, nobody) for _ in range(4)]
    assert use(*several, times=3) == ["hi 0", "hi 1", "hi 2"] * 4
    assert (authority.refreshed, authority.logins) == (1, 1)


def test_a_token_that_was_revoked_is_refreshed_and_a_login_that_was_is_made_again(
    far: str, authority: Authority
) -> None:
    use(logged_in(far))
    authority.revoke()
    assert use(logged_in(far, nobody), times=3) == ["hi 0", "hi 1", "hi 2"]
    assert (authority.refreshed, authority.logins) == (1, 1)
    authority.revoke(refresh=True)
    assert use(logged_in(far), logged_in(far)) == ["hi 0", "hi 0"]
    assert authority.logins == 2  # the page opened once for both


def test_a_token_that_is_revoked_in_mid_session_costs_no_call(
    far: str, authority: Authority
) -> None:
    server = logged_in(far)

    async def main() -> list[str]:
        first = await says(server)
        authority.revoke()
        again = await says(server, 3)
        await server.close()
        return first + again

    assert asyncio.run(main()) == ["hi 0", "hi 0", "hi 1", "hi 2"]
    assert (authority.logins, authority.refreshed) == (1, 1)


@pytest.mark.parametrize("refresh", [True, False])
def test_a_registration_that_was_forgotten_is_made_anew_before_a_person_is_sent_there(
    far: str, authority: Authority, refresh: bool
) -> None:
    use(logged_in(far))
    authority.revoke(refresh=not refresh)
    authority.clients.clear()
    assert use(logged_in(far)) == ["hi 0"]
    assert (authority.logins, authority.registered) == (2, 2)


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_call_that_needs_more_asks_a_person_once_for_that_and_what_was_granted(
    far: str, authority: Authority, forgotten: bool
) -> None:
    use(logged_in(far))
    authority.calls_need = "write"
    if forgotten:
        authority.clients.clear()
    assert use(logged_in(far), times=3) == ["hi 0", "hi 1", "hi 2"]
    first, *later = map(sorted, authority.asked)
    assert first == ["use"] and later and all(each == ["use", "write"] for each in later)
    assert (authority.logins, authority.registered) == (2, 2 if forgotten else 1)


def test_a_client_that_was_registered_by_hand_and_is_unknown_is_told(far: str) -> None:
    pages: list[str] = []

    async def visit(url: str) -> str:
        pages.append(url)
        return await agreeing(url)

    server = MCPServer(far, trust=True, auth=OAuth(client_id="mine", visit=visit))
    with pytest.raises(SetupError, match=r"the login to .* failed: .*Client ID 'mine' not found"):
        use(server)
    assert len(pages) == 1


def test_a_login_that_fails_in_mid_session_costs_the_calls_that_need_it_and_is_told(
    far: str, authority: Authority
) -> None:
    asked = [agreeing, nobody]
    server = logged_in(far, lambda url: asked.pop(0)(url))

    async def main() -> list[str]:
        tools = Toolset(await server.get_tools())
        authority.revoke(refresh=True)
        [message] = await tools.run([ToolCall("1", "echo", {"text": "hi"})], RunContext())
        assert message.kind == "tool_error"
        asked.append(agreeing)
        again = await tools.run([ToolCall("2", "echo", {"text": "hi"})], RunContext())
        opened = (await server._get_connection()).open_count
        await server.close()
        return [message.text, again[0].text, str(opened)]

    first, second, opened = asyncio.run(main())
    assert "nobody shall be asked" in first and "was not sent" in first
    assert (second, opened) == ("hi", "1")


def test_an_authorization_server_that_is_down_loses_no_login(
    far: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(logged_in(far))
    authority.revoke()

    async def broken(*_: object) -> None:
        raise RuntimeError("down")

    monkeypatch.setattr(authority, "load_refresh_token", broken)
    with pytest.raises(SetupError, match="cannot be refreshed now: HTTP 500"):
        use(logged_in(far, nobody))
    monkeypatch.undo()
    assert authority.logins == 1


def test_an_answer_with_another_logins_state_is_refused_and_its_code_is_not_used(
    far: str, authority: Authority
) -> None:
    async def swapped(url: str) -> str:
        return (await agreeing(url)).replace("state=", "state=x")

    with pytest.raises(SetupError, match="the answer belongs to another login"):
        use(logged_in(far, swapped))
    assert authority.logins == 0


def test_an_authorization_server_may_be_named_with_and_without_a_final_slash(
    far: str, authority: Authority
) -> None:
    async def answered(url: str) -> str:
        back = httpx2.URL(await agreeing(url))
        named = httpx2.URL(url).copy_with(path="/", query=None)
        return str(back.copy_merge_params({"iss": str(named).rstrip("/")}))

    with pytest.raises(SetupError, match="mix-up"):  # its metadata name it with the slash
        use(logged_in(far, answered))
    authority.drops_slash = True
    assert use(logged_in(far, answered)) == ["hi 0"]


@pytest.mark.parametrize(
    "query", [{"code": "stolen"}, {"error": "access_denied", "error_description": "Call 0900-1"}]
)
def test_an_answer_of_another_server_is_refused_and_its_words_are_not_shown(
    far: str, authority: Authority, query: dict[str, str]
) -> None:
    """A mix-up: the client asked one server, and the answer is of one the attacker runs."""

    async def mixed_up(url: str) -> str:
        state = httpx2.URL(url).params["state"]
        return answering(state=state, iss="https://evil.example.com", **query)

    with pytest.raises(SetupError, match="mix-up") as caught:
        use(logged_in(far, mixed_up))
    assert "0900" not in str(caught.value) and authority.logins == 0


def test_a_login_the_person_refuses_is_told(far: str, authority: Authority) -> None:
    authority.refuses = {"error": "access_denied", "error_description": "No"}
    with pytest.raises(SetupError, match="refused: No"):
        use(logged_in(far))


def test_a_login_takes_as_long_as_a_person_does(far: str) -> None:
    async def slow(url: str) -> str:
        await asyncio.sleep(1.5)
        return await agreeing(url)

    server = MCPServer(far, trust=True, auth=OAuth(visit=slow), connect_timeout=1)
    assert use(server) == ["hi 0"]


def test_a_login_is_forgotten_when_it_is_said(far: str, tmp_path: Path) -> None:
    server = logged_in(far)
    use(server)
    assert "access_token" in json.loads(login_file(tmp_path).read_text())["tokens"]
    asyncio.run(delete_login(server.config))
    with pytest.raises(SetupError, match="nobody shall be asked"):
        use(logged_in(far, nobody))


def test_a_login_is_the_addresss_whatever_a_file_calls_its_server(
    far: str, authority: Authority
) -> None:
    use(logged_in(far))
    other = MCPServer(far, trust=True, auth=OAuth(visit=nobody), name="another")
    assert use(other) == ["hi 0"] and authority.logins == 1


def test_what_authorizes_is_checked_when_it_is_given() -> None:
    own = httpx2.BasicAuth("me", "pw")
    assert resolve_auth(own, WEB) is own and resolve_auth(None, WEB) is None
    with pytest.raises(SetupError, match="is for servers with an address"):
        resolve_auth("oauth", parse_source("npx files"))
    with pytest.raises(SetupError, match="give 'oauth'"):
        resolve_auth("basic", WEB)  # type: ignore[arg-type]


def test_a_file_says_which_client_logs_in_and_where_its_host_registered_it() -> None:
    web = dataclasses.replace(WEB, oauth={"client_id": "me", "scope": "r w", "port": "8080"})
    flow: Any = resolve_auth("oauth", web)
    asked = flow.context.client_metadata
    assert (asked.scope, str(asked.redirect_uris[0])) == ("r w", "http://localhost:8080/callback")
    known = asyncio.run(flow.context.storage.get_client_info())
    assert (known.client_id, known.client_secret) == ("me", None)
    with pytest.raises(SetupError, match="callbackPort is a number"):
        resolve_auth("oauth", dataclasses.replace(WEB, oauth={"port": "x"}))


def test_a_login_page_that_sends_no_code_is_told() -> None:
    async def visit(url: str) -> str:
        return "http://127.0.0.1:1/callback?state=s"

    async def main() -> None:
        login = _Login(OAuth(visit=visit), ServerConfig("web"))
        await login.begin("https://login.example.com?state=s")
        await login.end(None)

    with pytest.raises(SetupError, match="it sent no code"):
        asyncio.run(main())


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkeel.mcp.client.oauth.login.LOGIN", 0.05)

    async def main() -> None:
        login = _Login(OAuth(visit=lambda _: asyncio.sleep(60, "")), ServerConfig("web"))
        await login.begin("https://login.example.com?state=s")
        await login.end(None)

    began = time.monotonic()
    with pytest.raises(SetupError, match="nobody logged in to web in time"):
        asyncio.run(main())
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "..\\x", "C:x", "a/../../b"])
def test_a_server_that_is_named_like_a_path_keeps_its_login_where_all_are(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = _token_path(OAuth(), ServerConfig(name, url=WEB.url, kind="http"))
    assert path.parent == tmp_path / "toolkeel" / "mcp" / "logins"
    assert path.resolve().parent == path.parent and "\\" not in path.name
